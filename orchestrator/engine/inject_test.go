package engine

import (
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// sendPFC has port from send a PFC frame for a priority at the given time, as if its own pipeline had asked for it:
// onto the wire at once, and into every count. When it arrives is known once it is sent: not before what is on the
// wire.
func (l *lab) sendPFC(from int, at vtime.Time, priority uint8, quanta uint16) (arrival *vtime.Time) {
	p := &l.ports[from]
	arrival = new(vtime.Time)
	l.Call(at, func(vtime.Time) {
		*arrival = at + p.serialise(l.plan.Framing.LineBytes(wire.PFCLen)) + p.delay
		if p.wire.count > 0 {
			*arrival = max(*arrival, p.wire.end())
		}
		f := l.pool.Get(wire.PFCLen)
		wire.PutPause(f.Data(), l.plan.Ports[from].MAC, priority, quanta)
		f.Control, f.Priority, f.Departed = true, priority, at
		if p.wire.count == 0 {
			l.push(l.ports[p.peer].partition, *arrival, eventArrival, p.id)
		}
		p.wire.push(f, *arrival, &l.freeChunks)
		p.txFrames++
		l.Created.add(wire.PFCLen)
		if quanta > 0 {
			l.state.Extras[from].PausesSent++
			p.pfcSent[1]++
		} else {
			l.state.Extras[from].ResumesSent++
			p.pfcSent[0]++
		}
	})
	return arrival
}
