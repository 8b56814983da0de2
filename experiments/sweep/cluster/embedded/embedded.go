// Package embedded starts the NATS server of a sweep's coordinator. It is a separate package because it makes a program
// 28 % larger.
package embedded

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pausenet/pausenet/experiments/sweep/cluster"
)

// readyTimeout limits how long the server may take to start.
const readyTimeout = time.Minute

// largestMessage limits a message, in bytes: a point's scenario, compressed and in base64. Results are sent in pieces.
const largestMessage = 8 << 20

// Start starts a server for one sweep, and returns its port and a function to stop it. It has neither JetStream nor a
// system account, so that none of its services answers on a subject chosen by a worker. It serves only the coordinator
// and clients with the join string's key.
func Start(address, id string, s *cluster.Secrets) (port int, stop func(), err error) {
	certificate, err := s.TLS()
	if err != nil {
		return 0, nil, err
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0, nil, err
	}
	if port, err = strconv.Atoi(text); err != nil {
		return 0, nil, fmt.Errorf("port %q: a number", text)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	n, err := server.NewServer(&server.Options{
		ServerName: "pausenet-" + id, Host: host, Port: port, NoSigs: true, NoLog: true, DontListen: false,
		MaxPayload: largestMessage, MaxPending: 64 << 20, NoSystemAccount: true,
		TLS: true, TLSTimeout: 10, TLSHandshakeFirst: true,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}},
		AlwaysEnableNonce: true, CustomClientAuthentication: &gate{id, s},
		Cluster: server.ClusterOpts{NoAdvertise: true},
	})
	if err != nil {
		return 0, nil, err
	}
	n.Start()
	stop = func() { n.Shutdown(); n.WaitForShutdown() }
	if !n.ReadyForConnections(readyTimeout) {
		stop()
		return 0, nil, errors.New("the NATS server does not come up: is the address another program's?")
	}
	at, ok := n.Addr().(*net.TCPAddr)
	if !ok {
		stop()
		return 0, nil, errors.New("the NATS server listens to no port")
	}
	return at.Port, stop, nil
}

// gate decides who may connect, and to which subjects: each worker has subjects of its own.
type gate struct {
	id      string
	secrets *cluster.Secrets
}

// Check implements server.Authentication.
func (g *gate) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	signature, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil || c.Kind() != server.CLIENT {
		return false
	}
	coordinator, worker := g.secrets.Admits(o.Nkey, c.GetNonce(), signature)
	switch {
	case coordinator:
		c.RegisterUser(&server.User{})
	case worker:
		publish, subscribe := cluster.WorkerSubjects(g.id, o.Nkey)
		c.RegisterUser(&server.User{Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
		}})
	}
	return coordinator || worker
}
