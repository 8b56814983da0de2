package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// byGrants represents a controller whose receivers grant as the constants say.
type byGrants struct {
	*recording
	g *cc.Grants
}

func (c byGrants) Grants() *cc.Grants { return c.g }

// newGranted returns a pair whose flows send by grants: of one packet each, at the whole rate, without reaction to
// marks.
func newGranted(t testing.TB, c func(*Settings)) (*pair, *cc.Grants) {
	p := newPair(t, func(s *Settings) {
		s.Grants = true
		if c != nil {
			c(s)
		}
	})
	p.from.Rate, p.to.Rate = line, line
	return p, &cc.Grants{
		Share: 1, Each: mtu, Initial: 3 * mtu, Most: 10 * mtu, Timeout: 100 * us, Period: 10 * us,
		Target: 1, Least: 1,
	}
}

// grantedFlow begins a flow by grants.
func (p *pair) grantedFlow(size int64, g *cc.Grants) (*Sender, *Receiver) {
	s, r := p.start(size, byGrants{newRecording(), g})
	p.to.Forget(r.qp)
	var err error
	if r, err = p.to.Expect(s.Flow, wire.FlowParams{
		Src: wire.Addr{10, 0, 0, 2}, Dst: wire.Addr{10, 0, 0, 1}, DestQP: s.qp,
		TOS: wire.ControlTOS(6), HeadersOnly: p.to.HeadersOnly,
	}, nil); err != nil {
		p.Fatal(err)
	}
	r.GrantBy(s.controller.(cc.ByGrants))
	r.Begin()
	return s, r
}

// sends takes what h0 sends, up to a time, and gives it to h1 at once. Answers wait for answers.
func (p *pair) sends(until vtime.Time) (sent []wire.Packet) {
	p.Helper()
	for {
		f, wake := p.from.Dequeue(p.now, 0)
		if f == nil {
			if wake > until {
				return sent
			}
			p.now = wake
			continue
		}
		data := slices.Clone(f.Data())
		p.pool.Put(f)
		sent = append(sent, p.parse(data))
		p.to.Receive(p.now, whole(data))
	}
}

func kinds(all []wire.Packet) (k []wire.Kind) {
	for i := range all {
		k = append(k, all[i].Kind)
	}
	return k
}

// TestGrants: a flow of 20 packets sends 3 before it hears of its receiver, and then what it is granted, in turns of
// a packet's time at the rate of the port. The demand that packets tell, by hand (uec.cpp, computePullTarget): least
// of what is to be sent and max_cwnd (10 packets), less the credit that is left, more what has been granted; while
// nothing has been heard at least a packet.
//
//	sent   before a grant: 1, 2, 3   by the first grant: 4    by the second: 5
//	left                   2, 1, 0                       0                   0
//	demand                 8, 9, 10                      1+10=11             2+10=12
func TestGrants(t *testing.T) {
	p, g := newGranted(t, nil)
	s, r := p.grantedFlow(20*mtu, g)
	var demands []uint64
	tell := func(sent []wire.Packet) {
		for i := range sent {
			sum, _ := sent[i].Demand()
			demands = append(demands, sum/mtu)
		}
	}
	tell(p.sends(10 * us))
	if s.state != senderBlocked || len(demands) != 3 {
		t.Fatalf("%d packets without a grant, state %d", len(demands), s.state)
	}
	// A frame of a packet is 14+20+8+12+8+1000+4 bytes, or 1066, and on the line 1090: 218 ns.
	const turn = 218 * vtime.Nanosecond
	p.now = 10 * us
	var at []vtime.Time
	for len(at) < 17 {
		f, wake := p.to.Dequeue(p.now, 0)
		if f == nil {
			tell(p.sends(p.now))
			if wake == vtime.Never {
				t.Fatalf("no more after %d grants", len(at))
			}
			p.now = wake
			continue
		}
		data := slices.Clone(f.Data())
		p.pool.Put(f)
		if w := p.parse(data); w.Kind == wire.KindGrant {
			at = append(at, p.now)
			if w.Sum() != uint64(len(at)*mtu) {
				t.Errorf("grant %d is for %d bytes", len(at), w.Sum())
			}
		}
		p.from.Receive(p.now, whole(data))
		tell(p.sends(p.now))
	}
	tell(p.sends(p.now + us))
	for i := range at {
		// The first was due at once and had to wait: that lets one follow it, and no more.
		if want := 10*us + vtime.Time(max(0, i-1))*turn; at[i] != want {
			t.Errorf("grant %d at %v, want %v", i+1, at[i], want)
		}
	}
	want := []uint64{8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17}
	if !slices.Equal(demands, want) {
		t.Errorf("demands %v, want %v", demands, want)
	}
	if got, ok := s.GrantCounts(r); !ok || got != (GrantCounts{
		Demand: 17 * mtu, Granted: 17 * mtu, Received: 17 * mtu,
		Initial: 3 * mtu,
	}) {
		t.Errorf("%+v, %t", got, ok)
	}
	if p.answers(); len(p.done) != 1 {
		t.Error("the flow has not ended")
	}
}

