package aifabric

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/vtime"
)

// only restricts the bench to the tests with these names.
func (b *Bench) only(names ...string) {
	var left suite.Suite
	var runs []planned
	for i := range b.runs {
		if slices.Contains(names, b.runs[i].test.name) {
			left.Scenarios = append(left.Scenarios, b.Scenarios[i])
			runs = append(runs, b.runs[i])
		}
	}
	b.Scenarios, b.runs = left.Scenarios, runs
}

func report(t *testing.T, o Options, names ...string) (*Report, string) {
	t.Helper()
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.only(names...)
	batch := &suite.Suite{Scenarios: b.Scenarios, Jobs: 1, Options: one(t)}
	results, err := batch.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Report(results, batch)
	if err != nil {
		t.Fatal(err)
	}
	return r, batch.Directory
}

// find returns the row of a KPI in a case.
func find(t *testing.T, r *Report, kpi, at string) *Row {
	t.Helper()
	for i := range r.Rows {
		if r.Rows[i].KPI == kpi && r.Rows[i].Case == at {
			return &r.Rows[i]
		}
	}
	t.Fatalf("no %s of %s", kpi, at)
	return nil
}

func TestTable(t *testing.T) {
	names := map[string]bool{}
	for i := range tests {
		x := &tests[i]
		if x.title == "" || x.section == "" || len(x.cases) == 0 || len(x.values) == 0 {
			t.Errorf("%s is not complete", x.name)
		}
		if !slices.ContainsFunc(x.cases, func(c testCase) bool { return !c.long }) {
			t.Errorf("%s has no case with Quick", x.name)
		}
		for _, v := range x.values {
			if (v.metric == "") == (v.of == nil) || v.metric != "" && measure.MetricByName(v.metric) == nil {
				t.Errorf("%s: %s has neither one metric nor one function", x.name, v.kpi)
			}
		}
	}
	for _, quick := range []bool{false, true} {
		b, err := New(Options{Quick: quick})
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Scenarios {
			name := b.Scenarios[i].Scenario.Name
			if names[name] {
				t.Errorf("two runs are named %s", name)
			}
			names[name] = true
		}
		clear(names)
	}
	files, err := scenarios.ReadDir("scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.ContainsFunc(tests, func(x test) bool { return x.scenario+".yaml" == f.Name() }) {
			t.Errorf("no test has %s", f.Name())
		}
	}
}

func TestMarking(t *testing.T) {
	for seed := range uint64(3) {
		r, _ := report(t, Options{Seed: 1 + seed}, "ecn")
		for _, row := range r.Rows {
			if row.Verdict != Within {
				t.Errorf("seed %d: %s, %s: %s, %s", 1+seed, row.KPI, row.Case, row.Text(), row.Verdict)
			}
		}
	}
	// A switch that marks elsewhere than it is said to is found out.
	b, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.only("ecn")
	batch := &suite.Suite{Scenarios: b.Scenarios[:1], Jobs: 1, Options: one(t)}
	results, err := batch.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	said := *b.Scenarios[0].Scenario
	said.Switch.ECN.KMin, said.Switch.ECN.KMax = 70_000, 120_000
	b.Scenarios[0].Scenario = &said
	wrong, err := b.Report(results, batch)
	if err != nil {
		t.Fatal(err)
	}
	if find(t, wrong, "packets marked below Kmin", "100 KB").Verdict != Beyond ||
		find(t, wrong, "upper threshold off Kmax", "100 KB").Verdict != Beyond {
		t.Errorf("wrong thresholds were not seen: %+v", wrong.Rows)
	}
}

// TestOffKmax checks that few packets are ignored, which may all be marked by chance below Kmax.
func TestOffKmax(t *testing.T) {
	m := marking{kmax: 100, samples: []sample{
		{high: 60, packets: 4, marks: 4},
		{high: 90, packets: 5, marks: 4},
		{high: 98, packets: 5, marks: 5},
		{high: 120, packets: 9, marks: 9},
	}}
	if got := m.offKmax(); got != 2 {
		t.Errorf("%v %% off, want 2", got)
	}
}

