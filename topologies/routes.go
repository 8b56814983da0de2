package topologies

import (
	"encoding/binary"
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// shortestPaths finds, for each switch and host, the ports on paths with the fewest hops. Hosts have one port each, so
// all hosts of a switch share the paths to that switch: one breadth-first search serves them all.
func (p *Plan) shortestPaths() Routes { return p.RoutesOver(func(PortID) bool { return true }) }

// RoutesOver are the shortest paths over the links of the ports that can be used; a link is used from both ends or from none.
// Where no way is left a group is empty.
func (p *Plan) RoutesOver(usable func(PortID) bool) Routes {
	r := p.leaves()
	stored := map[string]int32{}
	var key []byte
	store := func(ports []PortID) int32 {
		key = key[:0]
		for _, id := range ports {
			key = binary.LittleEndian.AppendUint32(key, uint32(id))
		}
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
	distance := make([]int32, len(p.Switch)) // by switch, as all that follows
	queue := make([]int32, 0, len(p.Switch))
	var ports []PortID
	for _, root := range p.Switch {
		leaf := -1
		for _, id := range p.Nodes[root].Ports {
			if peer := p.PeerNode(id); peer.Kind == Host {
				leaf = int(r.Leaf[peer.Index])
				last := []PortID{id}
				if !usable(id) {
					last = nil
				}
				r.Last[peer.Index] = store(last)
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
				set(sw, store(ports))
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

// fabricLink is a switch's link to another.
type fabricLink struct {
	port PortID
	peer int32 // by index among the switches
}

// fabricLinks are the links between switches that can be used: those of switch n from first[n] to first[n+1], in the order of its ports.
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

// leaves are routes without groups: the hosts' leaves, and room for the rest.
func (p *Plan) leaves() Routes {
	r := Routes{Leaf: make([]int32, len(p.Hosts)), Last: make([]int32, len(p.Hosts))}
	for _, sw := range p.Switch {
		leaf := int32(r.Leaves)
		for _, id := range p.Nodes[sw].Ports {
			if peer := p.PeerNode(id); peer.Kind == Host {
				r.Leaf[peer.Index] = leaf
				r.Leaves = int(leaf) + 1
			}
		}
	}
	r.ToLeaf = make([]int32, len(p.Switch)*r.Leaves)
	return r
}

// Hops is the number of links from node to host on a shortest path.
func (p *Plan) Hops(node, host NodeID) int {
	hops := 0
	for node != host {
		node = p.PeerNode(p.firstHop(node, host)).ID
		hops++
	}
	return hops
}

// firstHop is the first port of node on a shortest path to host.
func (p *Plan) firstHop(node, host NodeID) PortID {
	n := &p.Nodes[node]
	if n.Kind == Host {
		return n.Ports[0]
	}
	return p.NextHops(n.Index, p.Nodes[host].Index)[0]
}

// PathOf is the first shortest path from one host to another: the ports, in order, that a frame leaves by, beginning
// with the source's own. It is empty if the hosts are the same.
func (p *Plan) PathOf(source, destination NodeID) []PortID {
	return p.PathVia(source, destination, nil)
}

// PathVia is the first shortest path between two hosts that goes through every node of via, in any order; nil if there
// is none.
func (p *Plan) PathVia(source, destination NodeID, via []NodeID) []PortID {
	// A node on a shortest path is a fixed number of hops away from its end, so at each distance at most one node can be
	// asked for, and whether the path can be completed depends on the node alone.
	hops := 0
	if source != destination {
		hops = p.Hops(source, destination)
	}
	want := make(map[int]NodeID, len(via))
	for _, v := range via {
		if p.Nodes[v].Kind == Host && v != source && v != destination {
			return nil
		}
		h := p.Hops(v, destination)
		if other, taken := want[h]; h > hops || (taken && other != v) {
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
		next := n.Ports
		if n.Kind == Switch {
			next = p.NextHops(n.Index, p.Nodes[destination].Index)
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

// BaseRTT is the time from the start of a data frame's transmission until its acknowledgement has arrived, when nothing
// else is under way: the propagation delays and store-and-forward serialisations of the first shortest path, there and
// back. dataBytes and ackBytes are frames with headers, without FCS, as Framing.LineBytes takes them.
func (p *Plan) BaseRTT(source, destination NodeID, dataBytes, ackBytes int) vtime.Time {
	var t vtime.Time
	for _, id := range p.PathOf(source, destination) {
		port := &p.Ports[id]
		t += 2*port.Delay + port.Rate.TimeFor(p.Framing.LineBytes(dataBytes)) + port.Rate.TimeFor(p.Framing.LineBytes(ackBytes))
	}
	return t
}
