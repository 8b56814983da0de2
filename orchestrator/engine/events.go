package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/orchestrator/engine/calendar"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// event is an entry of a partition's queue. Events are ordered by time, and those of one time in the order in which
// they were scheduled. With several partitions, which may schedule arrivals in any order, arrivals come first, in the
// order of their ports. This is a total order that depends on nothing but the scenario.
type event = calendar.Event

// eventKind is the kind of an event.
type eventKind uint8

const (
	eventArrival       eventKind = iota // the first frame on the wire from port ID reaches the far end
	eventFree                           // port ID has serialised its frame and more is waiting
	eventWake                           // port ID asked to be served again
	eventTimer                          // flow ID's controller timer
	eventReport                         // flow ID's receiver's timer
	eventStart                          // flow ID starts
	eventRefresh                        // the PAUSE of (port, priority) ID is to be sent again
	eventCredit                         // port ID's credit messages are due
	eventWatch                          // the watchdog's timer of the queue (port, priority) ID
	eventDrain                          // the slow receiver at port ID has taken its first frame
	eventReceiverPause                  // the slow receiver's PAUSE is to be sent again
	eventPFCStorm                       // port ID sends the next PAUSEs of an injected PFC storm
	eventHostStack                      // a host stack's frame reaches the NIC at port ID
	eventOperation                      // operation ID, which computes, ends
)

// newEvents returns a queue for the events of some of a plan's ports. It suits the events of all of them at line rate,
// and reaches beyond the longest link.
func newEvents(plan *topologies.Plan, of func(port int) bool) calendar.Queue {
	rate, longest := 1.0, vtime.Time(0)
	line := plan.Framing.LineBytes(plan.MTU + 58)
	for i := range plan.Ports {
		if !of(i) {
			continue
		}
		p := &plan.Ports[i]
		rate += 2 * float64(p.Rate) / 8 / float64(line) // at most two events a packet and port
		longest = max(longest, p.Delay+p.Rate.TimeFor(line))
	}
	return calendar.New(rate, longest)
}

// push schedules an event in the partition where it will happen.
func (w *worker) push(at vtime.Time, kind eventKind, id int32) {
	var r int32
	//exhaustive:enforce
	switch kind {
	case eventArrival:
		r = w.ports[w.ports[id].peer].partition
	case eventFree, eventWake, eventCredit, eventDrain, eventReceiverPause, eventPFCStorm, eventHostStack:
		r = w.ports[id].partition
	case eventRefresh, eventWatch:
		r = w.ports[id>>3].partition
	case eventTimer, eventStart:
		r = w.ports[w.flows[id].sourcePort(w.plan)].partition
	case eventOperation:
		r = w.ports[w.operations[id].port].partition
	case eventReport:
		r = w.ports[w.flows[id].destinationPort(w.plan)].partition
	}
	of := w.partitions[r]
	seq := uint64(id)
	if kind != eventArrival || !w.byPort {
		seq = 1<<32 + of.scheduled
		of.scheduled++
	}
	of.events.Push(event{At: at, Seq: seq, ID: id, Kind: uint8(kind)})
	if at < w.due[r] {
		w.due[r] = at
	}
}

// handle executes an event.
func (w *worker) handle(ev event) error {
	//exhaustive:enforce
	switch eventKind(ev.Kind) {
	case eventArrival:
		return w.arrive(&w.ports[ev.ID])
	case eventFree:
		p := &w.ports[ev.ID]
		p.freeArmed = false
		return w.serve(p)
	case eventWake:
		p := &w.ports[ev.ID]
		if p.wakeAt == ev.At {
			p.wakeAt = vtime.Never
		}
		return w.serve(p)
	case eventTimer:
		return w.flowTimer(int(ev.ID))
	case eventReport:
		return w.reportTimer(int(ev.ID))
	case eventStart:
		return w.startFlow(int(ev.ID))
	case eventRefresh, eventCredit:
		return w.flowControl.timer(w, ev)
	case eventWatch:
		return w.watchQueue(int(ev.ID>>3), uint8(ev.ID&7))
	case eventDrain:
		return w.drainReceiver(&w.ports[ev.ID])
	case eventReceiverPause:
		return w.pausePeerAgain(&w.ports[ev.ID])
	case eventPFCStorm:
		return w.sendStorm(&w.ports[ev.ID])
	case eventHostStack:
		return w.hostStackDue(&w.ports[ev.ID])
	case eventOperation:
		w.scheduledStarts--
		w.operationReached(ev.ID, UntilEnded)
		return nil
	}
	return fmt.Errorf("unknown event %d", ev.Kind)
}
