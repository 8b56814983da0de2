package engine

import (
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// call holds a function to call at a time that all partitions have reached.
type call struct {
	at vtime.Time
	f  func(now vtime.Time)
}

// Call schedules f for the given time, before the fabric's events at that time. Calls at the same time run in the order
// of scheduling.
func (e *Engine) Call(at vtime.Time, f func(now vtime.Time)) {
	i, _ := slices.BinarySearchFunc(e.calls, at, func(c call, at vtime.Time) int {
		if c.at <= at {
			return -1
		}
		return 1
	})
	e.calls = slices.Insert(e.calls, i, call{at, f})
}

// nextCall returns the time of the first call; vtime.Never without any.
func (e *Engine) nextCall() vtime.Time {
	if len(e.calls) == 0 {
		return vtime.Never
	}
	return e.calls[0].at
}

// At works like Call for functions that may fail, such as faults on a plane that fails. An error ends the run. A
// draining run does not end before all functions of At have run.
func (e *Engine) At(at vtime.Time, f func(now vtime.Time) error) {
	e.pendingCalls++
	e.Call(at, func(now vtime.Time) {
		e.pendingCalls--
		if err := f(now); err != nil && e.failed == nil {
			e.failed = err
		}
	})
}
