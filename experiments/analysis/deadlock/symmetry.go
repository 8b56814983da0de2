package deadlock

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/pausenet/pausenet/topologies"
)

// Two cases are symmetric if an automorphism of the fabric maps one to the other. An automorphism is a permutation of
// the switches that preserves the links between each two, the tiers and the traffic. Paths are shortest by hops, so it
// maps the dependencies of one case to those of the other: both have a cycle or none, and on both or neither of them
// each path goes up and then down. Each permutation is checked for these properties before it counts. One that is not
// found costs time only.

// mirror holds an automorphism: the image of each switch, and of each link between switches by its position in
// network.links.
type mirror struct{ switches, links []int32 }

// lattice holds the links between switches as a graph.
type lattice struct {
	n       *network
	ends    [][2]int32           // by link
	between map[[2]int32][]int32 // links by their ends, of which the lower is the first
	next    [][]int32            // neighbours of each switch, one for each link
	colours []int32              // of each switch, equal for those that no refinement tells apart
}

func (n *network) lattice() *lattice {
	g := &lattice{n: n, between: map[[2]int32][]int32{}, next: make([][]int32, len(n.plan.Switch))}
	g.colours = make([]int32, len(n.plan.Switch))
	for i, id := range n.plan.Switch {
		g.colours[i] = int32(2 * n.plan.Nodes[id].Tier)
	}
	for _, sw := range n.switches {
		g.colours[sw]++
	}
	for i, l := range n.links {
		a := int32(n.plan.Nodes[n.plan.Ports[n.plan.Links[l].A].Node].Index)
		b := int32(n.plan.Nodes[n.plan.Ports[n.plan.Links[l].B].Node].Index)
		a, b = min(a, b), max(a, b)
		g.ends = append(g.ends, [2]int32{a, b})
		g.between[[2]int32{a, b}] = append(g.between[[2]int32{a, b}], int32(i))
		g.next[a], g.next[b] = append(g.next[a], b), append(g.next[b], a)
	}
	g.colours = g.refine(g.colours)
	return g
}

// refine splits colours by the colours of neighbours until nothing changes. Colours count from 0 in an order that
// depends on nothing but the graph and the given colours.
func (g *lattice) refine(colours []int32) []int32 {
	for count := 0; ; {
		keys := make([]string, len(colours))
		var around []int32
		for sw := range colours {
			around = around[:0]
			for _, peer := range g.next[sw] {
				around = append(around, colours[peer])
			}
			slices.Sort(around)
			key := binary.BigEndian.AppendUint32(nil, uint32(colours[sw]))
			for _, colour := range around {
				key = binary.BigEndian.AppendUint32(key, uint32(colour))
			}
			keys[sw] = string(key)
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(keys)))
		refined := make([]int32, len(colours))
		for sw, key := range keys {
			at, _ := slices.BinarySearch(distinct, key)
			refined[sw] = int32(at)
		}
		if colours = refined; len(distinct) == count || len(distinct) == len(colours) {
			return colours
		}
		count = len(distinct)
	}
}

// towards tries to find an automorphism that maps one switch to another, and few others. It gives up at the first
// choice that fails.
func (g *lattice) towards(from, to int32) *mirror {
	a, b := slices.Clone(g.colours), slices.Clone(g.colours)
	size := int32(len(a))
	for from >= 0 {
		a[from], b[to] = size, size
		a, b = g.refine(a), g.refine(b)
		cells := make([]int32, size) // by colour: its switches in a
		for _, colour := range a {
			cells[colour]++
		}
		from = int32(slices.IndexFunc(a, func(colour int32) bool { return cells[colour] > 1 }))
		if from < 0 {
			break
		}
		to = from // if it can stay
		if b[from] != a[from] {
			if to = int32(slices.Index(b, a[from])); to < 0 {
				return nil
			}
		}
	}
	m := &mirror{make([]int32, size), make([]int32, len(g.ends))}
	image := make([]int32, size)
	for sw, colour := range b {
		image[colour] = int32(sw)
	}
	for sw, colour := range a {
		m.switches[sw] = image[colour]
	}
	return m
}

