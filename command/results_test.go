package command

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestWriteSteps: a collective alone is told of once, and a job by its time beside the limit, or by what had not ended.
func TestWriteSteps(t *testing.T) {
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
	var b strings.Builder
	writeSteps(&b, r, 7)
	want := `  dcqcn   train: job completion time 9.000ms, limit 8.500ms; exposed communication 62.5 %
  dcqcn   late: 2 of 9 operations had not ended
  dcqcn   sum: 1 of 1 allreduce by ring, 16MB, 16 ranks: mean 2.885ms, limit 2.681ms; bus bandwidth 83.2 Gb/s
  dcqcn   train: 2 of 3 allreduce by ring, 16MB, 16 ranks: mean 2.885ms, limit 2.681ms; bus bandwidth 83.2 Gb/s
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	// The limits are of the fabric without faults, and say so where there are any.
	r.Scenario.Faults = make([]scenario.Fault, 1)
	b.Reset()
	writeSteps(&b, r, 7)
	if want = strings.ReplaceAll(want, ", limit ", ", limit without faults "); b.String() != want {
		t.Errorf("with faults: got\n%swant\n%s", b.String(), want)
	}
}
