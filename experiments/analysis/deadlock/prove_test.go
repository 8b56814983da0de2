package deadlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/analysis/deadlock/certificate"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// prove proves or refutes a fabric for any traffic of one priority.
func prove(t *testing.T, plan *topologies.Plan, k int) *Proof {
	t.Helper()
	p, err := Prove(context.Background(), plan, AnyTraffic(plan, DefaultPriority), k, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parse(t *testing.T, text string) *topologies.Plan {
	t.Helper()
	plan, err := spec.Parse("fabric.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// ring returns n switches in a ring, with two hosts each.
func ring(n int) string {
	var nodes, links strings.Builder
	for i := range n {
		fmt.Fprintf(&nodes, "  - {name: s%d, kind: switch}\n  - {name: [h%d, g%d], kind: host}\n", i, i, i)
		fmt.Fprintf(&links, "  - {from: s%d, to: s%d}\n  - {from: [h%d, g%d], to: s%d}\n", i, (i+1)%n, i, i, i)
	}
	return "nodes:\n" + nodes.String() + "links:\n" + links.String()
}

// TestBuiltins proves or refutes each built-in topology: the certificate of a proof passes the checker, and a run
// deadlocks for each kind of cycle.
func TestBuiltins(t *testing.T) {
	for _, c := range []struct {
		name          string
		k             int
		cases, cyclic int
		kinds         int
	}{
		{"dcon-large", 1, 81, 0, 0},
		{"dcon-testbed", 2, 22, 0, 0},
		{"fattree", 1, 33, 0, 0},
		// Frames bounce off the other pod's edge switch, or off another pod.
		{"fattree", 2, 529, 56, 2},
		{"hpcc-fat", 1, 161, 0, 0},
		{"leafspine", 1, 9, 0, 0},
		{"leafspine", 2, 37, 12, 1},
		{"planes", 2, 37, 0, 0},
		{"rail", 2, 529, 0, 0},
		{"small", 2, 11, 0, 0},
		{"star", 2, 1, 0, 0},
		{"tcd-fat", 1, 501, 0, 0},
		{"tcd-fat", 2, 125251, 0, 0}, // its certificate is not checked here: that takes minutes
	} {
		t.Run(fmt.Sprintf("%s/%d", c.name, c.k), func(t *testing.T) {
			plan, err := spec.Builtin(c.name)
			if err != nil {
				t.Fatal(err)
			}
			p := prove(t, plan, c.k)
			if p.Cases != c.cases || p.Examined != c.cases || p.Cyclic != c.cyclic {
				t.Errorf("%d of %d cases examined, %d with a cycle: want %d and %d", p.Examined, p.Cases, p.Cyclic, c.cases, c.cyclic)
			}
			if p.Holds() && p.Cases < 10_000 {
				if r, err := certificate.Check(p.Certificate(), plan); err != nil || r.Cases != c.cases {
					t.Errorf("the certificate: %+v, %v", r, err)
				}
			}
			kinds := map[string]bool{}
			for i := range p.Cycles {
				if kind := p.Cycles[i].Kind(plan); !kinds[kind] {
					kinds[kind] = true
					d, err := p.Demonstrate(context.Background(), &p.Cycles[i], Settings{})
					if err != nil || !d.Deadlocked {
						t.Errorf("%s: no run deadlocked: %v", kind, err)
					}
				}
			}
			if len(kinds) != c.kinds {
				t.Errorf("%d kinds of cycles, want %d: %v", len(kinds), c.kinds, kinds)
			}
		})
	}
}

// TestRings refutes rings of four switches and more, and proves a ring of three (Hu et al., HotNets 2016, figure 1: a
// cycle needs frames that pass two of its links).
func TestRings(t *testing.T) {
	for n := 3; n <= 6; n++ {
		p := prove(t, parse(t, ring(n)), 0)
		if p.Holds() != (n == 3) {
			t.Errorf("ring of %d: %d cycles", n, len(p.Cycles))
		}
		for i := range p.Cycles {
			if d, err := p.Demonstrate(context.Background(), &p.Cycles[i], Settings{}); err != nil || !d.Deadlocked {
				t.Errorf("ring of %d: no run deadlocked: %v", n, err)
			}
		}
	}
}

// brute holds what an exhaustive search finds in one case: every simple path of every pair of switches with hosts, tried
// hop by hop, and the simple cycles of the dependencies.
type brute struct {
	plan  *topologies.Plan
	turns map[turn]map[[2]string]bool // the pairs of switches with a path that makes the turn
}

func newBrute(plan *topologies.Plan, failed []int) *brute {
	b := &brute{plan, map[turn]map[[2]string]bool{}}
	var edges []topologies.NodeID
	for _, sw := range plan.Switch {
		if slices.ContainsFunc(plan.Nodes[sw].Ports, func(id topologies.PortID) bool { return plan.PeerNode(id).Kind == topologies.Host }) {
			edges = append(edges, sw)
		}
	}
	for _, from := range edges {
		for _, to := range edges {
			var best [][]topologies.PortID
			var path []topologies.PortID
			visited := map[topologies.NodeID]bool{}
			var walk func(at topologies.NodeID)
			walk = func(at topologies.NodeID) {
				if at == to {
					if best == nil || len(path) < len(best[0]) {
						best = nil
					}
					if best == nil || len(path) == len(best[0]) {
						best = append(best, slices.Clone(path))
					}
					return
				}
				visited[at] = true
				for _, port := range plan.Nodes[at].Ports {
					next := plan.PeerNode(port)
					if next.Kind == topologies.Switch && !visited[next.ID] && !slices.Contains(failed, plan.Ports[port].Link) {
						path = append(path, port)
						walk(next.ID)
						path = path[:len(path)-1]
					}
				}
				visited[at] = false
			}
			if from != to {
				walk(from)
			}
			for _, p := range best {
				for i := 1; i < len(p); i++ {
					t := turn{p[i-1], p[i]}
					if b.turns[t] == nil {
						b.turns[t] = map[[2]string]bool{}
					}
					b.turns[t][[2]string{plan.Nodes[from].Name, plan.Nodes[to].Name}] = true
				}
			}
		}
	}
	return b
}

// shortestCycle returns the length of a shortest simple cycle, 0 if there is none, by following every simple path of
// the dependencies.
func (b *brute) shortestCycle() (shortest int) {
	var walk func(start, at topologies.PortID, on map[topologies.PortID]bool)
	walk = func(start, at topologies.PortID, on map[topologies.PortID]bool) {
		if shortest > 0 && len(on) >= shortest {
			return
		}
		on[at] = true
		for t := range b.turns {
			switch {
			case t.from != at || t.to < start:
			case t.to == start && (shortest == 0 || len(on) < shortest):
				shortest = len(on)
			case !on[t.to]:
				walk(start, t.to, on)
			}
		}
		delete(on, at)
	}
	for t := range b.turns {
		walk(t.from, t.from, map[topologies.PortID]bool{})
	}
	return shortest
}

// TestRandomFabrics compares 200 small fabrics, with up to one failed link, with an exhaustive search: whether a case has
// a cycle, how long a shortest one is, and which pairs of switches make its turns. The checker accepts the certificates.
func TestRandomFabrics(t *testing.T) {
	cyclic, clean, several := 0, 0, 0
	for n := range 200 {
		random := rand.New(rand.NewPCG(uint64(n), 35))
		switches := 3 + random.IntN(4)
		var b strings.Builder
		b.WriteString("nodes:\n")
		for i := range switches {
			fmt.Fprintf(&b, "  - {name: s%d, kind: switch}\n", i)
			if i < 2 || random.IntN(4) > 0 {
				fmt.Fprintf(&b, "  - {name: h%d, kind: host}\n", i)
			}
		}
		text := b.String()
		b.WriteString("links:\n")
		linked := map[[2]int]bool{}
		for i := range switches {
			if strings.Contains(text, fmt.Sprintf("name: h%d,", i)) {
				fmt.Fprintf(&b, "  - {from: h%d, to: s%d}\n", i, i)
			}
			if i > 0 { // half of the fabrics contain a ring, in which cycles are likely
				parent := i - 1
				if n%2 == 0 {
					parent = random.IntN(i)
				}
				linked[[2]int{parent, i}] = true
				fmt.Fprintf(&b, "  - {from: s%d, to: s%d}\n", parent, i)
			}
		}
		more := [][2]int{{0, switches - 1}}
		for range random.IntN(3) {
			more = append(more, [2]int{random.IntN(switches), random.IntN(switches)})
		}
		for _, m := range more {
			if pair := [2]int{min(m[0], m[1]), max(m[0], m[1])}; pair[0] != pair[1] && !linked[pair] {
				linked[pair] = true
				fmt.Fprintf(&b, "  - {from: s%d, to: s%d, count: %d}\n", pair[0], pair[1], 1+random.IntN(5)/4)
			}
		}
		plan := parse(t, b.String())
		p := prove(t, plan, 1)
		want := 0
		eachCase(p.network.links, 1, func(failed []int) bool {
			search := newBrute(plan, failed)
			shortest := search.shortestCycle()
			if shortest > 0 {
				want++
			}
			got := 0
			for i := range p.Cycles {
				c := &p.Cycles[i]
				if !slices.Equal(c.Failed, failed) {
					continue
				}
				if got == 0 || len(c.Ports) < got {
					got = len(c.Ports)
				}
				for j, port := range c.Ports {
					makers := search.turns[turn{port, c.Ports[(j+1)%len(c.Ports)]}]
					if len(makers) != len(c.Pairs[j]) {
						t.Errorf("fabric %d without %v: %d pairs make a turn, want %d", n, failed, len(c.Pairs[j]), len(makers))
					}
					for _, pair := range c.Pairs[j] {
						if !makers[[2]string{p.LeafName(pair.From), p.LeafName(pair.To)}] {
							t.Errorf("fabric %d without %v: %v does not make the turn", n, failed, pair)
						}
					}
				}
			}
			if got != shortest {
				t.Errorf("fabric %d without %v: a shortest cycle of %d, want %d:\n%s", n, failed, got, shortest, b.String())
			}
			return true
		})
		if p.Cyclic != want {
			t.Errorf("fabric %d: %d cases with a cycle, want %d", n, p.Cyclic, want)
		}
		if want > 0 {
			cyclic++
			continue
		}
		clean++
		c := p.Certificate()
		if len(c.Classes[0].Orders) > 1 {
			several++
		}
		if r, err := certificate.Check(c, plan); err != nil || r.Cases != p.Cases {
			t.Errorf("fabric %d: the certificate: %+v, %v", n, r, err)
		}
	}
	t.Logf("%d fabrics with a cycle, %d without, of which %d need several orders", cyclic, clean, several)
	if cyclic < 30 || clean < 30 || several < 10 {
		t.Errorf("%d fabrics with a cycle, %d without, of which %d need several orders: too few of a kind", cyclic, clean, several)
	}
}

// TestCases counts the sets of failed links by the binomial coefficients.
func TestCases(t *testing.T) {
	for _, c := range []struct{ n, k, want int }{{8, 0, 1}, {8, 1, 9}, {8, 2, 37}, {0, 2, 1}, {1, 2, 2}, {500, 2, 125251}} {
		if got := CaseCount(c.n, c.k, 1<<30); got != c.want {
			t.Errorf("%d of %d: %d cases, want %d", c.k, c.n, got, c.want)
		}
		if c.n < 100 {
			seen := map[string]bool{}
			links := make([]int, c.n)
			for i := range links {
				links[i] = 10 * i
			}
			eachCase(links, c.k, func(failed []int) bool {
				seen[fmt.Sprint(failed)] = true
				return true
			})
			if len(seen) != c.want {
				t.Errorf("%d of %d: %d distinct cases, want %d", c.k, c.n, len(seen), c.want)
			}
		}
	}
}

// TestPartition demonstrates a cycle after a failure that cuts a switch off: the scenario leaves that part out.
func TestPartition(t *testing.T) {
	plan := parse(t, strings.Replace(ring(4), "nodes:", "nodes:\n  - {name: [x, y], kind: switch}", 1)+
		"  - {from: s0, to: x}\n  - {from: x, to: y}\n")
	p := prove(t, plan, 1)
	cut := plan.Ports[plan.PortsBetween(plan.NodeByName("s0").ID, plan.NodeByName("x").ID)[0]].Link
	i := slices.IndexFunc(p.Cycles, func(c Cycle) bool { return slices.Equal(c.Failed, []int{cut}) })
	if i < 0 {
		t.Fatalf("no cycle without the link to x: %+v", p.Cycles)
	}
	if d, err := p.Demonstrate(context.Background(), &p.Cycles[i], Settings{}); err != nil || !d.Deadlocked {
		t.Errorf("no run deadlocked: %v", err)
	}
}
