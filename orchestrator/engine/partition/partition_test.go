package partition

import (
	"testing"

	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// TestDivide: a switch and its hosts are one partition, and the shortest cable between partitions says how long they
// go apart.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		name, topology string
		partitions     int
		lookahead      vtime.Time
	}{
		{"one switch", "delay: 2us\nstar: {hosts: 5}", 1, vtime.Never},
		{"leaves and spines", "delay: 3us\nleafspine: {spines: 2, leaves: 3, hosts_per_leaf: 2}", 5, 3 * vtime.Microsecond},
		{"a shorter cable", `delay: 3us
nodes: [{name: s0..s2, kind: switch}, {name: h0..h2, kind: host}]
links: [{from: h0, to: s0, delay: 1ns}, {from: h1, to: s1}, {from: h2, to: s2}, {from: s0, to: s1, delay: 700ns}, {from: s1, to: s2}]`, 3, 700 * vtime.Nanosecond},
		{"two rails", `delay: 3us
nodes: [{name: s0..s4, kind: switch}, {name: h0..h3, kind: host}]
links: [{from: h0..h1, to: s0..s1}, {from: h2..h3, to: s2..s3}, {from: s0..s3, to: s4, delay: 2us}]`, 3, 2 * vtime.Microsecond},
		{"planes without spines", `nodes: [{name: s0..s1, kind: switch}, {name: h0..h3, kind: host}]
links: [{from: h0..h3, to: s0..s1}]`, 1, vtime.Never},
		{"cables without delay", "delay: 0us\nleafspine: {spines: 2, leaves: 2, hosts_per_leaf: 1}", 1, vtime.Never},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, err := spec.Parse("lab.yaml", []byte(c.topology))
			if err != nil {
				t.Fatal(err)
			}
			d := Divide(plan)
			of, partitions, lookahead := d.Of, d.Count, d.Lookahead
			if partitions != c.partitions || lookahead != c.lookahead {
				t.Errorf("%d partitions for %v, want %d for %v", partitions, lookahead, c.partitions, c.lookahead)
			}
			for i := range plan.Ports {
				p, q := &plan.Ports[i], &plan.Ports[plan.Ports[i].Peer]
				apart := of[i] != of[p.Peer]
				if between := plan.Nodes[p.Node].Kind == plan.Nodes[q.Node].Kind; apart != (between && partitions > 1) {
					t.Errorf("%s and %s: apart %v", p.Name, q.Name, apart)
				}
			}
		})
	}
}

// TestPhases: no link joins two partitions of one phase, and each partition is in one. There are two where that is
// possible.
func TestPhases(t *testing.T) {
	for _, c := range []struct {
		name, topology string
		phases         int
	}{
		{"leaves and spines", "leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 2}", 2},
		{"a fat-tree", "fattree: {k: 4}", 2},
		{"a ring of four", `nodes: [{name: s0..s3, kind: switch}, {name: h0..h3, kind: host}]
links: [{from: h0, to: s0}, {from: h1, to: s1}, {from: h2, to: s2}, {from: h3, to: s3}, {from: s0, to: s1}, {from: s1, to: s2}, {from: s2, to: s3}, {from: s3, to: s0}]`, 2},
		{"a ring of three", `nodes: [{name: s0..s2, kind: switch}, {name: h0..h2, kind: host}]
links: [{from: h0, to: s0}, {from: h1, to: s1}, {from: h2, to: s2}, {from: s0, to: s1}, {from: s1, to: s2}, {from: s2, to: s0}]`, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, err := spec.Parse("lab.yaml", []byte("delay: 1us\n"+c.topology))
			if err != nil {
				t.Fatal(err)
			}
			d := Divide(plan)
			of, partitions, phases := d.Of, d.Count, d.Phases(plan)
			if len(phases) != c.phases {
				t.Errorf("%d phases, want %d", len(phases), c.phases)
			}
			phase := map[int32]int{}
			for i, together := range phases {
				for _, r := range together {
					if _, twice := phase[r]; twice {
						t.Errorf("partition %d is in two phases", r)
					}
					phase[r] = i
				}
			}
			if len(phase) != partitions {
				t.Errorf("phases for %d of %d partitions", len(phase), partitions)
			}
			for i := range plan.Ports {
				a, b := of[i], of[plan.Ports[i].Peer]
				if a != b && phase[a] == phase[b] {
					t.Errorf("partitions %d and %d are neighbours and go together", a, b)
				}
			}
		})
	}
}
