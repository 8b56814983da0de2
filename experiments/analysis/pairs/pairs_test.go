package pairs

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
)

// TestCostRatio: less or more is better, and a run that leaves its slowest flows out does not win.
func TestCostRatio(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		metric     string
		a, b       float64
		more       int
		ratio      float64
		unfinished bool
		ok         bool
	}{
		{"fct_p99", 2, 1, 0, 2, false, true},
		{"goodput", 2, 1, 0, 0.5, false, true},
		{"goodput:web", 2, 1, -1, 0.5, false, true},
		{"fct_p99", 1, 2, -1, inf, true, true},
		{"slowdown_mean:web", nan, 2, -1, inf, true, true},
		{"fct_mean", 2, 1, 1, 0, true, true},
		{"pauses", 0, 0, 0, 1, false, true},
		{"pauses", 3, 0, -1, inf, false, true},
		{"goodput", 0, 3, 0, inf, false, true},
		{"jct", nan, 3, 0, inf, true, true},
		{"busbw", 3, nan, 0, 0, true, true},
		{"jct", nan, nan, 0, 0, false, false},
		{"grant_utilisation", 1, nan, 0, 0, false, false},
	} {
		ratio, unfinished, ok := CostRatio(measure.MetricByName(c.metric), c.a, c.b, c.more)
		if ratio != c.ratio || unfinished != c.unfinished || ok != c.ok {
			t.Errorf("%+v: got %g, %v, %v", c, ratio, unfinished, ok)
		}
	}
	for _, name := range slices.Concat(moreIsBetter, noBetter, ofEnded, ofAllFlows) {
		if measure.MetricByName(name) == nil {
			t.Errorf("there is no metric %s", name)
		}
	}
	if Comparable(measure.MetricByName("ce_packets:web")) || !Comparable(measure.MetricByName("goodput")) {
		t.Error("Comparable is wrong")
	}
}

// TestBySeed pairs finished runs by their seeds, and leaves out those without a partner. By hand: five better pairs of
// five have a two-sided p-value of 2/32, and Holm doubles the lower of two; all pairs have equal goodput.
func TestBySeed(t *testing.T) {
	var a, b []*measure.Summary
	for seed := range uint64(6) {
		own, other := &measure.Summary{Seed: seed}, &measure.Summary{Seed: 5 - seed}
		own.Flows.Completed, other.Flows.Completed = 1, 1
		own.Flows.FCT.Mean, other.Flows.FCT.Mean = float64(seed+1), 2*float64(6-seed)
		a, b = append(a, own), append(b, other)
	}
	a[2].Partial = true
	metrics := measure.MetricsNamed([]string{"ecn_marks", "fct_mean", "drops", "jct"})
	const want = "5 pairs: FCT mean 0.500 times, better in 5 and worse in 0 (p 0.125); drops equal in all"
	if got := BySeed(metrics, append(a, nil), b).String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := BySeed(measure.MetricsNamed([]string{"jct"}), a, b).String(); got != "" {
		t.Errorf("no jobs: %s", got)
	}
	// Broken runs lose, and pairs of two say nothing. Six of six are the first to bound the median.
	a[2].Partial, b[0].Verdict.Status = false, measure.Fail // seed 5
	const bounded = "6 pairs: FCT mean 0.500 times (95 % interval below 0.500), better in 6 and worse in 0 (p 0.031)"
	if got := BySeed(metrics[1:2], a, b).String(); got != bounded {
		t.Errorf("got %s, want %s", got, bounded)
	}
	a[5].Verdict.Status = measure.Fail
	if got := BySeed(metrics[1:2], a, b).String(); !strings.HasPrefix(got, "5 pairs: ") {
		t.Errorf("two broken runs: got %s", got)
	}
}
