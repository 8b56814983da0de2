package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Where inboxes are: a worker may not listen to the coordinator's.
const (
	workerInbox      = "_INBOX"
	coordinatorInbox = "_COORDINATOR"
)

// errPin says that another server answers at the coordinator's address.
var errPin = errors.New("its certificate is not the one of the join string: this is another server, or another sweep's coordinator")

// Connect connects by a join string: by TLS 1.3, to the server of the pinned certificate alone.
func (a *Access) Connect(name string) (*nats.Conn, error) { return a.connect(name, workerInbox) }

// ConnectCoordinator connects the coordinator to its own server, at the first address.
func (s *Secrets) ConnectCoordinator(address, id string) (*nats.Conn, error) {
	a := &Access{Addresses: []string{address}, Pin: s.Pin(), Seed: s.Coordinator, ID: id}
	return a.connect("coordinator", coordinatorInbox)
}

func (a *Access) connect(name, inbox string) (*nats.Conn, error) {
	pair, err := nkeys.FromSeed([]byte(a.Seed))
	if err != nil {
		return nil, ErrJoin
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, ErrJoin
	}
	pinned := &tls.Config{
		MinVersion: tls.VersionTLS13,
		// No authority has signed the certificate: it is the one whose hash is known, or none.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || pinOf(state.PeerCertificates[0].Raw) != a.Pin {
				return errPin
			}
			return checkTime(state.PeerCertificates[0])
		},
	}
	var last error
	for _, address := range a.Addresses {
		conn, err := nats.Connect("tls://"+address, append(options(name, inbox),
			nats.Nkey(public, pair.Sign), nats.Secure(pinned), nats.TLSHandshakeFirst())...)
		if err == nil {
			return conn, nil
		}
		last = fmt.Errorf("%s: %w", address, err)
	}
	return nil, last
}

func checkTime(c *x509.Certificate) error {
	if now := time.Now(); now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return fmt.Errorf("its certificate is of another time, %v to %v: set this machine's clock", c.NotBefore.Format(time.DateOnly), c.NotAfter.Format(time.DateOnly))
	}
	return nil
}

// ConnectURL connects to a NATS server that is there, with its user's credentials; none if the file's name is empty.
func ConnectURL(url, credentials, name string, coordinator bool) (*nats.Conn, error) {
	inbox := workerInbox
	if coordinator {
		inbox = coordinatorInbox
	}
	all := options(name, inbox)
	if strings.HasPrefix(url, "tls://") { // of other schemes the server says whether it wants TLS
		all = append(all, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if credentials != "" {
		all = append(all, nats.UserCredentials(credentials))
	}
	return nats.Connect(url, all...)
}

// options are those of every connection. One that is lost is made again, for as long as it takes; who waits for it decides when that is too long.
func options(name, inbox string) []nats.Option {
	return []nats.Option{
		nats.Name("pausenet " + name), nats.CustomInboxPrefix(inbox), nats.IgnoreDiscoveredServers(), nats.NoEcho(),
		nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.Timeout(10 * time.Second), nats.PingInterval(10 * time.Second),
		nats.RetryOnFailedConnect(false), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // else they go to stderr
	}
}

// IsOther says that another server answers than the one of the join string: waiting does not help.
func IsOther(err error) bool { return errors.Is(err, errPin) }
