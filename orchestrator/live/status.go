//go:build linux

package live

import (
	"time"

	"github.com/pausenet/pausenet/vtime"
)

// Status says how well the machine follows the wall clock.
type Status struct {
	Slowdown float64
	// First is the slow-down at the start. It may have been raised since; see Driver.Adapt.
	First   float64
	Virtual vtime.Time // now
	Wall    time.Duration
	// LatenessP50 and LatenessP99 are of events, in virtual time: how long after its time an event happened.
	LatenessP50, LatenessP99 vtime.Time
	// Late is how many events that is of, LateSum the sum of their latenesses.
	Late    int64
	LateSum vtime.Time
	// Frames is how many frames programs have sent; FrameP50, FrameP99 and FrameMax are how late they were, in wall-clock
	// time: how long after a frame came to its host's port the engine took it.
	Frames                       int64
	FrameP50, FrameP99, FrameMax time.Duration
	FrameSum                     time.Duration // of all
	// Busy is the share of the time, 0 to 1, in which the engine was not waiting.
	Busy float64
	// Stalled is for how long virtual time stood still, as the machine was more than 200 ms late.
	Stalled time.Duration
	// Lost counts frames of programs for which the kernel's ring had no room.
	Lost int64
	// Stray counts frames that came out of switches' namespaces.
	Stray int64
}

// Status returns how well the fabric keeps up with the clock. Call it in a function given to Do, or after Run.
func (l *Driver) Status() Status {
	wall := time.Since(l.started)
	quantile := func(q float64) vtime.Time { return vtime.Time(l.lateness.ValueAtQuantile(q)) * vtime.Nanosecond }
	drops, err := l.plane.Overrun()
	if err == nil {
		l.lost += int64(drops)
	}
	return Status{
		Slowdown: l.Clock().Slowdown(), First: l.first, Virtual: l.engine.Now(), Wall: wall,
		Frames: l.frames.TotalCount(), FrameP50: time.Duration(l.frames.ValueAtQuantile(50)),
		FrameP99: time.Duration(l.frames.ValueAtQuantile(99)),
		FrameMax: time.Duration(l.frames.Max()), FrameSum: l.frameSum,
		LatenessP50: quantile(50), LatenessP99: quantile(99),
		Late: l.lateness.TotalCount(), LateSum: vtime.Time(l.lateSum) * vtime.Nanosecond,
		Busy:    l.busy.Seconds() / wall.Seconds(),
		Stalled: l.stalled, Lost: l.lost, Stray: l.stray,
	}
}
