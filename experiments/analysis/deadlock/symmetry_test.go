package deadlock

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/topologies"
)

// TestSymmetry compares proofs with and without symmetry, in every case, and continues each from checkpoints.
func TestSymmetry(t *testing.T) {
	for _, c := range []struct {
		name, text string
		k, orbits  int // orbits: as counted by hand
	}{
		// Two links of a leaf-spine fail: at one leaf, at one spine, or at neither in common.
		{"leafspine 3x7", "leafspine: {spines: 3, leaves: 7, hosts_per_leaf: 1}", 2, 5},
		// A link of the lower or the upper tier fails. Two lower ones have the same edge switch, the same aggregation switch, or
		// only the pod in common, or are in two pods with aggregation switches of the same or another position: 5. So do two upper
		// ones: the same switch or core, or none. One of each: the same aggregation switch, the other in the pod, or another pod.
		{"fattree", "fattree: {k: 4}", 2, 1 + 2 + 5 + 5 + 4},
		{"ring", ring(24), 2, 1 + 1 + 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := parse(t, c.text)
			classes := AnyTraffic(plan, DefaultPriority)
			do := func(ctx context.Context, o Options) *Proof {
				p, err := Prove(ctx, plan, classes, c.k, o)
				if ctx.Err() == nil && err != nil {
					t.Fatal(err)
				}
				return p
			}
			want := do(t.Context(), Options{NoSymmetry: true})
			got := do(t.Context(), Options{})
			distinct := slices.Clone(newNetwork(plan).orbits(t.Context(), classes, c.k))
			slices.Sort(distinct)
			if n := len(slices.Compact(distinct)); n != c.orbits {
				t.Errorf("%d orbits of %d cases, want %d", n, got.Cases, c.orbits)
			}
			same := func(p *Proof) bool {
				return p.Cyclic == want.Cyclic && p.Examined == want.Cases && reflect.DeepEqual(p.Assigned, want.Assigned) &&
					reflect.DeepEqual(p.Orders, want.Orders) && reflect.DeepEqual(p.Cycles, want.Cycles)
			}
			if !same(got) {
				t.Errorf("with symmetry: %d cyclic of %d, %d inferred; without: %d of %d", got.Cyclic, got.Examined, got.Inferred, want.Cyclic,
					want.Examined)
			}
			for _, at := range []int{1, got.Cases / 3, got.Cases - 1} {
				ctx, cancel := context.WithCancel(t.Context())
				half := do(ctx, Options{Progress: func(done, _, _ int) {
					if done == at {
						cancel()
					}
				}})
				data, err := json.Marshal(half.Checkpoint())
				if err != nil || half.Examined != at {
					t.Fatalf("%d examined, want %d: %v", half.Examined, at, err)
				}
				var from Checkpoint
				if err := json.Unmarshal(data, &from); err != nil {
					t.Fatal(err)
				}
				if rest := do(t.Context(), Options{From: &from}); !same(rest) || rest.Inferred != got.Inferred {
					t.Errorf("from %d on: %d cyclic of %d, %d inferred, want %d", at, rest.Cyclic, rest.Examined, rest.Inferred, got.Inferred)
				}
				from.Assigned[0][0] = 1 << 20 // an order that does not exist, so it is not whole
				if rest := do(t.Context(), Options{From: &from}); !same(rest) {
					t.Error("a broken checkpoint was used")
				}
			}
		})
	}
}

// TestMirrors checks automorphisms apart from the code that accepts them: each maps links to links, between switches that
// it maps to each other. It also refuses permutations of which none is one.
func TestMirrors(t *testing.T) {
	plan := parse(t, "fattree: {k: 4}")
	n := newNetwork(plan)
	classes := AnyTraffic(plan, DefaultPriority)
	all := n.mirrors(t.Context(), classes)
	if len(all) < 5 {
		t.Errorf("%d mirrors", len(all))
	}
	end := func(l int32, other bool) topologies.NodeID {
		link := plan.Links[n.links[l]]
		if other {
			return plan.Ports[link.B].Node
		}
		return plan.Ports[link.A].Node
	}
	for _, image := range all {
		for a := range image { // two links share a switch if and only if their images do
			for b := range image {
				shared := func(x, y int32) int {
					count := 0
					for _, i := range []bool{false, true} {
						for _, j := range []bool{false, true} {
							if end(x, i) == end(y, j) {
								count++
							}
						}
					}
					return count
				}
				if shared(int32(a), int32(b)) != shared(image[a], image[b]) {
					t.Fatalf("links %d and %d map to %d and %d", a, b, image[a], image[b])
				}
			}
		}
	}
	g := n.lattice()
	random := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		m := &mirror{make([]int32, len(plan.Switch)), make([]int32, len(n.links))}
		for i, to := range random.Perm(len(plan.Switch)) {
			m.switches[i] = int32(to)
		}
		if g.complete(m, classes) {
			t.Errorf("a random permutation is accepted: %v", m.switches)
		}
	}
	// Traffic of one pair leaves only the mirrors that keep it.
	few := n.mirrors(t.Context(), []Class{{Pairs: []Pair{{0, 1}}}})
	if len(few) >= len(all) {
		t.Errorf("%d mirrors for one pair of leaves, %d for all", len(few), len(all))
	}
}
