package topologies

import "slices"

// Balancing is what decides the ways of flows among equal-cost paths, beside Hash. It is the same at all switches. The
// zero value has each switch hash the 5-tuple by a seed of its own.
type Balancing struct {
	// Moving says that the packets of a flow may take several paths, be it one by one or by flowlets. What a path is asked
	// for says one of them then, and Ways has all ports.
	Moving bool
	// OneSeed says that all switches hash by Seed.
	OneSeed bool
	Seed    uint32
	// Fields are what of the 5-tuple is hashed, as bits of ebpf.FieldSource and its like; 0: all of it.
	Fields uint32
}

// WithBalancing is the plan where switches balance load in a way.
func (p *Plan) WithBalancing(b Balancing) *Plan {
	if b == p.Balancing {
		return p
	}
	q := *p
	q.Balancing = b
	return &q
}

// Choices returns the most ports of switches on a path, but for the last: load balancing chooses those.
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

// Ways are the ports that packets from one host to another may leave by where load balancing moves them: those of all
// shortest paths, each once, by their distance from the source, whose own comes first.
func (p *Plan) Ways(source, destination NodeID, by Pair) [][]PortID {
	return p.WaysBy(p.Nodes[source].Ports[by.From], p.Nodes[destination].Ports[by.To], p.NextHops)
}

// WaysBy is Ways between two hosts' ports, where each switch says what ports it chooses from.
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
			slices.Sort(hops) // a port may be named more than once
			next = append(next, slices.Compact(hops)...)
		}
		if len(next) == 0 || len(ways) > len(p.Switch) {
			return ways
		}
		ways = append(ways, next)
	}
}
