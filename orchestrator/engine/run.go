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

// leastQuiescence sets the minimum quiescence timeout: how long a draining fabric may move only flow control's messages
// before its run ends. Frames in a cycle of PAUSEs, or of missing credits, never move again, while messages continue.
const leastQuiescence = 200 * vtime.Millisecond

// quiescenceTimeout returns a fabric's quiescence timeout, which is longer than any of its timers.
func quiescenceTimeout(plan *topologies.Plan, hosts *hostagent.Settings, f flowControl) vtime.Time {
	p := max(leastQuiescence, 4*hosts.RetransmitTimeout, 4*hosts.CNPInterval, 4*f.longestTimer())
	for i := range plan.Ports {
		p = max(p, 4*plan.Ports[i].Delay)
	}
	return p
}

// Run drives the fabric until the given time. With drain above 0 it ends earlier, or up to drain later: as soon as all
// flows with a size have ended and no frame is left. After the given time it also ends when no flow has made progress
// for the quiescence timeout. watch, which may be nil, can end it at any time.
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
			end = min(end, from+e.quiescence, limit+1) // then quiescent is checked again
		}
		if err := e.drive(from, end, drains, poll); err != nil {
			e.notifyObserver() // of the events before the error
			return err
		}
		over := drains && e.idle()
		if over { // with its last frame; partitions that were driven further have only had timers expire
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
				return cmp.Or(cmp.Compare(e.flow(int(a)).Finished, e.flow(int(b)).Finished),
					cmp.Compare(e.nameOf(int(a)), e.nameOf(int(b))))
			})
		}
		for _, f := range e.finishedFlows {
			e.monitor.observer.FlowDone(e.flow(int(f)).Finished, e.nameOf(int(f)))
		}
	}
	if e.features.Live {
		for _, f := range e.finishedFlows {
			e.freeFlow(f)
		}
	}
	if !e.divided() { // otherwise at the barrier, with the receivers
		e.freeMessages(e.finishedFlows)
	}
	e.finishedFlows = e.finishedFlows[:0]
	e.monitor.notifyFaults()
}

// quiescent reports whether no flow has made progress for the quiescence timeout and none can: no flow is scheduled to
// start, no sender waits for its pace, and no call of At is pending.
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
	e.freeMessages(e.receiversToEnd)
	e.receiversToEnd = e.receiversToEnd[:0]
	e.flowControl.barrier(e, now)
}
