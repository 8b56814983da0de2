// Package partition divides a fabric into partitions for a conservative parallel simulation, and assigns them to
// workers.
//
// A partition is a switch with its hosts, or several switches with common hosts and these hosts. A frame that leaves a
// partition needs at least the delay of the shortest link between partitions to reach another. So each partition can be
// driven on its own for that long: the lookahead (Chandy and Misra, 1979; Fujimoto, CACM 1990). Meanwhile its ports,
// queues and frames stay in the processor's cache. Driving all ports of a large fabric in one order of time would evict
// them.
//
// If every link between partitions joins partitions of two different kinds, as between leaves and spines, the two kinds
// are driven in two phases: one kind to a lookahead beyond the other, then the other to a lookahead beyond the first.
// So each phase drives a partition for two lookaheads, and twice as many frames share the cost of loading its memory.
package partition

import (
	"slices"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Division holds a plan divided into partitions.
type Division struct {
	Of        []int32    // the partition of each port
	Count     int        // number of partitions
	Lookahead vtime.Time // time for which they can be driven apart; vtime.Never if there is only one
}

// Divide divides a plan.
func Divide(plan *topologies.Plan) Division {
	ofSwitch, count := switches(plan)
	ofNode := make([]int32, len(plan.Nodes))
	for i, id := range plan.Switch {
		ofNode[id] = ofSwitch[i]
	}
	for _, id := range plan.Hosts {
		ofNode[id] = ofSwitch[plan.PeerNode(plan.Nodes[id].Ports[0]).Index] // every host is at a switch
	}
	d := Division{make([]int32, len(plan.Ports)), count, vtime.Never}
	for i := range plan.Ports {
		p := &plan.Ports[i]
		d.Of[i] = ofNode[p.Node]
		if d.Of[i] != ofNode[plan.Ports[p.Peer].Node] {
			d.Lookahead = min(d.Lookahead, p.Delay)
		}
	}
	if count == 1 || d.Lookahead == 0 {
		return Undivided(plan)
	}
	return d
}

// Undivided returns a division of a plan into one partition.
func Undivided(plan *topologies.Plan) Division {
	return Division{make([]int32, len(plan.Ports)), 1, vtime.Never}
}

// switches returns the partition of each switch, by index. Switches with a common host share a partition: the host's
// action at one of its ports may depend on an arrival at another.
func switches(plan *topologies.Plan) (of []int32, count int) {
	of = make([]int32, len(plan.Switch)) // until the last loop: a switch of the partition with a lower index, or itself
	for i := range of {
		of[i] = int32(i)
	}
	least := func(sw int32) int32 {
		for of[sw] != sw {
			sw = of[sw]
		}
		return sw
	}
	for _, id := range plan.Hosts {
		ports := plan.Nodes[id].Ports
		a := least(int32(plan.PeerNode(ports[0]).Index))
		for _, port := range ports[1:] {
			b := least(int32(plan.PeerNode(port).Index))
			of[max(a, b)] = min(a, b)
			a = min(a, b)
		}
	}
	for i := range of {
		if of[i] == int32(i) {
			of[i] = int32(count)
			count++
		} else {
			of[i] = of[of[i]]
		}
	}
	return of, count
}

// Phases returns groups of partitions that can be driven together: no link joins two partitions of one phase. There are
// two phases if the partitions are of two kinds, and each link joins one of each kind.
func (d Division) Phases(plan *topologies.Plan) (phases [][]int32) {
	const none = -1
	neighbours := make([][]int32, d.Count)
	for i := range plan.Ports {
		if a, b := d.Of[i], d.Of[plan.Ports[i].Peer]; a != b {
			neighbours[a] = append(neighbours[a], b)
		}
	}
	phaseOf := slices.Repeat([]int{none}, d.Count)
	// choose assigns the first phase without a neighbour. In breadth-first order this needs no third phase if two suffice.
	choose := func(p int32) {
		for phaseOf[p] = 0; slices.ContainsFunc(neighbours[p],
			func(n int32) bool { return phaseOf[n] == phaseOf[p] }); phaseOf[p]++ {
		}
	}
	for first := range int32(d.Count) {
		if phaseOf[first] != none {
			continue
		}
		choose(first)
		for reached := []int32{first}; len(reached) > 0; reached = reached[1:] {
			for _, n := range neighbours[reached[0]] {
				if phaseOf[n] == none {
					choose(n)
					reached = append(reached, n)
				}
			}
		}
	}
	phases = make([][]int32, slices.Max(phaseOf)+1)
	for p, phase := range phaseOf {
		phases[phase] = append(phases[phase], int32(p))
	}
	return phases
}

// MaxWorkers limits the workers of a plane in this process.
const MaxWorkers = 64

// Workers returns how many workers can be busy at once in a plan's fabric, at most MaxWorkers.
func Workers(plan *topologies.Plan) int { return min(Widest(Divide(plan).Phases(plan)), MaxWorkers) }

// Widest returns the maximum number of partitions in a phase.
func Widest(phases [][]int32) (widest int) {
	for _, p := range phases {
		widest = max(widest, len(p))
	}
	return widest
}
