package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestGoBackN: packets dropped by a lossy queue are retransmitted and arrive in order, each byte once; no invariant is
// broken.
func TestGoBackN(t *testing.T) {
	const size = 300_000
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", labOptions{
		sw: func(s *switchagent.Settings) { s.PFC.Priorities, s.LossyLimit = 0, 30*units.KB },
		host: func(h *hostagent.Settings) {
			h.RetransmitTimeout = vtime.Millisecond
			h.NakInterval = 20 * vtime.Microsecond
		},
	})
	names := []string{"h1", "h2"}
	var sent, answers [2]*[]passage
	for i, h := range names {
		sent[i], answers[i] = l.watch(l.port("s0", h)), l.watch(l.port(h, "s0"))
		// Not in step, or the same flow's packet would find the queue full each time and none after it get through.
		l.send(h, "h0", size, 0, units.Rate(37-10*i)*units.Gbps)
	}
	l.run(0)
	if l.Dropped == 0 || l.LosslessDropped != 0 {
		t.Fatalf("%d frames were dropped, %d of them in a lossless class", l.Dropped, l.LosslessDropped)
	}
	naks, repaired := 0, 0
	for i := range names {
		f := &l.Flows()[i]
		if f.Delivered() != size || !f.Started() || f.Sender != nil || f.Receiver != nil ||
			f.LastRTT() < l.plan.Ports[0].Delay {
			t.Errorf("flow %d: %d of %d bytes were delivered; after the end it is %+v", i, f.Delivered(), size, f)
		}
		// What left the host again, counted on the wire.
		retransmitted, high := int64(0), int64(-1)
		for _, p := range *sent[i] {
			if p.Kind != wire.KindData {
				continue
			}
			if int64(p.PSN) <= high {
				retransmitted += int64(p.Payload)
			}
			high = max(high, int64(p.PSN))
		}
		if f.Retransmitted() != retransmitted || high != size/mtuBytes-1 {
			t.Errorf("flow %d: %d bytes are said to be sent again, %d were; last PSN %d", i, f.Retransmitted(), retransmitted, high)
		}
		if retransmitted > 0 {
			repaired++
		}
		// A NAK is a sequence error and names the packet that is missing: that one is sent next.
		seen := 0
		for _, a := range *answers[i] {
			if a.Kind != wire.KindNak {
				continue
			}
			seen++
			if a.Syndrome != 0x60 {
				t.Errorf("NAK at %v with syndrome %#x", a.arrived, a.Syndrome)
			}
			for _, p := range *sent[i] {
				if p.Kind == wire.KindData && p.left >= a.arrived {
					if p.PSN != a.PSN {
						t.Errorf("NAK of %d at %v was followed by %d at %v", a.PSN, a.arrived, p.PSN, p.left)
					}
					break
				}
			}
		}
		if got := l.NIC(i + 1).NaksReceived; got != int64(seen) {
			t.Errorf("flow %d: %d NAKs on the wire, the NIC received %d", i, seen, got)
		}
		naks += seen
	}
	if naks < 3 || repaired == 0 {
		t.Errorf("%d NAKs, %d flows repaired: this case tests nothing", naks, repaired)
	}
}

// TestTimeoutRepairsALostTail: nothing follows the last packet that could draw a NAK.
func TestTimeoutRepairsALostTail(t *testing.T) {
	const timeout = 400 * vtime.Microsecond
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}", labOptions{
		sw:   func(s *switchagent.Settings) { s.PFC.Priorities = 0 },
		host: func(h *hostagent.Settings) { h.RetransmitTimeout = timeout },
	})
	l.send("h0", "h1", 5*mtuBytes, 0, 0)
	// The last frame meets a queue that takes nothing.
	limit := &l.settings[0].LossyLimit
	l.Call(vtime.Time(4*(fullFrame+24)*200)+1100*vtime.Nanosecond, func(vtime.Time) { *limit = 0 })
	l.Call(2200*vtime.Nanosecond, func(vtime.Time) { *limit = units.MB })
	l.run(0)
	if l.Dropped != 1 || l.Flows()[0].Retransmitted() != mtuBytes || l.NIC(1).NaksSent != 0 {
		t.Errorf("%d drops, %d bytes again, %d NAKs", l.Dropped, l.Flows()[0].Retransmitted(), l.NIC(1).NaksSent)
	}
	// The timeout runs from the last progress, the fourth ACK.
	if at := l.fct(0); at < timeout || at > timeout+20*vtime.Microsecond {
		t.Errorf("ended at %v, timeout %v", at, timeout)
	}
}

