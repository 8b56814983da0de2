package cluster

import (
	"crypto/ed25519"
	"errors"

	"github.com/nats-io/nkeys"
)

// Identity is a key pair. Each worker makes one as it starts and signs its requests with it; the coordinator keeps one
// for the whole sweep and signs its answers, and so its tasks.
type Identity struct {
	pair   nkeys.KeyPair
	public string
}

// NewIdentity makes a key pair.
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

// signedPart is what a signature covers. The context is a request's subject, or the signature of the request that an
// answer is to, so that a message says nothing anywhere else.
func signedPart(context string, body []byte) []byte { return append([]byte(context+"\x00"), body...) }

// seal returns a message: the signature, then the body.
func (i *Identity) seal(context string, body []byte) ([]byte, error) {
	signature, err := i.pair.Sign(signedPart(context, body))
	return append(signature, body...), err
}

// errSeal says that a message has no valid signature.
var errSeal = errors.New("the signature does not match")

// unseal checks that the key has signed a message in the context, and returns the body.
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
