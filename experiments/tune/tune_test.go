package tune

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small has an ECN threshold that is far too low, so that nearly every change is an improvement.
const small = `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
switch: {ecn: {mode: red, kmin: 1KB, kmax: 100KB, pmax: 1}}
controllers: [dcqcn]
flows: [{from: h1..h3, to: h0, size: 300KB, count: 2, interval: 20us, jitter: 10us}]
duration: 300us
drain: true
sample: {interval: 100us, flows: none}
tune:
  under: dcqcn
  objective: {metric: fct_mean}
  constraints: [{metric: lossless_drops, at_most: 0}]
  trade_off: peak_egress
  vary: {switch.ecn.kmin: 1KB..90KB log, cc.dcqcn.rai: [40Mbps, 400Mbps], cc.hpcc.eta: 0.9..0.99}
  seeds: 1..2
  holdout: {seeds: [11, 12, 13]}
  budget: 16
`

func parse(t *testing.T, text string) *Tuning {
	t.Helper()
	tuning, err := Parse("small.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tuning
}

// run makes a tuning and returns its result and files, without what depends on the folder's name.
func run(t *testing.T, text, folder string, jobs int) (*Result, map[string]string) {
	t.Helper()
	r, err := parse(t, text).Tune(context.Background(), explore.Options{Folder: folder, Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, file := range r.Files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(file)] = strings.ReplaceAll(string(data), filepath.ToSlash(folder), "FOLDER")
	}
	return r, files
}

// TestTune checks that a bad threshold is found, that the file's hold-out runs repeat, and that the result depends
// neither on the number of jobs nor on interruptions.
func TestTune(t *testing.T) {
	folder := t.TempDir()
	r, want := run(t, small, folder, 1)
	if !(r.Ratio < 0.95) || !r.Feasible || r.HoldOut.Better != 3 || r.HoldOut.Compared != 3 || !(r.HoldOut.Ratio < 1) {
		t.Errorf("training %v (limits hold: %v), hold-out %+v: want an improvement in all pairs", r.Ratio, r.Feasible, r.HoldOut)
	}
	if idle := r.Parameters[2]; idle.Tuned != "" {
		t.Errorf("%s has no effect, and became %s", idle.Path, idle.Tuned)
	}
	for i := range r.Parameters {
		for _, step := range r.Parameters[i].Steps {
			if step.Percent < 0 && !step.Broken {
				t.Errorf("%s: %s would be better by %v %%", r.Parameters[i].Path, step.Value, -step.Percent)
			}
		}
	}
	last := math.Inf(1)
	for _, p := range r.TradeOff {
		if p.Objective >= last {
			t.Errorf("trade-off %+v: a point is better in both than another", r.TradeOff)
		}
		last = p.Objective
	}
	s, err := scenario.Load(filepath.Join(folder, "small-tuned.yaml"), nil)
	if err == nil {
		s, err = s.WithSeed(12)
	}
	if err != nil {
		t.Fatal(err)
	}
	sum, err := runner.Watch(context.Background(), s, runner.Options{Controller: "dcqcn", Seed: 12}, runner.Watching{})
	if err != nil {
		t.Fatal(err)
	}
	if got := *r.HoldOut.Pairs[1].Tuned; sum.Flows.FCT.Mean != got {
		t.Errorf("the tuned file under seed 12 has a mean FCT of %v, the hold-out %v", sum.Flows.FCT.Mean, got)
	}
	for _, jobs := range []int{2, 5} {
		if _, got := run(t, small, t.TempDir(), jobs); !reflect.DeepEqual(got, want) {
			t.Errorf("with %d jobs: got\n%v\nwant\n%v", jobs, got, want)
		}
	}
	journal, err := os.ReadFile(filepath.Join(folder, explore.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	cut := t.TempDir()
	if err := os.WriteFile(filepath.Join(cut, explore.JournalName), journal[:len(journal)/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if again, got := run(t, small, cut, 2); !reflect.DeepEqual(got, want) || again.Known == 0 {
		t.Errorf("after a cut journal (%d runs known): got\n%v\nwant\n%v", again.Known, got, want)
	}
}

// TestLimits checks that a limit keeps out what the objective alone would choose.
func TestLimits(t *testing.T) {
	testenv.WholeScenario(t)
	free, _ := run(t, small, t.TempDir(), 2)
	if free.TradeOff[len(free.TradeOff)-1].Against < 20_000 {
		t.Fatalf("the best has a queue of %v bytes: the limit would exclude nothing", free.TradeOff)
	}
	limited, _ := run(t, strings.Replace(small, "{metric: lossless_drops, at_most: 0}",
		"{metric: peak_egress, at_most: 20KB}", 1), t.TempDir(), 2)
	for _, p := range limited.TradeOff {
		if p.Against > 20_000 {
			t.Errorf("%+v exceeds the limit of 20 KB", p)
		}
	}
	if limited.Feasible && limited.Ratio < free.Ratio {
		t.Errorf("%v with a limit is better than %v without", limited.Ratio, free.Ratio)
	}
}

// TestCompare compares with p-values computed by hand: sums of binomial coefficients over 2^n. Equal pairs do not count.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		wins, equal, losses int
		want                float64
	}{
		{5, 0, 0, 2.0 / 32},
		{0, 3, 5, 2.0 / 32},
		{8, 1, 2, 2 * (45 + 10 + 1) / 1024.0},
		{5, 0, 5, 1},
		{29, 0, 1, 2 * 31 / math.Exp2(30)},
		{0, 2, 0, 1},
	} {
		gains := slices.Concat(slices.Repeat([]float64{-0.1}, c.wins), make([]float64, c.equal), slices.Repeat([]float64{0.2}, c.losses))
		got := new(Tuning).compare("", gains)
		if math.Abs(got.P-c.want) > 1e-12 || got.Better != c.wins || got.Compared != len(gains) {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
}

// TestMistakes checks that each mistake is reported at its position.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ old, replacement, want string }{
		"section":  {"tune:", "tunes:", "the file has no section tune"},
		"metric":   {"fct_mean", "fct_men", `small.yaml:11:23: unknown quantity "fct_men": did you mean "fct_mean"?`},
		"limit":    {", at_most: 0", "", "needs at_most or at_least"},
		"both":     {"at_most: 0", "at_most: 0, at_least: 1", "at_most or at_least"},
		"seeds":    {"[11, 12, 13]", "[2, 12]", "seed 2 is also one of the training seeds"},
		"path":     {"cc.dcqcn.rai", "cc.dcqcn.ria", "ria"},
		"scenario": {"jitter: 10us", "jiter: 10us", `small.yaml:5:71: unknown key "jiter"`},
		"unknown":  {"under: dcqcn", "under: dcqc", "dcqc"},
		"other":    {"[11, 12, 13]", "[11], scenarios: [nothing.yaml]", "nothing.yaml"},
	} {
		if _, err := Parse("small.yaml", []byte(strings.Replace(small, c.old, c.replacement, 1))); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestExamples checks that the tunings in examples/tune can be read.
func TestExamples(t *testing.T) {
	path := "../../examples/tune/dcqcn.yaml"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(path, data); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, data []byte) {
		tuning, err := Parse("small.yaml", data)
		if err != nil {
			return
		}
		values := tuning.draw(explore.NewRandom(1, 0))
		tuning.template.Text(tuning.settings(tuning.change(values, explore.NewRandom(1, 1))), nil, nil)
	})
}
