package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestSameFlowsUnderAnyController checks that all controllers get the same flows for the run's seed, and that a file
// with these flows gives the same run.
func TestSameFlowsUnderAnyController(t *testing.T) {
	testenv.WholeScenario(t)
	s := mustLoad(t, "../scenario/testdata/workloads/all.yaml")
	column := func(rows []map[string]string) string {
		var b strings.Builder
		for _, r := range rows {
			fmt.Fprintln(&b, r["tag"], r["src"], r["dst"], r["size_bytes"], r["start_ns"])
		}
		return b.String()
	}
	first := run(t, s, "dcqcn", Options{Plane: wasmplane.Open, Seed: 5})
	want := column(first.table("flows.csv").Rows)
	if got := column(run(t, s, "none", Options{Plane: wasmplane.Open, Seed: 5}).table("flows.csv").Rows); got != want {
		t.Error("dcqcn and none have other flows")
	}
	if got := column(run(t, s, "dcqcn", Options{Plane: wasmplane.Open}).table("flows.csv").Rows); got == want {
		t.Error("seeds 1 and 5 give the same flows")
	}
	if status := first.Summary.Verdict; status.Status == measure.Fail ||
		first.Summary.Flows.Completed != len(s.Flows)-countTag(s, "search")+first.Summary.ByTag["search"].Count {
		t.Errorf("%+v, %d flows ended", status, first.Summary.Flows.Completed)
	}
	var manifest struct {
		Configuration scenario.View
		Paths         []any
	}
	data, err := os.ReadFile(filepath.Join(first.dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	if v := manifest.Configuration.Workloads; len(v) != 7 || v[0].Flows != first.Summary.ByTag["search"].Count ||
		len(manifest.Paths) != 1 {
		t.Errorf("%d workloads, %d paths: %+v", len(v), len(manifest.Paths), v[0])
	}
	replayed := parse(t, fmt.Sprintf("topology: {rate: 40Gbps, delay: 1us, leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 4}}\n"+
		"workloads: [{csv: %q}]\nduration: 400us\ndrain: true\n", filepath.Join(first.dir, "flows.csv")))
	if got := column(run(t, replayed, "dcqcn", Options{Plane: wasmplane.Open}).table("flows.csv").Rows); got != want {
		t.Errorf("replayed:\n%swant\n%s", got, want)
	}
}

func countTag(s *scenario.Scenario, tag string) (n int) {
	for i := range s.Flows {
		if s.Flows[i].Tag == tag {
			n++
		}
	}
	return n
}
