package topologies_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/draw"
	"github.com/pausenet/pausenet/topologies/spec"
)

// fabrics generates specs of connected fabrics: a tree of switches with extra links, hosts anywhere, some of them by
// several ports; or a builder's.
func fabrics() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return fmt.Sprintf("leafspine: {spines: %d, leaves: %d, hosts_per_leaf: %d}", rapid.IntRange(1, 5).Draw(t, "spines"),
				rapid.IntRange(2, 6).Draw(t, "leaves"), rapid.IntRange(1, 5).Draw(t, "hosts"))
		case 1:
			return fmt.Sprintf("fattree: {k: %d}", 2*rapid.IntRange(1, 4).Draw(t, "k/2"))
		}
		switches, hosts := rapid.IntRange(1, 9).Draw(t, "switches"), rapid.IntRange(2, 12).Draw(t, "hosts")
		var b strings.Builder
		fmt.Fprintf(&b, "nodes:\n  - {name: h0..h%d, kind: host}\n  - {name: s0..s%d, kind: switch}\nlinks:\n", hosts-1,
			switches-1)
		linked := map[[2]int]bool{}
		for i := 1; i < switches; i++ {
			to := rapid.IntRange(0, i-1).Draw(t, "parent")
			linked[[2]int{to, i}] = true
			fmt.Fprintf(&b, "  - {from: s%d, to: s%d, count: %d, weight: %d}\n", i, to, rapid.IntRange(1, 3).Draw(t, "count"),
				rapid.SampledFrom([]int{1, 1, 2, 6}).Draw(t, "weight"))
		}
		for range rapid.IntRange(0, 8).Draw(t, "extra") {
			x, y := rapid.IntRange(0, switches-1).Draw(t, "x"), rapid.IntRange(0, switches-1).Draw(t, "y")
			pair := [2]int{min(x, y), max(x, y)}
			if x != y && !linked[pair] {
				linked[pair] = true
				fmt.Fprintf(&b, "  - {from: s%d, to: s%d, weight: %d, delay: %dus}\n", x, y,
					rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "weight"),
					rapid.SampledFrom([]int{1, 1, 7}).Draw(t, "delay"))
			}
		}
		for i := range hosts {
			first := rapid.IntRange(0, switches-1).Draw(t, "switch")
			for n := range rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "homes") {
				if n < switches {
					fmt.Fprintf(&b, "  - {from: h%d, to: s%d, count: %d, rate: %dGbps}\n", i, (first+n)%switches,
						rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "ports"),
						rapid.SampledFrom([]int{40, 40, 10, 100}).Draw(t, "rate"))
				}
			}
		}
		return b.String()
	})
}

func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := fabrics().Draw(t, "spec")
		p, err := spec.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		checkPorts(t, p)
		checkRoutes(t, p)
		again, err := spec.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var a, b bytes.Buffer
		if draw.SVG(&a, p) != nil || draw.SVG(&b, again) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatal("two drawings of one spec differ")
		}
	})
}

// checkPorts: ids are dense and point to each other, peers are involutions, names and MACs are unique.
func checkPorts(t *rapid.T, p *topologies.Plan) {
	next := topologies.PortID(0)
	for i := range p.Nodes {
		for _, id := range p.Nodes[i].Ports {
			if id != next {
				t.Fatalf("the ports of a node do not follow one another: %v", p.Nodes[i].Ports)
			}
			next++
		}
	}
	names, macs := map[string]bool{}, map[[6]byte]bool{}
	for i := range p.Ports {
		port := &p.Ports[i]
		peer := &p.Ports[port.Peer]
		if port.ID != topologies.PortID(i) || peer.Peer != port.ID || peer.ID == port.ID || peer.Node == port.Node {
			t.Fatalf("port %d: id %d, peer %d, whose peer is %d", i, port.ID, port.Peer, peer.Peer)
		}
		if l := p.Links[port.Link]; peer.Link != port.Link || (l.A != port.ID && l.B != port.ID) ||
			l.Rate != port.Rate || l.Delay != port.Delay {
			t.Fatalf("port %s and its link disagree", port.Name)
		}
		n := &p.Nodes[port.Node]
		if n.Ports[port.Number-1] != port.ID || port.Name != fmt.Sprintf("%s-eth%d", n.Name, port.Number) ||
			len(port.Name) > 15 {
			t.Fatalf("port %s is not number %d of %s", port.Name, port.Number, n.Name)
		}
		if names[port.Name] || macs[port.MAC] || port.MAC[0] != 2 {
			t.Fatalf("port %s: name or MAC %x is not its own", port.Name, port.MAC)
		}
		names[port.Name], macs[port.MAC] = true, true
	}
	for i, id := range p.Hosts {
		n := &p.Nodes[id]
		a := n.Addr.As4()
		if n.Index != i || n.Kind != topologies.Host || n.Tier != 0 || a[0] != 10 ||
			int(a[1])<<16+int(a[2])<<8+int(a[3]) != i+1 || p.Interface(id, 0) != i {
			t.Fatalf("host %d is %+v", i, n)
		}
		for position, port := range n.Ports {
			if host, at, err := p.End(fmt.Sprintf("%s.%d", n.Name, position+1)); err != nil || host != id || int(at) != position {
				t.Fatalf("end %d of %s is %d of node %d, %v", position, n.Name, at, host, err)
			}
			if to := p.Interface(id, uint8(position)); p.Interfaces[to] != port || p.Ports[port].Interface != to {
				t.Fatalf("interface %d of %s is port %d", position, n.Name, p.Interfaces[to])
			}
		}
	}
	addresses := map[netip.Addr]bool{}
	for i := range p.Ports {
		a := p.Address(topologies.PortID(i))
		if host := p.Nodes[p.Ports[i].Node].Kind == topologies.Host; a.IsValid() != host || addresses[a] && host {
			t.Fatalf("port %s has the address %v", p.Ports[i].Name, a)
		}
		addresses[a] = true
	}
	for i, id := range p.Switch {
		if n := &p.Nodes[id]; n.Index != i || n.Kind != topologies.Switch || n.Tier < 1 {
			t.Fatalf("switch %d is %+v", i, n)
		}
	}
}

