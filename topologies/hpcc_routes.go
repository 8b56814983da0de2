package topologies

import (
	"cmp"
	"slices"
)

// Hash selects the rule by which switches choose one of several equal-cost ports for a flow.
type Hash uint8

const (
	// HashOwn selects pausenet's hash over the addresses and the UDP source port that the flow's NIC chose.
	HashOwn Hash = iota
	// HashHPCC selects the hash of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control,
	// simulation/scratch/third.cc and switch-node.cc) over the simulator's addresses and ports, with its order of next
	// hops.
	HashHPCC
)

// HashNames holds the names of hashes in scenarios.
var HashNames = []string{HashOwn: "own", HashHPCC: "hpcc"}

func (h Hash) String() string { return HashNames[h] }

// WithHash returns the plan with switches that choose by a hash, with the next hops in its order.
func (p *Plan) WithHash(h Hash) *Plan {
	if h == p.Hash {
		return p
	}
	q := *p
	q.Hash = h
	q.routes, q.longest = q.shortestPaths(), newLongestRTTs()
	return &q
}

// hpccNeighbours returns each switch's neighbours in the simulator's order, each with the port that leads there. The
// simulator uses one link between two nodes, the last. It sorts neighbours by the address of their objects in
// ascending order. Switch objects are larger than 2 MB, and Linux's C library maps such objects at descending
// addresses. So the order is by number from the last to the first.
func (p *Plan) hpccNeighbours() [][]hpccHop {
	of := make([][]hpccHop, len(p.Nodes))
	for _, id := range p.Switch {
		hops := &of[id]
		for _, port := range p.Nodes[id].Ports { // in the order of the links
			peer := p.PeerNode(port)
			if peer.Kind != Switch {
				continue
			}
			if i := slices.IndexFunc(*hops, func(h hpccHop) bool { return h.node == peer.ID }); i >= 0 {
				(*hops)[i].port = port
			} else {
				*hops = append(*hops, hpccHop{peer.ID, port})
			}
		}
		slices.SortFunc(*hops, func(a, b hpccHop) int { return cmp.Compare(b.node, a.node) })
	}
	return of
}

type hpccHop struct {
	node NodeID
	port PortID
}

// hpccNextHops returns the ports of each switch towards the hosts of the switch root, in the order in which a
// breadth-first search from root finds their far ends (third.cc: CalculateRoute).
func (p *Plan) hpccNextHops(root NodeID, neighbours [][]hpccHop, usable func(PortID) bool) [][]PortID {
	next := make([][]PortID, len(p.Nodes))
	distance := make([]int32, len(p.Nodes)) // 0: not reached; the root's is 1
	distance[root] = 1
	for queue := []NodeID{root}; len(queue) > 0; queue = queue[1:] {
		now := queue[0]
		for _, hop := range neighbours[now] {
			if !usable(hop.port) {
				continue
			}
			if distance[hop.node] == 0 {
				distance[hop.node] = distance[now] + 1
				queue = append(queue, hop.node)
			}
			if distance[hop.node] == distance[now]+1 {
				next[hop.node] = append(next[hop.node], p.Ports[hop.port].Peer)
			}
		}
	}
	return next
}
