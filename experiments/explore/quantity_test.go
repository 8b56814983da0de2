package explore

import (
	"context"
	"math"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// TestQuantities checks quantities of one run against its summary. By hand, the bound of two flows of 1 and 3 units that
// share a port is the mean of 1 and 4/3, for the shorter one goes first.
func TestQuantities(t *testing.T) {
	s, err := scenario.Parse("two.yaml", []byte(`
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 3}}
controllers: [none]
expect_unused: [controller]
flows:
  - {tag: a, from: h0, to: h2, size: 1MB}
  - {tag: b, from: h1, to: h2, size: 3MB}
duration: 1ms
drain: true
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := runner.Watch(context.Background(), s, runner.Options{Controller: "none", Seed: 1}, runner.Watching{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string, sum *measure.Summary) float64 {
		report := new(yamlspec.Report)
		q := ReadQuantity(report.Parse("q.yaml", []byte(name)))
		if q == nil || report.Err() != nil {
			t.Fatalf("%s: %v", name, report.Err())
		}
		return q.of(s, sum)
	}
	for name, want := range map[string]float64{
		"summary.flows.fct_ns.p99": sum.Flows.FCT.P99, "summary.pfc.pauses": float64(sum.PFC.Pauses),
		"summary.switches.0.peak_egress_bytes": float64(sum.Switches[0].QueuePeak), "summary.partial": 0,
		"summary.by_tag.b.slowdown.mean": sum.ByTag["b"].Slowdown.Mean,
	} {
		if got := of(name, sum); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"summary.by_tag.c.completed", "summary.switches.9.peak_egress_bytes", "summary.credits.stalled_ns"} {
		if got := of(name, sum); !math.IsNaN(got) {
			t.Errorf("%s: got %v, want none", name, got)
		}
	}
	if got, want := of("over_bound", sum)*(1+4./3)/2, sum.Flows.Slowdown.Mean; math.Abs(got/want-1) > 0.01 {
		t.Errorf("over_bound times its bound is %v, the mean slowdown %v", got, want)
	}
	unfinished := *sum
	unfinished.Flows.Completed = 1
	if got := of("over_bound", &unfinished); !math.IsNaN(got) {
		t.Errorf("over_bound with an unfinished flow: %v", got)
	}
}
