package cluster

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Access is what it takes to reach a sweep's coordinator.
type Access struct {
	Addresses []string `json:"addresses"` // host:port, in the order to try
	Pin       string   `json:"pin"`       // SHA-256 of the server's certificate, in hexadecimal
	Seed      string   `json:"seed"`      // of the worker's nkey: the secret
	ID        string   `json:"id"`        // the sweep's
}

// joinPrefix begins a join string, with the version of its form.
const joinPrefix = "pausenet-join-1."

// Join is the access as one word.
func (a *Access) Join() string {
	data, _ := json.Marshal(a) // of texts
	return joinPrefix + base64.RawURLEncoding.EncodeToString(data)
}

// ErrJoin says that a text is no join string. It never has the text, which is a secret.
var ErrJoin = errors.New("this is not a join string: pausenet sweep --serve writes one, and it is copied whole")

// ParseJoin reads a join string.
func ParseJoin(text string) (*Access, error) {
	coded, found := strings.CutPrefix(strings.TrimSpace(text), joinPrefix)
	if !found {
		return nil, ErrJoin
	}
	data, err := base64.RawURLEncoding.DecodeString(coded)
	a := new(Access)
	if err != nil || json.Unmarshal(data, a) != nil || len(a.Addresses) == 0 || len(a.Pin) != 64 || a.Seed == "" || !validID(a.ID) {
		return nil, ErrJoin
	}
	return a, nil
}

// LooksLikeJoin says that a text is meant as a join string.
func LooksLikeJoin(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "pausenet-join-")
}

// IDLength is that of a sweep's ID, in hexadecimal digits.
const IDLength = 16

func validID(id string) bool {
	return len(id) == IDLength && strings.Trim(id, "0123456789abcdef") == ""
}

// CheckID refuses what is no sweep's ID.
func CheckID(id string) error {
	if !validID(id) {
		return fmt.Errorf("sweep %q: the ID that pausenet sweep --nats has printed, %d hexadecimal digits", id, IDLength)
	}
	return nil
}
