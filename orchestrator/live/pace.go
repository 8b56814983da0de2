//go:build linux

package live

import (
	"fmt"
	"time"

	"github.com/pausenet/pausenet/vtime"
)

// pace finds out whether the machine can follow the clock, by what comes too late in one span of wall-clock time after
// the other, and says when virtual time should go more slowly. It does so for good: a fabric whose machine is busy now
// and then would have no slow-down otherwise.
type pace struct {
	// tooLate is how late, in virtual time, an event or a program's frame may be.
	tooLate   vtime.Time
	until     time.Time // the span's end
	seen      int64     // events and frames in the span
	late      int64     // of those
	lateSpans int       // in a row
}

const (
	// paceSpan is the wall-clock time that is looked at as one.
	paceSpan = 100 * time.Millisecond
	// lateShare of all that a span saw makes it a late one. The verdict warns by it too.
	lateShare = 0.01
	// leastSeen is how many events and frames a span needs to say anything.
	leastSeen = 50
	// lateSpansToRaise in a row are no hiccup.
	lateSpansToRaise = 2
	// mostSlowdown is where raising ends: a microsecond of virtual time takes a second.
	mostSlowdown = 1e6
)

// saw counts an event or a frame that was late by so much.
func (p *pace) saw(late vtime.Time) {
	p.seen++
	if late > p.tooLate {
		p.late++
	}
}

// poll reports whether virtual time should slow down at wall-clock time now, and why. now must not decrease between
// calls.
func (p *pace) poll(now time.Time) (raise bool, why string) {
	if now.Before(p.until) {
		return false, ""
	}
	first := p.until.IsZero()
	p.until = now.Add(paceSpan)
	seen, late := p.seen, p.late
	p.seen, p.late = 0, 0
	switch {
	case first || seen < leastSeen: // nothing happens: neither on time nor late
		return false, ""
	case float64(late) <= lateShare*float64(seen):
		p.lateSpans = 0
		return false, ""
	}
	if p.lateSpans++; p.lateSpans < lateSpansToRaise {
		return false, ""
	}
	p.lateSpans = 0
	return true, fmt.Sprintf("the machine is busy: of the last %d events and programs' frames, %d were later than a round trip (%v)", seen, late, p.tooLate)
}

// raised returns the next slow-down above one, of 1, 2 or 5 times a power of ten.
func raised(slowdown float64) float64 { return min(mostSlowdown, roundUp(slowdown*1.01, 1, 2, 5)) }
