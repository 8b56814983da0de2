package engine

import (
	"math"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

const twoHosts = "delay: 1us\nstar: {hosts: 2, rate: 40Gbps}"

// model computes how long a flow of full packets takes between two hosts of one switch. Its packets leave one after the
// other, at a rate that may change at a time, and are stored and forwarded once. Ethernet's framing takes 24 B beside a
// frame.
type model struct {
	packets    int
	delay      vtime.Time
	pace       units.Rate                            // of the flow
	first, out func(at vtime.Time) units.Rate        // of the sender's link, both ways, and of the receiver's
	longer     func(at vtime.Time) (more vtime.Time) // added to the delay of the sender's link
}

func (m *model) fct() vtime.Time {
	time := func(n int, r units.Rate) vtime.Time {
		return vtime.Time(int64(max(n, 60)+24) * 8_000_000_000_000 / int64(r))
	}
	head := wire.V4.DataLen(wire.OpWriteFirst, 1000) // the first has a RETH
	var free, freeOut, arrived, paced, last vtime.Time
	for i := range m.packets {
		n := wire.V4.DataLen(wire.OpWriteMiddle, 1000)
		if i == 0 {
			n = head
		}
		start := max(paced, free)
		free = start + time(n, m.first(start))
		paced = start + time(n, m.pace)
		arrived = max(free+m.delay+m.longer(start), arrived)
		begin := max(arrived, freeOut)
		freeOut = begin + time(n, m.out(begin))
		last = freeOut + m.delay
	}
	ack := last + time(wire.AckLen, m.out(last)) + m.delay
	return ack + time(wire.AckLen, m.first(ack)) + m.delay + m.longer(ack)
}

func constant[T any](v T) func(vtime.Time) T { return func(vtime.Time) T { return v } }

// TestRateChange: a lone flow through a change of its link's rate takes the computed time, to the picosecond.
func TestRateChange(t *testing.T) {
	const at = 101*vtime.Microsecond + 37
	for _, to := range []units.Rate{10 * units.Gbps, 25 * units.Gbps, 100 * units.Gbps} {
		rate := func(now vtime.Time) units.Rate {
			if now < at {
				return 40 * units.Gbps
			}
			return to
		}
		m := model{1000, vtime.Microsecond, 40 * units.Gbps, rate, constant(40 * units.Gbps), constant(vtime.Time(0))}
		l := newFaultLab(t, twoHosts, nil)
		flow := l.send("h0", "h1", 1_000_000, 0, 0)
		p := l.port("h0", l.plan.Nodes[l.plan.Switch[0]].Name)
		l.at(at, func() error { return l.SetRate(p, to) })
		l.at(at, func() error { return l.SetRate(int(l.plan.Ports[p].Peer), to) })
		l.run(0)
		if got, want := l.fct(flow), m.fct(); got != want {
			t.Errorf("to %v: FCT %v, want %v", to, got, want)
		}
		if w := l.Wire(p); w.Rate != to || w.Delay != vtime.Microsecond || !w.Up {
			t.Errorf("the wire is %+v", w)
		}
	}
}

// TestDelayChange: a longer delay adds only its difference; after a shorter delay no frame overtakes those on the wire.
func TestDelayChange(t *testing.T) {
	const at = 101 * vtime.Microsecond
	for _, to := range []vtime.Time{20 * vtime.Microsecond, 100 * vtime.Nanosecond} {
		longer := func(now vtime.Time) vtime.Time {
			if now < at {
				return 0
			}
			return to - vtime.Microsecond
		}
		line := constant(40 * units.Gbps)
		m := model{1000, vtime.Microsecond, 40 * units.Gbps, line, line, longer}
		l := newFaultLab(t, twoHosts, nil)
		flow := l.send("h0", "h1", 1_000_000, 0, 0)
		p := l.port("h0", l.plan.Nodes[l.plan.Switch[0]].Name)
		l.at(at, func() error { return l.SetDelay(p, to) })
		l.at(at, func() error { return l.SetDelay(int(l.plan.Ports[p].Peer), to) })
		l.run(0)
		if got, want := l.fct(flow), m.fct(); got != want {
			t.Errorf("to %v: FCT %v, want %v", to, got, want)
		}
		if n := l.NIC(1); n.OutOfOrder != 0 {
			t.Errorf("to %v: %d packets overtook others", to, n.OutOfOrder)
		}
	}
}

// TestPartitionsFollowDelays: a delay between partitions may become shorter than the lookahead, and longer again: no
// frame arrives in a partition's past, and the run equals that of one partition.
func TestPartitionsFollowDelays(t *testing.T) {
	const topology = "delay: 3us\nleafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2, rate: 40Gbps}"
	l := newFaultLab(t, topology, nil)
	for i, to := range []string{"h2", "h3"} {
		l.send([]string{"h0", "h1"}[i], to, 400_000, vtime.Time(i)*777, 0)
	}
	p := l.port("leaf0", "spine0")
	for i, d := range []vtime.Time{
		200 * vtime.Nanosecond, 9 * vtime.Microsecond, vtime.Nanosecond,
		3 * vtime.Microsecond,
	} {
		l.at(vtime.Time(10+10*i)*vtime.Microsecond, func() error { return l.SetDelay(p, d) })
	}
	l.run(0)
	if l.lookahead != 3*vtime.Microsecond {
		t.Errorf("partitions go apart for %v", l.lookahead)
	}
	for i := range l.Flows() {
		if l.Flows()[i].Retransmitted() != 0 {
			t.Errorf("flow %d sent again", i)
		}
	}
}

// TestLinkDown: a link that is down while nothing is on it costs nothing but the wait.
func TestLinkDown(t *testing.T) {
	// A packet every 10 us; the last, the fifth, is due at 40 us.
	const gap = 10 * vtime.Microsecond
	line := vtime.Time(int64(wire.V4.DataLen(wire.OpWriteMiddle, 1000)+24) * 8_000_000_000_000)
	pace := units.Rate(line / gap)
	run := func(up vtime.Time) vtime.Time {
		l := newFaultLab(t, twoHosts, timeout(vtime.Millisecond))
		flow := l.send("h0", "h1", 5000, 0, pace)
		p := l.port("h0", l.plan.Nodes[l.plan.Switch[0]].Name)
		if up > 0 {
			l.at(37*vtime.Microsecond, func() error { return l.SetLink(p, false) })
			l.at(up, func() error { return l.SetLink(p, true) })
		}
		l.run(0)
		if n := l.lost(LossLink) + l.lost(LossPort); n != 0 {
			t.Errorf("%d frames lost", n)
		}
		return l.fct(flow)
	}
	undisturbed := run(0)
	// The pace is rounded to whole bits a second and the first packet is longer: where the fifth would have left is what
	// remains when its way is taken off.
	way := func(n int) vtime.Time { return vtime.Time(int64(max(n, 60)+24)*200) + vtime.Microsecond }
	left := undisturbed - 2*way(wire.V4.DataLen(wire.OpWriteLast, 1000)) - 2*way(wire.AckLen)
	if left < 4*gap || left > 41*vtime.Microsecond {
		t.Fatalf("the last packet left at %v", left)
	}
	for _, up := range []vtime.Time{38 * vtime.Microsecond, 93*vtime.Microsecond + 1, 500 * vtime.Microsecond} {
		want := undisturbed + max(0, up-left)
		if got := run(up); got != want {
			t.Errorf("up at %v: FCT %v, want %v", up, got, want)
		}
	}
}

// TestLinkDownLosses: frames on the wire, in the queue and sent later to the port of a link that is down are lost and
// counted; the flow repairs the loss.
func TestLinkDownLosses(t *testing.T) {
	l := newFaultLab(t, twoHosts, timeout(100*vtime.Microsecond))
	flow := l.send("h0", "h1", 1_000_000, 0, 0)
	name := l.plan.Nodes[l.plan.Switch[0]].Name
	in, out := l.port(name, "h0"), l.port(name, "h1")
	l.at(50*vtime.Microsecond, func() error { return l.SetLink(out, false) })
	l.at(80*vtime.Microsecond, func() error { return l.SetLink(out, true) })
	var buffered uint64
	l.Call(60*vtime.Microsecond, func(vtime.Time) { buffered = uint64(l.State().Ports[in].Class[3].Buffered) })
	l.run(0)
	// The propagation delay and a packet's serialisation hold 1 us / 216.4 ns: four to six packets, and an ACK or two a
	// packet the other way.
	if n := l.lost(LossLink); n < 4+4 || n > 6+6 {
		t.Errorf("%d frames were on the wires", n)
	}
	// 30 us at 216.4 ns each: what the sender went on to send, but for the way there.
	if n := l.lost(LossPort); n < 130 || n > 140 {
		t.Errorf("%d frames came to the dead port", n)
	}
	if buffered != 0 {
		t.Errorf("%d bytes are buffered for the dead port", buffered)
	}
	if f := &l.Flows()[flow]; f.Retransmitted() == 0 || f.Delivered() != 1_000_000 {
		t.Errorf("%d bytes sent again, %d delivered", f.Retransmitted(), f.Delivered())
	}
	if at := l.eventAt(EventLinkUp, 0); at != 80*vtime.Microsecond {
		t.Errorf("the link came up at %v", at)
	}
}

// TestLoss: which frames a seeded wire loses is known beforehand, and as many are missing at the far end.
func TestLoss(t *testing.T) {
	const p = 0.05
	for _, damaged := range []bool{false, true} {
		l := newFaultLab(t, twoHosts, timeout(100*vtime.Microsecond))
		flow := l.send("h0", "h1", 1_000_000, 0, 0)
		port := l.port("h0", l.plan.Nodes[l.plan.Switch[0]].Name)
		why := LossWire
		l.at(0, func() error {
			if damaged {
				why = LossFCS
				return l.SetCorruption(port, Corruption{Frame: p})
			}
			return l.SetLoss(port, p)
		})
		l.run(0)
		sent, seed := uint64(l.TxFrames(port)), splitmix.At(5^0x6c6f7373, 0)^splitmix.At(uint64(port), 0)
		want := int64(0)
		for n := range sent {
			if splitmix.Float(splitmix.At(seed, n)) < p {
				want++
			}
		}
		missing := int64(sent - l.State().Ports[l.plan.Ports[port].Peer].RxFrames)
		if got := l.lost(why); got != want || missing != want || want == 0 {
			t.Errorf("damaged %v: %d of %d frames lost, %d missing, want %d", damaged, got, sent, missing, want)
		}
		if f := &l.Flows()[flow]; f.Delivered() != 1_000_000 || l.NIC(1).OutOfOrder == 0 || l.NIC(1).Corrupted != 0 {
			t.Errorf("damaged %v: %d delivered, %d out of order, %d with a wrong ICRC", damaged, f.Delivered(),
				l.NIC(1).OutOfOrder, l.NIC(1).Corrupted)
		}
	}
}

// TestBitErrors: a frame of n bytes and its FCS is damaged with 1-(1-e)^(8(n+4)).
func TestBitErrors(t *testing.T) {
	const frames = 200_000
	f := portFault{ber: 1e-6, seed: 9}
	damaged := 0
	for range frames {
		if f.fate(1058) == LossFCS {
			damaged++
		}
	}
	p := 1 - math.Pow(1-1e-6, 8*1062)
	if mean, deviation := frames*p, math.Sqrt(frames*p*(1-p)); math.Abs(float64(damaged)-mean) > 4*deviation {
		t.Errorf("%d damaged, want %.0f +- %.0f", damaged, mean, deviation)
	}
}

// TestReroute: after a link of two went down, and the routes followed, nothing is sent there any more; unreachable
// hosts get nothing.
func TestReroute(t *testing.T) {
	const topology = "delay: 1us\nleafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2, rate: 40Gbps}"
	l := newFaultLab(t, topology, timeout(50*vtime.Microsecond))
	for range 4 {
		l.send("h0", "h2", 200_000, 0, 10*units.Gbps)
	}
	late := l.send("h1", "h3", 20_000, 300*vtime.Microsecond, 0)
	p, other := l.port("leaf0", "spine0"), l.port("leaf0", "spine1")
	l.at(20*vtime.Microsecond, func() error { return l.SetLink(p, false) })
	l.at(30*vtime.Microsecond, l.Reroute)
	var before int64
	l.Call(31*vtime.Microsecond, func(vtime.Time) { before = l.TxFrames(p) })
	// Without a second way h1's packets have none, until the link is back.
	l.at(250*vtime.Microsecond, func() error { return l.SetLink(other, false) })
	l.at(260*vtime.Microsecond, l.Reroute)
	l.at(500*vtime.Microsecond, func() error { return l.SetLink(p, true) })
	l.at(510*vtime.Microsecond, l.Reroute)
	l.Call(499*vtime.Microsecond, func(vtime.Time) {
		if n := l.TxFrames(p); n != before {
			t.Errorf("%d frames were sent on a dead link", n-before)
		}
	})
	l.run(0)
	if l.lost(LossRoute) == 0 {
		t.Error("nothing was lost for want of a route")
	}
	if end := l.Flows()[late].Finished; end < 510*vtime.Microsecond {
		t.Errorf("a flow without a way ended at %v", end)
	}
	if l.LinkUp(other) || !l.LinkUp(p) {
		t.Error("links are not as they were set")
	}
}

// TestCreditsOverAFault: messages and data that are lost cost their credits for a period, not for ever.
func TestCreditsOverAFault(t *testing.T) {
	const topology = "delay: 1us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2, rate: 40Gbps}"
	l := newFaultLab(t, topology, func(s *switchagent.Settings, h *hostagent.Settings) {
		s.FlowControl, s.CBFC.Buffer, h.RetransmitTimeout = switchagent.FlowCBFC, 60*units.KB, 200*vtime.Microsecond
	})
	l.send("h0", "h2", 2_000_000, 0, 0)
	l.send("h1", "h2", 2_000_000, 0, 0)
	trunk, cable := l.port("leaf0", "spine0"), l.port("h2", "leaf1")
	l.at(0, func() error { return l.SetLoss(trunk, 0.05) })
	l.at(0, func() error { return l.SetLoss(int(l.plan.Ports[trunk].Peer), 0.2) })
	l.at(300*vtime.Microsecond, func() error { return l.SetLink(cable, false) })
	l.at(400*vtime.Microsecond, func() error { return l.SetLink(cable, true) })
	l.run(0)
	if f := l.ports[trunk].fault; f.lostCredits == 0 && l.ports[l.plan.Ports[trunk].Peer].fault.lostCredits == 0 {
		t.Error("no message was lost")
	}
}

// TestCreditsAfterAllMessagesAreLost: a sender that has used up its credits and is told of none goes on once messages
// come through again, though nothing else has moved since.
func TestCreditsAfterAllMessagesAreLost(t *testing.T) {
	l := newFaultLab(t, "delay: 1us\nstar: {hosts: 2, rate: 40Gbps}",
		func(s *switchagent.Settings, h *hostagent.Settings) {
			s.FlowControl, s.CBFC.Buffer, h.RetransmitTimeout = switchagent.FlowCBFC, 60*units.KB, 5*vtime.Millisecond
		})
	l.send("h0", "h1", 1_000_000, 0, 0)
	port := l.port("s0", "h0")
	l.at(0, func() error { return l.SetLoss(port, 1) })
	l.at(vtime.Millisecond, func() error { return l.SetLoss(port, 0) })
	l.run(0)
	if l.ports[port].fault.lostCredits < 10 {
		t.Errorf("%d messages were lost in a millisecond", l.ports[port].fault.lostCredits)
	}
}

// TestLostPause: a PAUSE that is lost makes the port overrun its headroom; that is the fault's, not a broken invariant.
func TestLostPause(t *testing.T) {
	const topology = "delay: 1us\nstar: {hosts: 3, rate: 40Gbps}"
	l := newFaultLab(t, topology, func(s *switchagent.Settings, h *hostagent.Settings) {
		s.PFC.XOFF, s.PFC.XON, s.PFC.Headroom, s.PFC.Quanta, h.RetransmitTimeout =
			20*units.KB, 10*units.KB, 20*units.KB, 2000, 500*vtime.Microsecond
	})
	l.send("h0", "h2", 1_000_000, 0, 0)
	l.send("h1", "h2", 1_000_000, 0, 0)
	p := l.port(l.plan.Nodes[l.plan.Switch[0]].Name, "h0")
	l.at(0, func() error { return l.SetLoss(p, 0.5) })
	l.run(0)
	if l.lost(LossPause) == 0 || l.ports[p].fault.lostPFC[1] == 0 {
		t.Errorf("%d frames overran, %d PAUSEs lost", l.lost(LossPause), l.ports[p].fault.lostPFC[1])
	}
}

// TestFaultArguments: what cannot be is refused, and changes nothing.
func TestFaultArguments(t *testing.T) {
	l := newFaultLab(t, twoHosts, nil)
	for name, err := range map[string]error{
		"loss":       l.SetLoss(0, 1.5),
		"not a loss": l.SetLoss(0, math.NaN()),
		"corruption": l.SetCorruption(0, Corruption{Bit: -1}),
		"delay":      l.SetDelay(0, 0),
		"rate":       l.SetRate(0, 0),
		"receiver":   l.SetReceiver(0, &hostagent.SlowReceiver{}),
		"storm":      l.InjectPFCStorm(0, 8, 0),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for p := range l.ports {
		if w := l.Wire(p); w != (Wire{Rate: 40 * units.Gbps, Delay: vtime.Microsecond, Up: true}) {
			t.Errorf("port %d: %+v", p, w)
		}
	}
}
