package sweep

import (
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/interval"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

func TestParseValues(t *testing.T) {
	for text, want := range map[string]string{
		"256KB":              "256KB",
		"32KB, 64KB":         "32KB 64KB",
		"10us..30us:5us":     "10us 15us 20us 25us 30us",
		"10..30us:15us":      "10us 25us",
		"1..4":               "1 2 3 4",
		"0.1..0.5:0.1":       "0.1 0.2 0.3 0.4 0.5",
		"0..1:0.25":          "0 0.25 0.5 0.75 1",
		"1e-3..3e-3:1e-3":    "0.001 0.002 0.003",
		"32KB..512KB:x2":     "32KB 64KB 128KB 256KB 512KB",
		"1%..3%:1%":          "1% 2% 3%",
		"-2..2:2":            "-2 0 2",
		"5us,10us..20us:5us": "5us 10us 15us 20us",
		"H2..H5":             "H2..H5", // names, not numbers
		"[3,4],[5]":          "[3,4] [5]",
		"min(1Gbps, line/4)": "min(1Gbps, line/4)",
		"'a,b',c":            "'a,b' c",
	} {
		got, err := ParseValues(text)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"1,,2":           "a value is missing",
		"1,2,1":          "value 1 is listed twice",
		"10us..30us":     `needs a step, such as "10us..30us:10us"`,
		"0.1..0.5":       "needs a step",
		"10us..30ms:1ms": "write both ends in us, not one in ms",
		"10us..30us:5":   `the step is in "", but the ends are in "us"`,
		"30..10":         "runs backwards",
		"1..5:0":         "the step must be above 0",
		"1..5:x1":        "the factor must be above 1",
		"0..5:x2":        "the start above 0",
		"1..8:x2us":      "a factor has no unit",
		"1..1.2.3:1":     `"1.2.3" is not a number`,
		"1..1000000":     "more than 10000 values",
	} {
		if got, err := ParseValues(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestParseSeeds(t *testing.T) {
	if got, err := ParseSeeds("1..3,9"); err != nil || !slices.Equal(got, []uint64{1, 2, 3, 9}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "x", "-1", "1.5", "99999999999999999999"} {
		if got, err := ParseSeeds(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestSweepFolders checks the cross product, and that points' names are different on any file system.
func TestSweepFolders(t *testing.T) {
	folders := func(s Sweep) []string {
		var names []string
		s.Scenarios = []string{"incast"}
		for _, c := range s.cells() {
			names = append(names, c.folder)
		}
		return names
	}
	p := func(path string, values ...string) Parameter { return Parameter{Path: path, Values: values} }
	for _, c := range []struct {
		sweep Sweep
		want  string
	}{
		{Sweep{}, "point"},
		{Sweep{Seeds: []uint64{4, 2}}, "seed=4 seed=2"},
		{Sweep{Parameters: []Parameter{p("duration", "1ms")}}, "point"},
		{
			Sweep{Parameters: []Parameter{
				p("switch.pfc.xoff", "1KB", "2KB"), p("host.ack_every", "1"),
				p("drain", "true", "false"),
			}},
			"xoff=1KB,drain=true xoff=1KB,drain=false xoff=2KB,drain=true xoff=2KB,drain=false",
		},
		{
			Sweep{Parameters: []Parameter{p("flows.a.size", "1", "2"), p("flows.b.size", "3", "4")}, Seeds: []uint64{7}},
			"a.size=1,b.size=3,seed=7 a.size=1,b.size=4,seed=7 a.size=2,b.size=3,seed=7 a.size=2,b.size=4,seed=7",
		},
	} {
		if got := strings.Join(folders(c.sweep), " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	names := folders(Sweep{Parameters: []Parameter{p("cc.dcqcn.g", "1/16", "1_16", "1 16", "a", "A",
		strings.Repeat("x", 300), "../../x")}})
	taken := map[string]bool{}
	for _, name := range names {
		if taken[strings.ToLower(name)] || len(name) > 200 || strings.ContainsAny(name, "/\\ :*?") ||
			strings.HasPrefix(name, ".") {
			t.Errorf("folder %q of %q", name, names)
		}
		taken[strings.ToLower(name)] = true
	}
	if names[0] != "g=1_16" {
		t.Errorf("%q", names)
	}
}

// swept describes a scenario of about 2000 hops, in which PFC and ECN act.
const swept = `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
switch: {pfc: {xoff: 30KB}, ecn: {kmin: 5KB, kmax: 50KB, pmax: 0.5}}
flows: [{from: h0..h2, to: h3, size: 100KB}]
duration: 100us
drain: true
expect_unused: [pfc, controller]
`

// lab is a folder with the scenario swept in it, and a sweep of 2 values, 2 controllers and 2 seeds.
func sweepLab(t *testing.T) (*Sweep, *Runner) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "swept.yaml")
	if err := os.WriteFile(path, []byte(swept), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &Sweep{
		Name: "lab", Scenarios: []string{path}, Controllers: []string{"dcqcn", "none"}, Seeds: []uint64{1, 2},
		Parameters: []Parameter{{Path: "flows.0.size", Values: []string{"60KB", "100KB"}}},
	}
	points, err := s.Points(2)
	if err != nil {
		t.Fatal(err)
	}
	if len(points) != 8 {
		t.Fatalf("%d points", len(points))
	}
	return s, &Runner{
		Points: points, Jobs: 4,
		Common: Common{Within: filepath.Join(dir, "out"), Plane: plane.Wasm, Version: "v1", Build: "b1"},
		Make: func(ctx context.Context, job *Job, progress engine.Progress) error {
			return job.Run(ctx, nil, progress)
		},
	}
}

// states returns the outcomes' states, in the points' order.
func states(outcomes []Outcome) string {
	var words []string
	for i := range outcomes {
		words = append(words, string(outcomes[i].State))
	}
	return strings.Join(words, " ")
}

const (
	allDone = "done done done done done done done done"
	allKept = "kept kept kept kept kept kept kept kept"
)

// TestSweepFingerprints checks that a point made beside others equals a single run of it.
func TestSweepFingerprints(t *testing.T) {
	_, maker := sweepLab(t)
	outcomes := maker.Run(context.Background())
	if states(outcomes) != allDone {
		t.Fatal(states(outcomes), outcomes[0].Err)
	}
	seen := map[string]bool{}
	for i, p := range maker.Points {
		s, err := scenario.Load(maker.Points[0].Scenario, []string{"flows.0.size=" + p.Values[0]})
		if err != nil {
			t.Fatal(err)
		}
		alone, err := runner.Watch(context.Background(), s,
			runner.Options{Controller: p.Controller, Seed: p.Seed}, runner.Watching{})
		if err != nil {
			t.Fatal(err)
		}
		if outcomes[i].Fingerprint != alone.Fingerprint {
			t.Errorf("%s: %s in the sweep, %s alone", p.Name(), outcomes[i].Fingerprint, alone.Fingerprint)
		}
		if got := outcomes[i].Figures["fct_mean"]; got != alone.Flows.FCT.Mean {
			t.Errorf("%s: mean FCT %g, alone %g", p.Name(), got, alone.Flows.FCT.Mean)
		}
		seen[outcomes[i].Fingerprint] = true
	}
	if len(seen) != len(maker.Points) { // seeds differ in the flows' UDP source ports at least
		t.Errorf("%d fingerprints of %d points", len(seen), len(maker.Points))
	}
}

// TestSweepGoesOn checks that finished points are kept, and that unfinished ones, and those of another configuration or
// program, are repeated.
func TestSweepGoesOn(t *testing.T) {
	s, runner := sweepLab(t)
	first := runner.Run(context.Background())
	if states(first) != allDone {
		t.Fatal(states(first))
	}
	again := runner.Run(context.Background())
	for i := range again {
		if again[i].State != Kept || again[i].Fingerprint != first[i].Fingerprint ||
			again[i].Figures["fct_p99"] != first[i].Figures["fct_p99"] {
			t.Errorf("point %d: %+v", i, again[i])
		}
	}
	folder := func(i int) string {
		return filepath.Join(runner.Within, runner.Points[i].Folder, runner.Points[i].Controller)
	}
	edit := func(i int, file, old, with string) {
		t.Helper()
		path := filepath.Join(folder(i), file)
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), old) {
			t.Fatalf("%s has no %s: %v", path, old, err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), old, with)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit(0, "manifest.json", `"status": "complete"`, `"status": "running"`) // as one that was killed has it
	edit(1, "manifest.json", `"status": "complete"`, `"status": "partial"`)
	edit(2, "summary.json", first[2].Fingerprint, first[3].Fingerprint)
	edit(3, "manifest.json", `{`, ``)
	if err := os.RemoveAll(folder(4)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder(5), "summary.json")); err != nil {
		t.Fatal(err)
	}
	if got := states(runner.Run(context.Background())); got != "done done done done done done kept kept" {
		t.Error(got)
	}
	if got := states(runner.Run(context.Background())); got != allKept {
		t.Error(got)
	}
	for _, change := range []func(*Runner){
		func(r *Runner) { r.Version = "v2" },
		func(r *Runner) { r.Build = "b2" },
	} {
		change(runner)
		if got := states(runner.Run(context.Background())); got != allDone {
			t.Error(got)
		}
	}
	// A change of the scenario is one of every point; one of a value alone is one of its points.
	if err := os.WriteFile(runner.Points[0].Scenario, []byte(strings.Replace(swept, "pmax: 0.5", "pmax: 0.4", 1)),
		0o644); err != nil {
		t.Fatal(err)
	}
	// of the points as they were: nothing is made of what changed behind the sweep's back
	outcomes := runner.Run(context.Background())
	if states(outcomes) != allKept {
		t.Error(states(outcomes))
	}
	points, err := s.Points(1)
	if err != nil {
		t.Fatal(err)
	}
	runner.Points = points
	if got := states(runner.Run(context.Background())); got != allDone {
		t.Error(got)
	}
	s.Parameters[0].Values[1] = "120KB"
	if runner.Points, err = s.Points(1); err != nil {
		t.Fatal(err)
	}
	if got := states(runner.Run(context.Background())); got != "kept kept kept kept done done done done" {
		t.Error(got)
	}
}

// TestSweepLosesNothing checks that a point that fails, one that ends as if killed, and one whose process lies about it
// are reported, and that no other point is lost.
func TestSweepLosesNothing(t *testing.T) {
	_, runner := sweepLab(t)
	whole := runner.Make
	broken := errors.New("out of memory")
	var mu sync.Mutex
	ended := map[int]State{}
	runner.Ended = func(i int, o *Outcome) { mu.Lock(); ended[i] = o.State; mu.Unlock() }
	runner.Make = func(ctx context.Context, job *Job, progress engine.Progress) error {
		switch job.Hash {
		case runner.Points[1].Hash:
			return broken
		case runner.Points[2].Hash:
			if err := os.MkdirAll(job.Directory, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(job.Directory, "manifest.json"), []byte(`{"status": "running"}`),
				0o644); err != nil {
				return err
			}
			return errors.New("signal: killed")
		case runner.Points[4].Hash:
			return nil
		}
		return whole(ctx, job, progress)
	}
	outcomes := runner.Run(context.Background())
	if got := states(outcomes); got != "done failed failed done failed done done done" {
		t.Fatal(got)
	}
	if !errors.Is(outcomes[1].Err, broken) || outcomes[4].Err == nil || len(ended) != 8 {
		t.Errorf("%v, %v, %v", outcomes[1].Err, outcomes[4].Err, ended)
	}
	err := Err(runner.Points, outcomes)
	for _, want := range []string{
		runner.Points[1].Name() + ": out of memory",
		runner.Points[2].Name() + ": signal: killed", runner.Points[4].Name(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v has no %q", err, want)
		}
	}
	runner.Make = whole
	if got := states(runner.Run(context.Background())); got != "kept done done kept done kept kept kept" {
		t.Error(got)
	}
}

// TestSweepInterrupted checks that finished points stay, running ones are ended, and no other starts.
func TestSweepInterrupted(t *testing.T) {
	_, runner := sweepLab(t)
	runner.Jobs = 1
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	whole, made := runner.Make, 0
	runner.Make = func(ctx context.Context, job *Job, progress engine.Progress) error {
		if made++; made == 3 {
			cancel()
		}
		return whole(ctx, job, progress)
	}
	outcomes := runner.Run(ctx)
	// The third run may have been too far to be ended.
	if got := states(outcomes); got != "done done interrupted waiting waiting waiting waiting waiting" &&
		got != "done done done waiting waiting waiting waiting waiting" {
		t.Error(got)
	}
	if made != 3 {
		t.Errorf("%d were started", made)
	}
	runner.Make = whole
	if got := states(runner.Run(context.Background())); !strings.HasPrefix(got, "kept kept") ||
		strings.Count(got, "done") < 5 {
		t.Error(got)
	}
}

// TestSweepJobChanged checks that a job refuses a scenario that changed since the sweep resolved it.
func TestSweepJobChanged(t *testing.T) {
	_, runner := sweepLab(t)
	if err := os.WriteFile(runner.Points[0].Scenario, []byte(strings.Replace(swept, "pmax: 0.5", "pmax: 0.4", 1)),
		0o644); err != nil {
		t.Fatal(err)
	}
	job := runner.Job(0)
	if err := job.Run(context.Background(), nil, nil); err == nil ||
		!strings.Contains(err.Error(), "has changed since the sweep started") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(job.Directory); err == nil {
		t.Error("there is a folder")
	}
}

// TestSweepTextsFromElsewhere checks texts of a run's summary before they appear in tables and on terminals. Its
// fingerprint and status must have a valid form, and its messages no control characters.
func TestSweepTextsFromElsewhere(t *testing.T) {
	_, runner := sweepLab(t)
	job := runner.Job(0)
	if err := job.Run(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	o, err := job.Result()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range []string{rundir.SummaryFile, rundir.ManifestFile} {
		data, err := os.ReadFile(filepath.Join(job.Directory, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
	}
	result := func(old, by string) (Outcome, error) {
		t.Helper()
		if !strings.Contains(texts[rundir.SummaryFile], old) {
			t.Fatalf("no %s in the summary", old)
		}
		for name, text := range texts {
			if err := os.WriteFile(filepath.Join(job.Directory, name), []byte(strings.Replace(text, old, by, 1)),
				0o644); err != nil {
				t.Fatal(err)
			}
		}
		return job.Result()
	}
	if _, err := result(`"`+o.Fingerprint+`"`, `"\u001b[2J"`); err == nil ||
		!strings.Contains(err.Error(), "not hexadecimal") {
		t.Errorf("a fingerprint: %v", err)
	}
	if _, err := result(`"status": "PASS"`, `"status": "PASS\u001b[2J"`); err == nil ||
		strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a status: %v", err)
	}
	got, err := result(`"messages": []`, `"messages": ["a\u001b[2J\nb", "`+strings.Repeat("x", mostText+1)+`"]`)
	want := []string{"a\ufffd[2J\ufffdb", strings.Repeat("x", mostText) + "..."}
	if err != nil || !slices.Equal(got.Verdict.Messages, want) {
		t.Errorf("messages %q, error %v", got.Verdict.Messages, err)
	}
}

// TestSweepRows: means over the seeds, of runs that can be trusted, and the CSV file beside them.
// TestTableIsHarmless: values are no formulas for a spreadsheet, and nothing that a terminal obeys.
func TestTableIsHarmless(t *testing.T) {
	dir := t.TempDir()
	folder, err := files.OpenFolder(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	s := &Sweep{Parameters: []Parameter{{Path: "description", Values: []string{"=cmd", "\x1b[31m"}}}}
	points := []Point{
		{Folder: "a", Controller: "none", Values: []string{"=cmd"}},
		{Folder: "b", Controller: "none", Values: []string{"\x1b[31m"}},
	}
	if err := s.writeCSV(folder, points, make([]Outcome, 2)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, tableFile))
	if text := string(data); err != nil || !strings.Contains(text, "\na,'=cmd,none,") ||
		!strings.Contains(text, "\nb,\\u001b[31m,none,") {
		t.Errorf("%v, %q", err, text)
	}
}

func TestSweepRows(t *testing.T) {
	s := &Sweep{
		Name: "rows", Parameters: []Parameter{{Path: "switch.pfc.xoff", Values: []string{"1KB", "2KB"}}},
		Seeds: []uint64{1, 2, 3}, Metrics: []string{"fct_mean", "pauses", "goodput:victim"},
	}
	var points []Point
	var outcomes []Outcome
	add := func(value string, seed uint64, state State, verdict measure.Status, figures map[string]float64) {
		points = append(points, Point{Folder: "xoff=" + value, Controller: "dcqcn", Seed: seed, Values: []string{value}})
		o := Outcome{
			State: state, Figures: figures, Verdict: measure.Verdict{Status: verdict},
			Fingerprint: "f" + strconv.Itoa(len(outcomes)),
		}
		if seed < 3 {
			o.byTag = map[string]measure.FlowStatistics{"victim": {Goodput: float64(seed) * 1e9}}
		}
		if state == Failed {
			o = Outcome{State: state, Err: errors.New("gone")}
		}
		outcomes = append(outcomes, o)
	}
	add("1KB", 1, Kept, measure.Pass, map[string]float64{"fct_mean": 1e6, "pauses": 5})
	add("1KB", 2, Done, measure.Warn, map[string]float64{"fct_mean": 2e6, "pauses": 5})
	add("1KB", 3, Done, measure.Pass, map[string]float64{"fct_mean": 3e6, "pauses": 5})
	add("2KB", 1, Done, measure.Pass, map[string]float64{"pauses": 7})
	add("2KB", 2, Done, measure.Fail, map[string]float64{"fct_mean": 1, "pauses": 1000})
	add("2KB", 3, Failed, "", nil)
	rows := s.Rows(points, outcomes)
	if len(rows) != 2 || rows[0].Verdicts.String() != "2 ok, 1 incomplete" ||
		rows[1].Verdicts.String() != "1 ok, 1 broken, 1 missing" {
		t.Fatalf("%+v", rows)
	}
	// 1, 2, 3: the standard deviation is 1, Student's t for two degrees of freedom 4.303; 4.303/sqrt(3) = 2.484.
	for i, want := range [][]string{{"2.00 ± 2.48 ms", "5", "1.50 ± 6.35 Gbps"}, {"-", "7", "1.00 Gbps"}} {
		for k, text := range want {
			if got := s.Text(k, rows[i].Estimates[k]); got != text {
				t.Errorf("row %d, %s: %q, want %q", i, s.Metrics[k], got, text)
			}
		}
	}
	// A failed verdict loses its pair, and a point without results has none.
	want := []string{"switch.pfc.xoff=2KB against 1KB, by equal seed, 2 pairs: PAUSE frames better in 0 and " +
		"worse in 2 (p 1.000); goodput, victim better in 0 and worse in 1 (p 1.000)"}
	if got := s.Compared(points, outcomes); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// Two controllers, in turns: then the parameter is part of what a pair shares.
	both, made := []Point{}, []Outcome{}
	for i := range points[:3] {
		for k, name := range []string{"dcqcn", "dcon"} {
			p, o := points[i], Outcome{State: Done, completed: 9, Figures: map[string]float64{"fct_mean": float64(1 + k), "pauses": 4}}
			p.Controller = name
			both, made = append(both, p), append(made, o)
		}
	}
	made[1].completed = 8 // leaves a flow out
	want = []string{"dcon against dcqcn, by equal parameters and seed, 3 pairs: FCT mean 2.00 times, better in 0 and worse in 3 " +
		"(p 0.500); PAUSE frames equal in all"}
	if got := s.Compared(both, made); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// Not "5.46076 ± 0.00000 ms".
	if got := s.Text(0, interval.Estimate{N: 3, Mean: 5_460_764, Half: 4}); got != "5.461 ± <0.001 ms" {
		t.Errorf("an interval that is next to nothing: %s", got)
	}
	dir := t.TempDir()
	folder, err := files.OpenFolder(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if err := s.writeCSV(folder, points, outcomes); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "sweep.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil || len(records) != 7 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	column := func(row int, name string) string { return records[row][slices.Index(records[0], name)] }
	if column(1, "switch.pfc.xoff") != "1KB" || column(2, "seed") != "2" || column(2, "verdict") != "WARN" ||
		column(3, "fct_mean_ns") != "3000000" ||
		column(4, "fct_mean_ns") != "" || column(2, "goodput_bps:victim") != "2000000000" ||
		column(3, "goodput_bps:victim") != "" || column(4, "pauses") != "7" || column(1, "state") != "complete" ||
		column(6, "state") != "failed" ||
		column(1, "fingerprint") != "f0" {
		t.Errorf("%v", records)
	}
	if err := s.WriteParquet(dir); err != nil {
		t.Fatal(err)
	}
	compareParquet(t, filepath.Join(dir, "sweep.parquet"), records)
	points[2].SameAs = points[0].Name()
	if err := s.Write(dir, &Runner{Points: points}, outcomes, results.FigureFormats); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "sweep.html"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(page); !strings.Contains(text, "xoff=2KB dcqcn: gone") ||
		!strings.Contains(text, "xoff=2KB dcqcn: checks broken: ") ||
		!strings.Contains(text, "2.0 ± 2.5") || !strings.Contains(text,
		points[2].Name()+" is the same run as "+points[0].Name()) || lab.Outside.Find(page) != nil {
		t.Errorf("page: %s", text)
	}
	table, err := os.ReadFile(filepath.Join(dir, "figures", "fct-mean.csv"))
	if want := "line,switch.pfc.xoff_bytes,fct_mean_ns,half_width_95\n"; err != nil ||
		!strings.HasPrefix(string(table), want) || !strings.Contains(string(table), "\ndcqcn,1000,2") {
		t.Errorf("%v: figure's table %s", err, table)
	}
	for _, name := range []string{"fct-mean.svg", "fct-mean.png"} {
		if info, err := os.Stat(filepath.Join(dir, "figures", name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestEqualPoints checks that a constant of one controller does not distinguish points of another, nor does a
// variant's, while their own do.
func TestEqualPoints(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"some.yaml": `
topology: star
controllers: [dcqcn, {name: steady, cc: dcqcn, set: {rai: 10Mbps}}]
flows: [{from: h0, to: h1, size: 10KB}]
duration: 1ms
`,
		"sweep.yaml": `
sweep: {scenario: some.yaml, parameters: {cc.dcqcn.rai: [40Mbps, 80Mbps]}, controllers: [dcqcn, dcon, steady]}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Load(filepath.Join(dir, "sweep.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	points, err := s.Points(1)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"rai=40Mbps dcqcn": "", "rai=40Mbps dcon": "", "rai=40Mbps steady": "",
		"rai=80Mbps dcqcn": "", "rai=80Mbps dcon": "rai=40Mbps dcon", "rai=80Mbps steady": "rai=40Mbps steady",
	}
	for i := range points {
		same, known := want[points[i].Name()]
		if !known || points[i].SameAs != same {
			t.Errorf("%s is the same as %q, want %q", points[i].Name(), points[i].SameAs, same)
		}
	}
	if lines := Duplicates(points); len(points) != len(want) || len(lines) != 2 ||
		lines[0] != "rai=80Mbps dcon is the same run as rai=40Mbps dcon" {
		t.Errorf("%d points, %q", len(points), lines)
	}
}

// TestIdle checks that a parameter has no effect if all points that differ only in it have equal fingerprints.
func TestIdle(t *testing.T) {
	s := &Sweep{Scenarios: []string{"a"}, Parameters: []Parameter{
		{Path: "x", Values: []string{"1", "2"}},
		{Path: "one", Values: []string{"7"}},
		{Path: "y", Values: []string{"1", "2"}},
	}}
	var points []Point
	for _, x := range []string{"1", "2"} {
		for _, y := range []string{"1", "2"} {
			for _, controller := range []string{"dcqcn", "swift"} {
				points = append(points, Point{Controller: controller, Values: []string{x, y}, Seed: 1})
			}
		}
	}
	for name, c := range map[string]struct {
		fingerprint func(x, y, controller string) string
		want        []string
	}{
		"all differ":        {func(x, y, controller string) string { return x + y + controller }, nil},
		"x changes nothing": {func(_, y, controller string) string { return y + controller }, []string{"x"}},
		"neither does":      {func(_, _, controller string) string { return controller }, []string{"x", "y"}},
		"y under one": {func(x, y, controller string) string {
			return x + controller + map[bool]string{true: y}[controller == "swift"]
		}, nil},
		"none of y = 2 made": {func(x, y, controller string) string {
			return map[bool]string{true: x + controller}[y == "1"]
		}, nil},
		"equal, of those made": {func(x, y, controller string) string {
			return map[bool]string{true: controller}[x == "1" || y == "1"]
		}, []string{"x", "y"}},
	} {
		outcomes := make([]Outcome, len(points))
		for i, p := range points {
			outcomes[i].Fingerprint = c.fingerprint(p.Values[0], p.Values[1], p.Controller)
		}
		if got := s.Idle(points, outcomes); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestParametersInWords(t *testing.T) {
	for path, want := range map[string]string{
		"switch.pfc.xoff_to_xon": "PFC XOFF to XON", "flows.burst.interval": "burst interval",
		"host.cnp_interval": "CNP interval", "seed": "seed",
	} {
		if got := inWords(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
