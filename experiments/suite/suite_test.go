package suite

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/internal/blame"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

const somePanels = someTables + `
report:
  - title: Queue
    series: [{queue: "leaf1:h7", reference: 60KB}, {ingress: "leaf1:spine0"}]
  - title: Goodput
    window: 10us
    series: [{goodput: incast}, {label: "the other, rate", rate: other}]
look_at: [The queue.]
spans: [{from: 10us, to: 100us, label: incast}]
`

// runSuite runs scenario text under controllers and seeds on the wasm plane and returns the results' folder. What reads
// that is not for the race detector; that runs are beside each other, it sees in TestSideBySide.
func runSuite(t *testing.T, text string, controllers []string, seeds []uint64,
	sets ...string,
) (string, [][]*runner.Result) {
	t.Helper()
	testenv.WholeScenario(t)
	s := parse(t, text, sets...)
	c := Scenario{Scenario: s, Controllers: controllers, Seed: seeds[0]}
	if len(seeds) > 1 {
		c.Seeds = seeds
	}
	suite := &Suite{
		Options: runner.Options{Directory: t.TempDir(), Version: "v1", Command: "pausenet run small", Sets: sets},
		Jobs:    2, Figures: results.FigureFormats, Scenarios: []Scenario{c},
	}
	results, err := suite.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return suite.Directory, results
}

