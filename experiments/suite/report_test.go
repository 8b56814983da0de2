package suite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// TestReport checks that the report is one file beside the runs' folders, loads nothing, and shows the controllers.
func TestReport(t *testing.T) {
	testenv.NeedRoot(t)
	dir := t.TempDir()
	suite := &Suite{
		Options: runner.Options{
			Directory: dir, Plane: kernel.Opener(plane.Kernel), Version: "v1", Command: "pausenet run incast",
		},
		Scenarios: []Scenario{{Scenario: mustLoad(t, "incast"), Controllers: []string{"none", "dcqcn"}, Seed: 1}},
	}
	results, err := suite.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "incast", "report.html"); suite.ReportPath("incast") != want {
		t.Errorf("report at %s", suite.ReportPath("incast"))
	}
	page, err := os.ReadFile(suite.ReportPath("incast"))
	if err != nil {
		t.Fatal(err)
	}
	if found := lab.Outside.Find(page); found != nil {
		t.Errorf("the report is not self-contained: %s", found)
	}
	for _, want := range []string{
		"<!doctype html", "<svg", "dcqcn", "none", "Queues", "Throughput",
		results[0][0].Summary.Fingerprint, results[0][1].Summary.Fingerprint,
	} {
		if !strings.Contains(strings.ToLower(string(page)), strings.ToLower(want)) {
			t.Errorf("the report has no %q", want)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "incast", "dcqcn"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".csv") && !strings.HasSuffix(e.Name(), ".json") && e.Name() != rundir.SumsFile {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

// TestReferencesDrawn checks that the page, and one that compares runs, draw the references of each run.
func TestReferencesDrawn(t *testing.T) {
	low, _ := runSuite(t, lab.Referring, []string{"dcqcn"}, []uint64{1})
	high, _ := runSuite(t, lab.Referring, []string{"dcqcn", "deep"}, []uint64{1}, "switch.pfc.xoff=150KB")
	page := contentOf(t, high)[filepath.Join(high, "small", "report.html")]
	if !strings.Contains(page, "Reference XOFF 150\u00a0KB") || !strings.Contains(page, "Reference XOFF 200\u00a0KB") ||
		strings.Contains(page, "XOFF 100\u00a0KB") {
		t.Error("the page's lines are not the runs'")
	}
	c, err := results.Compare([]string{low, filepath.Join(high, "small", "dcqcn")})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := c.Write(path, nil); err != nil {
		t.Fatal(err)
	}
	both, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Reference XOFF 100\u00a0KB", "Reference XOFF 150\u00a0KB"} {
		if n := strings.Count(string(both), want); n != 1 {
			t.Errorf("%q is in the comparison %d times, want once", want, n)
		}
	}
}

// TestSideBySide checks that concurrent runs in goroutines of one process do not influence each other.
func TestSideBySide(t *testing.T) {
	s := parse(t, lab.Small)
	testenv.NeedRoot(t)
	alone, err := runner.Watch(context.Background(), s,
		runner.Options{Controller: "dcqcn", Plane: kernel.Opener(plane.Kernel), Seed: s.Seed}, runner.Watching{})
	if err != nil {
		t.Fatal(err)
	}
	suite := &Suite{
		Jobs: 4, Options: runner.Options{Directory: t.TempDir(), Plane: kernel.Opener(plane.Kernel)},
	}
	for _, name := range []string{"a", "b", "c"} {
		copied := *s
		copied.Name = name
		suite.Scenarios = append(suite.Scenarios, Scenario{
			Scenario: &copied, Controllers: []string{"dcqcn", "none"},
			Seed: 1,
		})
	}
	results, err := suite.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if got := r[0].Summary.Fingerprint; got != alone.Fingerprint {
			t.Errorf("run %d: %s, alone %s", i, got, alone.Fingerprint)
		}
		if r[1].Summary.Fingerprint != results[0][1].Summary.Fingerprint ||
			r[1].Summary.Fingerprint == r[0].Summary.Fingerprint {
			t.Errorf("run %d under none: %s", i, r[1].Summary.Fingerprint)
		}
	}
}
