//go:build linux

package wallclock

import (
	"time"

	"github.com/pausenet/pausenet/vtime"
)

// Clock maps the wall clock to virtual time in consecutive pieces, each with its own slow-down. It is immutable.
type Clock struct {
	pieces  []clockPiece
	stopped bool // in lock step: virtual time does not follow the wall clock
}

// clockPiece holds a piece of a Clock, from a moment on.
type clockPiece struct {
	wall     time.Time
	virtual  vtime.Time
	slowdown float64
}

func newClock(start time.Time, slowdown float64) *Clock {
	return &Clock{pieces: []clockPiece{{start, 0, slowdown}}}
}

func (c *Clock) last() *clockPiece { return &c.pieces[len(c.pieces)-1] }

// Slowdown returns the current slow-down: wall-clock seconds per second of virtual time.
func (c *Clock) Slowdown() float64 { return c.last().slowdown }

// Virtual returns the virtual time of a wall-clock time. It does not fall as the wall clock goes on.
func (c *Clock) Virtual(t time.Time) vtime.Time {
	if c.stopped {
		return c.last().virtual
	}
	i := len(c.pieces) - 1
	for ; i > 0 && t.Before(c.pieces[i].wall); i-- {
	}
	p := &c.pieces[i]
	v := p.virtual + vtime.Time(float64(t.Sub(p.wall))/p.slowdown*float64(vtime.Nanosecond))
	if i+1 < len(c.pieces) {
		v = min(v, c.pieces[i+1].virtual) // a rounding
	}
	return v
}

// until returns how long virtual time t is away from a wall-clock time; negative if it has passed.
func (c *Clock) until(t vtime.Time, now time.Time) time.Duration {
	i := len(c.pieces) - 1
	for ; i > 0 && c.pieces[i].virtual > t; i-- {
	}
	p := &c.pieces[i]
	d := float64(t-p.virtual) / float64(vtime.Nanosecond) * p.slowdown
	if d > float64(1<<62) {
		return 1 << 62
	}
	return time.Duration(d) - now.Sub(p.wall)
}

// slowed returns the clock with another slow-down from now on. Virtual time is the same at that moment.
func (c *Clock) slowed(now time.Time, slowdown float64) *Clock {
	return &Clock{pieces: append(c.pieces[:len(c.pieces):len(c.pieces)], clockPiece{now, c.Virtual(now), slowdown})}
}

// stalled returns the clock delayed: virtual time stands still for the given time.
func (c *Clock) stalled(d time.Duration) *Clock {
	pieces := append([]clockPiece(nil), c.pieces...)
	for i := range pieces {
		pieces[i].wall = pieces[i].wall.Add(d)
	}
	return &Clock{pieces: pieces}
}
