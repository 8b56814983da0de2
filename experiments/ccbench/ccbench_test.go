package ccbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/pausenet/pausenet/controllerfile/star"
	"github.com/pausenet/pausenet/experiments/analysis/bound"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/vtime"
)

// quick returns cheap scenarios: 25 Gb/s, packets of 9 KB and, unless tests are to be short, spraying, which hpcc
// refuses.
func quick() []string {
	if testing.Short() {
		return []string{"rate-1", "packet-5"}
	}
	return []string{"rate-1", "packet-5", "path-3"}
}

func newBench(t *testing.T, o Options) *Bench {
	t.Helper()
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func run(t *testing.T, b *Bench, jobs int) *Results {
	t.Helper()
	results := &Results{}
	if err := b.Run(t.Context(), results, jobs, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	results.keep(b)
	return results
}

// suite is the digest of the public scenarios. A change makes all earlier results incomparable: it needs a new
// leaderboard.
const suite = "3931a7bdae42218fb98f6c2d25d33c1e7c8901f9a19b6f91d6398e03ae28b463"

func TestPublicScenariosAreFixed(t *testing.T) {
	if b := newBench(t, Options{}); b.digest != suite || len(b.Cases) != 60 {
		t.Errorf("%d scenarios with the digest %s, want 60 with %s", len(b.Cases), b.digest, suite)
	}
}

// TestGenerate checks that the scenarios of many seeds are valid under every built-in controller, that they have
// bounds, and that another seed gives others.
func TestGenerate(t *testing.T) {
	seeds := 3
	if testing.Short() {
		seeds = 1
	}
	before := Generate(PublicSeed)
	for seed := range uint64(seeds) {
		for i, d := range Generate(seed) {
			if d.Name != before[i].Name || d.Text == before[i].Text {
				t.Errorf("%s of seed %d is that of the public seed", d.Name, seed)
			}
			c := Case{Draft: d}
			s, err := c.read(nil, 1, nil)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, d.Text)
			}
			st, err := standardOf(s)
			if err != nil {
				t.Fatalf("%s: %v", d.Name, err)
			}
			if len(st.groups) > 0 && !(st.least >= 1) || len(st.groups)+len(st.jobs) == 0 {
				t.Errorf("%s: the least slowdown is %v", d.Name, st.least)
			}
			if st.fair > 0 && st.fair < st.least*(1-1e-9) {
				t.Errorf("%s: max-min fair shares beat the bound: %v, %v", d.Name, st.fair, st.least)
			}
		}
	}
}

// TestScore computes a score by hand: two groups, of one and of two flows, with one flow that has not ended.
func TestScore(t *testing.T) {
	const us = vtime.Microsecond
	st := &standard{
		groups: []group{{"a", true}, {"b", false}}, of: []int{0, 1, -1, 1}, count: []int{1, 2},
		ideal: []vtime.Time{10 * us, 20 * us, 0, 40 * us}, starts: []vtime.Time{0, 5 * us, 0, 20 * us}, limit: 100 * us,
		least: 1.5, jobs: []bound.JobLimit{{JCT: 50_000}},
	}
	// group a: 30/10 = 3; group b: 40/20 = 2, and (2*100 - 20)/40 = 4.5, mean 3.25; both: 3.125.
	slowdown, groups := st.flows([]vtime.Time{30 * us, 40 * us, 7 * us, vtime.Never})
	if slowdown != 3.125 || !slices.Equal(groups[1], []float64{2, 4.5}) {
		t.Errorf("slowdown %v, groups %v", slowdown, groups)
	}
	// (3.125/1.5 + 75/50)/2, and with a job that has not ended (3.125/1.5 + 2*100/50)/2.
	for jct, want := range map[int64]float64{75_000: (3.125/1.5 + 1.5) / 2, 0: (3.125/1.5 + 4) / 2} {
		if got := st.score(slowdown, []int64{jct}); math.Abs(got-want) > 1e-12 {
			t.Errorf("score %v, want %v", got, want)
		}
	}
}

