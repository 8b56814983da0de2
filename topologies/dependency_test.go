package topologies_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// TestCycle checks random fabrics with random links down: a cycle of queues is found if there is one, and a shortest
// one. The test follows every path of every pair of hosts, and applies Floyd and Warshall to the queues.
func TestCycle(t *testing.T) {
	found, none := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		switches := rapid.IntRange(2, 7).Draw(t, "switches")
		// In a ring of five or more, where each sends to each, shortest paths have a cycle; else there seldom is one.
		ring := switches >= 5 && rapid.Bool().Draw(t, "ring")
		var b strings.Builder
		b.WriteString("nodes:\n")
		for i := range switches {
			fmt.Fprintf(&b, "  - {name: s%d, kind: switch}\n  - {name: h%d, kind: host}\n", i, i)
		}
		b.WriteString("links:\n")
		for i := range switches {
			fmt.Fprintf(&b, "  - {from: h%d, to: s%d}\n", i, i)
			if ring {
				fmt.Fprintf(&b, "  - {from: s%d, to: s%d}\n", i, (i+1)%switches)
			} else if i > 0 { // all can be reached
				fmt.Fprintf(&b, "  - {from: s%d, to: s%d}\n", i, rapid.IntRange(0, i-1).Draw(t, "parent"))
			}
		}
		for range rapid.IntRange(0, 5).Draw(t, "more") {
			x, y := rapid.IntRange(0, switches-1).Draw(t, "x"), rapid.IntRange(0, switches-1).Draw(t, "y")
			if x != y && !ring {
				fmt.Fprintf(&b, "  - {from: s%d, to: s%d}\n", x, y)
			}
		}
		plan, err := spec.Parse("x.yaml", []byte(b.String()))
		if err != nil {
			t.Skip(err) // two switches are linked twice without saying so
		}
		down := map[int]bool{}
		for _, l := range rapid.SliceOfN(rapid.IntRange(0, len(plan.Links)-1), 0, 3).Draw(t, "down") {
			down[l] = !ring
		}
		routes := plan.RoutesOver(func(p topologies.PortID) bool { return !down[plan.Ports[p].Link] })
		var trips [][2]int
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, switches*switches-1), 1, 20).Draw(t, "trips") {
			trips = append(trips, [2]int{n / switches, n % switches})
		}

		if ring {
			trips = nil
			for i := range switches * switches {
				trips = append(trips, [2]int{i / switches, i % switches})
			}
		}

		const far = 1 << 20
		n := len(plan.Ports)
		steps := make([][]int, n) // from one queue to another that it can wait for
		for i := range steps {
			steps[i] = slices.Repeat([]int{far}, n)
		}
		var follow func(to int, by topologies.PortID)
		follow = func(to int, by topologies.PortID) {
			at := plan.PeerNode(by)
			if at.Kind == topologies.Host {
				return
			}
			for _, next := range routes.Next(at.Index, to) {
				if plan.Nodes[plan.Ports[by].Node].Kind == topologies.Switch && plan.PeerNode(next).Kind == topologies.Switch {
					steps[by][next] = 1
				}
				follow(to, next)
			}
		}
		for _, trip := range trips {
			if trip[0] != trip[1] {
				follow(trip[1], plan.Interfaces[trip[0]])
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					steps[i][j] = min(steps[i][j], steps[i][k]+steps[k][j])
				}
			}
		}
		want := far
		for i := range n {
			want = min(want, steps[i][i])
		}

		cycle := plan.DependenciesOf(&routes, trips).Cycle()
		if want == far && cycle != nil || want != far && len(cycle) != want {
			t.Fatalf("%s\ndown %v, trips %v: cycle %v, want one of %d", b.String(), down, trips, cycle, want)
		}
		for i, port := range cycle {
			if steps[port][cycle[(i+1)%len(cycle)]] != 1 {
				t.Fatalf("%s: %v: port %d does not wait for the next", b.String(), cycle, port)
			}
		}
		if cycle == nil {
			none++
		} else {
			found++
		}
	})
	if found == 0 || none == 0 {
		t.Errorf("%d fabrics with a cycle and %d without: want both", found, none)
	}
}

// TestCyclePaths checks that paths other than the shortest can close a cycle, too.
func TestCyclePaths(t *testing.T) {
	plan, err := spec.Parse("x.yaml", []byte("leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2}"))
	if err != nil {
		t.Fatal(err)
	}
	port := func(a, b string) topologies.PortID {
		return plan.PortsBetween(plan.NodeByName(a).ID, plan.NodeByName(b).ID)[0]
	}
	d := plan.DependenciesOf(plan.Routes(), [][2]int{{0, 2}, {2, 0}})
	if c := d.Cycle(); c != nil {
		t.Errorf("straight ways have a cycle: %v", c)
	}
	d.AddPath([]topologies.PortID{port("leaf0", "spine0"), port("spine0", "leaf1"), port("leaf1", "spine1"), port("spine1", "leaf0")})
	if c := d.Cycle(); c != nil {
		t.Errorf("a bounce has a cycle of itself: %v", c)
	}
	d.AddPath([]topologies.PortID{port("spine1", "leaf0"), port("leaf0", "spine0")})
	want := []topologies.PortID{port("leaf0", "spine0"), port("spine0", "leaf1"), port("leaf1", "spine1"), port("spine1", "leaf0")}
	least := slices.Index(want, slices.Min(want))
	if c := d.Cycle(); !slices.Equal(c, slices.Concat(want[least:], want[:least])) {
		t.Errorf("cycle %v, want %v", c, want)
	}
}
