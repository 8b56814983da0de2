package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/topologies"
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

// Progress is told now and then how far the run is.
type Progress func(now vtime.Time, t *Totals)

// Watch is called now and then between two events, with how far the run is. An error of it ends the run, which returns
// that error.
type Watch func(now vtime.Time, t *Totals) error

// eventsPerPoll is the events between two calls of Watch.
const eventsPerPoll = 1 << 14

// leastQuiescence is for how long at least a draining fabric may move nothing but flow control's own messages. What
// PAUSE, or a want of credits, stops in a cycle is stopped for good, and the messages go on.
const leastQuiescence = 200 * vtime.Millisecond

// quiescenceTimeout is that time in a fabric: longer than any of its timers.
func quiescenceTimeout(plan *topologies.Plan, hosts *hostagent.Settings, f flowControl) vtime.Time {
	p := max(leastQuiescence, 4*hosts.RetransmitTimeout, 4*hosts.CNPInterval, 4*f.longestTimer())
	for i := range plan.Ports {
		p = max(p, 4*plan.Ports[i].Delay)
	}
	return p
}

// Run drives the fabric until the given time. Where drain is not 0 it ends as soon as after that time, or before it,
// all flows with a size have ended and no frame is left; and after that time when nothing of the flows has moved for
// long, or when it has drained for so long. watch, which may be nil, may end it before.
func (e *Engine) Run(until, drain vtime.Time, watch Watch) error {
	e.start()
	if err := e.addWorkers(); err != nil {
		return err
	}
	drains, limit := drain > 0, until+drain
	poll := &poll{left: eventsPerPoll, watch: watch}
	for {
		from := e.earliest()
		if len(e.partitions) > 1 && from >= e.window {
			e.barrier(e.window)
			if from = e.earliest(); from != vtime.Never {
				length := e.windowLength()
				e.window = (from/length + 1) * length
			}
		}
		if from == vtime.Never || from > until && (!drains || e.idle() || e.quiescent(from)) {
			break
		}
		if from > limit {
			e.now = max(e.now, limit)
			break
		}
		e.synchronised = from
		if from >= e.deadlocks.next {
			e.pollDeadlock(from)
		}
		if len(e.calls) > 0 && e.calls[0].at == from {
			if err := poll.counts(1, e); err != nil {
				e.notifyObserver()
				return err
			}
			c := e.calls[0]
			e.calls = slices.Delete(e.calls, 0, 1)
			e.now = from
			e.Events++
			c.f(from)
			e.notifyObserver()
			if e.failed != nil {
				return e.failed
			}
			continue
		}
		end := vtime.Never
		if len(e.partitions) > 1 {
			end = e.window
		}
		if len(e.calls) > 0 {
			end = min(end, e.calls[0].at)
		}
		end = min(end, e.deadlocks.next)
		if until >= from {
			end = min(end, until+1)
		} else {
			end = min(end, from+e.quiescence, limit+1) // to be asked again whether it is quiescent
		}
		if err := e.drive(from, end, drains, poll); err != nil {
			e.notifyObserver() // what has happened has
			return err
		}
		over := drains && e.idle()
		if over { // it ended with its last frame; where some partitions have gone on, only timers have run out
			e.now = max(from, e.lastFrameEnd)
			e.monitor.faultEvents = slices.DeleteFunc(e.monitor.faultEvents, func(h FaultEvent) bool { return h.At > e.now })
			e.searchDeadlock() // a deadlock that was broken since the last search is over
		}
		e.notifyObserver()
		if over {
			return nil
		}
	}
	e.now = max(e.now, until)
	e.searchDeadlock()
	e.notifyObserver()
	return nil
}

// notifyObserver tells the observer what it has not been told of, in the order of time.
func (e *Engine) notifyObserver() {
	e.monitor.notifyPFC()
	e.notifyStarts()
	if e.monitor.observer != nil {
		if len(e.partitions) > 1 {
			slices.SortFunc(e.finishedFlows, func(a, b int32) int {
				return cmp.Or(cmp.Compare(e.flows[a].Finished, e.flows[b].Finished), cmp.Compare(a, b))
			})
		}
		for _, f := range e.finishedFlows {
			e.monitor.observer.FlowDone(e.flows[f].Finished, int(f))
		}
	}
	if e.features.Live {
		for _, f := range e.finishedFlows {
			e.freeFlow(f)
		}
	}
	e.finishedFlows = e.finishedFlows[:0]
	e.monitor.notifyFaults()
}

