package engine

import (
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

// lostPause is a PAUSE of a switch's port that a fault lost. Whether it left the wire is known at its far end, in the region there, which
// may be ahead of the port's own or behind it. So each notes times and not what holds now: what the far end will lose, or has lost
// already, of the time that the own region is at must not show.
type lostPause struct {
	left, at   vtime.Time // when it left the port, and when the peer would have had it
	priorities uint8
}

// losePause notes one of port p, unless an earlier one of the same pause was lost: what would have been stopped by this would have been
// by that.
func (f *portFault) losePause(p *port, left, at vtime.Time, priorities uint8) {
	for i := range f.lostPauses {
		l := &f.lostPauses[i]
		for known := l.priorities & priorities; known != 0; known &= known - 1 {
			if k := bits.TrailingZeros8(known); l.at <= at && l.left >= f.pausedAt[k] {
				priorities &^= 1 << k
			}
		}
	}
	if p.isSwitch && priorities != 0 { // no frame overruns a host
		f.lostPauses = append(f.lostPauses, lostPause{left, at, priorities})
	}
}

// beginPause forgets what was lost of earlier pauses of a priority.
func (f *portFault) beginPause(priority uint8, now vtime.Time) {
	f.pausedAt[priority] = now
	for i := range f.lostPauses {
		if l := &f.lostPauses[i]; l.left < now {
			l.priorities &^= 1 << priority
		}
	}
	f.lostPauses = slices.DeleteFunc(f.lostPauses, func(l lostPause) bool { return l.priorities == 0 })
}

// pauseWasLost says whether a fault lost a PAUSE that would have stopped the frame: one of the present pause, which the peer would have
// had before it sent the frame. That was a cable's delay ago at least, when all regions have been.
func (e *Engine) pauseWasLost(f *frame.Frame) bool {
	if f.InPort < 0 || !e.ports[f.InPort].faulty {
		return false
	}
	in := e.ports[f.InPort].fault
	return slices.ContainsFunc(in.lostPauses, func(l lostPause) bool {
		return l.priorities>>f.Priority&1 != 0 && l.left >= in.pausedAt[f.Priority] && l.at <= f.Departed
	})
}