// TestInitialCreditIsForfeited: once a flow first hears from its receiver, it may not send the unspent part of its
// initial credit without a grant (uec.cpp, stopSpeculating).
func TestInitialCreditIsForfeited(t *testing.T) {
	p, g := newGranted(t, nil)
	s, _ := p.grantedFlow(20*mtu, g)
	f, _ := p.from.Dequeue(p.now, 0)
	p.to.Receive(p.now, f)
	p.pool.Put(f)
	ack, _ := p.to.Dequeue(p.now, 0)
	p.from.Receive(p.now, ack)
	if s.ext.credit.left != 0 || s.ext.credit.forfeit != 2*mtu {
		t.Errorf("%d bytes are left, %d forfeited", s.ext.credit.left, s.ext.credit.forfeit)
	}
	if sent := p.sends(p.now + us); len(sent) != 0 {
		t.Errorf("%v", kinds(sent))
	}
}

// TestGrantsTakeTurns: receivers of a NIC grant in turns, whatever their demands. A receiver that has granted its whole
// demand loses its turn.
func TestGrantsTakeTurns(t *testing.T) {
	p, g := newGranted(t, nil)
	g.Initial = mtu
	var flows []*Sender
	for _, packets := range []int64{9, 3, 9} {
		s, _ := p.grantedFlow(packets*mtu, g)
		flows = append(flows, s)
	}
	p.sends(us)
	p.now = us
	var order []int
	for {
		f, wake := p.to.Dequeue(p.now, 0)
		if f == nil {
			if wake == vtime.Never {
				break
			}
			p.now = wake
			continue
		}
		if w := p.parse(f.Data()); w.Kind == wire.KindGrant {
			order = append(order, int(w.DestQP)-1)
		}
		p.from.Receive(p.now, f)
		p.pool.Put(f)
		p.sends(p.now)
	}
	// The first has a packet of the initial credit, each: demands of 8, 2 and 8 packets, of which max_cwnd for three
	// flows lets each ask for 3.
	if want := []int{0, 1, 2, 0, 1, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2}; !slices.Equal(order, want) {
		t.Errorf("grants went to %v, want %v", order, want)
	}
	if len(p.done) != len(flows) {
		t.Errorf("%d flows have ended", len(p.done))
	}
}

// TestLostGrant: a flow that hears of no grant asks for it after a time, and is told again; nothing more is granted
// for that.
func TestLostGrant(t *testing.T) {
	p, g := newGranted(t, nil)
	g.Initial = 0
	s, r := p.grantedFlow(2*mtu, g)
	if sent := p.sends(0); !slices.Equal(kinds(sent), []wire.Kind{wire.KindRequest}) || sent[0].Sum() != 2*mtu {
		t.Fatalf("a flow without credit sends %v", kinds(sent))
	}
	for p.now = 0; p.now < us; p.now += us / 4 { // both grants are lost
		for f, _ := p.to.Dequeue(p.now, 0); f != nil; f, _ = p.to.Dequeue(p.now, 0) {
			p.pool.Put(f)
		}
	}
	if p.to.GrantsSent != 2 {
		t.Errorf("%d grants of a packet each for one request of two", p.to.GrantsSent)
	}
	if r.granter.granted != 2*mtu || s.Waits() || !p.from.Pacing(p.now) {
		t.Fatalf("%d bytes granted; waits for ever: %t", r.granter.granted, s.Waits())
	}
	if at := p.armed[s]; at != 100*us {
		t.Fatalf("it asks again at %v", at)
	}
	p.now = 100 * us
	s.OnTimer(p.now)
	if sent := p.sends(p.now); len(sent) != 1 || sent[0].Kind != wire.KindRequest || sent[0].Sum() != 2*mtu {
		t.Fatalf("%v", kinds(sent))
	}
	if answers := p.answers(); len(answers) != 1 || answers[0].Kind != wire.KindGrant || answers[0].Sum() != 2*mtu {
		t.Fatalf("%v", kinds(answers))
	}
	p.sends(p.now + us)
	p.answers()
	if len(p.done) != 1 || p.to.BytesGranted != 2*mtu || p.from.RequestsSent != 2 {
		t.Errorf("done %d, granted %d, %d requests", len(p.done), p.to.BytesGranted, p.from.RequestsSent)
	}
}

