package topologies

import (
	"encoding/binary"
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// shortestPaths finds, for each switch and interface of a host, the ports on paths with the fewest hops through
// switches. One breadth-first search serves all interfaces at a switch, because they share the paths to it, and all
// switches with the same neighbours (alikeLeaf).
func (p *Plan) shortestPaths() Routes { return p.RoutesOver(func(PortID) bool { return true }) }

// RoutesOver returns the shortest paths over the links of usable ports. A link is usable from both ends or from
// neither. A group is empty if no path exists.
func (p *Plan) RoutesOver(usable func(PortID) bool) Routes {
	r := p.leaves()
	stored := map[string]int32{}
	var key []byte
	store := func(ports []PortID) int32 {
		key = appendKey(key[:0], ports)
		g, ok := stored[string(key)]
		if !ok {
			g = int32(len(r.Groups))
			stored[string(key)] = g
			r.Groups = append(r.Groups, slices.Clone(ports))
		}
		return g
	}

	var neighbours [][]hpccHop
	if p.Hash == HashHPCC {
		neighbours = p.hpccNeighbours()
	}
	first, links := p.fabricLinks(usable)
	distance := make([]int32, len(p.Switch)) // by switch, like the following
	queue := make([]int32, 0, len(p.Switch))
	var ports []PortID
	alike := map[string]alikeLeaf{} // by their neighbours: the first leaf with them
	for _, root := range p.Switch {
		leaf := -1
		for _, id := range p.Nodes[root].Ports {
			if peer := p.PeerNode(id); peer.Kind == Host {
				to := p.Ports[p.Ports[id].Peer].Interface
				leaf = int(r.Leaf[to])
				last := []PortID{id}
				if !usable(id) {
					last = nil
				}
				r.Last[to] = store(last)
			}
		}
		if leaf < 0 {
			continue
		}
		start := int32(p.Nodes[root].Index)
		set := func(sw, group int32) { r.ToLeaf[int(sw)*r.Leaves+leaf] = group }
		set(start, AtLeaf)
		if neighbours != nil {
			next := p.hpccNextHops(root, neighbours, usable)
			for i, id := range p.Switch {
				if id != root {
					set(int32(i), store(next[id]))
				}
			}
			continue
		}
		own := links[first[start]:first[start+1]]
		beside := neighboursOf(own)
		key := string(appendKey(nil, beside))
		if model, found := alike[key]; found {
			for sw := range p.Switch {
				set(int32(sw), r.ToLeaf[sw*r.Leaves+model.leaf])
			}
			set(start, AtLeaf)
			set(model.sw, store(p.weighted(portsTo(links[first[model.sw]:first[model.sw+1]], -1))))
			for _, sw := range beside {
				set(sw, store(p.weighted(portsTo(links[first[sw]:first[sw+1]], start))))
			}
			continue
		}
		alike[key] = alikeLeaf{start, leaf}
		nowhere := int32(-1)
		for i := range distance {
			distance[i] = -1
		}
		distance[start] = 0
		queue = append(queue[:0], start)
		for len(queue) > 0 {
			sw := queue[0]
			queue = queue[1:]
			ports = ports[:0]
			for _, l := range links[first[sw]:first[sw+1]] {
				switch d := distance[l.peer]; {
				case d < 0:
					distance[l.peer] = distance[sw] + 1
					queue = append(queue, l.peer)
				case d == distance[sw]-1:
					ports = append(ports, l.port)
				}
			}
			if sw != start {
				set(sw, store(p.weighted(ports)))
			}
		}
		for sw, d := range distance {
			if d >= 0 {
				continue
			}
			if nowhere < 0 {
				nowhere = store(nil)
			}
			set(int32(sw), nowhere)
		}
	}
	return r
}

// alikeLeaf represents a leaf switch that others are like: they have links to the same switches. The rest of the fabric
// then forwards to each of them by the same ports, except that their neighbours use the links to them. So one search
// serves all leaves of a pod.
type alikeLeaf struct {
	sw   int32 // index among the switches
	leaf int
}

// neighboursOf returns the switches at the other ends of links, in order.
func neighboursOf(links []fabricLink) (all []int32) {
	for _, l := range links {
		all = append(all, l.peer)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// appendKey appends the bytes of a list, which no other list has.
func appendKey[ID ~int | ~int32](key []byte, all []ID) []byte {
	for _, id := range all {
		key = binary.LittleEndian.AppendUint32(key, uint32(id))
	}
	return key
}

// portsTo returns the ports of the links to a switch; -1: to any.
func portsTo(links []fabricLink, sw int32) (ports []PortID) {
	for _, l := range links {
		if sw < 0 || l.peer == sw {
			ports = append(ports, l.port)
		}
	}
	return ports
}

// weighted returns equal-cost ports, each repeated in proportion to its link's weight.
func (p *Plan) weighted(ports []PortID) []PortID {
	common := 0
	weight := func(id PortID) int { return p.Links[p.Ports[id].Link].Weight }
	for _, id := range ports {
		a := weight(id)
		for common > 0 {
			a, common = common, a%common
		}
		common = a
	}
	if !slices.ContainsFunc(ports, func(id PortID) bool { return weight(id) != common }) {
		return ports
	}
	var all []PortID
	for _, id := range ports {
		for range weight(id) / common {
			all = append(all, id)
		}
	}
	return all
}

// Weighted reports whether any link has a weight.
func (p *Plan) Weighted() bool {
	return slices.ContainsFunc(p.Links, func(l Link) bool { return l.Weight > 1 })
}

// fabricLink represents a link from one switch to another.
type fabricLink struct {
	port PortID
	peer int32 // index among the switches
}

// fabricLinks returns the usable links between switches: those of switch n from first[n] to first[n+1], in the order
// of its ports.
func (p *Plan) fabricLinks(usable func(PortID) bool) (first []int32, links []fabricLink) {
	for _, sw := range p.Switch {
		first = append(first, int32(len(links)))
		for _, id := range p.Nodes[sw].Ports {
			if peer := p.PeerNode(id); peer.Kind == Switch && usable(id) {
				links = append(links, fabricLink{id, int32(peer.Index)})
			}
		}
	}
	return append(first, int32(len(links))), links
}

// leaves returns routes without groups: the interfaces' leaves, and allocated slices for the rest.
func (p *Plan) leaves() Routes {
	r := Routes{Leaf: make([]int32, len(p.Interfaces)), Last: make([]int32, len(p.Interfaces))}
	for _, sw := range p.Switch {
		leaf := int32(r.Leaves)
		for _, id := range p.Nodes[sw].Ports {
			if peer := p.PeerNode(id); peer.Kind == Host {
				r.Leaf[p.Ports[p.Ports[id].Peer].Interface] = leaf
				r.Leaves = int(leaf) + 1
			}
		}
	}
	r.ToLeaf = make([]int32, len(p.Switch)*r.Leaves)
	return r
}

// Hops returns the number of links on a shortest path from a switch to the interface with index to; -1 if there is
// none.
func (p *Plan) Hops(sw NodeID, to int) int {
	hops := 0
	for n := &p.Nodes[sw]; n.Kind == Switch; hops++ {
		next := p.NextHops(n.Index, to)
		if len(next) == 0 {
			return -1
		}
		n = p.PeerNode(next[0])
	}
	return hops
}

// PathOf returns the first shortest path from one host to another by a pair of their interfaces: the egress ports in
// order, starting with the source's. It is empty if the hosts are the same, and nil if switches do not connect the
// interfaces.
func (p *Plan) PathOf(source, destination NodeID, pair Pair) []PortID {
	return p.PathVia(source, destination, nil, pair)
}

// PathVia returns the first shortest path between two hosts, by a pair of their interfaces, that includes every node
// of via in any order; nil if there is none.
func (p *Plan) PathVia(source, destination NodeID, via []NodeID, pair Pair) []PortID {
	// A node on a shortest path has a fixed distance from its end, so via can require at most one node at each
	// distance, and whether the path can be completed depends on the node alone.
	to := p.Interface(destination, pair.To)
	hopsFrom := func(node NodeID) int {
		switch {
		case node == destination:
			return 0
		case node == source:
			hops := p.Hops(p.PeerNode(p.Nodes[source].Ports[pair.From]).ID, to)
			if hops < 0 {
				return hops
			}
			return hops + 1
		case p.Nodes[node].Kind == Host:
			return -1
		}
		return p.Hops(node, to)
	}
	hops := hopsFrom(source)
	if hops < 0 {
		return nil
	}
	want := make(map[int]NodeID, len(via))
	for _, v := range via {
		h := hopsFrom(v)
		if other, taken := want[h]; h < 0 || h > hops || (taken && other != v) {
			return nil
		}
		want[h] = v
	}
	path := make([]PortID, 0, hops)
	failed := map[NodeID]bool{}
	var walk func(node NodeID, left int) bool
	walk = func(node NodeID, left int) bool {
		if v, asked := want[left]; failed[node] || (asked && v != node) {
			return false
		}
		if left == 0 {
			return true
		}
		n := &p.Nodes[node]
		var next []PortID
		if n.Kind == Switch {
			next = p.NextHops(n.Index, to)
		} else {
			next = n.Ports[pair.From : pair.From+1]
		}
		for _, id := range next {
			path = append(path, id)
			if walk(p.PeerNode(id).ID, left-1) {
				return true
			}
			path = path[:len(path)-1]
		}
		failed[node] = true
		return false
	}
	if !walk(source, hops) {
		return nil
	}
	return path
}

// BaseRTT returns the time from the start of a data frame's transmission to the arrival of its acknowledgement in an
// idle fabric: the propagation delays and store-and-forward serialisations of the first shortest path between the
// interfaces of a pair, both ways. dataBytes and ackBytes are frames with headers, without FCS, as for
// Framing.LineBytes.
func (p *Plan) BaseRTT(source, destination NodeID, pair Pair, dataBytes, ackBytes int) vtime.Time {
	var t vtime.Time
	for _, id := range p.PathOf(source, destination, pair) {
		port := &p.Ports[id]
		t += 2*port.Delay + port.Rate.TimeFor(p.Framing.LineBytes(dataBytes)) +
			port.Rate.TimeFor(p.Framing.LineBytes(ackBytes))
	}
	return t
}