// TestBoundHolds compares the bound with random schedules of one link that serve flows one after the other, and have
// no delay besides that of the ideal completion times.
func TestBoundHolds(t *testing.T) {
	s, err := scenario.Reading{}.Parse("x.yaml", []byte(`
topology: {delay: 1us, star: {hosts: 6, rate: 100Gbps}}
flows:
  - {tag: a, from: [h1, h2], to: h0, size: 1MB}
  - {tag: b, from: [h3, h4, h5], to: h0, size: 50KB, start: 40us}
duration: 1ms
drain: true
`))
	if err != nil {
		t.Fatal(err)
	}
	st, err := standardOf(s)
	if err != nil {
		t.Fatal(err)
	}
	// The link to h0 takes so long for each flow: a frame has 82 bytes besides its 1000 of payload, and 24 on the line.
	frame := 1106 * 8 / 100e9
	work := []float64{1000 * frame, 1000 * frame, 50 * frame, 50 * frame, 50 * frame}
	rng := rand.New(rand.NewPCG(5, 6))
	best := math.Inf(1)
	for range 500 {
		now, fct := 0.0, make([]vtime.Time, 5)
		for _, i := range rng.Perm(5) {
			start := s.Flows[i].Start
			now = max(now, start.Seconds()) + work[i]
			fct[i] = vtime.Time((now-work[i])*1e12) - start + st.ideal[i]
		}
		mean, _ := st.flows(fct)
		best = min(best, mean)
	}
	if st.least > best || st.least < best/1.2 {
		t.Errorf("the bound is %v, but the best schedule has %v", st.least, best)
	}
}

