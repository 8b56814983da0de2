package deadlock

import (
	"slices"

	"github.com/pausenet/pausenet/topologies"
)

// Reach lists the NICs that a malfunctioning NIC stops when it sends PAUSE without end in a fabric without failures.
// A NIC is an interface of a host, named by its index among all hosts' interfaces.
type Reach struct {
	Priority uint8
	NICs     []int // NICs with an equally large reach
	Stopped  []int // those that the first of NICs can stop
	Victims  []int // those of Stopped that send nothing to it
}

// Storm returns the reach of each NIC that receives frames of a class, equally large ones together. PAUSE stops the
// leaf's port to the NIC; frames for the NIC fill the accounts by which they came, which stops the ports before, and so
// on up to the NICs. A NIC can be stopped if a frame of its own can wait, over any number of buffers, for the NIC that
// sends PAUSE. A class of any traffic has one Reach for each set of NICs that are joined, without Victims: each sends
// to each.
func (p *Proof) Storm() (all []Reach) {
	for i := range p.Classes {
		if p.Classes[i].Trips == nil {
			all = append(all, p.joined(&p.Classes[i])...)
		} else {
			all = append(all, p.storms(&p.Classes[i])...)
		}
	}
	return all
}

// joined returns the reach of NICs under any traffic.
func (p *Proof) joined(c *Class) (all []Reach) {
	n := p.network
	r := n.plan.Routes()
	at := map[int]int{} // by number of NICs stopped
	for i := range n.plan.Interfaces {
		var stopped []int
		for j, id := range n.plan.Interfaces {
			same := r.Leaf[i] == r.Leaf[j] || len(group(r, n.switches[r.Leaf[j]], r.Leaf[i])) > 0
			if same && n.plan.Ports[id].Node != n.plan.Ports[n.plan.Interfaces[i]].Node {
				stopped = append(stopped, j)
			}
		}
		if first, found := at[len(stopped)]; found {
			all[first].NICs = append(all[first].NICs, i)
			continue
		}
		at[len(stopped)] = len(all)
		all = append(all, Reach{Priority: c.Priorities[0], NICs: []int{i}, Stopped: stopped})
	}
	return all
}

// storms returns the reach of NICs under a scenario's flows.
func (p *Proof) storms(c *Class) (all []Reach) {
	n := p.network
	r := n.plan.Routes()
	before := graph{} // by port: those that wait for it
	n.turns(r, c.Pairs, func(t turn, _ int32) bool {
		before.add(turn{t.to, t.from})
		return true
	})
	at := map[[2]int]int{}
	for i := range n.plan.Interfaces {
		reached := map[topologies.PortID]bool{}
		var queue []topologies.PortID
		reach := func(port topologies.PortID) {
			if !reached[port] {
				reached[port] = true
				queue = append(queue, port)
			}
		}
		receives := false
		for _, t := range c.Trips {
			if t[1] == i {
				receives = true
				n.lastHops(r, r.Leaf[t[0]], r.Leaf[i], reach)
			}
		}
		if !receives {
			continue
		}
		for len(queue) > 0 {
			port := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			for _, other := range before[port] {
				reach(other)
			}
		}
		of := Reach{Priority: c.Priorities[0], NICs: []int{i}}
		direct := map[int]bool{}
		for _, t := range c.Trips {
			direct[t[0]] = direct[t[0]] || t[1] == i
			out := group(r, n.switches[r.Leaf[t[0]]], r.Leaf[t[1]])
			if t[0] != i && (t[1] == i || slices.ContainsFunc(out, func(id topologies.PortID) bool { return reached[id] })) {
				of.Stopped = append(of.Stopped, t[0])
			}
		}
		slices.Sort(of.Stopped)
		of.Stopped = slices.Compact(of.Stopped)
		for _, j := range of.Stopped {
			if !direct[j] {
				of.Victims = append(of.Victims, j)
			}
		}
		key := [2]int{len(of.Stopped), len(of.Victims)}
		if first, found := at[key]; found {
			all[first].NICs = append(all[first].NICs, i)
			continue
		}
		at[key] = len(all)
		all = append(all, of)
	}
	return all
}

// lastHops calls found with each port by which paths from one leaf reach another.
func (n *network) lastHops(r *topologies.Routes, from, to int32, found func(topologies.PortID)) {
	seen := map[int32]bool{}
	queue := []int32{n.switches[from]}
	for len(queue) > 0 {
		sw := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[sw] {
			continue
		}
		seen[sw] = true
		for _, port := range group(r, sw, to) {
			peer := int32(n.plan.PeerNode(port).Index)
			if peer == n.switches[to] {
				found(port)
			}
			queue = append(queue, peer)
		}
	}
}
