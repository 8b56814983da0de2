package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/vtime"
)

// Violation describes an invariant that a run broke.
type Violation struct {
	Invariant string
	Location  string
	Time      vtime.Time // the first time
	Detail    string
	Times     int // number of times at this location, with this invariant
}

// String returns the violation as a sentence.
func (v Violation) String() string {
	text := fmt.Sprintf("%s: %s at %v: %s", v.Invariant, v.Location, v.Time, v.Detail)
	if v.Times > 1 {
		text += fmt.Sprintf(" (%d times)", v.Times)
	}
	return text
}

const maxViolations = 100

// NothingDropped names the invariant of lossless classes.
const NothingDropped = "nothing is dropped in a lossless class"

// brokenInvariant records a violation with the partition in which it was found, or noPartition.
type brokenInvariant struct {
	partition int32
	*Violation
}

// fail returns a violation for a broken invariant, and records it unless there are too many.
func (w *worker) fail(invariant, location, format string, args ...any) *Violation {
	v := &Violation{Invariant: invariant, Location: location, Time: w.now, Detail: fmt.Sprintf(format, args...), Times: 1}
	if len(w.broken) < w.maxBroken {
		w.broken = append(w.broken, brokenInvariant{w.drivenPartition, v})
	}
	return v
}

// Broken returns the invariants broken so far.
func (e *Engine) Broken() []Violation {
	all := make([]Violation, len(e.broken))
	for i := range e.broken {
		all[i] = *e.broken[i].Violation
	}
	return all
}

// PlaneFailed records a failure of the plane. After that no invariant can be checked.
func (e *Engine) PlaneFailed(err error) { e.fail("the plane works", "plane", "%v", err) }