// TestRatio checks the JCT ratio of one iteration against a computation by hand: 625 us and 8 x 16 MB x 2 x 15/16 over
// 100 Gb/s, which is 2.4 ms.
func TestRatio(t *testing.T) {
	r, _ := report(t, Options{Quick: true}, "jct", "allreduce", "deadlock")
	jct, ratio := find(t, r, "JCT", "ECMP"), find(t, r, "JCT ratio", "ECMP")
	if want := *jct.Measured * 1e3 / (4 * (625 + 2400)); math.Abs(*ratio.Measured-want) > 1e-6 {
		t.Errorf("JCT ratio %v, not %v", *ratio.Measured, want)
	}
	bus, over := find(t, r, "bus bandwidth", "spray"), find(t, r, "bus bandwidth over NIC line rate", "spray")
	if math.Abs(*bus.Measured-*over.Measured) > 1e-6 { // of 100 Gb/s
		t.Errorf("%v Gbps and %v %%", *bus.Measured, *over.Measured)
	}
	none, watched := find(t, r, "deadlocks for good", "no watchdog"), find(t, r, "deadlocks for good", "watchdog")
	if *none.Measured != 1 || none.Verdict != Beyond || *watched.Measured != 0 || watched.Verdict != Within {
		t.Errorf("%+v %+v", none, watched)
	}
}

func TestFailure(t *testing.T) {
	r, _ := report(t, Options{Quick: true}, "loss", "failure")
	// What was sent to the link before the routes followed is lost, and what was on it as it failed: 200 us and 1 us.
	if loss := find(t, r, "duration of packet loss", "routes follow after 200 us"); math.Abs(*loss.Measured-200) > 5 {
		t.Errorf("lost for %v", loss.Text())
	}
	if row := find(t, r, "iteration with the failure over those before", "ECMP"); row.Measured == nil {
		t.Errorf("%+v", row)
	}
}

