package hostagent

import "github.com/pausenet/pausenet/vtime"

// Traits describes how a flow differs from other flows of its NIC. Flows may share one value.
type Traits struct {
	// Weight sets how many packets the flow may send in its turn while several flows of a priority are ready. 0 means
	// 1.
	Weight int
	// Stop sets the time at which the flow stops sending new data; 0: never. Earlier data is still repaired, and the
	// flow finishes when all of it is acknowledged. Each packet of such a flow requests an ACK (AckEvery is 1).
	Stop vtime.Time
	// On and Off, if above 0, set the flow's periods: from its start it sends for On, pauses for Off, and so on.
	On, Off vtime.Time
}

// traits holds the state of a sender's Traits.
type traits struct {
	*Traits
	started vtime.Time
	halted  bool
}

// flowTraits returns the flow's traits; nil: it has none.
func (s *Sender) flowTraits() *traits {
	if s.ext == nil {
		return nil
	}
	return s.ext.traits
}

// opens returns the next time, from now on, at which the flow may send.
func (t *traits) opens(now vtime.Time) vtime.Time {
	if t.Off == 0 {
		return now
	}
	if at := (now - t.started) % (t.On + t.Off); at >= t.On {
		return now + t.On + t.Off - at
	}
	return now
}

// stops reports whether the flow has to stop now.
func (t *traits) stops(now vtime.Time) bool { return t.Stop > 0 && now >= t.Stop && !t.halted }

// traitsAdmit reports whether a flow's traits let its next packet leave now. If not, it moves the flow to the queue in
// which it waits.
func (s *Sender) traitsAdmit(t *traits, now vtime.Time) bool {
	if t.stops(now) {
		s.halt(now)
	}
	if s.state == senderDone {
		return false
	}
	if t.halted && !s.more() {
		s.state = senderDrained
		return false
	}
	if at := t.opens(now); at > now {
		s.state, s.eligible = senderWaiting, at
		s.class.waiting.push(s)
		return false
	}
	return true
}

// Shorten ends the flow with its next new packet, unless it has already sent its last. That packet requests an ACK,
// like each last packet, and so does each packet of a flow with a Stop. Shorten returns the flow's size in payload
// bytes.
func (s *Sender) Shorten() int64 {
	if s.state != senderDone && s.connection() == nil {
		s.size = min(s.size, s.high+s.mtu)
	}
	return s.size
}

// halt ends the flow with the data that it has sent.
func (s *Sender) halt(now vtime.Time) {
	s.ext.traits.halted = true
	s.size = s.high
	if s.acked == s.size {
		s.finish(now)
		return
	}
	if s.more() {
		return
	}
	switch s.state {
	case senderWaiting:
		s.class.waiting.remove(s)
		s.state = senderDrained
	case senderBlocked:
		s.state = senderDrained
	} // candidate drops one that is ready, in its turn
	s.reportSent(now)
}

// Halted reports whether the flow has reached its Stop: it finishes with the data sent before.
func (s *Sender) Halted() bool {
	t := s.flowTraits()
	return t != nil && t.halted
}
