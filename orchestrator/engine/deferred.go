package engine

import "github.com/pausenet/pausenet/vtime"

// pushOwn schedules an event at which a port serves itself: it is free, or a flow's rate allows its next packet.
//
// A host's port can defer one such event: the port keeps it, and the event queue does not. In a divided fabric such an
// event changes only the port's NIC and the end of its wire. It orders no arrivals, because those of one time are
// ordered by port. So the engine may execute it late, with its own time and Seq, as long as nothing has used the NIC
// since. It does so (catchUp) before a frame arrives at the port, before the last frame on the port's wire arrives,
// before other events of the NIC, and when the partition reaches the end of its phase. If the wire is empty, the event
// queue holds the event.
//
// A run defers no events if it has operations or a tracer, because they observe several NICs, or credits, because it
// counts them as frames leave. A port with faults defers none.
func (w *worker) pushOwn(p *port, at vtime.Time, kind eventKind) {
	// At eventFree the wire is not empty: the port's last frame is on it.
	if !w.defers || p.isSwitch || p.faulty || p.deferred.At != vtime.Never || kind == eventWake && p.wire.count == 0 {
		w.push(p.partition, at, kind, p.id)
		return
	}
	p.deferred = event{At: at, Seq: w.partitions[p.partition].sequence(), ID: p.id, Kind: uint8(kind)}
	w.due[p.partition] = min(w.due[p.partition], at)
}

// undefer moves a port's deferred event to the event queue.
func (w *worker) undefer(p *port) {
	w.partitions[p.partition].events.Push(p.deferred)
	p.deferred.At = vtime.Never
}

// catchUp executes a port's deferred events that come before a time and Seq, and the timers that these events set to an
// earlier time.
func (w *worker) catchUp(p *port, at vtime.Time, seq uint64) error {
	if p.deferred.At > at {
		return nil
	}
	return w.catchUpTo(p, at, seq)
}

// catchUpTo is the part of catchUp that the compiler does not inline.
func (w *worker) catchUpTo(p *port, at vtime.Time, seq uint64) error {
	now, events := w.now, &w.partitions[p.partition].events
	for p.deferred.At < at || p.deferred.At == at && p.deferred.Seq < seq {
		ev := p.deferred
		p.deferred.At = vtime.Never
		if err := w.execute(ev); err != nil {
			return err
		}
		for events.Next() < at {
			if err := w.execute(events.Pop()); err != nil {
				return err
			}
		}
	}
	w.now = max(now, w.now)
	return nil
}

// servedBy returns the port that an event other than an arrival concerns, in a fabric that defers events.
func (w *worker) servedBy(ev event) *port {
	switch eventKind(ev.Kind) {
	case eventTimer, eventStart:
		return &w.ports[w.flow(int(ev.ID)).sourcePort(w.plan)]
	case eventReport:
		return &w.ports[w.flow(int(ev.ID)).destinationPort(w.plan)]
	case eventRefresh, eventWatch:
		return &w.ports[ev.ID>>3]
	}
	return &w.ports[ev.ID]
}
