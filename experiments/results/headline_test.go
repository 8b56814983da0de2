package results

import (
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
)

// TestHeadline checks that a headline always has completion times, and the six other measures in which columns differ
// most, or, with one column, those that are not 0.
func TestHeadline(t *testing.T) {
	summary := func(pauses, marks int64, victim, steady float64) *measure.Summary {
		s := &measure.Summary{
			ECNMarks: marks, Verdict: measure.Verdict{Status: measure.Pass},
			LowestGoodput: map[string]float64{"steady": steady},
		}
		s.PFC.Pauses = pauses
		s.Flows = measure.FlowStatistics{
			Count: 3, Completed: 2, FCT: measure.Quantiles{Mean: 5.2e6, P99: 7.213e6},
			Slowdown: measure.Quantiles{P99: 2.5},
		}
		s.ByTag = map[string]measure.FlowStatistics{
			"victim": {Count: 2, Completed: 2, Slowdown: measure.Quantiles{Mean: victim}}, "steady": {Count: 1, Goodput: 25e9},
		}
		return s
	}
	rows := func(columns ...HeadlineColumn) string {
		var lines []string
		for _, row := range Headline(columns) {
			lines = append(lines, row.Label+": "+strings.Join(row.Cells, " | "))
		}
		return strings.Join(lines, "\n")
	}
	none, other := summary(90, 1000, 2.6, 20e9), summary(0, 990, 1, 2.5e9)
	for _, c := range []struct {
		name    string
		columns []HeadlineColumn
		want    string
	}{
		{"two", []HeadlineColumn{{"a", []*measure.Summary{none}}, {"b", []*measure.Summary{other}}}, `flows completed: 2/3 | 2/3
FCT mean: 5.20 ms | 5.20 ms
FCT p99: 7.21 ms | 7.21 ms
slowdown p99: 2.50 | 2.50
lowest goodput, steady: 20.0 Gbps | 2.50 Gbps
slowdown mean, victim: 2.60 | 1
PAUSE frames: 90 | 0`},
		{"one", []HeadlineColumn{{"b", []*measure.Summary{other}}}, `flows completed: 2/3
FCT mean: 5.20 ms
FCT p99: 7.21 ms
slowdown p99: 2.50
goodput, steady: 25.0 Gbps
lowest goodput, steady: 2.50 Gbps
slowdown mean, victim: 1
ECN marks: 990`},
		{"seeds", []HeadlineColumn{{"a", []*measure.Summary{none, other, nil}}, {"b", []*measure.Summary{nil}}}, `flows completed: 4/6 | -
FCT mean: 5.20 ms | -
FCT p99: 7.21 ms | -
slowdown p99: 2.50 | -`},
	} {
		if got := rows(c.columns...); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	// The slowdowns of two or three tags that can be compared stand in any case; those of four only if they differ.
	equal := summary(0, 0, 1, 1)
	for n, extra := range []string{"incast", "other", "last"} {
		equal.ByTag[extra] = equal.ByTag["victim"]
		if got, want := strings.Count(rows(HeadlineColumn{"a", []*measure.Summary{equal}},
			HeadlineColumn{"b", []*measure.Summary{equal}}),
			"slowdown mean, "), []int{2, 3, 0}[n]; got != want {
			t.Errorf("%d tags: %d slowdowns, want %d", n+2, got, want)
		}
	}
	if Headline(nil) != nil {
		t.Error("a headline of nothing")
	}
	// Of eight that differ, six are shown, the most important of those that differ as much.
	many := summary(7, 900, 2.6, 20e9)
	many.CNPs, many.CNMs, many.Drops.Frames, many.PFC.SwitchPauses, many.PFC.Spread.Depth, many.Victims.Count = 7, 7, 7, 7, 7, 7
	got := rows(HeadlineColumn{"a", []*measure.Summary{many}},
		HeadlineColumn{"b", []*measure.Summary{summary(0, 900, 2.6, 20e9)}})
	for label, shown := range map[string]bool{
		"drops": true, "victim flows": true, "PAUSE frames": true,
		"hops that PAUSE spread": true, "CNPs": true, "CNMs": false, "ECN marks": false,
	} {
		if slices.ContainsFunc(strings.Split(got, "\n"),
			func(l string) bool { return strings.HasPrefix(l, label+":") }) != shown {
			t.Errorf("%s shown: want %v, in\n%s", label, shown, got)
		}
	}
}
