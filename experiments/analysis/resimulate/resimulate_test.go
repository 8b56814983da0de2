package resimulate

import (
	"context"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/orchestrator/engine"
)

// ring is an all-reduce of eight ranks on two leaves, whose ring crosses the spines twice.
const ring = `
topology: {leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4, rate: 100Gbps}, delay: 1us}
controllers: [none]
workloads:
  - {tag: a, collective: {kind: allreduce, size: 1MB, ranks: h0..h7}}
duration: 20ms
drain: true
sample: {flows: none}
faults:
  - {at: 0s, link: "leaf0:spine0", loss: 50%}
`

// TestCandidates runs a ring without faults and under each candidate. The file's own faults do not apply. A ring's steps
// wait for its slowest link: its time grows with the bytes over the slowed link.
func TestCandidates(t *testing.T) {
	base := Base{File: "ring.yaml", Text: []byte(ring)}
	s, err := base.Load(&Fault{})
	if err != nil {
		t.Fatal(err)
	}
	var used Usage
	sum, err := base.Run(context.Background(), &Fault{}, func(e *engine.Engine) { used = UsageOf(e, s.Topology) })
	if err != nil {
		t.Fatal(err)
	}
	healthy := sum.Collectives[0].Time.Mean
	// 14 steps, each with 125000 B at 100 Gbps: 10 us and headers, and at most five hops' delays.
	if healthy < 14*10e3 || healthy > 14*20e3 {
		t.Errorf("%v ns without faults", healthy)
	}
	all := Candidates(s.Topology, used, Usual(3))
	kinds := map[Kind]int{}
	places := map[string]bool{}
	for i := range all {
		f := &all[i]
		kinds[f.Kind]++
		if f.Kind == SlowLink {
			places[f.Place] = true
			for _, other := range f.Alike {
				places[other] = true
			}
		}
		if f.Value == "10Gbps" || f.Kind == LongCable && f.Value == "51us" || f.Kind == Storm && f.Value == "250us" {
			sum, err := base.Run(context.Background(), f, nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := sum.Collectives[0].Time.Mean; took < 1.2*healthy {
				t.Errorf("%s: %v ns, no more than %v without", f.Text, took, healthy)
			}
		}
	}
	for _, kind := range []Kind{SlowLink, LongCable, LossyLink, SlowNIC, Storm} {
		if kinds[kind] == 0 {
			t.Errorf("no candidate of kind %s", kind)
		}
	}
	for _, want := range []string{"leaf0:h0", "leaf0:h3", "leaf1:h7"} {
		if !places[want] {
			t.Errorf("no candidate at %s", want)
		}
	}
	// The ring uses one spine in each direction, so at most four of the links to spines.
	uplinks := 0
	for place := range places {
		if slices.Contains([]string{"leaf0:spine0", "leaf0:spine1", "leaf1:spine0", "leaf1:spine1"}, place) {
			uplinks++
		}
	}
	if uplinks == 0 || len(places) != 8+uplinks {
		t.Errorf("%d places, %d of them uplinks", len(places), uplinks)
	}
}
