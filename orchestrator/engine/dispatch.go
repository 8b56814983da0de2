package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

// handle executes an event.
func (w *worker) handle(ev event) error {
	if w.defers && ev.Kind != uint8(eventArrival) {
		if err := w.catchUp(w.servedBy(ev), ev.At, ev.Seq); err != nil {
			return err
		}
	}
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
		return w.watchdogs.timer(w, int(ev.ID>>3), uint8(ev.ID&7))
	case eventDrain:
		p := &w.ports[ev.ID]
		return p.receiver().drain(w, p)
	case eventReceiverPause:
		p := &w.ports[ev.ID]
		return p.receiver().refreshPause(w, p)
	case eventPFCStorm:
		p := &w.ports[ev.ID]
		return p.fault.storm.send(w, p)
	case eventHostStack:
		return w.hostStackDue(&w.ports[ev.ID])
	case eventOperation:
		w.scheduledStarts--
		w.operationReached(ev.ID, UntilEnded)
		return nil
	}
	return fmt.Errorf("unknown event %d", ev.Kind)
}

// driveOne drives one of several partitions to the given time, and returns the number of its events.
func (w *worker) driveOne(i int32, end vtime.Time) (n int64, err error) {
	r := w.partitions[i]
	w.expectArrivals(r, end)
	before := w.Events
	for r.events.Next() < end {
		if err := w.execute(r.events.Pop()); err != nil {
			return w.Events - before, err
		}
	}
	due := vtime.Never
	for _, id := range r.ports {
		p := &w.ports[id]
		if err := w.catchUp(p, end, 0); err != nil {
			return w.Events - before, err
		}
		due = min(due, p.deferred.At)
	}
	w.due[i] = min(due, r.events.Next())
	w.lastEvent = max(w.lastEvent, w.now)
	return w.Events - before, nil
}

// execute executes an event at its time.
func (w *worker) execute(ev event) error {
	w.now = ev.At
	w.Events++
	return w.handle(ev)
}

// expectArrivals schedules the first arrivals from other partitions. It also prefetches the memory of the ports that
// will handle frames up to the given time. Here only loads of dependent addresses wait for each other; in the handlers
// all loads would.
func (w *worker) expectArrivals(r *partitionState, end vtime.Time) {
	sum := 0
	data, control := w.hosts.DataPriority, w.hosts.ControlPriority
	for _, id := range r.ports {
		p := &w.ports[id]
		from := &w.ports[p.peer]
		next := from.wire.next()
		if next != vtime.Never && !from.expected && from.partition != p.partition {
			from.expected = true
			w.push(p.partition, next, eventArrival, from.id)
		}
		if p.deferred.At != vtime.Never && (p.wire.count == 0 || p.faulty) { // because of a fault since
			w.undefer(p)
		}
		if registers := &w.state.Ports[id]; next < end {
			sum += int(w.state.Ports[p.peer].Kind) + int(registers.RxFrames) +
				int(registers.Class[data].Buffered) + int(registers.Class[control].Buffered)
		}
		if p.wire.count > 0 { // a port that sent lately will go on sending
			sum += int(p.txBytes[data])
			if p.isSwitch {
				sum += w.switches[p.index].Port(int(id)).Touch(data)
			}
		}
	}
	for _, id := range r.ports {
		if from := &w.ports[w.ports[id].peer]; from.wire.next() < end {
			frame.Prefetch(from.wire.first())
		}
	}
	w.prefetchSum = int32(sum)
}
