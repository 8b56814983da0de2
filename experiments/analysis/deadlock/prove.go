package deadlock

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/topologies"
)

// MaxFailures limits the failed links of a case.
const MaxFailures = 2

// Case represents a state of the fabric: a set of failed links, by index in the plan.
type Case struct{ Failed []int }

// Order lists egress ports between switches so that each comes before those that its frames may wait for.
type Order []topologies.PortID

// Cycle represents a cycle of buffers of one class in one case: each can wait for the next, and the last for the first.
type Cycle struct {
	Case
	Class int
	Ports []topologies.PortID // a shortest cycle of its component; the lowest first
	// Pairs holds, for each port, the pairs of leaves whose frames can arrive by it and leave by the next.
	Pairs [][]Pair
	// Buffers counts the ports of the component: those from which each other can be reached.
	Buffers int
}

// Kind describes the cycle without names: cycles of one kind have equal lengths, and equal tiers along them and at the
// failed links.
func (c *Cycle) Kind(plan *topologies.Plan) string {
	n := len(c.Ports)
	tiers := make([]int, n)
	for i, id := range c.Ports {
		tiers[i] = plan.Nodes[plan.Ports[id].Node].Tier
	}
	least := tiers
	for i := range n {
		if turned := slices.Concat(tiers[i:], tiers[:i]); slices.Compare(turned, least) < 0 {
			least = turned
		}
	}
	var failed [][2]int
	for _, l := range c.Failed {
		a, b := plan.Nodes[plan.Ports[plan.Links[l].A].Node].Tier, plan.Nodes[plan.Ports[plan.Links[l].B].Node].Tier
		failed = append(failed, [2]int{min(a, b), max(a, b)})
	}
	slices.SortFunc(failed, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return fmt.Sprint(c.Class, least, failed)
}

// Proof holds the result of Prove.
type Proof struct {
	Plan     *topologies.Plan
	Classes  []Class
	Failures int // the largest number of failed links
	Links    int // links between switches
	Cases    int // sets of at most Failures of these links
	Examined int // less than Cases if the examination was interrupted
	// Orders holds the orders of each class, and Assigned the index of the order that holds in each case; -1: the case
	// has a cycle. Both by class; cases are in the order of EachCase.
	Orders   [][]Order
	Assigned [][]int32
	// Cyclic counts the cases with a cycle. Cycles holds one for each component, class and case, of the first MostCycles
	// cases.
	Cyclic int
	Cycles []Cycle

	network *network
}

// MostCycles limits the cases whose cycles are kept.
const MostCycles = 1000

// Holds reports whether every case was examined and none has a cycle.
func (p *Proof) Holds() bool { return p.Examined == p.Cases && p.Cyclic == 0 }

// CaseCount returns the number of sets of at most k of n links; 0 if it is above the limit.
func CaseCount(n, k, limit int) int {
	sum, choose := 1, 1
	for i := 1; i <= min(k, n); i++ {
		choose = choose * (n - i + 1) / i
		if sum += choose; sum > limit {
			return 0
		}
	}
	return sum
}

// eachCase calls yield for each set of at most k of the links, the smaller sets first, until it returns false.
func eachCase(links []int, k int, yield func(failed []int) bool) {
	for size := 0; size <= min(k, len(links)); size++ {
		at := make([]int, size)
		for i := range at {
			at[i] = i
		}
		for {
			failed := make([]int, size)
			for i, a := range at {
				failed[i] = links[a]
			}
			if !yield(failed) {
				return
			}
			i := size - 1
			for i >= 0 && at[i] == len(links)-size+i {
				i--
			}
			if i < 0 {
				break
			}
			for at[i]++; i+1 < size; i++ {
				at[i+1] = at[i] + 1
			}
		}
	}
}

// AllPairs returns the pairs of leaves between which switches have a path, for traffic from any host to any other.
func AllPairs(plan *topologies.Plan) (pairs []Pair) {
	n := newNetwork(plan)
	r := n.plan.Routes()
	for to := range int32(r.Leaves) {
		for from := range int32(r.Leaves) {
			if from != to && len(group(r, n.switches[from], to)) > 0 {
				pairs = append(pairs, Pair{from, to})
			}
		}
	}
	return pairs
}

// PairsOf returns the pairs of leaves of trips from one interface to another, each by index, in order.
func PairsOf(plan *topologies.Plan, trips [][2]int) (pairs []Pair) {
	leaf := plan.Routes().Leaf
	for _, t := range trips {
		if from, to := leaf[t[0]], leaf[t[1]]; from != to {
			pairs = append(pairs, Pair{from, to})
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From)) })
	return slices.Compact(pairs)
}