// earliest is when the next event or call is; vtime.Never without any.
func (e *Engine) earliest() vtime.Time {
	at := vtime.Never
	for _, due := range e.due {
		at = min(at, due)
	}
	if len(e.calls) > 0 {
		at = min(at, e.calls[0].at)
	}
	return at
}

// quiescent says whether nothing of any flow has moved for long, and nothing more is to come: no flow is to start, none
// waits for its pace, and no fault is to come or go.
func (e *Engine) quiescent(now vtime.Time) bool {
	if now-e.lastProgress <= e.quiescence || e.scheduledStarts > 0 || e.pendingCalls > 0 {
		return false
	}
	for _, n := range e.nics {
		if n.Pacing(now) {
			return false
		}
	}
	return true
}

// barrier does what has waited for all partitions to be at the end of a synchronisation window.
func (e *Engine) barrier(now vtime.Time) {
	for _, f := range e.receiversToEnd {
		e.endReceiver(f)
	}
	e.receiversToEnd = e.receiversToEnd[:0]
	if len(e.partitions) > 1 {
		e.flowControl.barrier(e, now)
	}
}

// poll counts the events to the next call of a run's Watch.
type poll struct {
	left  int64
	watch Watch
}

// counts takes note of n events more, and calls the Watch if it is time.
func (p *poll) counts(n int64, e *Engine) error {
	if p.left -= n; p.left > 0 {
		return nil
	}
	p.left = eventsPerPoll
	if p.watch == nil {
		return nil
	}
	e.mergeCounts()
	return p.watch(e.now, &e.Totals)
}

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

// PlaneFailed notes that the plane has given up: no invariant can be checked then.
func (e *Engine) PlaneFailed(err error) { e.fail("the plane works", "plane", "%v", err) }

// Broken are the invariants that have been broken so far.
func (e *Engine) Broken() []Violation {
	all := make([]Violation, len(e.broken))
	for i := range e.broken {
		all[i] = *e.broken[i].Violation
	}
	return all
}

// PanicError says that a congestion control has panicked. The engine is left in the middle of an event: it can say what
// it has counted, and neither go on nor be checked.
type PanicError struct {
	Place string // the congestion control and its flow
	Time  vtime.Time
	Value any // of the panic
	Stack []byte
	// File is what whoever recovered has written the stack to; empty: nothing.
	File string
}

// guest is a panic's value of a congestion control that was read from a file: it says what is wrong there, and keeps
// where that was.
type guest interface {
	error
	Guest() string
}

func (p *PanicError) Error() string {
	if g, ok := p.Value.(guest); ok {
		return fmt.Sprintf("the congestion control failed: %s at %v: %v", p.Place, p.Time, g)
	}
	text := fmt.Sprintf("the congestion control panicked: %s at %v: %v", p.Place, p.Time, p.Value)
	if p.File != "" {
		text += "; where in its code says " + p.File
	}
	return text
}

// Panicked is what to say after a panic out of Run or Step, which whoever called it has recovered from; nil if no
// congestion control was at work.
func (e *Engine) Panicked(value any, stack []byte) *PanicError {
	if g, ok := value.(guest); ok {
		stack = []byte(g.Guest())
	}
	in := interruption{partition: noPartition, at: e.now, constructing: e.constructing}
	if c := e.firstInterruption(); c != nil {
		in = *c
	}
	for i, n := range e.nics {
		if flow, ok := n.Calling(); ok && (in.partition == noPartition || e.hostPort(i).partition == in.partition) {
			return &PanicError{Place: e.placeOf(&e.flows[flow]), Time: in.at, Value: value, Stack: stack}
		}
	}
	if in.constructing > 0 {
		return &PanicError{Place: e.placeOf(&e.flows[in.constructing-1]), Time: in.at, Value: value, Stack: stack}
	}
	return nil
}
