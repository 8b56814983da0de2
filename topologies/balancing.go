package topologies

import "slices"

// Balancing holds the settings, beside Hash, by which all switches choose among equal-cost ports. With the zero value
// each switch hashes the 5-tuple with a seed of its own.
type Balancing struct {
	// Moving says that the packets of a flow may take several paths, individually or by flowlet. Functions that return
	// one path then return one of these, and Ways returns all ports.
	Moving bool
	// OneSeed says that all switches hash with Seed.
	OneSeed bool
	Seed    uint32
	// Fields are the hashed fields of the 5-tuple, as bits of ebpf.FieldSource and its siblings; 0: all.
	Fields uint32
}

// WithBalancing returns the plan with other load balancing.
func (p *Plan) WithBalancing(b Balancing) *Plan {
	if b == p.Balancing {
		return p
	}
	q := *p
	q.Balancing = b
	return &q
}

// Choices returns the maximum number of ports at which load balancing chooses on a path: those of its switches, except
// the last.
func (p *Plan) Choices() (most int) {
	leaves := p.leafSwitches(&p.routes)
	seen := make([]bool, len(leaves))
	for to, leaf := range p.routes.Leaf {
		if seen[leaf] {
			continue
		}
		seen[leaf] = true
		for _, from := range leaves {
			most = max(most, p.Hops(p.Switch[from], to)-1)
		}
	}
	return most
}

// Ways returns the ports by which packets from one host to another may leave if load balancing moves them. They are
// the ports of all shortest paths, each once, by distance from the source, whose own port is first.
func (p *Plan) Ways(source, destination NodeID, by Pair) [][]PortID {
	return p.WaysBy(p.Nodes[source].Ports[by.From], p.Nodes[destination].Ports[by.To], p.NextHops)
}

// WaysBy returns the same between two hosts' ports, for switches that choose from nextHops.
func (p *Plan) WaysBy(from, to PortID, nextHops func(sw, to int) []PortID) [][]PortID {
	ways := [][]PortID{{from}}
	for {
		var next []PortID
		seen := map[NodeID]bool{}
		for _, id := range ways[len(ways)-1] {
			n := p.PeerNode(id)
			if n.Kind != Switch || seen[n.ID] {
				continue
			}
			seen[n.ID] = true
			hops := slices.Clone(nextHops(n.Index, p.Ports[to].Interface))
			slices.Sort(hops) // a port may occur more than once
			next = append(next, slices.Compact(hops)...)
		}
		if len(next) == 0 || len(ways) > len(p.Switch) {
			return ways
		}
		ways = append(ways, next)
	}
}
