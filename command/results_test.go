package command

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestSteps checks that a collective alone has one line, and that a job shows its time beside the limit, or its
// unfinished operations.
func TestSteps(t *testing.T) {
	alone := measure.CollectiveSummary{
		Tag: "sum", Kind: "allreduce", Algorithm: "ring", Size: 16e6, Ranks: 16, Count: 1, Completed: 1,
		Time: measure.Quantiles{Mean: 2.885e6}, Limit: 2_681_000, Bus: 83.2e9,
	}
	again := alone
	again.Tag, again.Count, again.Completed = "train", 3, 2
	r := &runner.Result{Scenario: &scenario.Scenario{}, Controller: "dcqcn", Summary: measure.Summary{
		Jobs: []measure.JobSummary{
			{Tag: "sum", JCT: 2_885_000, Limit: 2_681_000},
			{Tag: "train", JCT: 9_000_000, Limit: 8_500_000, Compute: 3_000_000, ExposedShare: 0.625},
			{Tag: "late", Unfinished: 2, Operations: 9, Compute: 1},
		},
		Collectives: []measure.CollectiveSummary{alone, again},
	}}
	want := `train: job completion time 9.00 ms, limit 8.50 ms; exposed communication 62.5 %
late: 2 of 9 operations unfinished
sum: 1 of 1 allreduce by ring, 16MB, 16 ranks: mean 2.88 ms, limit 2.68 ms; bus bandwidth 83.2 Gbps
train: 2 of 3 allreduce by ring, 16MB, 16 ranks: mean 2.88 ms, limit 2.68 ms; bus bandwidth 83.2 Gbps
`
	if got := strings.Join(jobLines(r), "\n") + "\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// The limits are of the fabric without faults, and say so where there are any.
	r.Scenario.Faults = make([]scenario.Fault, 1)
	want = strings.ReplaceAll(want, ", limit ", ", limit without faults ")
	if got := strings.Join(jobLines(r), "\n") + "\n"; got != want {
		t.Errorf("with faults: got\n%swant\n%s", got, want)
	}
}

// TestFindings checks that runs share their common lines, with the range of a note's figures, and that a controller's
// lines under several seeds name seeds unless all have them.
func TestFindings(t *testing.T) {
	run := func(controller string, seed uint64, status measure.Status, messages, notes []string) *runner.Result {
		return &runner.Result{Scenario: &scenario.Scenario{}, Controller: controller, Summary: measure.Summary{
			Seed: seed, Verdict: measure.Verdict{Status: status, Messages: messages, Notes: notes},
		}}
	}
	a := run("a", 1, measure.Pass, nil, []string{"no PAUSE; at most 9.5KB", "its own"})
	b := run("b", 1, measure.Warn, []string{"3 flows had not ended"}, []string{"no PAUSE; at most 1.2MB"})
	c := run("c", 1, measure.Pass, nil, []string{"no PAUSE; at most 40KB"})
	for _, x := range []struct {
		name        string
		made        []*runner.Result
		controllers int
		want        string
	}{
		{"controllers", []*runner.Result{a, b, nil, c}, 4, `  a, b, c note: no PAUSE; at most 9.5KB to 1.2MB
  a note: its own
  b incomplete: 3 flows had not ended
`},
		{"all", []*runner.Result{a, b, c}, 3, `  all note: no PAUSE; at most 9.5KB to 1.2MB
  a note: its own
  b incomplete: 3 flows had not ended
`},
		{"seeds", []*runner.Result{
			b, run("b", 2, measure.Warn, []string{"5 flows had not ended"}, nil),
			run("b", 3, measure.Fail, []string{"dropped"}, nil),
		}, 1, `  b seed=1,2 incomplete: 3 to 5 flows had not ended
  b seed=1 note: no PAUSE; at most 1.2MB
  b seed=3 broken: dropped
`},
	} {
		var out strings.Builder
		if writeFindings(&out, x.made, x.controllers); out.String() != "\n"+x.want {
			t.Errorf("%s: got\n%swant\n%s", x.name, out.String(), x.want)
		}
	}
}
