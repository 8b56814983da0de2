package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// pcnPair returns a pair whose receivers report as PCN's do, each frame taking 1020 B of line, as in PCN's simulator.
func pcnPair(t *testing.T) *pair {
	p := newPair(t, func(s *Settings) { s.Notify = NotifyPCN })
	p.to.lineBytes = func(int) int64 { return 1020 }
	return p
}

// arriveAt has n packets of the flow arrive at h1, spread evenly over [from, to); the first marked are marked.
func (p *pair) arriveAt(from, to vtime.Time, n, marked int) (answers []wire.Packet) {
	p.Helper()
	for i := range n {
		answers = append(answers, p.until(from+(to-from)*vtime.Time(i)/vtime.Time(n))...)
		f, _ := p.from.Dequeue(p.now+vtime.Second, 0) // as if sent long ago
		if f == nil {
			p.Fatal("h0 has nothing to send")
		}
		data := slices.Clone(f.Data())
		p.pool.Put(f)
		if i < marked {
			mark(data)
		}
		p.to.Receive(p.now, whole(data))
		answers = append(answers, p.answers()...)
	}
	return answers
}

// cnps returns the CNPs of a list.
func cnps(list []wire.Packet) []wire.Packet {
	return slices.DeleteFunc(list, func(w wire.Packet) bool { return w.Kind != wire.KindCNP })
}

// TestPCNReport: 50 packets of 1020 B in 50 us are 8.16 Gb/s; 95 % and no less are congestion (PCN's authors'
// simulator, whose packets these are; cc/testdata/vectors.txt, PCN).
func TestPCNReport(t *testing.T) {
	for _, c := range []struct {
		packets, marked int
		mbps            uint32
		congested       bool
	}{
		{50, 50, 8160, true},
		{50, 0, 8160, false},
		{40, 38, 6528, true},
		{40, 37, 6528, false},
		{2, 2, 326, true}, // 326.4
	} {
		p := pcnPair(t)
		controller := newRecording()
		p.start(1000*mtu, controller)
		if got := cnps(p.arriveAt(100*us, 149*us, c.packets, c.marked)); len(got) != 0 {
			t.Fatalf("%d CNPs within the period", len(got))
		}
		got := cnps(p.until(150*us - 1))
		if len(got) != 0 {
			t.Fatalf("a CNP before the period's end")
		}
		got = cnps(p.until(150 * us))
		want := wire.PCNReport{RateMbps: c.mbps, Congested: c.congested, Packets: uint16(c.packets)}
		if len(got) != 1 || wire.ParsePCNReport(got[0].Reserved()) != want || got[0].BECN != c.congested || got[0].FECN ||
			got[0].Priority() != 6 {
			t.Fatalf("%+v: %+v", c, got)
		}
		s := controller.cnps[0]
		if s.Now != 150*us || s.Received != c.packets || s.ReceivingRate != units.Rate(c.mbps)*units.Mbps ||
			s.CE != c.congested {
			t.Errorf("%+v: the sender is told %+v", c, s)
		}
		if p.to.CNPsSent != 1 || p.to.Marked != int64(c.marked) {
			t.Errorf("%+v", p.to.Counters)
		}
	}
}

// TestPCNPeriods: periods follow each other from the first packet on. One without packets draws nothing, and no
// timer.
func TestPCNPeriods(t *testing.T) {
	p := pcnPair(t)
	controller := newRecording()
	_, r := p.start(1000*mtu, controller)
	if r.Armed() != vtime.Never {
		t.Fatal("a receiver without a packet has a timer")
	}
	p.arriveAt(7*us, 20*us, 5, 0)
	p.until(300 * us)
	if r.Armed() != vtime.Never || len(p.reports) != 0 {
		t.Fatalf("a silent flow's timer: %v", r.Armed())
	}
	p.arriveAt(310*us, 320*us, 3, 0) // in the period 307..357
	p.arriveAt(357*us, 407*us, 4, 0) // a packet at a period's end belongs to the next
	p.until(500 * us)
	var at []vtime.Time
	var received []int
	for _, s := range controller.cnps {
		at, received = append(at, s.Now), append(received, s.Received)
	}
	if !slices.Equal(at, []vtime.Time{57 * us, 357 * us, 407 * us}) || !slices.Equal(received, []int{5, 3, 4}) {
		t.Errorf("reports at %v of %v packets", at, received)
	}
}

