package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// fourWays describes two leaves with four spines between them, one of which may be farther than the others.
const fourWays = `
nodes:
  - {name: h0..h3, kind: host}
  - {name: l0..l1, kind: switch}
  - {name: s0..s3, kind: switch}
links:
  - {from: h0..h1, to: l0, rate: 40Gbps, delay: 1us}
  - {from: h2..h3, to: l1, rate: 40Gbps, delay: 1us}
  - {from: l0, to: s0..s2, rate: 40Gbps, delay: 1us}
  - {from: l1, to: s0..s2, rate: 40Gbps, delay: 1us}
  - {from: l0, to: s3, rate: 40Gbps, delay: FAR}
  - {from: l1, to: s3, rate: 40Gbps, delay: 1us}
`

// uplinks returns the data frames that l0 has sent to each spine.
func (l *lab) uplinks() (frames [4]int64) {
	for i, s := range []string{"s0", "s1", "s2", "s3"} {
		frames[i] = l.TxFrames(l.port("l0", s))
	}
	return frames
}

func ways(far string) string { return strings.Replace(fourWays, "FAR", far, 1) }

// A flow's packets take the ports that the mode says, and arrive in order where all ways are alike and empty.
func TestBalancingModes(t *testing.T) {
	const packets = 4000
	untested := topologies.BalancingNames()
	for _, c := range []struct {
		name string
		set  topologies.Balancing
		ok   func(frames []int64) bool // in ascending order
	}{
		{
			"ecmp",
			topologies.Balancing{Seed: topologies.OwnSeed},
			func(f []int64) bool { return f[2] == 0 && f[3] == packets },
		},
		{
			"ecmp of one seed",
			topologies.Balancing{Seed: 7},
			func(f []int64) bool { return f[2] == 0 && f[3] == packets },
		},
		// 5 standard deviations
		{
			"spray at random",
			topologies.Balancing{Mode: topologies.BalanceSpray},
			func(f []int64) bool { return f[0] > packets/4-150 && f[3] < packets/4+150 },
		},
		{
			"spray in turn",
			topologies.Balancing{Mode: topologies.BalanceSpray, RoundRobin: true},
			func(f []int64) bool { return f[0] == packets/4 && f[3] == packets/4 },
		},
		{
			"adaptive",
			topologies.Balancing{Mode: topologies.BalanceAdaptive},
			func(f []int64) bool { return f[0] > packets/5 },
		},
		// A full packet takes about 215 ns at 40 Gb/s.
		{"flowlets of single packets", topologies.Balancing{
			Mode: topologies.BalanceFlowlet,
			Gap:  100 * vtime.Nanosecond,
		}, func(f []int64) bool { return f[0] > packets/4-150 }},
		{
			"a single flowlet",
			topologies.Balancing{Mode: topologies.BalanceFlowlet, Gap: vtime.Microsecond},
			func(f []int64) bool { return f[2] == 0 && f[3] == packets },
		},
		{"adaptive by a single flowlet", topologies.Balancing{
			Mode: topologies.BalanceAdaptive, ByFlowlet: true,
			Gap: vtime.Microsecond,
		}, func(f []int64) bool { return f[2] == 0 && f[3] == packets }},
	} {
		untested = slices.DeleteFunc(untested, func(name string) bool { return name == c.set.Mode.String() })
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, ways("1us"), labOptions{balance: func(b *topologies.Balancing) { *b = c.set }})
			flow := l.send("h0", "h2", packets*int64(l.plan.MTU), 0, 0)
			l.run(0)
			frames := l.uplinks()
			sorted := slices.Sorted(slices.Values(frames[:]))
			if !c.ok(sorted) || frames[0]+frames[1]+frames[2]+frames[3] != packets {
				t.Errorf("the ports sent %v frames", frames)
			}
			if f := &l.Flows()[flow]; f.Retransmitted() != 0 || l.NIC(2).OutOfOrder != 0 {
				t.Errorf("%d bytes sent again, %d packets out of order, of ways that are alike", f.Retransmitted(),
					l.NIC(2).OutOfOrder)
			}
		})
	}
	if len(untested) > 0 {
		t.Errorf("no row for %v", untested)
	}
}

