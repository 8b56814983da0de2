package engine

import (
	"slices"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// The driver of a live fabric executes the engine's steps one at a time, as the wall clock reaches them, instead of
// calling Run. All functions here are for a fabric of one partition, between two events.

// Next returns the time of the next event or call; vtime.Never without any.
func (e *Engine) Next() vtime.Time { return min(e.nextEvent(), e.nextCall()) }

// Reach advances virtual time to at. Nothing may be due before.
func (e *Engine) Reach(at vtime.Time) { e.now = max(e.now, at) }

// Step executes the first call or event, which is due at the given time, as returned by Next.
func (e *Engine) Step(at vtime.Time) error {
	if at >= e.deadlocks.next {
		e.pollDeadlock(at)
	}
	if e.nextCall() == at {
		return e.runCall(at)
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

// NotifyObserver passes the effects of a function that ran between two events to the observer. It returns the error
// that ends the run, if any.
func (e *Engine) NotifyObserver() error {
	e.notifyObserver()
	return e.failed
}

// Offer accepts a frame that a program sent out of a port at a virtual time, which may be in the future. It returns
// false if the port has neither a host nor a control plane, or if a control plane's frame is cut off or has an invalid
// length. whole is false if data is only a part of the frame.
func (e *Engine) Offer(port int, data []byte, whole bool, at vtime.Time) bool {
	switch {
	case port < 0 || port >= len(e.ports):
		return false
	case e.ports[port].hostStack != nil:
		e.offer(&e.ports[port], data, whole, at)
		return true
	case e.punt == nil || !whole || len(data) < wire.EthernetLen || len(data) > e.mtuOf(int32(port))+wire.EthernetLen:
		return false
	}
	e.emit(int32(port), data, max(at, e.now))
	return true
}

// Punt gives switches a control plane. punt is called with each frame of programs that arrived at a switch's port and
// that the pipelines do not forward. It returns true if the control plane takes the frame, which is valid only during
// the call. Frames of the control plane come by Offer.
func (e *Engine) Punt(punt func(port int, data []byte) bool) { e.punt = punt }

// Replies sets a function to call with the port after a program's frame was delivered to a host's stack. The stack's
// answers get the virtual time of that moment.
func (e *Engine) Replies(f func(port int)) { e.replies = f }

// runCall runs the first call, which is due at the given time. It returns the error that ends the run, if any.
func (e *Engine) runCall(at vtime.Time) error {
	c := e.calls[0]
	e.calls = slices.Delete(e.calls, 0, 1)
	e.now = max(e.now, at)
	e.Events++
	c.f(at)
	return e.NotifyObserver()
}
