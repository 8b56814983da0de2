package hostagent

import (
	"fmt"
	"math"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// ControlError describes an impossible request of a flow's congestion control: a rate that is not a number above 0 or
// that exceeds maxRate, a window below 0, or a timer that is called at one time without end. While rate or window are
// impossible the flow sends nothing.
type ControlError struct {
	At     vtime.Time // time of the first one
	Rate   float64    // bits per second of line time
	Window int64      // payload bytes; below 0 if the window is impossible
	// Stayed is set for a rate of 0, or nearly 0, that lasted. Such a rate is no error while it passes.
	Stayed bool
	// Timer is set if the timer was due again at once, maxTimerRepeats times in a row. After that it is not called.
	Timer bool
}

// controlCheck holds a sender's record of errors of its congestion control.
type controlCheck struct {
	controlError *ControlError // the first; nil: none
	timerRepeats int           // how often in a row the controller's timer was due again at once
}

// maxTimerRepeats limits how often in a row a controller's timer may be called at one time.
const maxTimerRepeats = 1000

// maxRate exceeds the rate of any line, in bits per second (IEEE 802.3dj: 1.6 Tb/s). A higher rate is an error of the
// controller.
const maxRate = 10e12

// String describes the request, such as "a rate of NaN b/s".
func (e *ControlError) String() string {
	switch {
	case e.Timer:
		return fmt.Sprintf("its timer was due at once again, %d times in a row: OnTimer must set a later Deadline",
			maxTimerRepeats)
	case e.Window < 0:
		return fmt.Sprintf("a window of %d B", e.Window)
	case e.Stayed:
		return fmt.Sprintf("a rate of %g bps with no timer to raise it: the flow can never send again", e.Rate)
	}
	text := fmt.Sprintf("a rate of %g bps", e.Rate)
	if e.Rate > maxRate && !math.IsInf(e.Rate, 0) {
		text += fmt.Sprintf(", above the limit of %v", units.Rate(maxRate))
	}
	return text
}

// noteControlError records the first error of the congestion control.
func (s *Sender) noteControlError(now vtime.Time, e ControlError) {
	if s.controlError == nil {
		e.At = now
		s.controlError = &e
	}
}

// watchTimer checks, after a call of a controller's timer, that virtual time can proceed.
func (s *Sender) watchTimer(now vtime.Time) {
	if s.controller.Deadline() > now {
		s.timerRepeats = 0
		return
	}
	if s.timerRepeats++; s.timerRepeats == maxTimerRepeats {
		s.noteControlError(now, ControlError{Timer: true})
	}
}

// sendable returns the controller's rate, or 0 if that rate is impossible. It records an impossible rate, except 0,
// which may pass.
func (s *Sender) sendable(now vtime.Time) float64 {
	rate := s.controller.Rate()
	if rate > 0 && rate <= maxRate {
		return rate
	}
	if rate != 0 {
		s.noteControlError(now, ControlError{Rate: rate})
	}
	return 0
}

// ControlError returns the first impossible request of the flow's congestion control; nil without one. now is the end
// of the run. A rate at which the next packet never leaves is an error in two cases: it has lasted for half of the
// flow's time, or nothing is left that could change it, neither a timer nor a packet in flight.
func (s *Sender) ControlError(now, started vtime.Time) *ControlError {
	if s.controlError != nil || s.state == senderDone || s.eligible != vtime.Never || s.next == s.size {
		return s.controlError
	}
	if changes := s.controller.Deadline() != vtime.Never || s.next > s.acked; changes &&
		2*(now-s.stoppedAt) < now-started {
		return nil
	}
	return &ControlError{At: s.stoppedAt, Rate: s.controller.Rate(), Stayed: true}
}
