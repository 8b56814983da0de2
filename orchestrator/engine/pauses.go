package engine

import (
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// The pipelines decide from the PAUSEs that arrive what a port may send. To detect a pipeline that ignores them, the
// engine reads each PAUSE on arrival too, and checks the frames that leave against it.

// readPause records a PFC frame that arrived at the port.
func (p *port) readPause(now vtime.Time, f *frame.Frame) {
	if !isPFC(f.Data()) {
		return
	}
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 == 0 {
			continue
		}
		p.pauses &^= 1 << i
		if quanta := pfc.Time(i); quanta != 0 {
			p.pauses |= 1 << i
			p.pausings().stopped[i] = now + vtime.Time(quanta)*p.rate.TimeFor(512/8)
		}
	}
}

// isPFC reports whether a frame is a PFC frame (IEEE 802.1Qbb). Programs send other frames of its EtherType.
func isPFC(data []byte) bool {
	return wire.Ethernet(data).Type() == wire.EtherTypeMACControl && wire.Ethernet(data).Dst() == wire.PFCMAC &&
		wire.PFC(data).Opcode() == wire.OpcodePFC
}

// mayNotLeave reports whether a data frame leaves a port although its priority is paused there, according to the
// pipeline or to the PAUSEs that arrived.
func (w *worker) mayNotLeave(p *port, f *frame.Frame) bool {
	byFrames := p.pauses>>f.Priority&1 != 0 && p.pausing.stopped[f.Priority] > w.now
	return (byFrames || w.state.Paused(int(p.id), f.Priority, w.now)) && !w.mayLeavePaused(p, f)
}

// mayLeavePaused reports whether a frame may leave a port although its priority is paused: the watchdog forwards a
// storm, or the frame is an answer of a host that sends answers when paused.
func (w *worker) mayLeavePaused(p *port, f *frame.Frame) bool {
	if p.isSwitch {
		return w.switches[p.index].Ignores(int(p.id), f.Priority)
	}
	return w.hosts.ACKsWhenPaused && !f.HostStack() && f.IsAnswer()
}

// lostPause records a PAUSE of a switch's port that a fault lost. The loss is detected in the partition at the far end
// of the link, which may be ahead of the port's own partition or behind it. So a record holds times and not a present
// state: no result may depend on which of the two partitions was driven first.
type lostPause struct {
	left, at   vtime.Time // times at which it left the port, and would have reached the peer
	priorities uint8
}

// losePause records a lost PAUSE of port p. It skips priorities for which an earlier PAUSE of the same pause was lost:
// that one would have stopped the same frames.
func (f *portFault) losePause(p *port, left, at vtime.Time, priorities uint8) {
	for i := range f.lostPauses {
		l := &f.lostPauses[i]
		for known := l.priorities & priorities; known != 0; known &= known - 1 {
			if k := bits.TrailingZeros8(known); l.at <= at && l.left >= f.pausedAt[k] {
				priorities &^= 1 << k
			}
		}
	}
	if p.isSwitch && priorities != 0 { // hosts are never overrun
		f.lostPauses = append(f.lostPauses, lostPause{left, at, priorities})
	}
}

// beginPause forgets the lost PAUSEs of earlier pauses of a priority.
func (f *portFault) beginPause(priority uint8, now vtime.Time) {
	f.pausedAt[priority] = now
	for i := range f.lostPauses {
		if l := &f.lostPauses[i]; l.left < now {
			l.priorities &^= 1 << priority
		}
	}
	f.lostPauses = slices.DeleteFunc(f.lostPauses, func(l lostPause) bool { return l.priorities == 0 })
}

// pauseWasLost reports whether a fault lost a PAUSE of the present pause that would have stopped the frame. The peer
// would have had it at least a cable's delay ago, a time that all partitions have passed.
func (l *links) pauseWasLost(f *frame.Frame) bool {
	if f.InPort < 0 || !l.ports[f.InPort].faulty {
		return false
	}
	in := l.ports[f.InPort].fault
	return slices.ContainsFunc(in.lostPauses, func(p lostPause) bool {
		return p.priorities>>f.Priority&1 != 0 && p.left >= in.pausedAt[f.Priority] && p.at <= f.Departed
	})
}
