package topologies

import (
	"cmp"
	"slices"
)

// Hash is how switches choose one of several equal-cost ports for a flow.
type Hash uint8

const (
	// HashOwn is pausenet's own: it depends on the addresses and the UDP source port that the flow's NIC has chosen.
	HashOwn Hash = iota
	// HashHPCC is that of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc and
	// switch-node.cc), over the simulator's addresses and ports, and with its order of next hops.
	HashHPCC
)

// HashNames are the names of hashes in scenarios.
var HashNames = []string{HashOwn: "own", HashHPCC: "hpcc"}

func (h Hash) String() string { return HashNames[h] }

// WithHash is the plan where switches choose by a hash: with the next hops in that hash's order.
func (p *Plan) WithHash(h Hash) *Plan {
	if h == p.Hash {
		return p
	}
	q := *p
	q.Hash = h
	q.routes, q.longest = q.shortestPaths(), newLongestRTTs()
	return &q
}

// hpccNeighbours are the switches beside each switch in the order in which the simulator goes through them, each with
// the port that leads there. The simulator knows one link between two nodes, the last. It keeps neighbours by where
// their objects are in memory, in ascending order. A switch's object is above 2 MB there, and as Linux's C library maps
// these one below the other, that is the order of the switches' numbers from the last to the first.
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

// hpccNextHops are the ports of each switch towards the hosts of the switch root, in the order in which a breadth-first
// search from there comes upon their far ends (third.cc: CalculateRoute).
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
