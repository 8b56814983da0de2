package engine

import (
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// What drives a live fabric takes the engine's steps one at a time, as the wall clock comes to them, in place of Run.
// All of this is for a fabric of one partition, between two events.

// Start readies the engine for its first step.
func (e *Engine) Start() { e.start() }

// Next is when the next event or call is; vtime.Never without any.
func (e *Engine) Next() vtime.Time { return e.earliest() }

// Reach has virtual time be at least at. Nothing may be due before.
func (e *Engine) Reach(at vtime.Time) { e.now = max(e.now, at) }

// Step does the first thing that is due: a call or an event, at the given time, which is Next.
func (e *Engine) Step(at vtime.Time) error {
	if at >= e.deadlocks.next {
		e.pollDeadlock(at)
	}
	if len(e.calls) > 0 && e.calls[0].at == at {
		c := e.calls[0]
		e.calls = slices.Delete(e.calls, 0, 1)
		e.now = max(e.now, at)
		e.Events++
		c.f(at)
		e.notifyObserver()
		return e.failed
	}
	events := &e.partitions[0].events
	ev := events.Pop()
	e.now = max(e.now, ev.At)
	e.synchronised = e.now
	e.Events++
	err := e.handle(ev)
	e.due[0] = events.Next()
	e.lastEvent = max(e.lastEvent, e.now)
	e.notifyObserver()
	return err
}

// NotifyObserver tells the observer what a function has done that ran between two events. It returns the error that
// ends the run, if there is one.
func (e *Engine) NotifyObserver() error {
	e.notifyObserver()
	return e.failed
}

// Offer takes a frame that a program sent out of a port at a virtual time, which may be to come; false if the port is
// no host's. whole is false if data is not all of the frame.
func (e *Engine) Offer(port int, data []byte, whole bool, at vtime.Time) bool {
	if port < 0 || port >= len(e.ports) || e.ports[port].hostStack == nil {
		return false
	}
	e.offer(&e.ports[port], data, whole, at)
	return true
}

// Replies has f called as a program's frame has gone up the stack of a host, by the port that it came to: what the
// stack has answered is of this moment.
func (e *Engine) Replies(f func(port int)) { e.replies = f }
