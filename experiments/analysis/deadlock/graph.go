package deadlock

import (
	"slices"

	"github.com/pausenet/pausenet/topologies"
)

// Pair represents a pair of leaves by their numbers in topologies.Routes: where frames enter and leave the fabric.
type Pair struct{ From, To int32 }

// Class holds lossless priorities with equal traffic.
type Class struct {
	Priorities []uint8
	Pairs      []Pair // in order of To and then From, without duplicates or pairs of one leaf
	// Trips holds the pairs of interfaces of a scenario's flows, by index, those within a leaf included; nil: any to any.
	Trips [][2]int

	volume *volume // of the flows; nil: unknown
}

// turn is a step of a path: frames that arrive by the link of one egress port leave by another.
type turn struct{ from, to topologies.PortID }

// network holds what does not change with failures.
type network struct {
	plan     *topologies.Plan
	links    []int   // links between switches, by index in plan.Links
	switches []int32 // by leaf: the index of its switch
	tiers    []int32 // by port: its rank in an order by tiers, which holds for paths that go up and then down
}

func newNetwork(plan *topologies.Plan) *network {
	own := *plan
	own.Hash = topologies.HashOwn // HPCC's hash uses only some of these routes
	n := &network{plan: &own, tiers: make([]int32, len(plan.Ports))}
	top := 0
	for i := range own.Nodes {
		top = max(top, own.Nodes[i].Tier)
	}
	for i, l := range own.Links {
		if own.Nodes[own.Ports[l.A].Node].Kind == topologies.Switch &&
			own.Nodes[own.Ports[l.B].Node].Kind == topologies.Switch {
			n.links = append(n.links, i)
		}
	}
	for i := range own.Ports {
		id := topologies.PortID(i)
		here, there := own.Nodes[own.Ports[i].Node].Tier, own.PeerNode(id).Tier
		switch {
		case there > here:
			n.tiers[i] = int32(here)
		case there < here:
			n.tiers[i] = int32(2*top - here + 1)
		default:
			n.tiers[i] = int32(top)
		}
	}
	routes := own.Routes()
	n.switches = make([]int32, routes.Leaves)
	for i, leaf := range routes.Leaf {
		n.switches[leaf] = int32(own.PeerNode(own.Interfaces[i]).Index)
	}
	return n
}

// routes returns the shortest paths without some links.
func (n *network) routes(failed []int) *topologies.Routes {
	r := n.plan.RoutesOver(func(id topologies.PortID) bool { return !slices.Contains(failed, n.plan.Ports[id].Link) })
	return &r
}

// group returns the egress ports of a switch, by its index, towards a leaf; none at the leaf itself.
func group(r *topologies.Routes, sw, leaf int32) []topologies.PortID {
	g := r.ToLeaf[int(sw)*r.Leaves+int(leaf)]
	if g == topologies.AtLeaf {
		return nil
	}
	return r.Groups[g]
}

// turns calls yield for each turn of the paths of some pairs, with the leaf for which it is made, until yield returns
// false. A turn may come several times.
func (n *network) turns(r *topologies.Routes, pairs []Pair, yield func(turn, int32) bool) {
	seen := make([]int32, len(n.plan.Switch)) // 1 + the leaf for which it was last reached
	var queue []int32
	for first := 0; first < len(pairs); {
		leaf := pairs[first].To
		queue = queue[:0]
		for ; first < len(pairs) && pairs[first].To == leaf; first++ {
			from := n.switches[pairs[first].From]
			seen[from] = leaf + 1
			queue = append(queue, from)
		}
		for len(queue) > 0 {
			sw := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			for _, port := range group(r, sw, leaf) {
				peer := int32(n.plan.PeerNode(port).Index)
				for _, next := range group(r, peer, leaf) {
					if !yield(turn{port, next}, leaf) {
						return
					}
				}
				if seen[peer] != leaf+1 {
					seen[peer] = leaf + 1
					queue = append(queue, peer)
				}
			}
		}
	}
}

// inOrder reports whether each turn of the paths leads to a higher position.
func (n *network) inOrder(r *topologies.Routes, pairs []Pair, position []int32) bool {
	ok := true
	n.turns(r, pairs, func(t turn, _ int32) bool {
		ok = position[t.from] < position[t.to]
		return ok
	})
	return ok
}

// graph holds dependencies: the ports that each port's frames may wait for, in ascending order.
type graph map[topologies.PortID][]topologies.PortID

func (n *network) graph(r *topologies.Routes, pairs []Pair) graph {
	g := graph{}
	n.turns(r, pairs, func(t turn, _ int32) bool {
		g.add(t)
		return true
	})
	return g
}

// add adds a turn.
func (g graph) add(t turn) {
	at, found := slices.BinarySearch(g[t.from], t.to)
	if !found {
		g[t.from] = slices.Insert(g[t.from], at, t.to)
	}
}

// ports returns all ports of the graph, in order.
func (g graph) ports() (all []topologies.PortID) {
	for port, next := range g {
		all = append(append(all, port), next...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// order returns the ports so that each comes before those that it waits for, by Kahn's algorithm. If there are cycles,
// it returns the ports that are on one or behind one instead.
func (g graph) order() (sorted, left []topologies.PortID) {
	before := map[topologies.PortID]int{}
	for _, next := range g {
		for _, port := range next {
			before[port]++
		}
	}
	all := g.ports()
	for _, port := range all {
		if before[port] == 0 {
			sorted = append(sorted, port)
		}
	}
	for i := 0; i < len(sorted); i++ {
		for _, next := range g[sorted[i]] {
			if before[next]--; before[next] == 0 {
				sorted = append(sorted, next)
			}
		}
	}
	if len(sorted) == len(all) {
		return sorted, nil
	}
	for _, port := range all {
		if before[port] > 0 {
			left = append(left, port)
		}
	}
	return nil, left
}

// components returns the sets of ports of which each leads to each other, with more than one port, in order (Tarjan's
// algorithm, without recursion). A port never waits for itself.
func (g graph) components() (all [][]topologies.PortID) {
	index, low := map[topologies.PortID]int{}, map[topologies.PortID]int{}
	done := map[topologies.PortID]bool{}
	type frame struct {
		port topologies.PortID
		next int
	}
	var stack []topologies.PortID
	for _, root := range g.ports() {
		if index[root] > 0 {
			continue
		}
		calls := []frame{{port: root}}
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			port := f.port
			if f.next == 0 {
				index[port] = len(index) + 1
				low[port] = index[port]
				stack = append(stack, port)
			}
			if f.next < len(g[port]) {
				next := g[port][f.next]
				f.next++
				switch {
				case index[next] == 0:
					calls = append(calls, frame{port: next})
				case !done[next]:
					low[port] = min(low[port], index[next])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				above := calls[len(calls)-1].port
				low[above] = min(low[above], low[port])
			}
			if low[port] == index[port] {
				at := slices.Index(stack, port)
				component := slices.Clone(stack[at:])
				stack = stack[:at]
				for _, p := range component {
					done[p] = true
				}
				if len(component) > 1 {
					slices.Sort(component)
					all = append(all, component)
				}
			}
		}
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// shortest returns a shortest cycle within a component, with the lowest port first.
func (g graph) shortest(component []topologies.PortID) (best []topologies.PortID) {
	for _, start := range component {
		if c := topologies.ShortestCycle(g, start, len(best)); c != nil {
			best = c
		}
	}
	least := slices.Index(best, slices.Min(best))
	return slices.Concat(best[least:], best[:least])
}