// rendered returns a page and its figures as they are written.
func rendered(t *testing.T, write func(path string, formats []string) (string, error)) ([]byte, error) {
	t.Helper()
	path, err := write(filepath.Join(t.TempDir(), "page.html"), nil)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// content is every file below a folder.
func contentOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRebuild checks that a report rebuilt from the files equals the run's own, byte for byte, with its figures: for
// one seed and for several, with controllers in the user's order, whatever else is in the folder.
func TestRebuild(t *testing.T) {
	for name, seeds := range map[string][]uint64{"one seed": {1}, "three seeds": {3, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			dir, _ := runSuite(t, somePanels, []string{"none", "dcqcn"}, seeds)
			folder := filepath.Join(dir, "small")
			before := contentOf(t, dir)
			if len(before[filepath.Join(folder, "report.html")]) == 0 ||
				len(before[filepath.Join(folder, "figures", "panel-1-queue.csv")]) == 0 {
				t.Fatalf("no report, or no figures")
			}
			for path := range before {
				if strings.HasPrefix(path, filepath.Join(folder, "figures")) || filepath.Base(path) == "report.html" {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, root := range []string{dir, folder} {
				all, err := results.Read(root)
				if err != nil || len(all) != 1 {
					t.Fatalf("%d, %v", len(all), err)
				}
				if path, err := all[0].Write("", results.FigureFormats); err != nil ||
					path != filepath.Join(folder, "report.html") {
					t.Fatalf("%s, %v", path, err)
				}
				if len(all[0].Missing())+len(all[0].Notes) > 0 {
					t.Errorf("%q, %q", all[0].Missing(), all[0].Notes)
				}
				after := contentOf(t, dir)
				for path, text := range before {
					if after[path] != text {
						t.Errorf("%s is another now", path)
					}
				}
				if len(after) != len(before) {
					t.Errorf("%d files, there were %d", len(after), len(before))
				}
			}
		})
	}
}

// TestRepetitions checks that runs under several seeds have folders of their own, that a measure is the mean over them,
// and that a change is the mean of each seed's change. The test computes the numbers from the files.
func TestRepetitions(t *testing.T) {
	dir, made := runSuite(t, someTables, []string{"dcqcn", "none"}, []uint64{1, 2, 3}, "flows.other.jitter=50us")
	var file measure.Published
	if err := rundir.ReadJSON(filepath.Join(dir, "small", "published.json"), &file); err != nil {
		t.Fatal(err)
	}
	var mean, other [3]float64 // of dcqcn: FCT in us; change of the other flow's FCT against none
	for i, seed := range []string{"seed=1", "seed=2", "seed=3"} {
		of := func(controller string) []map[string]string {
			return testenv.ReadTable(t, filepath.Join(dir, "small", seed, controller, "flows.csv")).Rows
		}
		n := 0.0
		for _, row := range of("dcqcn") {
			mean[i], n = mean[i]+float64(testenv.Number(t, row, "fct_ns"))/1e3, n+1
		}
		mean[i] /= n
		fct := func(controller string) float64 {
			rows := of(controller)
			return float64(testenv.Number(t, rows[len(rows)-1], "fct_ns"))
		}
		other[i] = 100 * (fct("dcqcn")/fct("none") - 1)
	}
	// Student's t for two degrees of freedom is 4.303.
	of := func(v [3]float64) (m, half float64) {
		m = (v[0] + v[1] + v[2]) / 3
		s := math.Sqrt(((v[0]-m)*(v[0]-m) + (v[1]-m)*(v[1]-m) + (v[2]-m)*(v[2]-m)) / 2)
		return m, 4.303 * s / math.Sqrt(3)
	}
	found := 0
	for _, c := range file.Claims {
		var m, half float64
		switch {
		case c.Controller == "dcqcn" && c.Metric == "fct_mean" && c.RelativeTo == "":
			m, half = of(mean)
		case c.RelativeTo == "none":
			m, half = of(other)
		default:
			continue
		}
		found++
		if c.Measured == nil || c.Half == nil || c.Runs != 3 || math.Abs(*c.Measured-m) > 0.01 ||
			math.Abs(*c.Half-half) > 0.01+half/1000 || half == 0 {
			t.Errorf("%+v: want %g ± %g", c, m, half)
		}
	}
	if found != 2 || !reflect.DeepEqual(file.Seeds, []uint64{1, 2, 3}) {
		t.Errorf("%d claims found, seeds %v", found, file.Seeds)
	}
	for i, seed := range []uint64{1, 1, 2, 2, 3, 3} {
		if s := &made[0][i].Summary; s.Seed != seed || s.Controller != []string{"dcqcn", "none"}[i%2] {
			t.Errorf("result %d is of %s, seed %d", i, s.Controller, s.Seed)
		}
	}
	rows := results.Headline([]results.HeadlineColumn{{
		Name: "dcqcn",
		Runs: runner.Summaries([]*runner.Result{made[0][0], made[0][2], made[0][4]}),
	}})
	if i := slices.IndexFunc(rows, func(r results.HeadlineRow) bool { return r.Label == "FCT mean" }); i < 0 ||
		!strings.Contains(rows[i].Cells[0], " ± ") {
		t.Errorf("%+v", rows)
	}
	page, err := os.ReadFile(filepath.Join(dir, "small", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1, 2, 3: means with 95 % confidence intervals", "seed 2: fingerprint",
		made[0][2].Summary.Fingerprint, " ± ",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the report has no %q", want)
		}
	}
}

// TestFailedSeeds checks that failed runs are left out of means.
func TestFailedSeeds(t *testing.T) {
	dir, _ := runSuite(t, lab.Small, []string{"dcqcn"}, []uint64{1, 2})
	path := filepath.Join(dir, "small", "seed=2", "dcqcn", "summary.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(`"status": "PASS"`), []byte(`"status": "FAIL"`), 1)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	page, err := rendered(t, all[0].Write)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(page); strings.Contains(text, " ± ") || !strings.Contains(text, `class="card fail"`) {
		t.Error("a run that failed is in a mean, or its verdict is not shown")
	}
}

// TestOldFolders checks that a folder without the files of later versions still has a report, which names the missing
// files and the remedy.
func TestOldFolders(t *testing.T) {
	dir, _ := runSuite(t, somePanels, []string{"dcqcn", "none"}, []uint64{1})
	folder := filepath.Join(dir, "small")
	for _, name := range []string{"runs.json", "dcqcn/panels.csv", "dcqcn/links.csv", "none/flows.csv"} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := results.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(all[0].Missing(), "\n")
	for _, want := range []string{
		"no panels.csv, so the report has no plots over time of this run: run it again",
		"no links.csv", "no flows.csv",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	page, err := rendered(t, all[0].Write)
	if err != nil || !strings.Contains(string(page), "Not in this page") {
		t.Errorf("the page does not say what is not in it: %v", err)
	}
	// A run that was killed has no summary; another that runs.json names is gone.
	if err := os.Remove(filepath.Join(folder, "none", "summary.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "runs.json"), []byte(`{"runs": ["dcqcn", "none", "swift"]}`),
		0o644); err != nil {
		t.Fatal(err)
	}
	if all, err = results.Read(folder); err != nil {
		t.Fatal(err)
	}
	got = strings.Join(all[0].Missing(), "\n")
	if !strings.Contains(got, "none: no summary.json, because the run is still going on or was killed") ||
		!strings.Contains(got, "swift: the run is missing") {
		t.Errorf("%s", got)
	}
	// Runs of another command are named, not mixed in.
	if err := os.WriteFile(filepath.Join(folder, "runs.json"), []byte(`{"runs": ["dcqcn"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if all, err = results.Read(folder); err != nil || len(all[0].Notes) != 1 ||
		!strings.Contains(all[0].Notes[0], "none belongs to another command") {
		t.Errorf("%v, %v", all[0].Notes, err)
	}
	if err := os.RemoveAll(filepath.Join(folder, "dcqcn")); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Read(folder); err == nil || !strings.Contains(err.Error(), "nothing to show") {
		t.Errorf("%v", err)
	}
	if _, err := results.Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no run in this folder") {
		t.Errorf("%v", err)
	}
}

// TestDamaged: a file with a mistake is named with the line, and nothing is written.
func TestDamaged(t *testing.T) {
	dir, _ := runSuite(t, somePanels, []string{"dcqcn"}, []uint64{1})
	folder := filepath.Join(dir, "small", "dcqcn")
	for _, c := range []struct{ file, old, new, want string }{
		{"flows.csv", "\n1,incast,", "\n1,incast,h0,", "flows.csv:3: expected 10 fields, got 11"},
		{"flows.csv", "flow,tag", "flow,label", "flows.csv:1: column tag is missing"},
		{"flows.csv", "0,incast,h0,h7,60000,0,", "0,incast,h0,h7,60000,0,x", "flows.csv:2: fct_ns is \"x"},
		{"links.csv", "40000000000", "40Gbps", "links.csv:2: rate_bps is \"40Gbps\", not a whole number"},
		{"panels.csv", "\n0,0,0,", "\n7,0,0,", "panels.csv:2: the manifest's configuration has no series 0 of panel 7"},
		{"panels.csv", "\n0,0,0,", "\n0,0,999999999,", "panels.csv:3: the time decreases"},
		{"panels.csv", "\n0,0,0,0", "\n0,0,0,NaN", "panels.csv:2: value is \"NaN\""},
		{"summary.json", "{\n", "{\n}", "summary.json:2: invalid character"},
		{"summary.json", `"seed": 1`, `"seed": "one"`, "summary.json:5: seed is a string"},
		{"summary.json", `"status": "PASS"`, `"status": "GOOD"`, `summary.json: unknown verdict "GOOD"`},
		{"manifest.json", `"scenario": "small",`, `"scenario": "small"`, "manifest.json:5: invalid character"},
	} {
		path := filepath.Join(folder, c.file)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		spoiled := strings.Replace(string(whole), c.old, c.new, 1)
		if spoiled == string(whole) {
			t.Fatalf("%s: nothing to spoil for %s", c.file, c.want)
		}
		if err := os.WriteFile(path, []byte(spoiled), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = results.Read(dir)
		var place *rundir.FileError
		if !errors.As(err, &place) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.file, err, c.want)
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"flows.csv", "summary.json"} {
		path := filepath.Join(folder, name)
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := results.Read(dir); err == nil || !strings.Contains(err.Error(), name+":1: ") {
			t.Errorf("empty %s: %v", name, err)
		}
	}
}

// TestCompareFolders checks the lists of equal and differing settings and numbers.
func TestCompareFolders(t *testing.T) {
	first, made := runSuite(t, somePanels, []string{"dcqcn", "none"}, []uint64{1})
	second, _ := runSuite(t, somePanels, []string{"dcqcn"}, []uint64{1})
	changed, other := runSuite(t, somePanels, []string{"dcqcn"}, []uint64{1}, "switch.ecn.kmax=50KB")
	c, err := results.Compare([]string{
		first, filepath.Join(second, "small", "dcqcn"), filepath.Join(changed, "small"),
		first,
	})
	if err != nil {
		t.Fatal(err)
	}
	v := c.View()
	var names []string
	for _, r := range v.Runs {
		names = append(names, r.Name)
	}
	if len(names) != 4 || names[1] != "none" || !regexp.MustCompile(`^dcqcn \(.+/small\)$`).MatchString(names[0]) ||
		names[0] == names[2] ||
		names[0] == names[3] {
		t.Fatalf("%q", names)
	}
	if len(v.Findings) != 1 || v.Findings[0] != names[0]+" and "+names[2]+
		" are equal frame by frame: their fingerprints are the same." {
		t.Errorf("%q", v.Findings)
	}
	differ := map[string][]string{}
	for _, d := range v.Differences {
		differ[d.Group+" "+d.Name] = d.Values
	}
	if got := differ["Switches ecn.kmax_bytes"]; !reflect.DeepEqual(got, []string{"100000", "100000", "100000", "50000"}) {
		t.Errorf("kmax differs as %q in %v", got, differ)
	}
	if got := differ["Run controller"]; !reflect.DeepEqual(got, []string{"dcqcn", "none", "dcqcn", "dcqcn"}) {
		t.Errorf("controller differs as %q", got)
	}
	for name := range differ {
		if name != "Switches ecn.kmax_bytes" && !strings.HasPrefix(name, "Run ") &&
			!strings.HasPrefix(name, "Controller's constants") {
			t.Errorf("%s does not differ: %q", name, differ[name])
		}
	}
	if got := v.Runs[3].Metrics["fct_mean"].Mean; got != other[0][0].Summary.Flows.FCT.Mean ||
		got == made[0][0].Summary.Flows.FCT.Mean {
		t.Errorf("mean FCT %g", got)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := c.Write(path, []string{"csv"}); err != nil {
		t.Fatal(err)
	}
	page := contentOf(t, filepath.Dir(path))
	if len(page) < 5 || lab.Outside.FindString(page[path]) != "" {
		t.Errorf("%d files", len(page))
	}
	for _, want := range []string{
		"pausenet comparison", names[3], "ecn.kmax_bytes", "<b>as " + names[0] + "</b>",
		"<small>=</small>",
	} {
		if !strings.Contains(page[path], want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestPanelsFile checks that the plots' points equal the samples of ports.csv, with the manifest's numbers of panels
// and series.
func TestPanelsFile(t *testing.T) {
	dir, _ := runSuite(t, somePanels, []string{"dcqcn"}, []uint64{1})
	table := func(name string) []map[string]string {
		return testenv.ReadTable(t, filepath.Join(dir, "small", "dcqcn", name)).Rows
	}
	points := map[string][][2]string{}
	for _, row := range table("panels.csv") {
		at := row["panel"] + "." + row["series"]
		points[at] = append(points[at], [2]string{row["time_ns"], row["value"]})
	}
	want := map[string][][2]string{}
	for _, row := range table("ports.csv") {
		switch row["node"] + ":" + row["peer"] {
		case "leaf1:h7":
			want["0.0"] = append(want["0.0"], [2]string{row["time_ns"], row["queue_bytes"]})
		case "leaf1:spine0":
			want["0.1"] = append(want["0.1"], [2]string{row["time_ns"], row["ingress_bytes"]})
		}
	}
	for at, w := range want {
		if !reflect.DeepEqual(points[at], w) || len(w) < 30 {
			t.Errorf("series %s: %d points, ports.csv has %d", at, len(points[at]), len(w))
		}
	}
	if len(points) != 4 || len(points["1.0"]) == 0 || len(points["1.1"]) == 0 {
		t.Errorf("%d series", len(points))
	}
}

// TestPanic checks that a run that panics cancels the others, whose results are kept as partial, and that Run panics
// with the value and the stack.
func TestPanic(t *testing.T) {
	const text = "topology: star\nflows: [{from: h0..h3, to: h4, size: 10GB}]\nduration: 3s\n"
	s := parse(t, text)
	panicking := make(chan struct{})
	suite := &Suite{Options: runner.Options{Directory: t.TempDir()}, Jobs: 2, Scenarios: []Scenario{{
		Scenario:    s,
		Controllers: []string{"none", "dcqcn"}, Seed: 1,
	}}}
	suite.Started = func(_, run string) (engine.Progress, func(*runner.Result, error)) {
		return func(now vtime.Time, _ *engine.Totals) {
			if run == "none" {
				<-panicking
				panic("no sense")
			}
			if now > 0 {
				select {
				case <-panicking:
				default:
					close(panicking)
				}
			}
		}, func(*runner.Result, error) {}
	}
	var carried *blame.Carried
	func() {
		defer func() { carried, _ = recover().(*blame.Carried) }()
		_, _ = suite.Run(t.Context())
	}()
	if carried == nil || carried.Value != "no sense" || !bytes.Contains(carried.Stack, []byte("TestPanic")) {
		t.Fatalf("%+v", carried)
	}
	if m := testenv.ReadJSON(t, filepath.Join(suite.Directory, s.Name, "dcqcn",
		rundir.ManifestFile)); m["status"] != rundir.StatusPartial {
		t.Errorf("status %v of the other run", m["status"])
	}
}
