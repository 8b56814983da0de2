package cluster

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode"

	"github.com/nats-io/nkeys"
)

// identity is a key pair that a worker makes as it starts. All workers of a sweep share one key to reach the server; a worker signs what it says
// with its own, so that no other worker can speak in its name.
type identity struct {
	pair   nkeys.KeyPair
	public string
}

func newIdentity() (*identity, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	return &identity{pair, public}, err
}

// sealed is a message with its worker's signature.
type sealed struct {
	Key       string `json:"key"`       // the worker's public nkey
	Body      []byte `json:"body"`      // JSON
	Signature []byte `json:"signature"` // of signedPart
}

// signedPart is what a signature covers: the subject too, so that a message says nothing under another one.
func signedPart(subject string, body []byte) []byte { return append([]byte(subject+"\x00"), body...) }

// seal encodes and signs a message for a subject.
func (i *identity) seal(subject string, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	signature, err := i.pair.Sign(signedPart(subject, body))
	if err != nil {
		return nil, err
	}
	return json.Marshal(&sealed{Key: i.public, Body: body, Signature: signature})
}

// errSeal says that a message has no valid signature.
var errSeal = errors.New("the signature does not match")

// unseal checks a message's signature, decodes the message into v, and returns the public key that signed it.
func unseal(subject string, data []byte, v any) (key string, err error) {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil {
		return "", err
	}
	pair, err := nkeys.FromPublicKey(s.Key)
	if err != nil || pair.Verify(signedPart(subject, s.Body), s.Signature) != nil {
		return "", errSeal
	}
	return s.Key, json.Unmarshal(s.Body, v)
}

// mostText is the length, in characters, to which texts from workers are cut.
const mostText = 400

// printable makes a worker's text safe for a terminal: it cuts a long text and replaces control characters.
func printable(text string) string {
	if short := []rune(text); len(short) > mostText {
		text = string(short[:mostText]) + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
