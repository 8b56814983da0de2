package command

import (
	"math"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/compare"
)

// TestComparisonPlot places pairs on a logarithmic axis: at half, once and twice, and where one value is 0.
func TestComparisonPlot(t *testing.T) {
	r := compare.Result{Measures: []compare.Measure{{
		Metric: "fct_p99", Label: "FCT p99", Scenarios: []compare.PerScenario{{Scenario: "one"}, {Scenario: "another"}},
	}}}
	add := func(scenario string, a, b float64) {
		r.Runs = append(r.Runs, compare.Pair{
			Scenario: scenario, A: map[string]*float64{"fct_p99": &a}, B: map[string]*float64{"fct_p99": &b},
		})
	}
	for _, a := range []float64{1, 2, 2, 4, 4, 4} {
		add("one", a, 2)
	}
	add("another", 0, 2)
	add("another", 2, 0)
	add("another", 0, 0)
	add("another", math.Sqrt2, 1)
	r.Runs = append(r.Runs, compare.Pair{Scenario: "one"}) // without values
	var b strings.Builder
	writeComparisonPlot(&b, &r)
	gap := func(n int) string { return strings.Repeat(" ", n) }
	want := "\n  FCT p99  0.5" + gap(22) + "1" + gap(24) + "2  A / B\n" +
		"  one      ." + gap(24) + ":" + gap(24) + "#\n" +
		"  another  <" + gap(24) + "." + gap(12) + "." + gap(11) + ">\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