// TestPCNLonePacket: its rate is by the smoothed gap between packets, which starts at the period and is forgotten
// after 10 ms.
func TestPCNLonePacket(t *testing.T) {
	p := pcnPair(t)
	controller := newRecording()
	p.start(1000*mtu, controller)
	// Gaps: none, so 50 us; 110 us, so 80; 40 ms, so 50 again; 10 ms exactly, so 5025 us.
	for _, at := range []vtime.Time{0, 110 * us, 40_110 * us, 50_110 * us} {
		p.arriveAt(at, at, 1, 0)
	}
	p.until(60_000 * us)
	var mbps []units.Rate
	for _, s := range controller.cnps {
		mbps = append(mbps, s.ReceivingRate/units.Mbps)
	}
	if want := []units.Rate{163, 102, 163, 2}; !slices.Equal(mbps, want) { // 8160 bits over 50, 80, 50, 5025 us
		t.Errorf("%d Mbps, want %d", mbps, want)
	}
}

// TestPCNForgotten: a flow that has ended draws no report.
func TestPCNForgotten(t *testing.T) {
	p := pcnPair(t)
	_, r := p.start(1000*mtu, newRecording())
	p.arriveAt(0, 10*us, 2, 2)
	if r.Armed() != 50*us {
		t.Fatalf("armed at %v", r.Armed())
	}
	p.to.Forget(1)
	if got := p.until(200 * us); len(got) != 0 || r.Armed() != vtime.Never {
		t.Errorf("%+v", got)
	}
}

// TestNotifyNone: marks draw no CNP, but their echo.
func TestNotifyNone(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.Notify = NotifyNone })
	controller := newRecording()
	_, r := p.start(1000*mtu, controller)
	got := p.arriveAt(0, 200*us, 20, 20)
	if len(got) != 20 || !got[0].FECN || p.to.CNPsSent != 0 || r.Armed() != vtime.Never || !controller.acks[0].CE {
		t.Errorf("%d answers, the first %+v", len(got), got[0])
	}
}

func TestNotifySettings(t *testing.T) {
	s := Default()
	s.Notify = NotifyPCN
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if s.CNPInterval = 0; s.Validate() == nil {
		t.Error("PCN without a period")
	}
	if s.Notify = NotifyCNP; s.Validate() != nil {
		t.Error("a CNP for every mark is refused")
	}
	s = Default()
	if s.DataTOS() != 26<<2|2 {
		t.Errorf("data's TOS is %#x", s.DataTOS())
	}
	if s.Ternary = true; s.DataTOS() != 26<<2|1 {
		t.Errorf("data's TOS under ternary detection is %#x", s.DataTOS())
	}
}

// receiveAs has h1 receive the next packet of h0 with that codepoint.
func (p *pair) receiveAs(mark wire.ECN) {
	p.Helper()
	data := p.next()
	wire.IPv4(data[wire.EthernetLen:]).SetECN(mark)
	p.to.Receive(p.now, whole(data))
}

