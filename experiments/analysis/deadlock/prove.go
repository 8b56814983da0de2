package deadlock

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	Inferred int // of those, the cases whose result follows from a symmetric case
	// Orders holds the orders of each class, and Assigned the index of the order that holds in each case; -1: the case
	// has a cycle. Both by class; cases are in the order of EachCase.
	Orders   [][]Order
	Assigned [][]int32
	// Cyclic counts the cases with a cycle. Cycles holds one for each component, class and case, of the first MostCycles
	// cases.
	Cyclic int
	Cycles []Cycle

	network *network
	states  []byte // of the cases examined
}

// States of a case that was examined.
const (
	other  = 'o'
	tiered = 't' // every path of every class goes up and then down, so there is no cycle
	cyclic = 'c' // of a proof with one class
)

// Checkpoint holds the results of the cases examined so far. The zero value holds none.
type Checkpoint struct {
	Key      string    `json:"key"` // of the fabric, the traffic and the number of failed links
	Orders   [][]Order `json:"orders"`
	Assigned [][]int32 `json:"assigned"`
	States   []byte    `json:"states"`
}

// Checkpoint returns the results of a proof that was interrupted, from which Prove continues.
func (p *Proof) Checkpoint() *Checkpoint {
	return &Checkpoint{p.key(), p.Orders, p.Assigned, p.states}
}

// key identifies what a proof is about.
func (p *Proof) key() string {
	h := sha256.New()
	for i := range p.Plan.Nodes {
		fmt.Fprintln(h, p.Plan.Nodes[i].Name, p.Plan.Nodes[i].Kind, p.Plan.Nodes[i].Tier)
	}
	for _, l := range p.Plan.Links {
		fmt.Fprintln(h, p.Plan.Ports[l.A].Name, p.Plan.Ports[l.B].Name)
	}
	for i := range p.Classes {
		fmt.Fprintln(h, p.Classes[i].Priorities, p.Classes[i].Pairs)
	}
	fmt.Fprintln(h, p.Failures)
	return hex.EncodeToString(h.Sum(nil))
}

// fits reports whether a checkpoint belongs to the proof, and is whole.
func (c *Checkpoint) fits(p *Proof) bool {
	if c == nil || c.Key != p.key() || len(c.States) > p.Cases || len(c.Orders) != len(p.Classes) ||
		len(c.Assigned) != len(p.Classes) {
		return false
	}
	for i := range c.Assigned {
		outside := func(at int32) bool { return at < -1 || int(at) >= len(c.Orders[i]) }
		if len(c.Assigned[i]) != len(c.States) || len(c.Orders[i]) == 0 || slices.ContainsFunc(c.Assigned[i], outside) {
			return false
		}
		for _, order := range c.Orders[i] {
			ports := slices.Sorted(slices.Values(order))
			if !slices.Equal(ports, p.network.between()) {
				return false
			}
		}
	}
	return true
}

// Options holds the options of Prove. The zero value is valid.
type Options struct {
	From     *Checkpoint                   // continues from here, if it is of the same proof
	Progress func(done, of, withCycle int) // called after each case; may be nil
	// NoSymmetry examines each case, also those that are symmetric to another one.
	NoSymmetry bool
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
// add no case. Of many symmetric cases it examines only the first, if the result is the same in all of them by proof
// (symmetry.go). If ctx ends, Prove returns what it has examined, with ctx's error.
func Prove(ctx context.Context, plan *topologies.Plan, classes []Class, k int, o Options) (*Proof, error) {
	n := newNetwork(plan)
	p := &Proof{
		Plan: plan, Classes: classes, Failures: k, Links: len(n.links), Cases: CaseCount(len(n.links), k, 1<<40), network: n,
		Orders: make([][]Order, len(classes)), Assigned: make([][]int32, len(classes)),
	}
	positions := make([][][]int32, len(classes)) // by class and order: the position of each port
	for c := range classes {
		p.Orders[c] = []Order{n.byTiers()}
	}
	from := o.From
	if !from.fits(p) {
		from = &Checkpoint{Assigned: make([][]int32, len(classes))}
	} else {
		p.Orders = from.Orders
	}
	for c := range classes {
		for _, order := range p.Orders[c] {
			positions[c] = append(positions[c], n.positions(order))
		}
	}
	var orbits []int32
	if !o.NoSymmetry && p.Cases >= symmetricCases && p.Cases <= mostOrbits {
		orbits = n.orbits(ctx, classes, k)
	}
	eachCase(n.links, k, func(failed []int) bool {
		if ctx.Err() != nil {
			return false
		}
		state, first := byte(other), p.Examined
		if orbits != nil {
			first = int(orbits[p.Examined])
		}
		known := p.Examined < len(from.States)
		switch {
		case known:
			state = from.States[p.Examined]
			for c := range classes {
				p.Assigned[c] = append(p.Assigned[c], from.Assigned[c][p.Examined])
			}
			if slices.ContainsFunc(p.Assigned, func(of []int32) bool { return of[p.Examined] < 0 }) {
				p.findCycles(failed)
			}
		case first < p.Examined && p.states[first] == tiered:
			state = tiered
			for c := range classes {
				p.Assigned[c] = append(p.Assigned[c], 0)
			}
		case first < p.Examined && p.states[first] == cyclic && p.Cyclic >= MostCycles:
			state = cyclic
			p.Assigned[0] = append(p.Assigned[0], -1)
			p.Cyclic++
		default:
			state = p.examine(failed, positions)
			first = p.Examined
		}
		if first < p.Examined && (state == tiered || state == cyclic && p.Cyclic > MostCycles) {
			p.Inferred++
		}
		p.states = append(p.states, state)
		p.Examined++
		if o.Progress != nil {
			o.Progress(p.Examined, p.Cases, p.Cyclic)
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

// symmetricCases is the number of cases from which on the search for symmetry takes less time than it saves.
const symmetricCases = 300

// mostOrbits limits the memory for it, of four bytes a case.
const mostOrbits = 1 << 25

// examine finds the order of each class in a case, or its cycles.
func (p *Proof) examine(failed []int, positions [][][]int32) (state byte) {
	n := p.network
	r := n.routes(failed)
	state = tiered
	for c := range p.Classes {
		pairs := p.Classes[c].Pairs
		at := 0
		if !n.inOrder(r, pairs, n.tiers) {
			state = other
			at = slices.IndexFunc(positions[c], func(position []int32) bool { return n.inOrder(r, pairs, position) })
		}
		if at < 0 {
			g := n.graph(r, pairs)
			if sorted, left := g.order(); left == nil {
				at = len(p.Orders[c])
				p.Orders[c] = append(p.Orders[c], n.complete(sorted))
				positions[c] = append(positions[c], n.positions(p.Orders[c][at]))
			} else {
				p.addCycles(g, r, c, failed)
			}
		}
		p.Assigned[c] = append(p.Assigned[c], int32(at))
	}
	if slices.ContainsFunc(p.Assigned, func(of []int32) bool { return of[p.Examined] < 0 }) {
		p.Cyclic++
		if len(p.Classes) == 1 {
			state = cyclic
		}
	}
	return state
}

// findCycles adds the cycles of a case that is known to have some.
func (p *Proof) findCycles(failed []int) {
	if p.Cyclic < MostCycles {
		r := p.network.routes(failed)
		for c := range p.Classes {
			if p.Assigned[c][p.Examined] < 0 {
				p.addCycles(p.network.graph(r, p.Classes[c].Pairs), r, c, failed)
			}
		}
	}
	p.Cyclic++
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
