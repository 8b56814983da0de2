package hostagent

import (
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// A sender is its flow's reaction point: this file passes congestion notifications and timers to the congestion
// control, and follows its rate and window.

func (s *Sender) onCNP(now vtime.Time, p *wire.Packet) {
	if s.state == senderDone {
		return
	}
	sample := &s.nic.sample
	*sample = cc.Sample{Now: now, AckSequence: s.acked, NextSend: s.next, InFlight: s.inFlight(), CE: p.BECN, UE: p.FECN &&
		!p.BECN}
	if reserved := p.Reserved(); reserved != nil {
		report := wire.ParsePCNReport(reserved)
		sample.Received, sample.ReceivingRate = int(report.Packets), units.Rate(report.RateMbps)*units.Mbps
	}
	s.controller.OnCNP(sample)
	s.adjust(now)
}

func (s *Sender) onCNM(now vtime.Time, cnm wire.CNM) {
	sample := &s.nic.sample
	*sample = cc.Sample{
		Now: now, AckSequence: s.acked, NextSend: s.next, InFlight: s.inFlight(),
		CNMFlows: cnm.Flows(), CNMRate: units.Rate(cnm.RateMbps()) * units.Mbps,
	}
	s.controller.OnCNM(sample)
	s.adjust(now)
}

// OnTimer handles the timer that is due at Armed.
func (s *Sender) OnTimer(now vtime.Time) {
	s.armed = vtime.Never
	if s.state == senderDone {
		return
	}
	if t := s.flowTraits(); t != nil && t.stops(now) {
		if s.halt(now); s.state == senderDone {
			return
		}
	}
	s.nic.calling = s.caller()
	if s.expiry() <= now {
		s.timeOut(now)
	}
	if s.controller.Deadline() <= now {
		s.controller.OnTimer(now)
		s.watchTimer(now)
	}
	if c := s.credit(); c != nil && s.state == senderBlocked && c.requestAt <= now {
		s.request(now)
	}
	s.adjust(now)
	s.nic.calling = 0
	if s.nic.Recorder != nil {
		s.nic.Recorder.Handled()
	}
}

// timeOut handles the expiry of the retransmission timer.
func (s *Sender) timeOut(now vtime.Time) {
	s.nic.Timeouts++
	if s.ext != nil && s.ext.entropy != nil {
		s.ext.entropy.failed(now)
	}
	if s.selective() != nil {
		s.giveUp(now)
		return
	}
	s.moved = now
	c, asked := s.connection(), s.asked
	if c == nil || c.messages.Expired(now) {
		s.goBack(now, true)
		if c != nil { // its timer runs on, even if nothing can leave: while the link is down, or paused
			s.asked = asked
		}
	}
	s.controller.OnTimeout(now)
}

// adjust follows a controller's change of rate or window. The departure of the next packet was scheduled as the last
// one left. The controller decides whether the new rate moves it (Retimes): to the time that the new rate would have
// given it then.
func (s *Sender) adjust(now vtime.Time) {
	if rate := s.sendable(now); rate != s.rate {
		s.recordLowered(rate < s.rate)
		s.rate = rate
		s.nic.RateChanges++
		if s.eligible == vtime.Never || s.controller.Retimes() {
			s.time(now)
			if s.state == senderWaiting {
				s.class.waiting.fix(s)
			}
		}
	}
	if window := s.controller.Window(); window != s.window {
		s.recordLowered(window < s.window)
		s.window = window
		s.nic.WindowChanges++
	}
	if s.state == senderBlocked {
		s.unblock(now)
	}
	s.rearm()
}

// unblock lets a blocked flow continue if its window or its credit allows it, and otherwise requests credit if it lacks
// some.
func (s *Sender) unblock(now vtime.Time) {
	if s.blocked(now) {
		if c := s.credit(); c != nil && c.lacks() {
			s.starve(now)
		}
		return
	}
	s.state = senderWaiting
	s.class.waiting.push(s)
	if s.nic.Recorder != nil {
		s.nic.Recorder.Opened(now, s.Flow)
	}
}

// recordLowered reports to the recorder that the congestion control has lowered the rate or the window.
func (s *Sender) recordLowered(lower bool) {
	if lower && s.nic.Recorder != nil {
		s.nic.Recorder.Lowered(s.Flow)
	}
}

// rearm sets the timer for the earliest time that the flow waits for.
func (s *Sender) rearm() {
	at := vtime.Never
	if s.timerRepeats < maxTimerRepeats {
		at = s.controller.Deadline()
	}
	at = min(at, s.expiry())
	if s.ext != nil {
		at = min(at, s.ext.deadline(s.state))
	}
	if at != s.armed {
		s.armed = at
		if at != vtime.Never {
			s.nic.clock.Arm(s, at)
		}
	}
}

// deadline returns the time at which a flow's extensions need its timer next, or vtime.Never.
func (e *extensions) deadline(state senderState) vtime.Time {
	at := vtime.Never
	if t := e.traits; t != nil && t.Stop > 0 && !t.halted {
		at = t.Stop
	}
	if e.credit != nil && state == senderBlocked {
		at = min(at, e.credit.requestAt)
	}
	return at
}

// expiry returns when the retransmission timer expires; vtime.Never if it is not running.
func (s *Sender) expiry() vtime.Time {
	t := s.timeout()
	switch {
	case t <= 0 || !s.due():
	case s.selective() == nil:
		return s.moved + t
	default:
		if d, ok := s.oldest(); ok {
			return s.waitsFrom(d) + t
		}
	}
	return vtime.Never
}

// timeout returns how long the flow waits for an answer; 0: without limit.
func (s *Sender) timeout() vtime.Time {
	set := s.settings.RetransmitTimeout
	if s.ext == nil {
		return set
	}
	if c := s.ext.connection; c != nil {
		return c.messages.Timeout(set)
	}
	if r := s.ext.selective; r != nil && set > 0 &&
		s.sentPackets()-s.acked/s.mtu-r.arrived <= int64(s.settings.Selective.LowPackets) {
		return min(set, s.settings.Selective.LowTimeout)
	}
	return set
}

// finish ends the flow: its last byte is acknowledged.
func (s *Sender) finish(now vtime.Time) {
	if s.state == senderWaiting {
		s.class.waiting.remove(s)
	}
	s.state = senderDone
	s.armed = vtime.Never
	if s.credit() != nil {
		s.nic.granted--
	}
	if s.nic.Recorder != nil {
		s.nic.Recorder.Done(now, s.Flow)
	}
	// After its end a flow keeps its counters, but not the state that only an active flow needs.
	s.sent, s.header, s.controller = nil, nil, nil
	if s.ext != nil {
		s.ext.selective = nil
	}
	s.nic.remove(s)
	s.nic.clock.Done(now, s)
}
