package measure

import (
	"testing"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// twoWays returns two hosts connected by two spines, of which the first is 4 us further from each leaf.
func twoWays(t *testing.T, fabric, last string) (plan *topologies.Plan, ways, back [2][]topologies.PortID) {
	t.Helper()
	plan, err := spec.Parse("t.yaml", []byte("delay: 1us\nleafspine: {spines: 2, leaves: 2, hosts_per_leaf: 1, "+
		"host_rate: 100Gbps, fabric_rate: "+fabric+"}\n"+
		"change_links:\n  - {from: leaf0..leaf1, to: spine0, delay: 5us}\n  - {from: h1, to: leaf1, rate: "+last+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"spine0", "spine1"} {
		via := []topologies.NodeID{plan.NodeByName(name).ID}
		ways[i] = plan.PathVia(plan.Hosts[0], plan.Hosts[1], via, topologies.Pair{})
		back[i] = plan.PathVia(plan.Hosts[1], plan.Hosts[0], via, topologies.Pair{})
	}
	return plan, ways, back
}

// TestIdealUnderSpraying checks that one packet takes the faster path, 4 us there and 4 us back, and that many packets
// take both paths at once. A byte takes 80 ps at 100 Gb/s and 160 ps at 50 Gb/s; two links of the latter make 100 Gb/s.
func TestIdealUnderSpraying(t *testing.T) {
	plan, ways, back := twoWays(t, "50Gbps", "100Gbps")
	plan = plan.WithHosts(plan.IP, true)
	const each = 2*80 + 2*160 // ps a byte, on all links
	lone, _, line := FramesOf(plan, 1)
	if line != plan.Framing.LineBytes(lone) {
		t.Fatalf("a frame of %d bytes takes %d", lone, line)
	}
	ack, full := plan.Framing.LineBytes(ACKFrame(plan)), plan.Framing.LineBytes(FullFrame(plan))
	for i := range ways {
		if got, want := IdealFCT(plan, ways[i], back[i], 1), 8*vtime.Microsecond+vtime.Time(each*(line+ack)); got != want {
			t.Errorf("a packet asked for by spine%d: %v, want %v", i, got, want)
		}
		got, want :=
			IdealFCT(plan, ways[i], back[i], 1000*int64(plan.MTU)), 8*vtime.Microsecond+vtime.Time(999*80*full+each*(full+ack))
		if off := got - want; off < 0 || off > 20*vtime.Nanosecond { // the first packet has 16 bytes more
			t.Errorf("1000 packets asked for by spine%d: %v, want %v", i, got, want)
		}
	}
}

// TestIdealOfQPs checks two QPs of 1 MB that share the hosts' links: such a link takes the time of both, and a packet
// the rest of the faster path before and after it.
func TestIdealOfQPs(t *testing.T) {
	const size = 1_000_000
	for _, c := range []struct {
		last   string
		psByte int64 // of the slowest of the links that both take
		moving bool
	}{{"100Gbps", 80, false}, {"25Gbps", 320, false}, {"25Gbps", 320, true}} {
		plan, ways, back := twoWays(t, "100Gbps", c.last)
		plan = plan.WithHosts(plan.IP, c.moving)
		_, _, lone := FramesOf(plan, 1)
		_, _, line := FramesOf(plan, size)
		// The rest of the way: the packet on the other links, and the ACK on all.
		rest := 8*vtime.Microsecond + vtime.Time(3*80*lone+(3*80+c.psByte)*plan.Framing.LineBytes(ACKFrame(plan)))
		got := IdealOfQPs(plan, []QPPath{{ways[0], back[0], size}, {ways[1], back[1], size}})
		if want := vtime.Time(c.psByte*2*line) + rest; got != want {
			t.Errorf("%+v: %v, want %v", c, got, want)
		}
	}
}
