package engine

import (
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// call is something to be done at a time when all partitions are there.
type call struct {
	at vtime.Time
	f  func(now vtime.Time)
}

// Call has f called at the given time, before what happens in the fabric at that time; calls of one time in the order
// given.
func (e *Engine) Call(at vtime.Time, f func(now vtime.Time)) {
	i, _ := slices.BinarySearchFunc(e.calls, at, func(c call, at vtime.Time) int {
		if c.at <= at {
			return -1
		}
		return 1
	})
	e.calls = slices.Insert(e.calls, i, call{at, f})
}

// At is Call for what may fail, as faults on a plane that fails do; the run ends then. A draining run does not end for
// want of movement before it.
func (e *Engine) At(at vtime.Time, f func(now vtime.Time) error) {
	e.pendingCalls++
	e.Call(at, func(now vtime.Time) {
		e.pendingCalls--
		if err := f(now); err != nil && e.failed == nil {
			e.failed = err
		}
	})
}