func TestOtherTopology(t *testing.T) {
	small := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(small, []byte("leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4, rate: 100Gbps}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	b, err := New(Options{Topology: small, Sets: []string{"switch.pfc.xoff=200KB"}})
	if err != nil {
		t.Fatal(err)
	}
	hosts := 0
	for i := range b.Scenarios {
		if b.runs[i].test.name == "ecn" { // its thresholds are what it is about
			continue
		}
		s := b.Scenarios[i].Scenario
		if b.runs[i].test.any {
			if hosts++; len(s.Topology.Hosts) != 8 {
				t.Errorf("%s has %d hosts", s.Name, len(s.Topology.Hosts))
			}
		}
		if s.Switch.PFC.XOFF != 200_000 {
			t.Errorf("%s has an XOFF of %v", s.Name, s.Switch.PFC.XOFF)
		}
	}
	if hosts == 0 || len(b.Left) == 0 || !strings.Contains(b.Left[0], "hosts") {
		t.Errorf("%d scenarios; left out: %v", hosts, b.Left)
	}
	if _, err := New(Options{Sets: []string{"switch.nothing=1"}}); err == nil || !strings.Contains(err.Error(), "5.3") {
		t.Errorf("a mistaken setting: %v", err)
	}
}

func TestConverged(t *testing.T) {
	directory := t.TempDir()
	s := &scenario.Scenario{Flows: make([]scenario.Flow, 2)}
	s.Flows[1].Start = 10 * vtime.Millisecond
	s.Sample.Interval = vtime.Millisecond
	full, err := New(Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Topology = full.Scenarios[0].Scenario.Topology
	fair := lineRate(s.Topology) * payloadShare(s.Topology) / 2
	text := rundir.Rates.Header() + "\n"
	for i, share := range []float64{1.5, 1.11, 1.09, 1} {
		text += rate(11+i, 0, fair*share) + rate(11+i, 1, fair*(2-share))
	}
	if err := os.WriteFile(filepath.Join(directory, "rates.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := converged(&run{scenario: s, directory: directory}, nil); err != nil || got != 3e6 {
		t.Errorf("converged after %v ns (%v)", got, err)
	}
}

func rate(ms, flow int, bps float64) string {
	return fmt.Sprintf("%d,%d,0,%.0f,0\n", ms*1_000_000, flow, bps)
}

// TestBurst checks that a queue of 250 KB absorbs a burst exactly if the part that the link cannot carry meanwhile,
// (n-1)/n of it, fits, headers included.
func TestBurst(t *testing.T) {
	r, _ := report(t, Options{Seeds: []uint64{1, 2}}, "burst")
	for at, lost := range map[string]bool{
		"2:1, 230KB each": false, "2:1, 250KB each": true, "8:1, 33KB each": false, "8:1, 36KB each": true,
		"32:1, 7KB each": false, "32:1, 8KB each": true,
	} {
		if row := find(t, r, "packets lost", at); row.Iterations != 2 || (*row.Measured > 0) != lost {
			t.Errorf("%s: %s lost, in %d iterations", at, row.Text(), row.Iterations)
		}
	}
}

// TestIterations: of 2, 4 and 6 the mean is 4, the deviation 2, and half of the interval 4.303 (Student's t, 2 degrees)
// times 2 over the root of 3.
func TestIterations(t *testing.T) {
	var runs []*run
	for _, n := range []int64{2, 4, 6} {
		s := &measure.Summary{}
		s.Drops.Frames = n
		runs = append(runs, &run{scenario: &scenario.Scenario{Name: "x"}, summary: s})
	}
	v, p := &value{kpi: "drops", metric: "drops", bound: atMost(3, own)}, &planned{&test{}, &testCase{}}
	row, err := v.row(p, append(runs, nil), append(runs, nil))
	if err != nil || *row.Measured != 4 || *row.CV != 50 || math.Abs(*row.Half-4.968) > 1e-3 || row.Iterations != 3 ||
		row.Verdict != Beyond {
		t.Errorf("%+v: %v", row, err)
	}
	var table strings.Builder
	if err := (&Report{Iterations: 4, Rows: []Row{row}}).WriteMarkdown(&table); err != nil ||
		!strings.Contains(table.String(), "| 4 ± 4.97 | 50 % (of 3) | beyond |") {
		t.Errorf("%v\n%s", err, table.String())
	}
	runs[1].summary.Verdict.Status = measure.Fail
	if row, err = v.row(p, runs, runs); err != nil || row.Verdict != Untrusted {
		t.Errorf("with a run that failed: %+v: %v", row, err)
	}
	if row, err = v.row(p, runs[:1], runs[:1]); err != nil || row.CV != nil || row.Text() != "2" {
		t.Errorf("of one run: %+v: %v", row, err)
	}
}

// TestPassedBy checks that a flow alone on its path takes its minimum time under credits and under PFC, unless an
// incast stops it on the way.
func TestPassedBy(t *testing.T) {
	testenv.WholeScenario(t)
	r, _ := report(t, Options{}, "cbfc")
	for _, at := range []string{"32:1, PFC", "32:1, CBFC"} {
		if row := find(t, r, "packet drops", at); *row.Measured != 0 {
			t.Errorf("%s: %s dropped", at, row.Text())
		}
		if row := find(t, r, "slowdown of flows that only pass by, most", at); *row.Measured < 2 {
			t.Errorf("%s: a flow that passes by is not stopped: slowdown %s", at, row.Text())
		}
	}
}

func TestWords(t *testing.T) {
	x := 1.1
	r := &Report{Draft: Draft, Rows: []Row{
		{
			KPI: "JCT ratio", Test: "Synthetic JCT", Section: "10.1", Case: "ECMP", Bound: atMost(1.05, appendixB).text(""),
			Source: "B", Measured: &x, Verdict: Acceptable,
		},
		{KPI: "drops", Test: "Synthetic JCT", Section: "10.1", Case: "ECMP", Verdict: None},
	}}
	var text, table strings.Builder
	if err := errors.Join(r.WriteText(&text), r.WriteMarkdown(&table)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "10.1 Synthetic JCT\n") || strings.Contains(text.String(), " \n") ||
		!strings.Contains(text.String(), "1.1") {
		t.Errorf("%s", text.String())
	}
	if !strings.Contains(table.String(), "| drops | ECMP | 10.1 | - | - | none |\n") {
		t.Errorf("%s", table.String())
	}
	ratio := &bound{limit: 1.05, soft: 1.15}
	for x, want := range map[float64]string{1.05: Within, 1.1: Acceptable, 1.2: Beyond} {
		if got := ratio.verdict(x); got != want {
			t.Errorf("%v: %s, not %s", x, got, want)
		}
	}
	if least := atLeast(90, appendixB); least.verdict(90) != Within || least.verdict(89.9) != Beyond ||
		least.text("%") != ">= 90 %" {
		t.Error(least.text("%"))
	}
}

// one returns options of runs with one processor.
func one(t *testing.T) runner.Options { return runner.Options{Directory: t.TempDir(), Processors: 1} }
