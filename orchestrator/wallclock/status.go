//go:build linux

package wallclock

import (
	"time"

	"github.com/pausenet/pausenet/vtime"
)

// Status reports how well the machine keeps up with the wall clock.
type Status struct {
	Slowdown float64
	// First holds the slow-down at the start. Driver.Adapt may have raised it since.
	First   float64
	Virtual vtime.Time // now
	Wall    time.Duration
	// LatenessP50 and LatenessP99 hold percentiles of the delays of events after their time, in virtual time.
	LatenessP50, LatenessP99 vtime.Time
	// Late counts the events in that statistic; LateSum is the sum of their lateness.
	Late    int64
	LateSum vtime.Time
	// Frames counts the frames that programs have sent. FrameP50, FrameP99 and FrameMax are their wall-clock delays
	// from arrival at the host's port until the engine processed them.
	Frames                       int64
	FrameP50, FrameP99, FrameMax time.Duration
	FrameSum                     time.Duration // sum over all frames
	// Busy holds the share of time, 0 to 1, in which the engine was not waiting.
	Busy float64
	// Stalled sums the time for which virtual time stood still because the machine was more than 200 ms late.
	Stalled time.Duration
	// Lost counts programs' frames dropped for lack of room in the kernel's ring.
	Lost int64
	// Stray counts frames from switches' namespaces.
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