// Prove examines all sets of at most k failed links between switches. Failed links of hosts only remove paths, so they
// add no case. If ctx ends, Prove returns what it has examined, with ctx's error.
func Prove(ctx context.Context, plan *topologies.Plan, classes []Class, k int, progress func(done, of int)) (*Proof, error) {
	n := newNetwork(plan)
	p := &Proof{
		Plan: plan, Classes: classes, Failures: k, Links: len(n.links), Cases: CaseCount(len(n.links), k, 1<<40), network: n,
		Orders: make([][]Order, len(classes)), Assigned: make([][]int32, len(classes)),
	}
	positions := make([][][]int32, len(classes)) // by class and order: the position of each port
	for c := range classes {
		p.Orders[c] = []Order{n.byTiers()}
		positions[c] = [][]int32{n.positions(p.Orders[c][0])}
	}
	eachCase(n.links, k, func(failed []int) bool {
		if ctx.Err() != nil {
			return false
		}
		r := n.routes(failed)
		cyclic := false
		for c := range classes {
			at := slices.IndexFunc(positions[c], func(position []int32) bool { return n.inOrder(r, classes[c].Pairs, position) })
			if at < 0 {
				g := n.graph(r, classes[c].Pairs)
				if sorted, left := g.order(); left == nil {
					at = len(p.Orders[c])
					p.Orders[c] = append(p.Orders[c], n.complete(sorted))
					positions[c] = append(positions[c], n.positions(p.Orders[c][at]))
				} else {
					cyclic = true
					p.addCycles(g, r, c, failed)
				}
			}
			p.Assigned[c] = append(p.Assigned[c], int32(at))
		}
		if cyclic {
			p.Cyclic++
		}
		p.Examined++
		if progress != nil {
			progress(p.Examined, p.Cases)
		}
		return true
	})
	if p.Holds() {
		for c := range classes {
			p.unify(ctx, c)
		}
	}
	return p, ctx.Err()
}

// unify replaces the orders of a class by one that holds in all cases, if there is one: if even the dependencies of all
// cases together have no cycle.
func (p *Proof) unify(ctx context.Context, class int) {
	if len(p.Orders[class]) == 1 {
		return
	}
	all := graph{}
	eachCase(p.network.links, p.Failures, func(failed []int) bool {
		p.network.turns(p.network.routes(failed), p.Classes[class].Pairs, func(t turn, _ int32) bool {
			all.add(t)
			return true
		})
		return ctx.Err() == nil
	})
	if sorted, left := all.order(); left == nil && ctx.Err() == nil {
		p.Orders[class] = []Order{p.network.complete(sorted)}
		clear(p.Assigned[class])
	}
}

// addCycles adds the cycles of a class in one case.
func (p *Proof) addCycles(g graph, r *topologies.Routes, class int, failed []int) {
	if p.Cyclic >= MostCycles {
		return
	}
	for _, component := range g.components() {
		c := Cycle{Case: Case{failed}, Class: class, Ports: g.shortest(component), Buffers: len(component)}
		for i, port := range c.Ports {
			c.Pairs = append(c.Pairs, p.network.makers(r, p.Classes[class].Pairs, turn{port, c.Ports[(i+1)%len(c.Ports)]}))
		}
		p.Cycles = append(p.Cycles, c)
	}
}

// makers returns the pairs of leaves with a path that makes a turn.
func (n *network) makers(r *topologies.Routes, pairs []Pair, t turn) (makers []Pair) {
	at := int32(n.plan.Nodes[n.plan.Ports[t.from].Node].Index)
	peer := int32(n.plan.PeerNode(t.from).Index)
	var reaches map[int32]bool // of one destination: whether a path from the switch leads through at
	leaf := int32(-1)
	var search func(sw int32) bool
	search = func(sw int32) bool {
		if sw == at {
			return true
		}
		found, known := reaches[sw]
		if known {
			return found
		}
		for _, port := range group(r, sw, leaf) {
			found = found || search(int32(n.plan.PeerNode(port).Index))
		}
		reaches[sw] = found
		return found
	}
	for _, pair := range pairs {
		if !slices.Contains(group(r, at, pair.To), t.from) || !slices.Contains(group(r, peer, pair.To), t.to) {
			continue
		}
		if leaf != pair.To {
			leaf, reaches = pair.To, map[int32]bool{}
		}
		if search(n.switches[pair.From]) {
			makers = append(makers, pair)
		}
	}
	return makers
}

// between returns the egress ports between switches, in order.
func (n *network) between() (ports []topologies.PortID) {
	for _, l := range n.links {
		ports = append(ports, n.plan.Links[l].A, n.plan.Links[l].B)
	}
	slices.Sort(ports)
	return ports
}

// byTiers returns the order in which ports upward come before ports downward.
func (n *network) byTiers() Order {
	ports := n.between()
	slices.SortStableFunc(ports, func(a, b topologies.PortID) int { return cmp.Compare(n.tiers[a], n.tiers[b]) })
	return ports
}

// complete appends the ports between switches that an order lacks.
func (n *network) complete(sorted []topologies.PortID) Order {
	has := make([]bool, len(n.plan.Ports))
	for _, port := range sorted {
		has[port] = true
	}
	for _, port := range n.between() {
		if !has[port] {
			sorted = append(sorted, port)
		}
	}
	return sorted
}

// positions returns each port's position in an order.
func (n *network) positions(o Order) []int32 {
	position := make([]int32, len(n.plan.Ports))
	for i, port := range o {
		position[port] = int32(i)
	}
	return position
}
