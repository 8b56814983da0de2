package hostagent

import (
	"math"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// credit is what the sender of a flow may send. Its sums are of payload bytes, from the flow's start on, of which any that is sent again counts again.
type credit struct {
	*cc.Grants
	heard    int64      // granted, as far as it has come here
	left     int64      // of what was granted; below 0: the last packet was longer than what was left
	forfeit  int64      // of Initial
	told     int64      // what grants are to come to, as the receiver was told
	unheard  bool       // nothing has come from the receiver: left is of Initial
	requests vtime.Time // when it asks again; Never: it waits for no grant
}

// newCredit is that of a flow that begins; nil if it does not go by grants, as one at a constant rate.
func (s *Sender) newCredit() *credit {
	by, ok := s.controller.(cc.ByGrants)
	if !ok || !s.settings.Grants {
		return nil
	}
	s.nic.granted++
	g := by.Grants()
	return &credit{Grants: g, left: g.Initial, unheard: true, requests: vtime.Never}
}

// lacks says whether the flow may send nothing more until a grant comes.
func (c *credit) lacks() bool { return c.left <= 0 }

// answered notes that something has come from the receiver: what is left of the initial credit is forfeited (stopSpeculating).
func (c *credit) answered() {
	if c.unheard {
		c.unheard = false
		if c.left > 0 {
			c.forfeit, c.left = c.left, 0
		}
	}
}

// backlog is the payload that is to be sent, where next is the first byte that never was.
func (s *Sender) backlog(next int64) int64 {
	n := s.size - next
	if s.repeat != nil {
		n += min(int64(s.repeat.lost)*s.mtu, s.size-n)
	}
	return n
}

// demand is what grants are to come to for all that is to be sent; within what the flow's part of Most leaves of it (computePullTarget).
func (s *Sender) demand(next int64) int64 {
	c := s.credit
	todo := s.backlog(next)
	if todo == 0 {
		return c.told
	}
	want := min(todo, max(s.mtu, c.Most/int64(s.nic.granted))) - c.left
	if c.unheard { // what is left is about to be forfeited
		want = max(want, min(todo, s.mtu))
	}
	return max(c.told, c.heard+max(0, want))
}

// tell is what a packet tells of the demand.
func (s *Sender) tell(next int64) uint64 {
	s.credit.told = s.demand(next)
	return uint64(s.credit.told)
}

// starve is told that a flow that could send has no credit. Where the receiver was not told of all that it is to grant, and nothing of what it was
// told is still to come, the flow asks for it.
func (s *Sender) starve(now vtime.Time) {
	c := s.credit
	if c.requests == vtime.Never {
		c.requests = now + c.Timeout
	}
	if c.told <= c.heard && s.demand(s.next) > c.told {
		s.request(now)
	}
}

// request asks the receiver for what it is to grant (sendRTS).
func (s *Sender) request(now vtime.Time) {
	n := s.nic
	f := n.clock.Frame(wire.AckLen + s.header.Version().Extra())
	s.header.SetTOS(wire.ControlTOS(s.settings.ControlPriority))
	wire.PutSum(f.Data(), s.header, wire.SyndromeRequest, s.tell(s.next))
	s.header.SetTOS(s.settings.DataTOS())
	f.Priority = s.settings.ControlPriority
	if n.Recorder != nil {
		n.Recorder.Answered(now, s.Flow, f, wire.KindRequest)
	}
	n.control.Push(f)
	n.RequestsSent++
	s.credit.requests = now + s.credit.Timeout
}

// awaitsGrants says whether a flow waits for one.
func (n *NIC) awaitsGrants() (waits bool) {
	n.senders.all(func(s *Sender) {
		waits = waits || s.credit != nil && s.state == senderBlocked && s.credit.lacks()
	})
	return waits
}

// onGrant takes a grant (handlePull).
func (s *Sender) onGrant(now vtime.Time, p *wire.Packet) {
	c := s.credit
	if c == nil || s.state == senderDone {
		return
	}
	c.answered()
	if sum := int64(p.Sum()); sum > c.heard {
		c.left += sum - c.heard
		c.heard = sum
		if c.requests = vtime.Never; c.lacks() {
			c.requests = now + c.Timeout
		}
	}
	s.adjust(now)
}

// lender is what the receiver of a flow grants its sender: sums, as credit's.
type lender struct {
	*cc.Grants
	demand  int64
	granted int64
	queued  bool // it has a turn
}

// Lend has the receiver grant, as by says. It comes before Begin; without it the receiver grants nothing.
func (r *Receiver) Lend(by cc.ByGrants) {
	if r.settings.Grants {
		r.lender = &lender{Grants: by.Grants()}
	}
}

// lend takes note of a data packet: its demand, and its mark.
func (r *Receiver) lend(now vtime.Time, p *wire.Packet) {
	sum, ok := p.Demand()
	if !ok {
		return
	}
	t := r.takesTurns()
	t.advance(now)
	t.packets++
	if p.ECN() == wire.CE {
		t.marked++
	}
	r.owe(now, int64(sum))
}

// owe notes what a flow's grants are to come to.
func (r *Receiver) owe(now vtime.Time, sum int64) {
	l, t := r.lender, r.takesTurns()
	l.demand = max(l.demand, sum)
	if l.demand > l.granted && !l.queued {
		l.queued = true
		if len(t.all) == 0 { // nobody was waiting for the next grant
			t.due = max(t.due, now)
		}
		t.all = append(t.all, r)
	}
}

// asked takes a request. One for what has been granted tells that a grant was lost.
func (r *Receiver) asked(now vtime.Time, p *wire.Packet) {
	n, l := r.nic, r.lender
	if l == nil {
		return
	}
	r.owe(now, int64(p.Sum()))
	if !l.queued {
		n.control.Push(r.grant(now))
	}
}

// grant is a packet that tells what has been granted.
func (r *Receiver) grant(now vtime.Time) *frame.Frame {
	n := r.nic
	f := n.clock.Frame(wire.AckLen + r.back.Version().Extra())
	r.back.SetTOS(wire.ControlTOS(r.settings.ControlPriority))
	wire.PutSum(f.Data(), r.back, wire.SyndromeGrant, uint64(r.lender.granted))
	r.back.SetTOS(wire.ControlTOS(r.settings.ACKPriority()))
	f.Priority = r.settings.ControlPriority
	if n.Recorder != nil {
		n.Recorder.Answered(now, r.Flow, f, wire.KindGrant)
	}
	n.GrantsSent++
	return f
}

// turns is when the receivers of a NIC grant: one after the other, at the rate of the NIC's port. It is UecPullPacer, less what it does for flows
// that ask for nothing (docs/decisions/042-uec.md).
type turns struct {
	all   []*Receiver // that have a turn, in order from head on
	head  int
	due   vtime.Time // of the next grant
	by    *cc.Grants
	rate  cc.GrantRate
	until vtime.Time // when the present period ends

	packets, marked int64 // in it
}

// takesTurns is the turns of the receiver's NIC, which go by the constants of the flow of which a packet came first.
func (r *Receiver) takesTurns() *turns {
	n := r.nic
	if n.turns == nil {
		n.turns = &turns{by: r.lender.Grants, rate: cc.NewGrantRate()}
	}
	return n.turns
}

// mostIdle is how many periods without a packet have any rate back at the whole.
const mostIdle = 64

// advance ends the periods that are over.
func (t *turns) advance(now vtime.Time) {
	for n := 0; t.until <= now; n++ {
		if n == mostIdle {
			t.rate, t.until = cc.NewGrantRate(), now+t.by.Period
			return
		}
		t.rate.Step(t.by, t.packets, t.marked)
		t.packets, t.marked = 0, 0
		t.until += t.by.Period
	}
}

// next is the receiver whose turn it is; nil if nobody is to be granted anything. A flow that has ended loses its turn.
func (t *turns) next() *Receiver {
	for t.head < len(t.all) {
		r := t.all[t.head]
		if r.back != nil && r.lender.demand > r.lender.granted {
			return r
		}
		r.lender.queued = false
		t.pass()
	}
	return nil
}

// pass takes the first receiver out of the order.
func (t *turns) pass() {
	t.all[t.head] = nil
	t.head++
	if t.head == len(t.all) {
		t.all, t.head = t.all[:0], 0
	} else if t.head >= 64 && 2*t.head >= len(t.all) {
		n := copy(t.all, t.all[t.head:])
		clear(t.all[n:])
		t.all, t.head = t.all[:n], 0
	}
}

// grantNext is the next grant, if it is due; else when it will be. A grant that had to wait for the port does not put off those after it by more
// than its own time.
func (n *NIC) grantNext(now vtime.Time) (f *frame.Frame, wake vtime.Time) {
	t := n.turns
	r := t.next()
	if r == nil {
		return nil, vtime.Never
	}
	if t.due > now {
		return nil, t.due
	}
	t.advance(now)
	l := r.lender
	amount := min(l.demand-l.granted, l.Each)
	l.granted += amount
	n.BytesGranted += amount
	t.pass()
	if l.queued = l.demand > l.granted; l.queued {
		t.all = append(t.all, r)
	}
	full, version := amount/int64(n.mtu), r.back.Version()
	bytes := full * n.lineBytes(version.DataLen(wire.OpWriteMiddle.WithDemand(), n.mtu))
	if rest := amount % int64(n.mtu); rest > 0 {
		bytes += n.lineBytes(version.DataLen(wire.OpWriteMiddle.WithDemand(), int(rest)))
	}
	gap := vtime.Time(math.Round(float64(bytes) * 8e12 / (float64(n.Rate) * l.Share * t.rate.Share())))
	t.due = max(t.due, now-gap) + gap
	return r.grant(now), 0
}

// GrantCounts is what a flow under a congestion control by grants was granted and what it made of that, in payload bytes from its start on.
type GrantCounts struct {
	Demand  int64 // told, as far as the receiver heard
	Granted int64 // by the receiver
	Heard   int64 // of that, by the sender
	Initial int64 // sent, or still to be sent, without a grant
	Left    int64 // of Initial and Heard, and not spent; below 0: overdrawn
}

// Plus returns the sums of both.
func (g GrantCounts) Plus(o GrantCounts) GrantCounts {
	return GrantCounts{g.Demand + o.Demand, g.Granted + o.Granted, g.Heard + o.Heard, g.Initial + o.Initial, g.Left + o.Left}
}

// GrantCounts are those of the flow of a sender and a receiver; ok is false if it does not go by grants.
func (s *Sender) GrantCounts(r *Receiver) (g GrantCounts, ok bool) {
	c := s.credit
	if c == nil || r.lender == nil {
		return GrantCounts{}, false
	}
	return GrantCounts{r.lender.demand, r.lender.granted, c.heard, c.Initial - c.forfeit, c.left}, true
}
