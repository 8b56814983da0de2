package hostagent

import (
	"fmt"
	"math"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Broken is what a flow's congestion control said that cannot be done: send at a rate that is no number above 0 or is above mostRate, or
// with a window less than nothing in flight; the flow sends nothing while that is so. Or call a timer at one time without end.
type Broken struct {
	At     vtime.Time // when it first said so
	Rate   float64    // in bits per second of line time
	Window int64      // payload bytes; less than 0 if that is what it is about
	// Stayed is of a rate that is 0, or next to nothing: not wrong by itself, but that it has stayed.
	Stayed bool
	// Timer is of a timer that was to be called at once again, mostAgain times in a row. It is called no more.
	Timer bool
}

// mostAgain is how often in a row a controller's timer may be called at one time.
const mostAgain = 1000

// mostRate is more than any line has, in bits per second (IEEE 802.3dj: 1.6 Tb/s). A controller that says more has lost its way, though what
// it says is a number.
const mostRate = 10e12

// String is what it said, such as "NaN b/s".
func (b *Broken) String() string {
	switch {
	case b.Timer:
		return fmt.Sprintf("its timer was to be called at once again, %d times in a row: OnTimer is to leave a later Deadline", mostAgain)
	case b.Window < 0:
		return fmt.Sprintf("a window of %d B", b.Window)
	case b.Stayed:
		return fmt.Sprintf("a rate of %g b/s, and no other since: nothing more can be sent", b.Rate)
	}
	text := fmt.Sprintf("a rate of %g b/s", b.Rate)
	if b.Rate > mostRate && !math.IsInf(b.Rate, 0) {
		text += fmt.Sprintf(", which is above %v: no line is faster", units.Rate(mostRate))
	}
	return text
}

// breaks notes the first thing that cannot be done.
func (s *Sender) breaks(now vtime.Time, what Broken) {
	if s.broken == nil {
		what.At = now
		s.broken = &what
	}
}

// watchTimer looks after a controller's timer that has been called whether time can go on.
func (s *Sender) watchTimer(now vtime.Time) {
	if s.controller.Deadline() > now {
		s.again = 0
		return
	}
	if s.again++; s.again == mostAgain {
		s.breaks(now, Broken{Timer: true})
	}
}

// sendable is the controller's rate, or 0 if it is no number above 0, or more than any line has: that is noted, unless it is 0 itself, which
// may pass.
func (s *Sender) sendable(now vtime.Time) float64 {
	rate := s.controller.Rate()
	if rate > 0 && rate <= mostRate {
		return rate
	}
	if rate != 0 {
		s.breaks(now, Broken{Rate: rate})
	}
	return 0
}

// Broken is what the flow's congestion control said that cannot be done, the first of it; nil: nothing. A rate at which the next
// packet never leaves is part of it if at the end of the run, which is now, it has been so for half of the flow's time or if
// nothing is left that could change it: no timer and no packet in flight.
func (s *Sender) Broken(now, started vtime.Time) *Broken {
	if s.broken != nil || s.state == senderDone || s.eligible != vtime.Never || s.next == s.size {
		return s.broken
	}
	if changes := s.controller.Deadline() != vtime.Never || s.next > s.acked; changes && 2*(now-s.stoppedAt) < now-started {
		return nil
	}
	return &Broken{At: s.stoppedAt, Rate: s.controller.Rate(), Stayed: true}
}
