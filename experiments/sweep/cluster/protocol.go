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

// names are the subjects of a sweep, by its ID.
type names string

func (n names) subject(what string) string { return "pausenet." + string(n) + "." + what }

// request is the subject of a worker's requests of one kind. Each worker has its own, by its public key.
func (n names) request(what, key string) string { return n.subject(what) + "." + key }

// What a worker may ask for.
const (
	askJoin   = "join"   // hello: welcome
	askProof  = "proof"  // proof
	askSign   = "sign"   // sign
	askNext   = "next"   // want
	askPiece  = "piece"  // pieceHeader bytes, then a piece of a result's archive
	askResult = "result" // result
)

// newsOf is the subject on which the coordinator says that workers should sign at once.
const newsOf = "news"

// inboxOf is where a worker is answered.
func inboxOf(key string) string { return "_INBOX." + key }

// WorkerSubjects returns the subjects that a worker may publish and subscribe to.
func WorkerSubjects(id, key string) (publish, subscribe []string) {
	n := names(id)
	for _, what := range []string{askJoin, askProof, askSign, askNext, askPiece, askResult} {
		publish = append(publish, n.request(what, key))
	}
	return publish, []string{inboxOf(key) + ".>", n.subject(newsOf)}
}

// nonceSize is the size of the random bytes that begin a request, in bytes. They make its signature, which the answer
// is bound to, a new one.
const nonceSize = 16

// hello is what a worker says of itself as it joins.
type hello struct {
	Worker  string `json:"worker"`
	Version string `json:"version"`
	Build   string `json:"build"`
}

// welcome has the canaries to be made, or says why not.
type welcome struct {
	Set      string       `json:"set,omitempty"` // the canaries' name
	Canaries []*sweep.Job `json:"canaries,omitempty"`
	Refused  string       `json:"refused,omitempty"`
}

// proof is what a worker's canaries came to: the SHA-256 of each one's SHA256SUMS.
type proof struct {
	Worker string   `json:"worker"`
	Set    string   `json:"set"`
	Sums   []string `json:"sums"`
}

// sign is what a worker says every few seconds.
type sign struct {
	Worker  string `json:"worker"`
	Running []int  `json:"running"`           // points
	Leaving bool   `json:"leaving,omitempty"` // it has stopped making them
}

// want asks for a point.
type want struct {
	Worker string `json:"worker"`
}

// pieceHeader is the size of what is before a piece, in bytes: the point and the offset in the archive, 8 each, big
// endian.
const pieceHeader = 16

// pieceSize is the size of the pieces that archives are sent in, in bytes. A NATS server takes messages of 1 MB unless
// it is told otherwise.
const pieceSize = 512 << 10

// result is what a point came to.
type result struct {
	Worker string        `json:"worker"` // its ID
	Point  int           `json:"point"`
	Hash   string        `json:"configuration_sha256"`
	Size   int64         `json:"size,omitempty"`   // of the archive of the point's folder, in bytes
	Sum    string        `json:"sha256,omitempty"` // of the archive
	Error  string        `json:"error,omitempty"`  // why it was not made
	Wall   time.Duration `json:"wall_ns"`
}

// word is the coordinator's answer.
type word struct {
	Unknown  bool   `json:"unknown,omitempty"`  // the worker has to join again
	Out      string `json:"out,omitempty"`      // it is shut out: why
	Over     bool   `json:"over,omitempty"`     // there are no more points
	Task     []byte `json:"task,omitempty"`     // compressed JSON of a task; none: there is no point now
	Have     int64  `json:"have,omitempty"`     // how much of the archive has arrived, in bytes
	Again    string `json:"again,omitempty"`    // why the archive is to be sent again
	Unwanted bool   `json:"unwanted,omitempty"` // the point is made
}

// task is a point that a worker is to make.
type task struct {
	Point int        `json:"point"`
	Name  string     `json:"name"`
	Job   *sweep.Job `json:"job"`
}

// largestTask bounds what a task unpacks to, in bytes.
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
		return nil, fmt.Errorf("it is larger than %d bytes", largestTask)
	case err != nil:
		return nil, err
	case t.Job == nil:
		return nil, errors.New("it has no job")
	}
	return t, nil
}
