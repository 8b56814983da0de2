package cluster

import (
	"encoding/json"

	"github.com/nats-io/nats.go"
)

// Request publishes a worker's signed request, with a reply subject chosen by the test.
func (i *Identity) Request(conn *nats.Conn, id, what, reply string, question any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	subject := names(id).request(what, i.public)
	data, err := i.seal(subject, append(make([]byte, nonceSize), body...))
	if err != nil {
		return err
	}
	return conn.PublishRequest(subject, reply, data)
}

// Seal signs a message, as the coordinator's answer to a request.
func (i *Identity) Seal(request, body []byte) []byte {
	data, _ := i.seal(string(request[:64]), body)
	return data
}

// InboxOf returns the subject of answers to a worker.
var InboxOf = inboxOf
