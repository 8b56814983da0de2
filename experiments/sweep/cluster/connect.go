package cluster

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// errPin reports that another server answers at the coordinator's address.
var errPin = errors.New("its certificate differs from the join string's: this is another server, or another sweep's " +
	"coordinator")

// Connect connects a worker by a join string, over TLS 1.3, and only to the server with the pinned certificate. The
// worker proves that it has the join string's key and its own, which determines its permissions.
func (a *Access) Connect(name string, key *Identity) (*nats.Conn, error) {
	shared, err := identityFrom(a.Seed)
	if err != nil {
		return nil, ErrJoin
	}
	return a.connect(name, key, func(nonce []byte) ([]byte, error) {
		own, err := key.pair.Sign(nonce)
		if err != nil {
			return nil, err
		}
		joined, err := shared.pair.Sign(signedPart(key.public, nonce))
		return append(own, joined...), err
	})
}

// ConnectCoordinator connects the coordinator to its own server, at the first address.
func (s *Secrets) ConnectCoordinator(address string) (*nats.Conn, error) {
	key, err := s.Identity()
	if err != nil {
		return nil, err
	}
	return (&Access{Addresses: []string{address}, Pin: s.Pin()}).connect("coordinator", key, key.pair.Sign)
}

// Admits reports who signed a server's nonce as Access.Connect does: the coordinator, or a worker, by its public key.
func (s *Secrets) Admits(public string, nonce, signature []byte) (coordinator, worker bool) {
	own, err := s.Identity()
	shared, errShared := identityFrom(s.Worker)
	const size = ed25519.SignatureSize
	if err != nil || errShared != nil || len(signature) < size || !nkeys.IsValidPublicUserKey(public) ||
		!verify(public, nonce, signature[:size]) {
		return false, false
	}
	if public == own.public {
		return true, false
	}
	return false, verify(shared.public, signedPart(public, nonce), signature[size:])
}

func (a *Access) connect(name string, key *Identity, prove nats.SignatureHandler) (*nats.Conn, error) {
	pinned := &tls.Config{
		MinVersion: tls.VersionTLS13,
		// No authority signs the certificate: only its hash identifies it.
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
		conn, err := nats.Connect("tls://"+address, append(options(name, key),
			nats.Nkey(key.public, prove), nats.Secure(pinned), nats.TLSHandshakeFirst())...)
		if err == nil {
			return conn, nil
		}
		last = fmt.Errorf("%s: %w", address, err)
	}
	return nil, last
}

func checkTime(c *x509.Certificate) error {
	if now := time.Now(); now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return fmt.Errorf("its certificate is valid from %v to %v only: set this machine's clock",
			c.NotBefore.Format(time.DateOnly), c.NotAfter.Format(time.DateOnly))
	}
	return nil
}

// ConnectURL connects to an existing NATS server with the user's credentials; none if the file's name is empty.
func ConnectURL(url, credentials, name string, key *Identity) (*nats.Conn, error) {
	all := options(name, key)
	if strings.HasPrefix(url, "tls://") { // with other schemes the server says whether it wants TLS
		all = append(all, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if credentials != "" {
		all = append(all, nats.UserCredentials(credentials))
	}
	return nats.Connect(url, all...)
}

// options returns the options of every connection. A lost connection reconnects without a time limit; the caller
// decides how long to wait.
func options(name string, key *Identity) []nats.Option {
	return []nats.Option{
		nats.Name("pausenet " + name), nats.CustomInboxPrefix(inboxOf(key.public)), nats.IgnoreDiscoveredServers(),
		nats.NoEcho(),
		nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.Timeout(10 * time.Second),
		nats.PingInterval(10 * time.Second),
		// otherwise they go to stderr
		nats.RetryOnFailedConnect(false), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

// IsOther reports whether another server than the join string's answers, so that waiting does not help.
func IsOther(err error) bool { return errors.Is(err, errPin) }