// complete sets the images of the links, and reports whether the mirror is an automorphism that preserves tiers and the
// traffic of the classes.
func (g *lattice) complete(m *mirror, classes []Class) bool {
	seen := make([]bool, len(m.switches))
	leaf := make([]int32, len(m.switches)) // by switch; -1: no hosts
	for i := range leaf {
		leaf[i] = -1
	}
	for l, sw := range g.n.switches {
		leaf[sw] = int32(l)
	}
	node := func(sw int32) *topologies.Node { return &g.n.plan.Nodes[g.n.plan.Switch[sw]] }
	for sw, to := range m.switches {
		if seen[to] || node(int32(sw)).Tier != node(to).Tier || leaf[sw] < 0 != (leaf[to] < 0) {
			return false
		}
		seen[to] = true
	}
	for ends, links := range g.between {
		a, b := m.switches[ends[0]], m.switches[ends[1]]
		images := g.between[[2]int32{min(a, b), max(a, b)}]
		if len(images) != len(links) {
			return false
		}
		for i, l := range links {
			m.links[l] = images[i]
		}
	}
	all := len(g.n.switches) * (len(g.n.switches) - 1)
	for i := range classes {
		if len(classes[i].Pairs) == all { // from each leaf to each other
			continue
		}
		has := map[Pair]bool{}
		for _, p := range classes[i].Pairs {
			has[p] = true
		}
		for _, p := range classes[i].Pairs {
			if !has[Pair{leaf[m.switches[g.n.switches[p.From]]], leaf[m.switches[g.n.switches[p.To]]]}] {
				return false
			}
		}
	}
	return true
}

// mirrors returns automorphisms, as permutations of the links: between neighbours of each set of alike switches, and of
// parallel links.
func (n *network) mirrors(ctx context.Context, classes []Class) (all [][]int32) {
	g := n.lattice()
	last := map[int32]int32{} // by colour
	for sw, colour := range g.colours {
		if before, found := last[colour]; found && ctx.Err() == nil {
			if m := g.towards(before, int32(sw)); m != nil && g.complete(m, classes) {
				all = append(all, m.links)
			}
		}
		last[colour] = int32(sw)
	}
	for _, links := range g.between {
		for i := 1; i < len(links); i++ {
			swap := make([]int32, len(n.links))
			for l := range swap {
				swap[l] = int32(l)
			}
			swap[links[i-1]], swap[links[i]] = links[i], links[i-1]
			all = append(all, swap)
		}
	}
	return all
}

// orbits returns, for each case in the order of eachCase, the first case that is symmetric to it. If ctx ends, it finds
// fewer.
func (n *network) orbits(ctx context.Context, classes []Class, k int) []int32 {
	links := len(n.links)
	first := make([]int32, CaseCount(links, k, 1<<30))
	for i := range first {
		first[i] = int32(i)
	}
	find := func(i int32) int32 {
		for first[i] != i {
			first[i] = first[first[i]]
			i = first[i]
		}
		return i
	}
	join := func(a, b int) {
		if x, y := find(int32(a)), find(int32(b)); x != y {
			first[max(x, y)] = min(x, y)
		}
	}
	pair := func(a, b int) int { // its position: the single links come before
		a, b = min(a, b), max(a, b)
		return links + a*links - a*(a+1)/2 + b - a
	}
	for _, image := range n.mirrors(ctx, classes) {
		for a := 0; a < links && ctx.Err() == nil; a++ {
			if k > 0 {
				join(1+a, 1+int(image[a]))
			}
			for b := a + 1; b < links && k > 1; b++ {
				if int(image[a]) != a || int(image[b]) != b {
					join(pair(a, b), pair(int(image[a]), int(image[b])))
				}
			}
		}
	}
	for i := range first {
		first[i] = find(int32(i))
	}
	return first
}
