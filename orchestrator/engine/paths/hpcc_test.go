package paths_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// testdata/hpcc_ecmp.py says which way HPCC's simulator sends packets.
type hpccVectors struct {
	hashes [][6]uint32 // seed, source, destination, ports, hash
	plans  []*topologies.Plan
	flows  [][]hpccVector // by plan
}

// hpccVector describes a flow and the nodes on its way; links are the numbers of the links on it.
type hpccVector struct {
	source, destination topologies.NodeID
	ports               paths.Ports
	there, back         []topologies.NodeID
	links               []int
}

func readHPCCVectors(t *testing.T) (v hpccVectors) {
	t.Helper()
	f, err := os.Open("testdata/hpcc_ecmp.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	line := func() string {
		t.Helper()
		if !in.Scan() {
			t.Fatal("the vectors end early")
		}
		return in.Text()
	}
	scan := func(text, format string, into ...any) {
		t.Helper()
		if _, err := fmt.Sscanf(text, format, into...); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	numbers := func(text string) (list []int) {
		for _, word := range strings.Fields(text) {
			n := 0
			scan(word, "%d", &n)
			list = append(list, n)
		}
		return list
	}
	n := 0
	scan(line(), "hashes %d", &n)
	for range n {
		var h [6]uint32
		scan(line(), "%d %d %d %d %d %d", &h[0], &h[1], &h[2], &h[3], &h[4], &h[5])
		v.hashes = append(v.hashes, h)
	}
	for in.Scan() {
		var nodes, switches, links int
		sizes := line()
		scan(sizes, "%d %d %d", &nodes, &switches, &links)
		text := sizes + "\n" + line() + "\n"
		for range links {
			text += line() + "\n"
		}
		path := filepath.Join(t.TempDir(), "topology.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		plan, err := spec.Parse("plan.yaml", fmt.Appendf(nil, "name: vectors\nframing: ns3\nhpcc: %q\n", path))
		if err != nil {
			t.Fatal(err)
		}
		var flows []hpccVector
		scan(line(), "flows %d", &n)
		for range n {
			ends, ways, _ := strings.Cut(line(), " there ")
			there, ways, _ := strings.Cut(ways, " links ")
			onLinks, back, _ := strings.Cut(ways, " back ")
			var f hpccVector
			scan(ends, "%d %d %d %d", &f.source, &f.destination, &f.ports.Source, &f.ports.Destination)
			for _, id := range numbers(there) {
				f.there = append(f.there, topologies.NodeID(id))
			}
			for _, id := range numbers(back) {
				f.back = append(f.back, topologies.NodeID(id))
			}
			f.links = numbers(onLinks)
			flows = append(flows, f)
		}
		v.plans, v.flows = append(v.plans, plan.WithHash(topologies.HashHPCC)), append(v.flows, flows)
	}
	return v
}

func TestHPCCHash(t *testing.T) {
	v := readHPCCVectors(t)
	for _, h := range v.hashes {
		if got := paths.HPCCHash(h[0], h[1], h[2], paths.Ports{
			Source:      uint16(h[3]),
			Destination: uint16(h[4]),
		}); got != h[5] {
			t.Errorf("hash of %v is %d", h, got)
		}
	}
	if len(v.hashes) < 200 || len(v.plans) != 3 {
		t.Errorf("%d hashes, %d plans", len(v.hashes), len(v.plans))
	}
}

// TestHPCCPaths: data and ACKs go the simulator's way, by Path and by the pipelines, which find the flow's ports in
// the packets.
func TestHPCCPaths(t *testing.T) {
	v := readHPCCVectors(t)
	choices := 0
	for i, plan := range v.plans {
		k := loadBare(t, fill.Sizes(plan, ebpf.Features{}))
		fill.Plan(plan, &k.State)
		for i := range k.State.Switches {
			k.State.Switches[i].EcmpSeed, k.State.Switches[i].Choice = paths.Seed(plan, i), ebpf.ChoiceHPCC
		}
		for _, f := range v.flows[i] {
			there := paths.Forward(plan, f.source, f.destination, f.ports)
			back := paths.Back(plan, f.source, f.destination, f.ports)
			var links []int
			for _, p := range there {
				links = append(links, plan.Ports[p].Link)
			}
			if !slices.Equal(nodesOf(plan, there), f.there) || !slices.Equal(links, f.links) ||
				!slices.Equal(nodesOf(plan, back), f.back) {
				t.Fatalf("plan %d: %d to %d, ports %v: by %v over links %v, back by %v; want %v, %v, %v", i, f.source,
					f.destination, f.ports,
					nodesOf(plan, there), links, nodesOf(plan, back), f.there, f.links, f.back)
			}
			for way, path := range [][]topologies.PortID{there, back} {
				source, destination, ports := f.source, f.destination, f.ports
				if way == 1 {
					source, destination, ports = destination, source, ports.Back(plan)
				}
				for j, left := range path[:len(path)-1] {
					in := plan.Ports[left].Peer
					if len(plan.NextHops(plan.Nodes[plan.Ports[in].Node].Index, plan.Nodes[destination].Index)) > 1 {
						choices++
					}
					if got := choose(t, k, int(in), plan.Nodes[source].Addr.As4(), plan.Nodes[destination].Addr.As4(),
						ports); got != path[j+1] {
						t.Fatalf("plan %d: %d to %d, ports %v: the pipeline takes %s, Path %s", i, source, destination, ports,
							plan.Ports[got].Name, plan.Ports[path[j+1]].Name)
					}
				}
			}
		}
	}
	if choices < 500 {
		t.Errorf("%d choices among several ports", choices)
	}
}

// nodesOf returns the nodes on a way, its ends included.
func nodesOf(plan *topologies.Plan, path []topologies.PortID) []topologies.NodeID {
	nodes := []topologies.NodeID{plan.Ports[path[0]].Node}
	for _, p := range path {
		nodes = append(nodes, plan.PeerNode(p).ID)
	}
	return nodes
}

// TestHPCCParallelLinks: of several links between two switches the simulator knows the last.
func TestHPCCParallelLinks(t *testing.T) {
	plan, err := spec.Parse("plan.yaml", []byte(`
rate: 40Gbps
delay: 1us
nodes: [{name: h0..h1, kind: host}, {name: s0..s1, kind: switch}]
links: [{from: h0, to: s0}, {from: h1, to: s1}, {from: s0, to: s1, count: 3}]
`))
	if err != nil {
		t.Fatal(err)
	}
	plan = plan.WithHash(topologies.HashHPCC)
	s0 := plan.NodeByName("s0")
	if got, want := plan.NextHops(s0.Index, 1), s0.Ports[len(s0.Ports)-1:]; !slices.Equal(got, want) {
		t.Errorf("next hops %v, want %v", got, want)
	}
}

// TestHPCCRoutesAroundAFault: with a link down next hops are found anew, as the simulator does (TakeDownLink).
func TestHPCCRoutesAroundAFault(t *testing.T) {
	plan, err := spec.Parse("plan.yaml", []byte(
		"rate: 40Gbps\ndelay: 1us\nleafspine: {spines: 3, leaves: 2, hosts_per_leaf: 1}"))
	if err != nil {
		t.Fatal(err)
	}
	plan = plan.WithHash(topologies.HashHPCC)
	leaf := plan.PeerNode(plan.Nodes[plan.Hosts[0]].Ports[0])
	spines := func(r *topologies.Routes) (names []string) {
		for _, p := range r.Next(leaf.Index, 1) {
			names = append(names, plan.PeerNode(p).Name)
		}
		return names
	}
	if got := spines(plan.Routes()); !slices.Equal(got, []string{"spine2", "spine1", "spine0"}) {
		t.Errorf("next hops %v", got)
	}
	down := plan.PortsBetween(leaf.ID, plan.NodeByName("spine1").ID)[0]
	routes := plan.RoutesOver(func(p topologies.PortID) bool { return p != down && p != plan.Ports[down].Peer })
	if got := spines(&routes); !slices.Equal(got, []string{"spine2", "spine0"}) {
		t.Errorf("next hops with spine1 cut off %v", got)
	}
	none := plan.RoutesOver(func(topologies.PortID) bool { return false })
	if got := spines(&none); len(got) != 0 {
		t.Errorf("next hops without links %v", got)
	}
}