// TestSprayingReorders: if paths differ in length, spraying reorders packets. Go-back-N then retransmits packets that
// were not lost, and delivers all data once and in order.
func TestSprayingReorders(t *testing.T) {
	for _, mode := range []topologies.BalancingMode{topologies.BalanceECMP, topologies.BalanceSpray} {
		l := newLab(t, ways("3us"), labOptions{balance: func(b *topologies.Balancing) { b.Mode = mode }})
		const size = 2_000_000
		flow := l.send("h0", "h2", size, 0, 0)
		l.run(0)
		f, n := &l.Flows()[flow], l.NIC(2)
		if f.Delivered() != size || l.Dropped != 0 {
			t.Errorf("%v: %d bytes delivered, %d frames dropped", mode, f.Delivered(), l.Dropped)
		}
		if reordered := n.OutOfOrder > 0 && n.NaksSent > 0 &&
			f.Retransmitted() > 0; reordered != (mode == topologies.BalanceSpray) {
			t.Errorf("%v: %d packets out of order, %d NAKs, %d bytes sent again", mode, n.OutOfOrder, n.NaksSent,
				f.Retransmitted())
		}
	}
}

// TestWaysOfMovingPackets: the path of moving packets has the ports of all shortest paths, and after a reroute those of
// the remaining ones.
func TestWaysOfMovingPackets(t *testing.T) {
	l := newLab(t, ways("1us"), labOptions{
		reroute: true,
		balance: func(b *topologies.Balancing) { b.Mode = topologies.BalanceSpray },
	})
	flow := l.send("h0", "h2", 4_000_000, 0, 0)
	names := func() (names []string) {
		for _, p := range l.Way(flow) {
			names = append(names, l.plan.Nodes[l.plan.Ports[p].Node].Name)
		}
		slices.Sort(names)
		return names
	}
	if got := strings.Join(names(), " "); got != "h0 l0 l0 l0 l0 l1 s0 s1 s2 s3" {
		t.Errorf("before: %s", got)
	}
	var after string
	l.at(10*vtime.Microsecond, func() error { return l.SetLink(l.port("l0", "s1"), false) })
	l.at(20*vtime.Microsecond, func() error { return l.Reroute() })
	l.at(30*vtime.Microsecond, func() error {
		after = strings.Join(names(), " ")
		return nil
	})
	l.run(0)
	if after != "h0 l0 l0 l0 l1 s0 s2 s3" {
		t.Errorf("after: %s", after)
	}
	// Of hosts of one leaf there is one way.
	if got := l.plan.Ways(l.node("h0").ID, l.node("h1").ID, topologies.Pair{}); len(got) != 2 || len(got[0]) != 1 ||
		len(got[1]) != 1 {
		t.Errorf("%v from h0 to h1", got)
	}
}

// Hosts that give packets other source ports have ECMP spread them; ACKs have the ports of the packets that they
// answer.
func TestEntropyOfHosts(t *testing.T) {
	const packets = 4000
	for _, entropy := range []hostagent.Entropy{hostagent.EntropyRandom, hostagent.EntropyREPS} {
		l := newLab(t, ways("1us"), labOptions{host: func(h *hostagent.Settings) { h.Entropy = entropy }})
		data, acks := l.watch(l.port("l0", "h0")), l.watch(l.port("h0", "l0"))
		flow := l.send("h0", "h2", packets*int64(l.plan.MTU), 0, 0)
		l.run(0)
		sent, back := map[uint32]uint16{}, 0
		for i := range *data {
			sent[(*data)[i].PSN] = (*data)[i].SrcPort
		}
		ports := map[uint16]bool{}
		for i := range *acks {
			if p := &(*acks)[i]; sent[p.PSN] != p.SrcPort {
				t.Fatalf("%v: the ACK of %d has port %d, the packet %d", entropy, p.PSN, p.SrcPort, sent[p.PSN])
			}
			ports[(*acks)[i].SrcPort] = true
			back++
		}
		frames := l.uplinks()
		if slices.Min(frames[:]) < packets/8 || back != packets || l.Flows()[flow].Delivered() != packets*int64(l.plan.MTU) {
			t.Errorf("%v: %v frames by port, %d ACKs", entropy, frames, back)
		}
		if recycles := len(ports) < packets/2; recycles != (entropy == hostagent.EntropyREPS) {
			t.Errorf("%v: %d different ports of %d packets", entropy, len(ports), packets)
		}
	}
}
