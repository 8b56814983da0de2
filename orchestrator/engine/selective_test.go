package engine

import (
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestSelectiveRepeat: each packet dropped by a lossy queue is retransmitted once, and no other packet is. The test
// compares the packets sent twice with the drops, whose PSNs it knows from the wire. Every byte is placed once, and no
// invariant is broken.
func TestSelectiveRepeat(t *testing.T) {
	const size = 300_000
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", labOptions{
		sw: func(s *switchagent.Settings) { s.PFC.Priorities, s.LossyLimit = 0, 30*units.KB },
		host: func(h *hostagent.Settings) {
			h.Recovery, h.Selective.Cap, h.RetransmitTimeout = hostagent.SelectiveRepeat, 0, vtime.Millisecond
		},
	})
	names := []string{"h1", "h2"}
	var sent [2]*[]passage
	arrived := l.watch(l.port("h0", "s0"))
	for i, h := range names {
		sent[i] = l.watch(l.port("s0", h))
		l.send(h, "h0", size, 0, units.Rate(37-10*i)*units.Gbps)
	}
	l.run(0)
	if l.Dropped == 0 {
		t.Fatal("nothing was dropped")
	}
	type packet struct{ qp, psn uint32 }
	left, came := map[packet]int{}, map[packet]int{}
	total := 0
	for i := range names {
		for _, p := range *sent[i] {
			if p.Kind == wire.KindData {
				left[packet{p.DestQP, p.PSN}]++
				total++
			}
		}
	}
	for _, p := range *arrived {
		if p.Kind == wire.KindData {
			came[packet{p.DestQP, p.PSN}]++
		}
	}
	if total != 2*size/mtuBytes+int(l.Dropped) {
		t.Errorf("%d packets left their hosts, for %d and %d drops", total, 2*size/mtuBytes, l.Dropped)
	}
	for p, n := range came {
		if n != 1 {
			t.Errorf("packet %d of QP %d came %d times", p.psn, p.qp, n)
		}
	}
	for i := range names {
		f := &l.Flows()[i]
		met := f.Recovery()
		if f.Delivered() != size || met.Duplicates != 0 || met.Spurious != 0 || f.Retransmitted() > 0 && met.Reordered == 0 {
			t.Errorf("flow %d: %d delivered, %d again, %+v", i, f.Delivered(), f.Retransmitted(), met)
		}
	}
}

// TestTrimming: with trimmed packets and a control priority that has a share, nothing is dropped and no timeout is
// needed: each trimmed packet draws a NAK and goes again. Under go-back-N it does likewise, and sends more.
func TestTrimming(t *testing.T) {
	const size = 200_000
	for _, recovery := range []hostagent.Recovery{hostagent.SelectiveRepeat, hostagent.GoBackN} {
		l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 5}", labOptions{
			sw: func(s *switchagent.Settings) {
				s.PFC.Priorities, s.LossyLimit, s.Trim = 0, 30*units.KB, true
				s.Scheduler.Quantum[3], s.Scheduler.Quantum[6] = 1100, 740
			},
			host: func(h *hostagent.Settings) {
				if h.Recovery = recovery; recovery == hostagent.GoBackN {
					h.NakInterval, h.RetransmitTimeout = 5*vtime.Microsecond, vtime.Millisecond
				}
			},
		})
		for i, h := range []string{"h1", "h2", "h3", "h4"} {
			l.send(h, "h0", size, 0, units.Rate(37-3*i)*units.Gbps)
		}
		l.run(0)
		trimmed := l.Switch(0).Port(l.port("s0", "h0")).TrimmedFrames
		if trimmed == 0 || l.Dropped != 0 || l.NIC(0).Trimmed != trimmed {
			t.Errorf("recovery %d: %d trimmed, %d came so, %d dropped", recovery, trimmed, l.NIC(0).Trimmed, l.Dropped)
		}
		retransmitted := int64(0)
		for i := range l.Flows() {
			f := &l.Flows()[i]
			retransmitted += f.Retransmitted()
			if f.Delivered() != size {
				t.Errorf("recovery %d, flow %d: %d of %d delivered", recovery, i, f.Delivered(), size)
			}
		}
		if recovery == hostagent.SelectiveRepeat && (retransmitted != trimmed*mtuBytes || l.NIC(1).Timeouts != 0) {
			t.Errorf("%d bytes again for %d trimmed packets", retransmitted, trimmed)
		}
	}
}

// TestTrimPhase: of two flows whose packets come in step, the one whose packet comes second is always trimmed where the
// arriving frame is; NDP's coin has both share the cuts, and end together (Handley et al., SIGCOMM 2017, section 3.1).
func TestTrimPhase(t *testing.T) {
	const size = 400_000
	for victim, fair := range map[switchagent.TrimVictim]bool{
		switchagent.TrimArriving: false,
		switchagent.TrimCoin:     true,
	} {
		l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", labOptions{
			sw: func(s *switchagent.Settings) {
				s.PFC.Priorities, s.LossyLimit, s.Trim, s.TrimVictim = 0, 30*units.KB, true, victim
				s.Scheduler.Quantum[3], s.Scheduler.Quantum[6] = 1100, 740
			},
			host: func(h *hostagent.Settings) { h.Recovery = hostagent.SelectiveRepeat },
		})
		a, b := l.send("h1", "h0", size, 0, 40*units.Gbps), l.send("h2", "h0", size, 0, 40*units.Gbps)
		l.run(0)
		first, last := min(l.fct(a), l.fct(b)), max(l.fct(a), l.fct(b))
		if got := float64(last) < 1.1*float64(first); got != fair || l.Dropped != 0 || l.NIC(0).Trimmed == 0 {
			t.Errorf("victim %v: %v and %v, %d dropped, %d trimmed", victim, first, last, l.Dropped, l.NIC(0).Trimmed)
		}
	}
}