// TestTernaryCNPs: a mark draws a CNP at once, BECN for CE and FECN for UE alone, and within CNPInterval only a
// stronger one another; what is not marked draws none, whatever it says with other packets.
func TestTernaryCNPs(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.Ternary = true })
	c := newRecording()
	p.start(1000*mtu, c)
	var answers []wire.Packet
	for i, marks := range [][]wire.ECN{
		{wire.ECT1},
		{wire.ECT1, wire.UE, wire.ECT1}, // not CE, though 01 and 10 make 11
		{wire.UE, wire.CE, wire.UE},
		{wire.CE, wire.UE, wire.CE},
		{},
		{wire.UE, wire.NotECT},
	} {
		answers = append(answers, p.until(vtime.Time(50*i+3)*us)...)
		for _, mark := range marks {
			p.receiveAs(mark)
			answers = append(answers, p.answers()...)
		}
	}
	answers = append(answers, p.until(400*us)...)
	type notification struct {
		at     vtime.Time
		ce, ue bool
	}
	var got []notification
	for _, s := range c.cnps {
		got = append(got, notification{s.Now, s.CE, s.UE})
	}
	// Packets are 216.4 ns apart. The UE at 103 us and the CE at 153 us come less than 50 us after a CNP of their
	// kind.
	const packet = 216_400
	want := []notification{
		{53*us + packet, false, true},
		{103*us + packet, true, false},
		{153*us + packet, false, true},
		{153*us + 2*packet, true, false},
		{253 * us, false, true},
	}
	if !slices.Equal(got, want) || p.to.CNPsSent != 5 || p.to.Marked != 3 || p.to.Undetermined != 5 {
		t.Errorf("%v, want %v; %+v", got, want, p.to.Counters)
	}
	for i, w := range cnps(answers) {
		if w.FECN != want[i].ue || w.BECN != want[i].ce ||
			slices.ContainsFunc(w.Reserved(), func(b byte) bool { return b != 0 }) {
			t.Errorf("CNP %d: %+v", i, w)
		}
	}
}

// TestTernaryEcho: an ACK echoes the strongest mark since the one before, FECN for CE and BECN for UE alone.
func TestTernaryEcho(t *testing.T) {
	for _, ternary := range []bool{true, false} {
		p := newPair(t, func(s *Settings) { s.Ternary, s.AckEvery, s.Notify = ternary, 3, NotifyNone })
		c := newRecording()
		p.start(1000*mtu, c)
		var got []string
		for _, marks := range [][3]wire.ECN{
			{wire.ECT1, wire.NotECT, wire.ECT1},
			{wire.UE, wire.ECT1, wire.ECT1},
			{wire.UE, wire.CE, wire.UE},
			{wire.ECT1, wire.ECT1, wire.ECT1},
		} {
			for _, mark := range marks {
				p.receiveAs(mark)
			}
			for _, w := range p.answers() {
				s := c.acks[len(c.acks)-1]
				if w.FECN != s.CE || w.BECN != s.UE {
					t.Errorf("%+v is told as %+v", w, s)
				}
				got = append(got, map[[2]bool]string{
					{true, false}: "CE", {false, true}: "UE",
					{false, false}: "-",
				}[[2]bool{s.CE, s.UE}])
			}
		}
		want := []string{"-", "UE", "CE", "-"}
		if !ternary { // 10 is how data leaves
			want[1] = "-"
		}
		if !slices.Equal(got, want) || p.to.CNPsSent != 0 {
			t.Errorf("ternary %v: %v, want %v", ternary, got, want)
		}
	}
}

// TestReportsAllocateNothing: counting and reporting take no memory.
func TestReportsAllocateNothing(t *testing.T) {
	p := pcnPair(t)
	p.start(1000*mtu, newRecording())
	f := whole(p.next())
	round := func() {
		p.now += 60 * us
		p.to.Receive(p.now, f)
		p.reports[0].receiver.OnTimer(p.now)
		p.reports = p.reports[:0]
		for f, _ := p.to.Dequeue(p.now, 0); f != nil; f, _ = p.to.Dequeue(p.now, 0) {
			p.pool.Put(f)
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 || p.to.CNPsSent < 100 {
		t.Errorf("%g allocations, %d reports", n, p.to.CNPsSent)
	}
}
