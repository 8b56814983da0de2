package hostagent

import (
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// credit holds the bytes that the sender of a flow may send under grants. Its sums are payload bytes from the flow's
// start on; each retransmission counts again. Comments name the functions of htsim's uec.cpp in parentheses.
type credit struct {
	*cc.Grants
	received    int64      // granted, in the grants that have arrived
	left        int64      // unspent part of the grants; below 0: the last packet exceeded it
	forfeit     int64      // forfeited part of Initial
	announced   int64      // demand last sent to the receiver
	speculating bool       // no packet has arrived from the receiver: left is part of Initial
	requestAt   vtime.Time // time at which to request a grant again; Never: the flow waits for none
}

// startCredit sets up the credit of a starting flow, if its congestion control uses grants. A constant rate uses none.
func (s *Sender) startCredit() {
	by, ok := s.controller.(cc.ByGrants)
	if !ok || !s.settings.Grants {
		return
	}
	s.nic.granted++
	g := by.Grants()
	s.extend().credit = &credit{Grants: g, left: g.Initial, speculating: true, requestAt: vtime.Never}
}

// lacks reports whether the flow may send nothing until a grant arrives.
func (c *credit) lacks() bool { return c.left <= 0 }

// answered records an arrival from the receiver: the unspent part of the initial credit is forfeited (stopSpeculating).
func (c *credit) answered() {
	if c.speculating {
		c.speculating = false
		if c.left > 0 {
			c.forfeit, c.left = c.left, 0
		}
	}
}

// backlog returns the payload left to send, where next is the first byte that was never sent.
func (s *Sender) backlog(next int64) int64 {
	n := s.size - next
	if r := s.selective(); r != nil {
		n += min(int64(r.lost)*s.mtu, s.size-n)
	}
	return n
}

// demand returns the sum of grants that the flow needs for all its data, within its share of Most (computePullTarget).
func (s *Sender) demand(next int64) int64 {
	c := s.ext.credit
	todo := s.backlog(next)
	if todo == 0 {
		return c.announced
	}
	want := min(todo, max(s.mtu, c.Most/int64(s.nic.granted))) - c.left
	if c.speculating { // the unspent part is about to be forfeited
		want = max(want, min(todo, s.mtu))
	}
	return max(c.announced, c.received+max(0, want))
}

// announce returns the demand for a packet's header, and records it as sent to the receiver.
func (s *Sender) announce(next int64) uint64 {
	c := s.ext.credit
	c.announced = s.demand(next)
	return uint64(c.announced)
}

// starve handles a flow that could send but has no credit. If the receiver does not know the whole demand, and all
// grants for the known demand have arrived, the flow requests more.
func (s *Sender) starve(now vtime.Time) {
	c := s.ext.credit
	if c.requestAt == vtime.Never {
		c.requestAt = now + c.Timeout
	}
	if c.announced <= c.received && s.demand(s.next) > c.announced {
		s.request(now)
	}
}

// request sends the receiver a request for grants (sendRTS).
func (s *Sender) request(now vtime.Time) {
	n := s.nic
	f := n.clock.Frame(wire.AckLen + s.header.Version().Extra())
	s.header.SetTOS(wire.ControlTOS(s.settings.ControlPriority))
	wire.PutSum(f.Data(), s.header, wire.SyndromeRequest, s.announce(s.next))
	s.header.SetTOS(s.settings.DataTOS())
	f.Priority = s.settings.ControlPriority
	if n.Recorder != nil {
		n.Recorder.Answered(now, s.Flow, f, wire.KindRequest)
	}
	n.control.Push(f)
	n.RequestsSent++
	c := s.ext.credit
	c.requestAt = now + c.Timeout
}

// awaitsGrants reports whether any flow waits for a grant.
func (n *NIC) awaitsGrants() (waits bool) {
	n.senders.each(func(s *Sender) {
		c := s.credit()
		waits = waits || c != nil && s.state == senderBlocked && c.lacks()
	})
	return waits
}

// onGrant handles a grant (handlePull).
func (s *Sender) onGrant(now vtime.Time, p *wire.Packet) {
	c := s.credit()
	if c == nil || s.state == senderDone {
		return
	}
	c.answered()
	if sum := int64(p.Sum()); sum > c.received {
		c.left += sum - c.received
		c.received = sum
		if c.requestAt = vtime.Never; c.lacks() {
			c.requestAt = now + c.Timeout
		}
	}
	s.adjust(now)
}

// GrantCounts holds the sums of a flow's grants in payload bytes, from its start on.
type GrantCounts struct {
	Demand   int64 // requested, in the packets that reached the receiver
	Granted  int64 // by the receiver
	Received int64 // part of Granted that reached the sender
	Initial  int64 // sent, or still to be sent, without a grant
	Left     int64 // unspent part of Initial and Received; below 0: overdrawn
}

// Plus returns the sums of g and o.
func (g GrantCounts) Plus(o GrantCounts) GrantCounts {
	return GrantCounts{
		g.Demand + o.Demand, g.Granted + o.Granted, g.Received + o.Received, g.Initial + o.Initial,
		g.Left + o.Left,
	}
}

// GrantCounts returns the counts of the flow from s to r; ok is false if it does not work by grants.
func (s *Sender) GrantCounts(r *Receiver) (g GrantCounts, ok bool) {
	c := s.credit()
	if c == nil || r.granter == nil {
		return GrantCounts{}, false
	}
	return GrantCounts{r.granter.demand, r.granter.granted, c.received, c.Initial - c.forfeit, c.left}, true
}
