package hostagent

import "github.com/pausenet/pausenet/vtime"

// Traits are how a flow differs from others of its NIC. Flows may share them.
type Traits struct {
	// Weight is how many packets it may send in its turn, where several flows of a priority are ready; 0, like 1: one.
	Weight int
	// Stop is the time from which it sends nothing new; 0: there is none. What it had sent by then is repaired, and the flow ends when all of it is
	// acknowledged. Each packet of such a flow asks for an ACK (AckEvery is 1).
	Stop vtime.Time
	// On and Off, if they are more than 0: from its start it sends for On, then for Off it does not, and so on.
	On, Off vtime.Time
}

// traits are a sender's.
type traits struct {
	*Traits
	begun  vtime.Time
	halted bool
}

// opens is the next time, from now on, at which the flow may send.
func (t *traits) opens(now vtime.Time) vtime.Time {
	if t.Off == 0 {
		return now
	}
	if at := (now - t.begun) % (t.On + t.Off); at >= t.On {
		return now + t.On + t.Off - at
	}
	return now
}

// stops says whether the flow is to be stopped now.
func (t *traits) stops(now vtime.Time) bool { return t.Stop > 0 && now >= t.Stop && !t.halted }

// mayGo says whether a flow's traits let its next packet go now. If not, the flow has been put where it belongs.
func (s *Sender) mayGo(now vtime.Time) bool {
	if s.traits.stops(now) {
		s.halt(now)
	}
	if s.state == senderDone {
		return false
	}
	if s.traits.halted && !s.more() {
		s.state = senderDrained
		return false
	}
	if at := s.traits.opens(now); at > now {
		s.state, s.eligible = senderWaiting, at
		s.class.waiting.push(s)
		return false
	}
	return true
}

// Shorten makes the next packet that the flow has not sent before its last, unless it has sent its last already. That one asks for an ACK, as each
// last packet does; a Stop of its traits has every packet ask for one. It returns the payload in bytes that the flow comes to.
func (s *Sender) Shorten() int64 {
	if s.state != senderDone && s.pair == nil {
		s.size = min(s.size, s.high+s.mtu)
	}
	return s.size
}

// halt makes what has been sent all that there is.
func (s *Sender) halt(now vtime.Time) {
	s.traits.halted = true
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
	} // one that is ready is found out in its turn
	if s.tellSent {
		s.tellSent = false
		s.nic.clock.Sent(now, s)
	}
}
