package engine

import (
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// fullFrame holds a full data packet's frame, the bound's "MTU".
var fullFrame = dataBytes(mtuBytes, false)

// countedFull holds its size in a switch's buffer.
func countedFull(framing string) int64 {
	if framing == "ns3" {
		return fullFrame - 10
	}
	return fullFrame
}

// peakBound limits how far an ingress account may pass XOFF: 2*delay*C + 2 MTU + one frame.
func peakBound(framing string, gigabits, delayNS int64) (inFlight, bound int64) {
	inFlight = 2 * delayNS * gigabits / 8
	return inFlight, inFlight + 2*countedFull(framing) + countedFull(framing)
}

// TestPeakOccupancy: senders at line rate into one receiver never push an ingress account beyond the bound, and lose
// nothing.
func TestPeakOccupancy(t *testing.T) {
	const xoff = 50_000
	for _, c := range []struct {
		gigabits, delayNS int64
		framing           string
		senders           int
	}{
		{10, 0, "ethernet", 3},
		{10, 5000, "ethernet", 3},
		{40, 1000, "ethernet", 3},
		{100, 1000, "ethernet", 7},
		{100, 10_000, "ethernet", 3},
		{40, 5000, "ns3", 7},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			l := newLab(t, fmt.Sprintf("framing: %s\nrate: %dGbps\ndelay: %dns\nstar: {hosts: %d}", c.framing, c.gigabits,
				c.delayNS, c.senders+1),
				labOptions{sw: func(s *switchagent.Settings) {
					s.PFC.XOFF, s.PFC.XON, s.PFC.Headroom = xoff, xoff-10_000, 300_000
				}})
			inFlight, bound := peakBound(c.framing, c.gigabits, c.delayNS)
			for i := range c.senders {
				l.send(fmt.Sprintf("h%d", i+1), "h0", 4*(xoff+inFlight), 0, 0)
			}
			l.run(0)
			most := int64(0)
			for i := range c.senders {
				port := l.port("s0", fmt.Sprintf("h%d", i+1))
				r, extra := &l.State().Ports[port], &l.State().Extras[port]
				if extra.PausesSent == 0 || extra.PausesSent < extra.ResumesSent || r.Class[3].Pausing != 0 {
					t.Errorf("sender %d: %d PAUSEs, %d RESUMEs", i, extra.PausesSent, extra.ResumesSent)
				}
				most = max(most, int64(r.Class[3].Peak)-xoff)
			}
			// An account empties as it fills, at a sender's share of the receiver's link.
			if least := inFlight * int64(c.senders-1) / int64(c.senders) * 9 / 10; most > bound || most < least {
				t.Errorf("%d B beyond XOFF, expected %d to %d", most, least, bound)
			}
			if l.Dropped != 0 {
				t.Errorf("%d frames were dropped", l.Dropped)
			}
		})
	}
}

