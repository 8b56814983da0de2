// Package embedded is the NATS server that a sweep's coordinator brings. It is a package of its own since it makes a program a third larger.
package embedded

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pausenet/pausenet/experiments/sweep/cluster"
)

// readyTimeout is how long the server may take to recover its streams.
const readyTimeout = time.Minute

// largestMessage is what a point's scenario may come to, compressed, in bytes. Results are sent in pieces.
const largestMessage = 8 << 20

// Start starts a server for one sweep, and returns its port and what ends it. Whoever has neither of the two keys gets nothing of it, and a
// worker's may do what a worker does.
func Start(private, address, id string, s *cluster.Secrets) (port int, stop func(), err error) {
	certificate, err := s.TLS()
	if err != nil {
		return 0, nil, err
	}
	coordinator, worker, err := s.PublicKeys()
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
	publish, subscribe := cluster.WorkerSubjects(id)
	n, err := server.NewServer(&server.Options{
		ServerName: "pausenet-" + id, Host: host, Port: port, NoSigs: true, NoLog: true, DontListen: false,
		JetStream: true, StoreDir: filepath.Join(private, "jetstream"), MaxPayload: largestMessage, MaxPending: 64 << 20, NoSystemAccount: true,
		TLS: true, TLSTimeout: 10, TLSHandshakeFirst: true, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}},
		Nkeys: []*server.NkeyUser{
			{Nkey: coordinator},
			{Nkey: worker, Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
			}},
		},
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
	if !ok || !n.JetStreamEnabled() {
		stop()
		return 0, nil, errors.New("the NATS server has come up without JetStream")
	}
	return at.Port, stop, nil
}
