package cluster

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pausenet/pausenet/experiments/sweep"
)

// names forms the NATS subjects of a sweep. It holds the sweep's ID.
type names string

func (n names) subject(what string) string { return "pausenet." + string(n) + "." + what }

// request returns the subject of a worker's requests of one kind. Each worker has its own, by its public key.
func (n names) request(what, key string) string { return n.subject(what) + "." + key }

// Kinds of requests of a worker. A body is JSON of the named type, except for askPiece.
const (
	askJoin   = "join"   // hello, answered by welcome
	askProof  = "proof"  // proof
	askSign   = "sign"   // sign
	askNext   = "next"   // want
	askPiece  = "piece"  // pieceHeader bytes, then a piece of a result's archive
	askResult = "result" // result
)

// newsOf names the subject on which the coordinator asks workers to send a sign of life at once.
const newsOf = "news"

// inboxOf returns the subject of answers to a worker.
func inboxOf(key string) string { return "_INBOX." + key }

// WorkerSubjects returns the subjects that a worker may publish and subscribe to.
func WorkerSubjects(id, key string) (publish, subscribe []string) {
	n := names(id)
	for _, what := range []string{askJoin, askProof, askSign, askNext, askPiece, askResult} {
		publish = append(publish, n.request(what, key))
	}
	return publish, []string{inboxOf(key) + ".>", n.subject(newsOf)}
}

// nonceSize sets the number of random bytes at the start of a request. They make its signature, to which the answer is
// bound, unique.
const nonceSize = 16

// hello describes a worker that joins.
type hello struct {
	Worker  string `json:"worker"`
	Version string `json:"version"`
	Build   string `json:"build"`
}

// welcome holds the canaries to make, or the reason for a refusal.
type welcome struct {
	Set      string       `json:"set,omitempty"` // name of the canaries
	Canaries []*sweep.Job `json:"canaries,omitempty"`
	Refused  string       `json:"refused,omitempty"`
}

// proof holds the SHA-256 of each canary's SHA256SUMS.
type proof struct {
	Worker string   `json:"worker"`
	Set    string   `json:"set"`
	Sums   []string `json:"sums"`
}

// sign represents a worker's sign of life, sent every few seconds.
type sign struct {
	Worker  string `json:"worker"`
	Running []int  `json:"running"`           // points
	Leaving bool   `json:"leaving,omitempty"` // it makes no more points
}

// want asks for a point.
type want struct {
	Worker string `json:"worker"`
}

// pieceHeader counts the bytes before a piece: the point and the offset in the archive, 8 bytes each, big endian.
const pieceHeader = 16

// pieceSize sets the number of bytes of an archive's pieces. By default, a NATS server accepts messages of 1 MB.
const pieceSize = 512 << 10

// result describes the result of a point.
type result struct {
	Worker string        `json:"worker"` // ID of the worker
	Point  int           `json:"point"`
	Hash   string        `json:"configuration_sha256"`
	Size   int64         `json:"size,omitempty"`   // size of the archive of the point's folder, in bytes
	Sum    string        `json:"sha256,omitempty"` // of the archive
	Error  string        `json:"error,omitempty"`  // reason why it was not made; empty: it was made
	Wall   time.Duration `json:"wall_ns"`
}

// word represents the coordinator's answer to a request. The zero value acknowledges it.
type word struct {
	Unknown  bool   `json:"unknown,omitempty"`  // the worker must join again
	Out      string `json:"out,omitempty"`      // the reason why the worker is excluded
	Over     bool   `json:"over,omitempty"`     // there are no more points
	Task     []byte `json:"task,omitempty"`     // compressed JSON of a task; none: no point is available now
	Have     int64  `json:"have,omitempty"`     // bytes of the archive that have arrived
	Again    string `json:"again,omitempty"`    // the reason to send the archive again
	Unwanted bool   `json:"unwanted,omitempty"` // the point is already complete
}

// task describes a point for a worker to make.
type task struct {
	Point int        `json:"point"`
	Name  string     `json:"name"`
	Job   *sweep.Job `json:"job"`
}

// largestTask limits the unpacked size of a task, in bytes.
const largestTask = 64 << 20

func (t *task) pack() ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	err := errors.Join(json.NewEncoder(w).Encode(t), w.Close())
	return b.Bytes(), err
}

func readTask(data []byte) (*task, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	t, limited := new(task), &io.LimitedReader{R: r, N: largestTask}
	err = json.NewDecoder(limited).Decode(t)
	switch {
	case limited.N <= 0:
		return nil, fmt.Errorf("the task is larger than %d bytes", largestTask)
	case err != nil:
		return nil, err
	case t.Job == nil:
		return nil, errors.New("the task has no job")
	}
	return t, nil
}