// TestHeadroomOverrun: a lossless class that loses is caught and named, and the flow is repaired all the same.
func TestHeadroomOverrun(t *testing.T) {
	l := newLab(t, "rate: 40Gbps\ndelay: 5us\nstar: {hosts: 4}", labOptions{
		sw:   func(s *switchagent.Settings) { s.PFC.XOFF, s.PFC.XON, s.PFC.Headroom = 50_000, 40_000, 5_000 },
		host: func(h *hostagent.Settings) { h.RetransmitTimeout = vtime.Millisecond },
	})
	for i := 1; i <= 3; i++ {
		l.send(fmt.Sprintf("h%d", i), "h0", 200_000, 0, 0)
	}
	l.drive(0)
	violations := l.Check()
	// One a port that lost, however many frames.
	lost := 0
	for _, v := range violations {
		lost += v.Times
	}
	if l.LosslessDropped <= 3 || len(violations) != 3 || int64(lost) != l.LosslessDropped {
		t.Fatalf("%d frames lost; %d violations, of %d", l.LosslessDropped, len(violations), lost)
	}
	for _, v := range violations {
		if v.Invariant != "nothing is dropped in a lossless class" || !strings.HasPrefix(v.Location, "s0-eth") || v.Time == 0 ||
			!strings.HasPrefix(v.Detail, "priority 3: headroom overrun: 53.564KB can be in flight to this port (50KB on the cable") ||
			!strings.HasSuffix(v.String(), fmt.Sprintf("switch.pfc.headroom must be 53.564KB or more here, or auto (%d times)",
				v.Times)) {
			t.Errorf("%v", v)
		}
		if v.Location == "s0-eth1" {
			t.Errorf("%v: nothing comes in from the receiver: the headroom is the senders' ports'", v)
		}
	}
	for i := range l.Flows() {
		if l.Flows()[i].Delivered() != 200_000 {
			t.Errorf("flow %d: %d bytes were delivered", i, l.Flows()[i].Delivered())
		}
	}
}

// TestAckEvery: one ACK for every n packets, and always one for the last.
func TestAckEvery(t *testing.T) {
	for every, want := range map[int][]uint32{
		1: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 4: {3, 7, 9}, 5: {4, 9}, 64: {9},
	} {
		l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}",
			labOptions{host: func(h *hostagent.Settings) { h.AckEvery = every }})
		seen := l.watch(l.port("s0", "h1"))
		l.send("h0", "h1", 9*mtuBytes+1, 0, 0)
		l.run(0)
		var acks []uint32
		for _, p := range *seen {
			if p.Kind == wire.KindAck {
				acks = append(acks, p.PSN)
			}
		}
		if !slices.Equal(acks, want) {
			t.Errorf("an ACK every %d: they acknowledge %v, want %v", every, acks, want)
		}
	}
}

// TestCNPInterval: a marked flow is told at once, and then at most every 50 us, whatever the other flow gets.
func TestCNPInterval(t *testing.T) {
	const interval = 50 * vtime.Microsecond
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", labOptions{sw: func(s *switchagent.Settings) {
		// every packet that leaves others behind
		s.ECN = switchagent.ECN{Mode: switchagent.ECNRED, Priorities: 1 << 3, KMin: 0, KMax: 1, PMax: 1}
	}})
	data, seen := l.watch(l.port("h0", "s0")), l.watch(l.port("s0", "h0"))
	l.send("h1", "h0", 0, 0, 0)
	l.send("h2", "h0", 0, 123*vtime.Microsecond, 0)
	l.run(vtime.Millisecond)
	marked := map[uint32][]vtime.Time{}
	for _, p := range *data {
		if p.Kind == wire.KindData && p.ECN() == wire.CE {
			marked[p.DestQP] = append(marked[p.DestQP], p.arrived)
		}
	}
	cnps := map[uint32][]vtime.Time{}
	for _, p := range *seen {
		if p.Kind == wire.KindCNP {
			if !p.BECN {
				t.Error("a CNP without BECN")
			}
			cnps[p.DestQP] = append(cnps[p.DestQP], p.left)
		}
	}
	for flow := range 2 {
		qp := l.queuePair(flow)
		// By hand: the first mark draws one, and each first mark 50 us or more after it the next. It leaves at once or
		// behind a frame or two of control.
		var want []vtime.Time
		for _, at := range marked[qp] {
			if len(want) == 0 || at >= want[len(want)-1]+interval {
				want = append(want, at)
			}
		}
		if len(want) < 15 || len(cnps[qp]) < len(want)-1 || len(cnps[qp]) > len(want) {
			t.Fatalf("flow %d: %d CNPs for %d marks, want %d", flow, len(cnps[qp]), len(marked[qp]), len(want))
		}
		for i, at := range cnps[qp] {
			if late := at - want[i]; late < 0 || late > 60*vtime.Nanosecond {
				t.Errorf("flow %d: CNP %d left at %v, due at %v", flow, i, at, want[i])
			}
		}
	}
}