// checkRoutes compares the routes with distances found by Floyd and Warshall's algorithm, which is independent of the
// code that computes routes.
func checkRoutes(t *rapid.T, p *topologies.Plan) {
	const far = 1 << 20
	n := len(p.Nodes)
	distance := make([][]int, n)
	for i := range distance {
		distance[i] = slices.Repeat([]int{far}, n)
		distance[i][i] = 0
	}
	for i := range p.Ports {
		distance[p.Ports[i].Node][p.Ports[p.Ports[i].Peer].Node] = 1
	}
	for k := range n {
		if p.Nodes[k].Kind == topologies.Host {
			continue // Hosts never transit.
		}
		for i := range n {
			for j := range n {
				distance[i][j] = min(distance[i][j], distance[i][k]+distance[k][j])
			}
		}
	}
	for sw, id := range p.Switch {
		for to, last := range p.Interfaces {
			leaf := p.PeerNode(last).ID
			hops := p.NextHops(sw, to)
			if !slices.IsSorted(hops) || len(hops) == 0 {
				t.Fatalf("next hops %v", hops)
			}
			for _, port := range p.Nodes[id].Ports {
				peer := p.PeerNode(port)
				nearer := peer.Kind == topologies.Switch && distance[peer.ID][leaf] == distance[id][leaf]-1
				if id == leaf {
					nearer = p.Ports[port].Peer == last
				}
				if nearer != slices.Contains(hops, port) {
					t.Fatalf("port %s towards %s: nearer %t, in %v", p.Ports[port].Name, p.Ports[last].Name, nearer, hops)
				}
			}
		}
	}
	for _, a := range p.Hosts {
		for _, b := range p.Hosts {
			if a == b {
				continue
			}
			pairs := p.Pairs(a, b)
			if p.PairOf(a, b, len(pairs)+1) != pairs[1%len(pairs)] {
				t.Fatal("flows do not take turns")
			}
			for i, pair := range pairs {
				if same := len(p.Nodes[a].Ports) == len(p.Nodes[b].Ports); same &&
					pair != (topologies.Pair{From: uint8(i), To: uint8(i)}) {
					t.Fatalf("pair %d from %s to %s is %v", i, p.Nodes[a].Name, p.Nodes[b].Name, pair)
				}
				checkPath(t, p, distance, a, b, pair)
			}
		}
	}
	seen := map[string]bool{}
	for _, g := range p.Routes().Groups {
		times := map[topologies.PortID]int{}
		for _, id := range g {
			times[id]++
		}
		for a, n := range times {
			for b, m := range times {
				if n*p.Links[p.Ports[b].Link].Weight != m*p.Links[p.Ports[a].Link].Weight {
					t.Fatalf("group %v: port %d is there %d times, port %d %d times", g, a, n, b, m)
				}
			}
		}
		key := fmt.Sprint(g)
		if seen[key] {
			t.Fatalf("group %s is stored twice", key)
		}
		seen[key] = true
	}
}

// checkPath: the path by a pair of interfaces is as long as the distance between their switches, and is that through
// its own nodes.
func checkPath(t *rapid.T, p *topologies.Plan, distance [][]int, a, b topologies.NodeID, pair topologies.Pair) {
	first, last := p.Nodes[a].Ports[pair.From], p.Nodes[b].Ports[pair.To]
	path, back := p.PathOf(a, b, pair), p.PathOf(b, a, pair.Back())
	if links := distance[p.PeerNode(first).ID][p.PeerNode(last).ID] + 2; len(path) != links || len(back) != links {
		t.Fatalf("path of %d links and %d back, distance %d", len(path), len(back), links)
	}
	if path[0] != first || p.Ports[path[len(path)-1]].Peer != last {
		t.Fatalf("the path goes from %s to the peer of %s", p.Ports[path[0]].Name, p.Ports[path[len(path)-1]].Name)
	}
	at := a
	var via []topologies.NodeID
	for _, id := range path {
		if p.Ports[id].Node != at {
			t.Fatalf("the path breaks at %s", p.Ports[id].Name)
		}
		if at = p.PeerNode(id).ID; at != b {
			via = append(via, at)
		}
	}
	if at != b || !slices.Equal(p.PathVia(a, b, via, pair), path) {
		t.Fatalf("the path ends at %s; through its own nodes it is another", p.Nodes[at].Name)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range spec.BuiltinNames() {
		data, err := spec.BuiltinSource(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("fattree: {pods: 1, edges: 1, aggregations: 1, cores: 1, hosts_per_edge: 2}"))
	f.Add([]byte("star: {hosts: 2, names: {host: h%d}}\nnodes: [{name: a, kind: switch}]\nlinks: [{from: a, to: s0}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		p, err := spec.Parse("fuzz.yaml", data)
		if (err == nil) == (p == nil) {
			t.Fatalf("plan %v, error %v", p, err)
		}
		if err != nil || len(p.Nodes) > 200 {
			return
		}
		var b bytes.Buffer
		if err := draw.SVG(&b, p); err != nil {
			t.Error(err)
		}
	})
}
