package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// hpccPlan resolves a topology file of HPCC's simulator.
func hpccPlan(t testing.TB, text string) (*topologies.Plan, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "topo.txt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Parse("test.yaml", []byte(fmt.Sprintf("name: imported\nframing: ns3\nhpcc: %q\n", path)))
}

// fat returns the simulator's fat.txt, by its rule: 320 hosts, 20 ToR, 20 aggregation and 16 core switches, in this
// order.
func fat() string {
	var b strings.Builder
	b.WriteString("376 56 480\n")
	for id := 320; id < 376; id++ {
		fmt.Fprintf(&b, "%d ", id)
	}
	b.WriteByte('\n')
	link := func(a, c int, rate string) { fmt.Fprintf(&b, "%d %d %s 1000ns 0.000000\n", a, c, rate) }
	for h := range 320 {
		link(h, 320+h/16, "100Gbps")
	}
	for tor := range 20 {
		for k := range 4 {
			link(320+tor, 340+tor/4*4+k, "400Gbps")
		}
	}
	for agg := range 20 {
		for k := range 4 {
			link(340+agg, 360+agg%4*4+k, "400Gbps")
		}
	}
	return b.String() + "\n"
}

// TestHPCCTopology: the simulator's fat-tree is the built-in hpcc-fat, node for node and port for port.
func TestHPCCTopology(t *testing.T) {
	p, err := hpccPlan(t, fat())
	if err != nil {
		t.Fatal(err)
	}
	built, err := Builtin("hpcc-fat")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Hosts) != 320 || len(p.Switch) != 56 || len(p.Links) != 480 {
		t.Fatal(p.Summary())
	}
	for id := range p.Nodes {
		if want := fmt.Sprintf("h%d", id); id < 320 && p.Nodes[id].Name != want || id >= 320 &&
			p.Nodes[id].Name != "s"+want[1:] {
			t.Fatalf("node %d is %s", id, p.Nodes[id].Name)
		}
	}
	// The builder's nodes are its edge, aggregation and core switches, then the hosts.
	other := func(id topologies.NodeID) topologies.NodeID { return (id + 56) % 376 }
	for id := range p.Nodes {
		ours, theirs := &p.Nodes[id], &built.Nodes[other(topologies.NodeID(id))]
		if len(ours.Ports) != len(theirs.Ports) || ours.Tier != theirs.Tier {
			t.Fatalf("%s has %d ports on tier %d, %s %d on %d", ours.Name, len(ours.Ports), ours.Tier, theirs.Name,
				len(theirs.Ports), theirs.Tier)
		}
		for i := range ours.Ports {
			a, b := p.Ports[ours.Ports[i]], built.Ports[theirs.Ports[i]]
			if other(p.PeerNode(a.ID).ID) != built.PeerNode(b.ID).ID || a.Rate != b.Rate || a.Delay != b.Delay {
				t.Fatalf("%s port %d: %v, %v to %s; %s: %v, %v to %s", ours.Name, i+1, a.Rate, a.Delay, p.PeerNode(a.ID).Name,
					theirs.Name, b.Rate, b.Delay, built.PeerNode(b.ID).Name)
			}
		}
	}
}

// TestHPCCWords checks that line breaks have no meaning, that times may be bare seconds, and that text after the last
// link is ignored.
func TestHPCCWords(t *testing.T) {
	p, err := hpccPlan(t, "3 1 2 1 0 1 40Gb/s\n0.000002 0 2 1\n25000Mbps 0.001ms 0.0 and so on\n")
	if err != nil {
		t.Fatal(err)
	}
	if p.Nodes[1].Kind != topologies.Switch || p.Nodes[2].Name != "h2" || len(p.Links) != 2 {
		t.Errorf("%+v", p.Nodes)
	}
	got := []any{p.Links[0].Rate, p.Links[0].Delay, p.Links[1].Rate, p.Links[1].Delay}
	if want := []any{40 * units.Gbps, 2 * vtime.Microsecond, 25 * units.Gbps, vtime.Microsecond}; !reflect.DeepEqual(got,
		want) {
		t.Errorf("links %v, want %v", got, want)
	}
}

func FuzzHPCC(f *testing.F) {
	for _, seed := range []string{
		"", "3 1 2\n1\n0 1 40Gbps 1us 0\n2 1 40Gbps 1000ns 0.0", "3 1 2 1 0 1 1e9 0.000001 0 2 1 1G 1us 0", "-1 0 0",
		"2 0 1\n0 1 1Gbps 1s 0",
		"99999999999999999999 1 1", "3 1 2\n1\n0 1 40Gbps 1us 0.5\n2 1 x y z", "3 3 0\n0 1 2", "5120 1024 1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			return
		}
		p, err := hpccPlan(t, text)
		if (p == nil) == (err == nil) {
			t.Fatalf("plan %v, error %v", p, err)
		}
		if p == nil {
			return
		}
		for i := range p.Hosts {
			if path := p.PathOf(p.Hosts[0], p.Hosts[i], topologies.Pair{}); i > 0 && len(path) < 2 {
				t.Errorf("no path from %d to %d", p.Hosts[0], p.Hosts[i])
			}
		}
	})
}
