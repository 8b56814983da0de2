package cluster

import (
	"fmt"
	"time"

	"github.com/pausenet/pausenet/experiments/sweep"
)

// names are those of what a sweep has on a server, by the sweep's ID.
type names string

func (n names) work() string    { return "PAUSENET_" + string(n) + "_WORK" }
func (n names) results() string { return "PAUSENET_" + string(n) + "_RESULTS" }
func (n names) bucket() string  { return "pausenet-" + string(n) }
func (n names) state() string   { return "pausenet-" + string(n) + "-state" }

func (n names) subject(what string) string { return "pausenet." + string(n) + "." + what }
func (n names) point(k int) string         { return n.subject(fmt.Sprintf("work.%d", k)) }
func (n names) result(k int) string        { return n.subject(fmt.Sprintf("result.%d", k)) }

// consumer is the name of the one consumer of each stream.
const consumer = "points"

// lease is for how long a point is a worker's after it was heard of it: then another gets it.
const lease = 30 * time.Second

// task is a message of the work queue, compressed JSON.
type task struct {
	Point int        `json:"point"`
	Name  string     `json:"name"`
	Job   *sweep.Job `json:"job"`
}

// result is a message of the results' stream.
type result struct {
	Worker string `json:"worker"` // its ID
	Point  int    `json:"point"`
	Hash   string `json:"configuration_sha256"`
	// Object has the point's folder, archived; empty: it was not made, and Error says why.
	Object string        `json:"object,omitempty"`
	Error  string        `json:"error,omitempty"`
	Wall   time.Duration `json:"wall_ns"`
}

// hello is what a worker says of itself as it joins.
type hello struct {
	Worker  string `json:"worker"`
	Version string `json:"version"`
	Build   string `json:"build"`
	System  string `json:"system"` // GOOS/GOARCH
	Jobs    int    `json:"jobs"`
}

// welcome has the canaries to be made, or says why not.
type welcome struct {
	Canaries []*sweep.Job `json:"canaries,omitempty"`
	Refused  string       `json:"refused,omitempty"`
}

// proof is what a worker's canaries came to: the SHA-256 of each one's SHA256SUMS.
type proof struct {
	Worker string   `json:"worker"`
	Sums   []string `json:"sums"`
}

// sign is what a worker says every few seconds.
type sign struct {
	Worker  string   `json:"worker"`
	Running []string `json:"running"` // points by name
	Hops    int64    `json:"hops"`    // packet-hops so far
}

// newsOf is the subject on which the coordinator says that workers should ask at once.
const newsOf = "news"

// word is the coordinator's answer to a proof or a sign.
type word struct {
	Unknown bool   `json:"unknown,omitempty"` // the worker has to join again
	Out     string `json:"out,omitempty"`     // it is shut out: why
	Over    bool   `json:"over,omitempty"`    // there are no more points
}
