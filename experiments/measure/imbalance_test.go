package measure

import (
	"math"
	"testing"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// imbalanced returns a fabric's links with the given bytes, by the name of the port.
func imbalanced(plan *topologies.Plan, bytes map[string]int64) []Link {
	all := make([]Link, len(plan.Ports))
	for i := range plan.Ports {
		p := &plan.Ports[i]
		all[i] = Link{
			Node: plan.Nodes[p.Node].Name, Port: p.Name,
			TxBytes: bytes[plan.Nodes[p.Node].Name+":"+plan.PeerNode(p.ID).Name],
		}
	}
	return all
}

// The expected values are worked out by hand from the definitions.
func TestImbalance(t *testing.T) {
	plan, err := spec.Parse("t.yaml", []byte("leafspine: {leaves: 2, spines: 4, hosts_per_leaf: 1}"))
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s %v, want %v", what, got, want)
		}
	}
	if got := ImbalanceOf(plan, imbalanced(plan, nil)); got != nil {
		t.Errorf("%+v of nothing", got)
	}
	// leaf0 has sent 4, 2, 2, 0: 4 over a mean of 2, and (8*8)/(4*24). leaf1 has sent 1 each, half as much.
	got := ImbalanceOf(plan, imbalanced(plan, map[string]int64{
		"leaf0:spine0": 4000, "leaf0:spine1": 2000, "leaf0:spine2": 2000,
		"leaf1:spine0": 1000, "leaf1:spine1": 1000, "leaf1:spine2": 1000, "leaf1:spine3": 1000,
		"spine0:leaf0": 99_000, "leaf0:h0": 5, // not chosen
	}))
	if len(got) != 1 || got[0].Tier != 1 || got[0].Groups != 2 {
		t.Fatalf("%+v", got)
	}
	near("max over mean", got[0].MaxOverMean, (2*8.0+1*4.0)/12)
	near("Jain", got[0].Jain, (64.0/96*8+1*4)/12)
	if w := got[0].Worst; w.Node != "leaf0" || len(w.Ports) != 4 {
		t.Errorf("worst %+v", w)
	}
	near("worst", got[0].Worst.MaxOverMean, 2)
	// All by one of four: 4 and a quarter.
	got = ImbalanceOf(plan, imbalanced(plan, map[string]int64{"leaf0:spine2": 7}))
	near("max over mean of one", got[0].MaxOverMean, 4)
	near("Jain of one", got[0].Jain, 0.25)
}

// TestImbalanceOfTwo checks two spines, one with half of the other's rate, whose fair part is half of the other's
// bytes. The worst group has at least half of the mean group's bytes: with 8000 in two groups, 2000.
func TestImbalanceOfTwo(t *testing.T) {
	plan, err := spec.Parse("t.yaml", []byte("leafspine: {leaves: 2, spines: 2, hosts_per_leaf: 1, rate: 100Gbps}\n"+
		"change_links:\n  - {from: leaf0..leaf1, to: spine1, rate: 50Gbps}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := ImbalanceOf(plan, imbalanced(plan, map[string]int64{"leaf0:spine0": 2000, "leaf0:spine1": 1000}))
	if len(got) != 1 || got[0].Groups != 1 || math.Abs(got[0].MaxOverMean-1) > 1e-12 || math.Abs(got[0].Jain-1) > 1e-12 {
		t.Errorf("%+v", got)
	}
	for first, want := range map[int64]string{2000: "leaf0", 1999: "leaf1"} {
		got = ImbalanceOf(plan, imbalanced(plan, map[string]int64{
			"leaf0:spine0": first, "leaf1:spine0": 8000 - first - 2500,
			"leaf1:spine1": 2500,
		}))
		if len(got) != 1 || got[0].Worst.Node != want {
			t.Errorf("%d of 8000 bytes: worst %+v, want %s", first, got[0].Worst, want)
		}
	}
}