// TestBoundWithFaults checks that faults, which move flows to other links, weaken the bound to links of hosts.
func TestBoundWithFaults(t *testing.T) {
	weaker := 0
	for i := range PerFamily {
		d := familyOf(t, "failure").generate(7, i)
		s, err := (&Case{Draft: d}).read(nil, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		with, err := standardOf(s)
		if err != nil {
			t.Fatal(err)
		}
		s.Faults = nil
		without, err := standardOf(s)
		if err != nil {
			t.Fatal(err)
		}
		if with.least > without.least || with.least < 1 || with.fair != 0 {
			t.Errorf("%s: the bound is %v with faults, %v without", d.Name, with.least, without.least)
		}
		weaker += count(with.least < without.least)
	}
	if weaker == 0 {
		t.Error("no bound is weaker with faults")
	}
}

func familyOf(t *testing.T, name string) *Family {
	t.Helper()
	at := slices.IndexFunc(families, func(f Family) bool { return f.Name == name })
	if at < 0 {
		t.Fatalf("no family %s", name)
	}
	return &families[at]
}

// TestDeterministic checks that results do not depend on the number of jobs or on an interruption, that refusals fall
// back to ECMP, and that no score is below 1.
func TestDeterministic(t *testing.T) {
	o := Options{Controllers: []string{"hpcc", "dcqcn", "none"}, Only: quick(), HeldOut: "x"}
	b := newBench(t, o)
	one := run(t, b, 1)
	again := newBench(t, o)
	ctx, stop := context.WithCancel(t.Context())
	some := &Results{}
	err := again.Run(ctx, some, 2, func() error {
		if stop(); len(some.Rows) > 4 {
			t.Error("runs go on after an interruption")
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(some.Rows) >= len(one.Rows) {
		t.Fatalf("%v, with %d runs", err, len(some.Rows))
	}
	if err := again.Run(t.Context(), some, 3, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	some.keep(again)
	if !slices.Equal(one.Rows, some.Rows) || !slices.Equal(one.Groups, some.Groups) {
		t.Error("results depend on jobs or on an interruption")
	}
	for _, r := range one.Rows {
		fallback := r.Controller == "hpcc" && r.Scenario == "path-3"
		if r.Score < 1 || r.Broken != "" || r.Unfinished > 0 || (r.Paths == "ecmp") != fallback {
			t.Errorf("%+v", r)
		}
	}
	r := b.Report(one, "test")
	if len(r.Halves) != 2 || len(r.Halves[0].Ranking) != 3 || r.HeldOut == nil || !r.Partial {
		t.Fatalf("%+v", r)
	}
	first := r.Halves[0].Ranking[0]
	if first.Rank != 1 || first.Low > first.Score || first.High < first.Score || first.Families["rate"] == 0 {
		t.Errorf("%+v", first)
	}
	fair := 1.0 // of rate-1 and packet-5; path-3 sprays
	for _, row := range one.Rows {
		if row.Half == Public && row.Controller == "dcqcn" && row.Fair > 0 {
			fair *= math.Sqrt(row.Fair / row.Least)
		}
	}
	if h := r.Halves[0]; h.FairScenarios != 2 || math.Abs(h.Fair/fair-1) > 1e-12 || first.OverFair == 0 {
		t.Errorf("fair shares have %v over %d scenarios, want %v over 2", h.Fair, h.FairScenarios, fair)
	}
	page, err := r.page()
	if err != nil || !strings.Contains(string(page), "held-out") || !strings.Contains(string(page), "hpcc") {
		t.Errorf("page of %d bytes: %v", len(page), err)
	}
}

// TestSlowdownIsTheSummarys compares slowdowns with those of the run's summary, which other code computes. Each tag of
// the scenario has one class of sizes.
func TestSlowdownIsTheSummarys(t *testing.T) {
	b := newBench(t, Options{Controllers: []string{"swift"}, Only: []string{"rate-1"}})
	results := run(t, b, 1)
	s, err := scenario.Reading{}.Parse("rate-1.yaml", []byte(b.Cases[0].Text))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := runner.Watch(t.Context(), s, runner.Options{Controller: "swift", Seed: 1, Processors: 1}, runner.Watching{})
	if err != nil {
		t.Fatal(err)
	}
	mean := 0.0
	for _, g := range results.Groups {
		want := sum.ByTag[g.Tag]
		if g.Flows != want.Count || math.Abs(g.Mean/want.Slowdown.Mean-1) > 1e-9 || math.Abs(g.Max/want.Slowdown.Max-1) > 1e-9 {
			t.Errorf("%+v, but the summary has %+v", g, want)
		}
		mean += want.Slowdown.Mean / float64(len(sum.ByTag))
	}
	row := results.Rows[0]
	if math.Abs(row.Slowdown/mean-1) > 1e-9 || row.Score != row.Slowdown/row.Least || row.Fingerprint != sum.Fingerprint ||
		row.Fair < row.Least {
		t.Errorf("%+v, but the mean over tags is %v", row, mean)
	}
}

// TestAgreement compares the coefficients with values computed by hand. Of the 15 pairs 12 agree, 2 disagree, and 1 is
// tied in x: tau is 10/sqrt(14*15). The ranks' products of deviations add up to 15, their squares to 17 and 17.5.
func TestAgreement(t *testing.T) {
	x, y := []float64{1, 2, 3, 4, 5, 5}, []float64{2, 1, 4, 3, 6, 5}
	if got := kendall(x, y); math.Abs(got-10/math.Sqrt(14*15)) > 1e-12 {
		t.Errorf("Kendall's tau %v", got)
	}
	if got := spearman(x, y); math.Abs(got-15/math.Sqrt(17*17.5)) > 1e-12 {
		t.Errorf("Spearman's rho %v", got)
	}
	if got := kendall(x, []float64{-1, -2, -3, -4, -5, -5}); got != -1 {
		t.Errorf("Kendall's tau of the opposite order %v", got)
	}
}

// TestFolder checks that a folder resumes, notices other benchmarks, and is checked.
func TestFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entry")
	file := filepath.Join(t.TempDir(), "mine.star")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("def init(flow):\n    flow.rate = path.line_rate / 4\n")
	o := Options{Controllers: []string{"none", file}, Only: []string{"rate-1", "packet-5"}}
	open := func(o Options, version string) (*Bench, *Folder, *Results, error) {
		b := newBench(t, o)
		f, r, err := Open(path, b, version, "", false)
		return b, f, r, err
	}
	finish := func() int {
		t.Helper()
		b, f, r, err := open(o, "v1")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		missing := b.Runs() - len(r.Rows)
		if err := b.Run(t.Context(), r, 2, f.SaveSometimes); err != nil {
			t.Fatal(err)
		}
		if err := f.Finish(b.Report(r, "v1")); err != nil {
			t.Fatal(err)
		}
		return missing
	}
	check := func() *CheckResult {
		t.Helper()
		r, err := Check(t.Context(), path, CheckOptions{Jobs: 2})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if n := finish(); n != 4 {
		t.Errorf("made %d runs, want 4", n)
	}
	if n := finish(); n != 0 {
		t.Errorf("repeated %d runs of a complete folder", n)
	}
	write("def init(flow):\n    flow.rate = path.line_rate\n\ndef on_ack(flow, ack):\n    fail(\"no\")\n")
	if n := finish(); n != 2 {
		t.Errorf("made %d runs of a changed file, want 2", n)
	}
	if r := check(); r.Checked != 4 || len(r.Differences) != 0 {
		t.Errorf("%+v", r)
	}
	for _, other := range []struct {
		o       Options
		version string
	}{
		{o, "v2"},
		{Options{Controllers: o.Controllers, Only: []string{"rate-1"}}, "v1"},
		{Options{Controllers: []string{"none"}, Only: o.Only}, "v1"},
	} {
		var is *OtherError
		if _, _, _, err := open(other.o, other.version); !errors.As(err, &is) {
			t.Errorf("%v of %s: %v", other.o, other.version, err)
		}
	}
	runs := filepath.Join(path, runsTable.Name)
	text, err := os.ReadFile(runs)
	if err != nil {
		t.Fatal(err)
	}
	_, results, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	better := strings.Replace(string(text), "1,"+strconv.FormatFloat(results.Rows[0].Score, 'f', -1, 64), "1,1.0001", 1)
	if err := os.WriteFile(runs, []byte(better), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := check(); len(r.Differences) != 1 || !strings.Contains(r.Differences[0], "score 1.0001") {
		t.Errorf("a score that was improved by hand: %+v", r)
	}
	file = filepath.Join(path, "controllers", "mine.star")
	write("def init(flow):\n    flow.rate = 1 * Gbps\n")
	var entry *EntryError
	if _, err := Check(t.Context(), path, CheckOptions{}); !errors.As(err, &entry) {
		t.Errorf("a changed controller: %v", err)
	}
}

// TestDocument compares the table of families in docs/bench-cc.md with the generators. With -update it writes it.
func TestDocument(t *testing.T) {
	table := "| family | traffic | varies | values |\n|---|---|---|---|\n"
	for _, f := range Families() {
		table += "| `" + f.Name + "` | " + f.About + " | " + f.Parameter + " | " + strings.Join(f.Values, "; ") + " |\n"
	}
	inDocument(t, "families", table)
}

// inDocument compares a table with that of docs/bench-cc.md. With -update it writes it.
func inDocument(t *testing.T, name, table string) {
	t.Helper()
	const path, end = "../../docs/bench-cc.md", "<!-- end -->\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := "<!-- " + name + " -->\n"
	before, rest, found := strings.Cut(string(data), begin)
	old, after, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Fatalf("%s has no block %s", path, begin)
	case table == old:
	case *testenv.Update:
		if err := os.WriteFile(path, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table of %s in %s is old: go test ./experiments/ccbench -update", name, path)
	}
}

// ranking returns the rows of a half in a file ranking.csv of testdata.
func ranking(t *testing.T, name, half string) (rows []rankingRow) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	err = rankingTable.Read(file, func(r *rankingRow) error {
		if r.Half == half {
			rows = append(rows, *r)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rows
}

func rowOf(t *testing.T, rows []rankingRow, controller string) *rankingRow {
	t.Helper()
	i := slices.IndexFunc(rows, func(r rankingRow) bool { return r.Controller == controller })
	if i < 0 {
		t.Fatalf("no row of %s", controller)
	}
	return &rows[i]
}

// TestLeaderboard compares the table in docs/bench-cc.md with the files ranking.csv of the two commands that the page
// shows: testdata/leaderboard.csv and leaderboard-seeds.csv. With -update it writes it.
func TestLeaderboard(t *testing.T) {
	read := func(name, half string) []rankingRow {
		rows := ranking(t, name, half)
		if len(rows) != len(cc.Names()) {
			t.Fatalf("%s: %d controllers", name, len(rows))
		}
		return rows
	}
	cells := func(rows []rankingRow, controller string) string {
		r := rowOf(t, rows, controller)
		return fmt.Sprintf(" %d (%d to %d) | %.2f (%.2f to %.2f) |", r.Rank, r.RankLow, r.RankHigh, r.Score, r.Low, r.High)
	}
	hidden, seeds := read("leaderboard.csv", HeldOut), read("leaderboard-seeds.csv", Public)
	table := "| controller | rank | score | held-out rank | held-out score | rank, 3 seeds | score, 3 seeds |\n|---|---|---|---|---|---|---|\n"
	public := read("leaderboard.csv", Public)
	for _, r := range public {
		table += "| `" + r.Controller + "` |" + cells(public, r.Controller) + cells(hidden, r.Controller) + cells(seeds, r.Controller) + "\n"
	}
	inDocument(t, "leaderboard", table)
}
