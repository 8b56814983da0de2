package cluster

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"
)

// Access holds what a worker needs to connect to a sweep's coordinator.
type Access struct {
	Addresses []string `json:"addresses"` // host:port, in the order to try
	Pin       string   `json:"pin"`       // SHA-256 of the server's certificate, in hexadecimal
	Seed      string   `json:"seed"`      // of the nkey that all workers share: the secret
	ID        string   `json:"id"`        // of the sweep
	// Coordinator holds the coordinator's public nkey, which signs its answers.
	Coordinator string `json:"coordinator"`
}

// joinPrefix starts a join string, and holds the version of its format.
const joinPrefix = "pausenet-join-2."

// Join returns the access as a join string.
func (a *Access) Join() string {
	data, _ := json.Marshal(a) // only texts, so it cannot fail
	return joinPrefix + base64.RawURLEncoding.EncodeToString(data)
}

// ErrJoin reports that a text is no join string. It never contains the text, which may be a secret.
var ErrJoin = errors.New("this is not a join string: copy the whole text that pausenet sweep --serve has written")

// ParseJoin parses a join string.
func ParseJoin(text string) (*Access, error) {
	coded, found := strings.CutPrefix(strings.TrimSpace(text), joinPrefix)
	if !found {
		return nil, ErrJoin
	}
	data, err := base64.RawURLEncoding.DecodeString(coded)
	a := new(Access)
	if err != nil || json.Unmarshal(data, a) != nil || len(a.Addresses) == 0 || len(a.Pin) != 64 || a.Seed == "" ||
		CheckSweep(a.ID, a.Coordinator) != nil {
		return nil, ErrJoin
	}
	return a, nil
}

// LooksLikeJoin reports whether a text looks like a join string.
func LooksLikeJoin(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "pausenet-join-")
}

// IDLength sets the length of a sweep's ID in hexadecimal digits.
const IDLength = 16

// ParseSweep parses the text that the coordinator prints with --nats: the sweep's ID and the coordinator's public key.
func ParseSweep(text string) (id, coordinator string, err error) {
	id, coordinator, _ = strings.Cut(text, ".")
	return id, coordinator, CheckSweep(id, coordinator)
}

// CheckSweep rejects an invalid sweep ID or public key.
func CheckSweep(id, coordinator string) error {
	if len(id) != IDLength || strings.Trim(id, "0123456789abcdef") != "" || !nkeys.IsValidPublicUserKey(coordinator) {
		return fmt.Errorf("sweep %q: copy the text that pausenet sweep --nats has printed: %d hexadecimal digits, "+
			"a dot and the coordinator's public key",
			id, IDLength)
	}
	return nil
}