// TestPeakOccupancyAtItsWorst comes close to the bound: the receiver takes nothing, so the account only fills; XOFF is
// a byte more than whole frames; and the PAUSE waits behind a full frame that is on its way to the sender.
func TestPeakOccupancyAtItsWorst(t *testing.T) {
	const episodes = 24
	for _, c := range []struct {
		gigabits, delayNS int64
		framing           string
	}{
		{10, 0, "ethernet"},
		{40, 0, "ethernet"},
		{40, 500, "ethernet"},
		{25, 2000, "ethernet"},
		{100, 1000, "ethernet"},
		{100, 10_000, "ns3"},
		{40, 5000, "ns3"},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			full := countedFull(c.framing)
			xoff := 40*full + 16 + 1 // 16: the first frame's RETH
			l := newLab(t, fmt.Sprintf("framing: %s\nrate: %dGbps\ndelay: %dns\nstar: {hosts: 3}", c.framing, c.gigabits,
				c.delayNS),
				labOptions{
					sw: func(s *switchagent.Settings) {
						s.PFC.XOFF, s.PFC.XON, s.PFC.Headroom = bytesOf(xoff), bytesOf(xoff-10_000), switchagent.Auto
					},
					host: func(h *hostagent.Settings) { h.AckEvery = 1 << 20 }, // ACKs of h1's would take its line time
				})
			inFlight, bound := peakBound(c.framing, c.gigabits, c.delayNS)
			size := xoff + inFlight + 10*full
			lasts := vtime.Time(size*8000/c.gigabits) + 4*vtime.Time(c.delayNS)*vtime.Nanosecond
			frameTime := vtime.Time(fullFrame * 8000 / c.gigabits)
			for i := range vtime.Time(episodes) {
				start := i * 6 * lasts
				l.sendPFC(l.port("h0", "s0"), start, 3, wire.PauseMax)
				l.send("h1", "h0", size, start+2*vtime.Microsecond, 0)
				l.send("h2", "h1", size, start+2*vtime.Microsecond+i*frameTime/episodes, 0)
				l.sendPFC(l.port("h0", "s0"), start+2*lasts, 3, wire.Resume)
			}
			l.run(0)
			port := l.port("s0", "h1")
			most := int64(l.State().Ports[port].Class[3].Peak) - xoff
			if most > bound || most < bound-full {
				t.Errorf("%d B beyond XOFF; the bound is %d, and this case is meant to come close to it", most, bound)
			}
			// The headroom of itself is enough, and by no more than the headers that few frames have.
			if auto := int64(l.Switch(0).Headroom(port)); most > auto || most < auto-fullFrame-500 {
				t.Errorf("%d B beyond XOFF; the headroom is %d", most, auto)
			}
			if sent := l.State().Extras[port].PausesSent; l.Dropped != 0 || sent < episodes {
				t.Errorf("%d frames were dropped, %d PAUSEs sent", l.Dropped, sent)
			}
			t.Logf("%d B beyond XOFF of at most %d", most, bound)
		})
	}
}

// TestPauseSpreads: from the receiver's leaf to the spine and on to the senders' leaf and hosts, each account on the
// way within the bound.
func TestPauseSpreads(t *testing.T) {
	const xoff = 40_000
	l := newLab(t, "delay: 2us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2, host_rate: 40Gbps, fabric_rate: 100Gbps}",
		labOptions{sw: func(s *switchagent.Settings) { s.PFC.XOFF, s.PFC.XON = xoff, xoff-10_000 }})
	for _, from := range []string{"h0", "h1", "h3"} {
		l.send(from, "h2", 400_000, 0, 0)
	}
	l.run(0)
	for _, hop := range [][2]string{
		{"leaf1", "spine0"},
		{"spine0", "leaf0"},
		{"leaf0", "h0"},
		{"leaf0", "h1"},
		{"leaf1", "h3"},
	} {
		rate := int64(100)
		if hop[1][0] == 'h' {
			rate = 40
		}
		_, bound := peakBound("ethernet", rate, 2000)
		port := l.port(hop[0], hop[1])
		r, extra := &l.State().Ports[port], &l.State().Extras[port]
		if extra.PausesSent == 0 || extra.PausesSent != extra.ResumesSent || r.Class[3].Pausing != 0 {
			t.Errorf("%s sent %s %d PAUSEs and %d RESUMEs", hop[0], hop[1], extra.PausesSent, extra.ResumesSent)
		}
		if most := int64(r.Class[3].Peak); most > xoff+bound {
			t.Errorf("%s buffered %d B from %s, bound %d", hop[0], most, hop[1], xoff+bound)
		}
	}
	// The order of events is the cause's: the receiver's leaf first, the senders' leaf last.
	at := map[int]vtime.Time{}
	for _, f := range l.pfc {
		if _, seen := at[f.port]; !seen && f.pause {
			at[f.port] = f.at
		}
	}
	near, middle, far := at[l.port("leaf1", "spine0")], at[l.port("spine0", "leaf0")], at[l.port("leaf0", "h0")]
	if !(near < middle && middle < far) {
		t.Errorf("first PAUSEs at %v, %v, %v", near, middle, far)
	}
}