// TestTrimmedPacketIsGrantedTwice: a retransmission needs a grant, and a trimmed packet announces that to the receiver.
func TestTrimmedPacketIsGrantedTwice(t *testing.T) {
	p, g := newGranted(t, func(s *Settings) {
		s.Recovery, s.Selective.Cap, s.RetransmitTimeout = SelectiveRepeat, 0, 300*us
	})
	g.Initial = 2 * mtu
	s, r := p.grantedFlow(2*mtu, g)
	for i := range 2 {
		f := p.next()
		if i == 0 {
			wire.Trim(f, 6, true)
			f = f[:wire.V4.TrimmedLen(wire.OpWriteOnly.WithDemand())]
		}
		p.to.Receive(p.now, whole(f))
	}
	// The second packet of two tells that nothing is to be granted, the first that a packet is, as nothing has been
	// heard: that was so.
	if r.granter.demand != 2*mtu {
		t.Errorf("a demand of %d bytes", r.granter.demand)
	}
	for range 5 {
		p.answers()
		p.sends(p.now)
		p.now += us
	}
	if len(p.done) != 1 || s.Retransmitted != mtu {
		t.Errorf("%d flows have ended, %d bytes were sent again", len(p.done), s.Retransmitted)
	}
	if c, _ := s.GrantCounts(r); c.Initial+c.Received != 3*mtu+c.Left || c.Granted > c.Demand {
		t.Errorf("%+v", c)
	}
}

// TestGrantsAreDue: a grant follows another by its time on the line, 218 ns as in TestGrants. Time in which nobody
// waits is no credit, and a second receiver that begins to wait does not put off the first.
func TestGrantsAreDue(t *testing.T) {
	const turn = 218 * vtime.Nanosecond
	p, g := newGranted(t, nil)
	_, first := p.grantedFlow(20*mtu, g)
	_, second := p.grantedFlow(20*mtu, g)
	granted := func(now vtime.Time) {
		t.Helper()
		f, wake := p.to.grantNext(now)
		if f == nil {
			t.Fatalf("no grant at %v: the next is due at %v", now, wake)
		}
		p.pool.Put(f)
	}
	waits := func(now, want vtime.Time) {
		t.Helper()
		if f, wake := p.to.grantNext(now); f != nil || wake != want {
			t.Fatalf("a grant at %v: %t; due at %v, want %v", now, f != nil, wake, want)
		}
	}
	first.raiseDemand(10*us, mtu)
	granted(10 * us)
	waits(10*us, vtime.Never) // all that was asked for
	first.raiseDemand(10*us+turn/2, 2*mtu)
	waits(10*us+turn/2, 10*us+turn)
	granted(10*us + turn)
	first.raiseDemand(50*us, 4*mtu)
	granted(50 * us)
	waits(50*us, 50*us+turn)
	granted(50*us + turn)
	first.raiseDemand(60*us, 5*mtu)
	second.raiseDemand(61*us, mtu)
	granted(61 * us) // due at 60 us, and the port was not free: that lets one follow at once
	granted(61 * us)
	waits(61*us, vtime.Never)
}

// TestGrantIsOfTheDemand: no more is granted than a flow asks for, though a grant may be larger.
func TestGrantIsOfTheDemand(t *testing.T) {
	p, g := newGranted(t, nil)
	g.Each = 4 * mtu
	_, r := p.grantedFlow(20*mtu, g)
	r.raiseDemand(p.now, 6*mtu)
	for _, want := range []int64{4, 6, 6} {
		if f, _ := p.to.grantNext(p.now); f != nil {
			p.pool.Put(f)
		}
		if r.granter.granted != want*mtu {
			t.Errorf("%d bytes granted, want %d packets", r.granter.granted, want)
		}
		p.now += 10 * us
	}
}

// TestMarksLowerGrants: a period of 10 us ends at its last moment. One of a marked packet alone lowers the share by
// (1 - 0.5) x 0.5, and periods without a packet raise it by 1/1024, 2/1024 and so on.
func TestMarksLowerGrants(t *testing.T) {
	p, g := newGranted(t, nil)
	g.Target, g.Gain, g.Decrease, g.Increase, g.Least = 0.5, 1, 0.5, 1./1024, 1./64
	p.grantedFlow(20*mtu, g)
	p.to.Receive(p.now, whole(mark(p.next())))
	turns := p.to.turns
	for _, c := range []struct {
		now   vtime.Time
		share float64
	}{{10*us - 1, 1}, {10 * us, 0.75}, {20*us - 1, 0.75}, {20 * us, 0.75 + 1./1024}, {50 * us, 0.75 + 15./1024}} {
		if turns.advance(c.now); turns.rate.Share() != c.share {
			t.Errorf("a share of %v at %v, want %v", turns.rate.Share(), c.now, c.share)
		}
	}
}
