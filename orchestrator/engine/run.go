package engine

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Progress receives the state of a run now and then.
type Progress func(now vtime.Time, t *Totals)

// leastQuiescence is for how long at least a draining fabric may move nothing but flow control's own messages. What
// PAUSE, or a want of credits, stops in a cycle is stopped for good, and the messages go on.
const leastQuiescence = 200 * vtime.Millisecond

// quiescenceTimeout returns a fabric's quiescence timeout, which is longer than any of its timers.
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
	e.Start()
	if err := e.addWorkers(); err != nil {
		return err
	}
	drains, limit := drain > 0, until+drain
	poll := &poll{left: eventsPerPoll, watch: watch}
	for {
		from := e.Next()
		if e.divided() && from >= e.window {
			e.barrier(e.window)
			if from = e.Next(); from != vtime.Never {
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
		if e.nextCall() == from {
			if err := poll.counts(1, e); err != nil {
				e.notifyObserver()
				return err
			}
			if err := e.runCall(from); err != nil {
				return err
			}
			continue
		}
		end := vtime.Never
		if e.divided() {
			end = e.window
		}
		end = min(end, e.nextCall(), e.deadlocks.next)
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

// notifyObserver passes pending events to the observer, in the order of time.
func (e *Engine) notifyObserver() {
	e.monitor.notifyPFC(e.divided())
	e.notifyStarts()
	if e.monitor.observer != nil {
		if e.divided() {
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

// quiescent reports whether no flow has made progress for long and none can: no flow is scheduled to start, none waits
// for its pace, and no fault is to come.
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

// barrier does the work that needs all of several partitions, at the end of a synchronisation window.
func (e *Engine) barrier(now vtime.Time) {
	for _, f := range e.receiversToEnd {
		e.endReceiver(f)
	}
	e.receiversToEnd = e.receiversToEnd[:0]
	e.flowControl.barrier(e, now)
}
