package topologies

import "slices"

// Dependencies holds which egress queues can wait for which. A frame that arrives by one link waits to leave by
// another. So does the queue at the first link's other end, once PAUSE or a lack of credits stops it. A cycle is a
// cyclic buffer dependency, the condition of a deadlock (Dally and Seitz, "Deadlock-Free Message Routing in
// Multiprocessor Interconnection Networks", IEEE Transactions on Computers 1987; "Tagger", Hu et al., CoNEXT 2017).
type Dependencies struct {
	plan  *Plan
	waits map[PortID][]PortID // the ports for which a port's queue can wait, in ascending order without duplicates
}

// DependenciesOf returns the dependencies of frames on the given routes, the plan's own or those that remain after
// faults. Trips are the pairs of interfaces that send, by index: source and destination. It ignores trips without a
// remaining path.
func (p *Plan) DependenciesOf(routes *Routes, trips [][2]int) *Dependencies {
	d := &Dependencies{plan: p, waits: map[PortID][]PortID{}}
	from := map[int32][]int32{} // sending leaves, by destination leaf
	var to []int32
	seen := map[[2]int32]bool{}
	for _, t := range trips {
		pair := [2]int32{routes.Leaf[t[0]], routes.Leaf[t[1]]}
		if seen[pair] || pair[0] == pair[1] {
			continue // within a leaf a frame crosses no link between switches
		}
		seen[pair] = true
		if from[pair[1]] == nil {
			to = append(to, pair[1])
		}
		from[pair[1]] = append(from[pair[1]], pair[0])
	}
	slices.Sort(to)
	turns := p.turns()
	switches := p.leafSwitches(routes)
	reached := make([]int32, len(p.Switch)) // 1 + the destination leaf for which it was last reached
	var queue []int32
	each := func(do func(port PortID, out []PortID)) {
		for i := range reached {
			reached[i] = 0
		}
		for _, leaf := range to {
			queue = queue[:0]
			for _, source := range from[leaf] {
				queue = append(queue, switches[source])
				reached[switches[source]] = leaf + 1
			}
			for len(queue) > 0 {
				sw := queue[len(queue)-1]
				queue = queue[:len(queue)-1]
				group := routes.ToLeaf[int(sw)*routes.Leaves+int(leaf)]
				if group == AtLeaf {
					continue
				}
				for _, port := range routes.Groups[group] {
					peer := int32(p.PeerNode(port).Index)
					if next := routes.ToLeaf[int(peer)*routes.Leaves+int(leaf)]; next != AtLeaf {
						do(port, routes.Groups[next])
					}
					if reached[peer] != leaf+1 {
						reached[peer] = leaf + 1
						queue = append(queue, peer)
					}
				}
			}
		}
	}
	// There is no cycle if no path leads down, or along a tier, and up again: frames on their way up wait for higher
	// queues or for queues downward, and those for lower ones. This holds for every usual fabric without faults, so
	// large ones return here.
	valley := false
	each(func(port PortID, out []PortID) {
		if !turns[port].up && !valley {
			valley = slices.ContainsFunc(out, func(next PortID) bool { return !turns[next].down })
		}
	})
	if !valley {
		return d
	}
	each(func(port PortID, out []PortID) {
		for _, next := range out {
			d.add(port, next)
		}
	})
	return d
}

// AddPath adds the dependencies of frames on a path, given by its egress ports.
func (d *Dependencies) AddPath(path []PortID) {
	for i := 1; i < len(path); i++ {
		d.add(path[i-1], path[i])
	}
}

func (d *Dependencies) add(port, next PortID) {
	waits := d.waits[port]
	if at, found := slices.BinarySearch(waits, next); !found {
		d.waits[port] = slices.Insert(waits, at, next)
	}
}

// turn holds the direction of a port.
type turn struct{ up, down bool } // to a switch of a higher tier, or a lower one

// turns returns the direction of each port.
func (p *Plan) turns() []turn {
	turns := make([]turn, len(p.Ports))
	for i := range p.Ports {
		here, there := p.Nodes[p.Ports[i].Node].Tier, p.PeerNode(PortID(i)).Tier
		turns[i] = turn{up: there > here, down: there < here}
	}
	return turns
}

// leafSwitches returns the index of each leaf's switch.
func (p *Plan) leafSwitches(routes *Routes) []int32 {
	of := make([]int32, routes.Leaves)
	for i, leaf := range routes.Leaf {
		of[leaf] = int32(p.PeerNode(p.Interfaces[i]).Index)
	}
	return of
}

// Cycle returns a shortest cycle of ports, starting with the lowest: each port's queue can wait for the next, and the
// last for the first. It returns nil if there is none.
func (d *Dependencies) Cycle() []PortID {
	ports := make([]PortID, 0, len(d.waits))
	for port := range d.waits {
		ports = append(ports, port)
	}
	slices.Sort(ports)
	var best []PortID
	for _, start := range d.cyclic(ports) {
		if c := ShortestCycle(d.waits, start, len(best)); c != nil {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	least := slices.Index(best, slices.Min(best))
	return slices.Concat(best[least:], best[:least])
}

// cyclic removes ports that wait for nothing, repeatedly. It returns the others, in order: all ports on cycles, and
// some that lead to them.
func (d *Dependencies) cyclic(ports []PortID) (left []PortID) {
	waiting := map[PortID]int{}
	before := map[PortID][]PortID{}
	var free []PortID
	for _, port := range ports {
		waiting[port] = len(d.waits[port])
		for _, next := range d.waits[port] {
			before[next] = append(before[next], port)
			if d.waits[next] == nil {
				free = append(free, next)
			}
		}
	}
	slices.Sort(free)
	for free = slices.Compact(free); len(free) > 0; {
		port := free[0]
		free = free[1:]
		for _, b := range before[port] {
			if waiting[b]--; waiting[b] == 0 {
				free = append(free, b)
			}
		}
	}
	for _, port := range ports {
		if waiting[port] > 0 {
			left = append(left, port)
		}
	}
	return left
}

// ShortestCycle returns a shortest cycle through a port, in a graph of which waits holds the edges. It returns nil if
// there is none with fewer ports than most (0: of any length).
func ShortestCycle(waits map[PortID][]PortID, start PortID, most int) []PortID {
	from := map[PortID]PortID{}
	for level, length := []PortID{start}, 1; len(level) > 0 && (most == 0 || length < most); length++ {
		var next []PortID
		for _, port := range level {
			for _, n := range waits[port] {
				if n == start {
					cycle := []PortID{port}
					for port != start {
						port = from[port]
						cycle = append(cycle, port)
					}
					slices.Reverse(cycle)
					return cycle
				}
				if _, found := from[n]; !found {
					from[n] = port
					next = append(next, n)
				}
			}
		}
		level = next
	}
	return nil
}
