//go:build linux

package wallclock

import (
	"fmt"
	"time"

	"github.com/pausenet/pausenet/vtime"
)

// pace measures whether the machine keeps up with the clock, by the share of late events in consecutive spans of
// wall-clock time, and decides when to slow virtual time down. Slowing down is permanent: otherwise the slow-down of a
// machine that is busy now and then would change all the time.
type pace struct {
	// tooLate sets the tolerated lateness of an event or a program's frame, in virtual time.
	tooLate   vtime.Time
	until     time.Time // end of the span
	seen      int64     // events and frames in the span
	late      int64     // late ones among seen
	lateSpans int       // consecutive late spans
}

const (
	// paceSpan sets the length of a span in wall-clock time.
	paceSpan = 100 * time.Millisecond
	// lateShare sets the share of late events that makes a span late. The verdict warns of the same share.
	lateShare = 0.01
	// leastSeen sets the minimum number of events and frames for judging a span.
	leastSeen = 50
	// lateSpansToRaise sets the number of consecutive late spans that raise the slow-down.
	lateSpansToRaise = 2
	// mostSlowdown limits the slow-down: a microsecond of virtual time takes a second.
	mostSlowdown = 1e6
)

// saw records the lateness of an event or a frame.
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
	return true, fmt.Sprintf("the machine is busy: of the last %d events and programs' frames, %d were later than a "+
		"round trip (%v)", seen, late, p.tooLate)
}

// raised returns the next slow-down above one, of 1, 2 or 5 times a power of ten.
func raised(slowdown float64) float64 { return min(mostSlowdown, roundUp(slowdown*1.01, 1, 2, 5)) }
