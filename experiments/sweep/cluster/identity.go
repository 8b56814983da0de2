package cluster

import (
	"crypto/ed25519"
	"errors"

	"github.com/nats-io/nkeys"
)

// Identity holds a key pair. Each worker creates one at its start and signs its requests with it. The coordinator keeps
// one for the whole sweep and signs its answers and tasks.
type Identity struct {
	pair   nkeys.KeyPair
	public string
}

// NewIdentity creates a key pair.
func NewIdentity() (*Identity, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	return identityOf(pair)
}

// identityFrom reads a key pair from its seed.
func identityFrom(seed string) (*Identity, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, err
	}
	return identityOf(pair)
}

func identityOf(pair nkeys.KeyPair) (*Identity, error) {
	public, err := pair.PublicKey()
	return &Identity{pair, public}, err
}

// Public returns the public key.
func (i *Identity) Public() string { return i.public }

// signedPart returns the bytes that a signature covers. The context is a request's subject, or the signature of the
// answered request, so that a message is invalid in another context.
func signedPart(context string, body []byte) []byte { return append([]byte(context+"\x00"), body...) }

// seal returns a message: the signature, then the body.
func (i *Identity) seal(context string, body []byte) ([]byte, error) {
	signature, err := i.pair.Sign(signedPart(context, body))
	return append(signature, body...), err
}

// errSeal reports a message without a valid signature.
var errSeal = errors.New("the signature does not match")

// unseal checks the key's signature of a message in the context, and returns the body.
func unseal(key, context string, message []byte) (body []byte, err error) {
	if len(message) < ed25519.SignatureSize {
		return nil, errSeal
	}
	signature, body := message[:ed25519.SignatureSize], message[ed25519.SignatureSize:]
	if !verify(key, signedPart(context, body), signature) {
		return nil, errSeal
	}
	return body, nil
}

func verify(key string, data, signature []byte) bool {
	pair, err := nkeys.FromPublicKey(key)
	return err == nil && pair.Verify(data, signature) == nil
}
