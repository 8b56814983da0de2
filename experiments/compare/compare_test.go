package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/splitmix"
)

// fake returns a side whose runs have the p99 FCT, in nanoseconds, that fct returns for a seed.
func fake(fct func(seed uint64) float64) Run {
	return Run{
		Make: func(ctx context.Context, seed uint64) (*measure.Summary, error) {
			for range seed % 7 { // other runs go first
				runtime.Gosched()
			}
			s := &measure.Summary{Seed: seed, Fingerprint: fmt.Sprint(seed, fct(seed))}
			s.Flows = measure.FlowStatistics{Count: 10, Completed: 10}
			s.Flows.FCT.P99 = fct(seed)
			return s, ctx.Err()
		},
		Command: func(seed uint64) []string { return []string{"pausenet", "run", fmt.Sprint(seed)} },
	}
}

// uniform returns a pseudo-random number from 0 to 1.
func uniform(stream, seed uint64) float64 { return splitmix.Float(splitmix.At(stream, seed)) }

func seeds(n int) (all []uint64) {
	for seed := range uint64(n) {
		all = append(all, seed+1)
	}
	return all
}

// comparison returns a comparison of fakes in one scenario over n seeds.
func comparison(a, b Run, n int) *Comparison {
	return &Comparison{
		A: "a", B: "b", Cases: []Case{{Name: "one", Runs: [2]Run{a, b}}}, Seeds: seeds(n), Jobs: 2,
		Metrics: measure.MetricsNamed([]string{"fct_p99"}),
	}
}

func run(t *testing.T, c *Comparison) *Result {
	t.Helper()
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSentence checks the sentence of each answer. Of 1000 scenarios, a is better in 830, and lowest in the 417th.
func TestSentence(t *testing.T) {
	c := &Comparison{A: "dcqcn", B: "hpcc", All: true, Seeds: []uint64{3}, Jobs: 3, Metrics: measure.MetricsNamed([]string{"fct_p99"})}
	of := func(v float64) Run { return fake(func(uint64) float64 { return v }) }
	for i := range 1000 {
		v := 0.5
		if i%100 >= 83 {
			v = 1.5
		}
		if i == 417 {
			v = 2.1
		}
		c.Cases = append(c.Cases, Case{Name: fmt.Sprint("scenario ", i), Runs: [2]Run{of(v), of(1)}})
	}
	// 417 mod 100 is below 83: one scenario fewer is better.
	if got, want := run(t, c).Sentence, "dcqcn is better than hpcc in FCT p99 in 83 % of 1000 pairs (95 % interval 80 to 85); worst "+
		"case against it: scenario 417, seed 3, where its FCT p99 is 2.1 times that of hpcc."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c.A, c.B = c.B, c.A
	for i := range c.Cases {
		c.Cases[i].Runs[0], c.Cases[i].Runs[1] = c.Cases[i].Runs[1], c.Cases[i].Runs[0]
	}
	r := run(t, c)
	if want := "dcqcn is better than hpcc in FCT p99 in 83 % of 1000"; !strings.HasPrefix(r.Sentence, want) ||
		!slices.Equal(r.Lost(), []string{"FCT p99"}) {
		t.Errorf("swapped: %s, lost %q", r.Sentence, r.Lost())
	}
	if got, text, err := r.Commands(r.Measures[0].WorstB); got[0][2] != "3" || text != "" || err != nil {
		t.Errorf("%q, %q, %v", got, text, err)
	}
	// By hand: 8 of 8 are 20 times as likely under a uniform mixture, 1/9, as under (1/180)^(1/8) = 0.523.
	r = run(t, comparison(of(1), of(2), 40))
	if want := "a is better than b in FCT p99 in 100 % of 8 pairs (95 % interval 52 to 100)."; r.Sentence != want || r.State != Decided {
		t.Errorf("got %s, %s", r.Sentence, r.State)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the seed changes none of the metrics in one") {
		t.Errorf("notes %q", r.Notes)
	}
	r = run(t, comparison(fake(func(seed uint64) float64 { return float64(seed % 2) }), of(0.5), 20))
	if want := "No significant difference between a and b in FCT p99: a is better in 50 % of 20 pairs (95 % interval 20 to 80), " +
		"and b in 50 %."; r.Sentence != want || r.State != Complete || len(r.Notes) != 0 {
		t.Errorf("got %s, %s, %q", r.Sentence, r.State, r.Notes)
	}
	if got := run(t, comparison(of(math.NaN()), of(1), 2)); len(got.Measures) != 0 || !strings.HasPrefix(got.Sentence, "No answer") {
		t.Errorf("no value: %+v", got)
	}
}

// TestJobs: results do not depend on how many runs are in progress at once.
func TestJobs(t *testing.T) {
	var want string
	for _, jobs := range []int{1, 2, 16} {
		noise := func(least float64, stream uint64) Run {
			return fake(func(s uint64) float64 { return least + uniform(stream, s) })
		}
		c := comparison(noise(0.8, 1), noise(1, 2), 200)
		c.Cases = append(c.Cases, c.Cases[0])
		c.Cases[1].Name, c.Jobs = "two", jobs
		r := run(t, c)
		all, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(all)
		} else if string(all) != want {
			t.Errorf("%d at once: %s\nwant %s", jobs, all, want)
		}
		if r.State != Decided || r.Rounds == 200 || r.Pairs != 2*r.Rounds {
			t.Errorf("%d at once: %s after %d rounds", jobs, r.State, r.Rounds)
		}
	}
}

// TestAgainstItself: 200 comparisons of a side with itself show no difference. Of 200 between sides that differ by chance
// alone, each stopped as soon as it is decided, few are decided.
func TestAgainstItself(t *testing.T) {
	wrong := 0
	for k := range uint64(200) {
		noise := func(stream uint64) Run { return fake(func(s uint64) float64 { return 1 + uniform(1000*k+stream, s) }) }
		r := run(t, comparison(noise(1), noise(1), 20))
		if want := "No difference between a and b in FCT p99: all 20 pairs are equal, frame by frame."; r.Sentence != want || r.Lost() != nil {
			t.Fatalf("%d: %s", k, r.Sentence)
		}
		if r := run(t, comparison(noise(1), noise(2), 60)); r.State == Decided {
			wrong++
		}
	}
	if wrong > 10 {
		t.Errorf("%d of 200 comparisons find a difference where there is none, more than 5 %%", wrong)
	}
}

// TestLosses: fewer completed flows and broken runs lose their pairs, and are named.
func TestLosses(t *testing.T) {
	better := fake(func(uint64) float64 { return 1 })
	change := func(of func(s *measure.Summary)) Run {
		return Run{Command: better.Command, Make: func(ctx context.Context, seed uint64) (*measure.Summary, error) {
			s, err := better.Make(ctx, seed)
			if s.Flows.FCT.P99 = 0.1; seed == 2 {
				of(s)
			}
			return s, err
		}}
	}
	c := comparison(change(func(s *measure.Summary) { s.Flows.Completed = 9 }), better, 20)
	c.All = true
	r := run(t, c)
	if want := "; worst case against it: one, seed 2, where it completes fewer flows."; !strings.HasSuffix(r.Sentence, want) {
		t.Errorf("got %s", r.Sentence)
	}
	if want := "a completes fewer flows in 1 pair: it loses these in the metrics of completed flows"; !slices.Contains(r.Notes, want) {
		t.Errorf("notes %q", r.Notes)
	}
	c.Cases[0].Runs[0] = change(func(s *measure.Summary) { s.Verdict.Worsen(measure.Fail, "deadlock") })
	r = run(t, c)
	if want := "where its run is broken."; !strings.HasSuffix(r.Sentence, want) || len(r.Broken) != 1 ||
		r.Broken[0] != "one with a, seed 2: deadlock" || r.Measures[0].Worse != 1 {
		t.Errorf("got %s, broken %q", r.Sentence, r.Broken)
	}
	c.Cases[0].Runs[1] = c.Cases[0].Runs[0]
	if r = run(t, c); r.Pairs != 19 || len(r.Broken) != 2 {
		t.Errorf("both broken: %d pairs, %q", r.Pairs, r.Broken)
	}
}

// TestMargin: values within the margin are equal.
func TestMargin(t *testing.T) {
	c := comparison(fake(func(uint64) float64 { return 1.009 }), fake(func(uint64) float64 { return 1 }), 20)
	if c.Margin = 0.01; run(t, c).Measures[0].Answer != Equal {
		t.Error("0.9 % more is not equal")
	}
	if c.Margin = 0.005; run(t, c).Measures[0].Answer != Worse {
		t.Error("0.9 % more is not worse")
	}
}

// TestEnds: an interrupted comparison covers whole rounds; the first error ends a comparison, and so does a panic.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	same := fake(func(uint64) float64 { return 1 })
	endless := Run{Make: func(ctx context.Context, seed uint64) (*measure.Summary, error) { // from the fifth seed on
		if seed > 4 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return same.Make(ctx, seed)
	}}
	c := comparison(endless, same, 40)
	c.Progress = func(rounds int) {
		if rounds == 3 {
			cancel()
		}
	}
	c.Jobs = 1
	r, err := c.Run(ctx)
	if !errors.Is(err, context.Canceled) || r.State != Interrupted || r.Rounds < 3 || r.Rounds > 4 || r.Pairs != r.Rounds {
		t.Errorf("interrupted: %+v, %v", r, err)
	}
	at := func(seed uint64, do func() error) Run {
		return Run{Make: func(ctx context.Context, now uint64) (*measure.Summary, error) {
			if now == seed {
				return nil, do()
			}
			return same.Make(ctx, now)
		}}
	}
	wrong := errors.New("no space")
	if _, err := comparison(same, at(5, func() error { return wrong }), 9).Run(t.Context()); !errors.Is(err, wrong) ||
		err.Error() != "one with b, seed 5: no space" {
		t.Errorf("got %v", err)
	}
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "a bug") {
			t.Errorf("recovered %s", text)
		}
	}()
	_, _ = comparison(at(2, func() error { panic("a bug") }), same, 9).Run(t.Context())
	t.Error("a panic is lost")
}

// TestTimes: a ratio is never shown as 1 unless it is.
func TestTimes(t *testing.T) {
	for ratio, want := range map[float64]string{2.1: "2.1", 17.04: "17", 1.0042: "1.004", 1.04: "1.04", 123: "123", 1: "1.0"} {
		if got := Times(ratio); got != want {
			t.Errorf("%g: %s, want %s", ratio, got, want)
		}
	}
	for share, want := range map[float64]string{0: "0", 1: "100", 0.001: "<1", 0.999: ">99", 0.834: "83"} {
		if got := percent(share); got != want {
			t.Errorf("%g: %s, want %s", share, got, want)
		}
	}
}

// TestAgainst: the worst case says what is how many times what, whether less or more is better.
func TestAgainst(t *testing.T) {
	times := 2.1
	for name, want := range map[string]string{
		"fct_p99": "where its FCT p99 is 2.1 times that of b", "goodput": "where the goodput of b is 2.1 times its own",
	} {
		m := Measure{metric: measure.MetricByName(name), Label: measure.MetricByName(name).Label}
		got := m.against(&Extreme{Scenario: "one", Seed: 3, Times: &times}, true, 1, "b")
		if got != "; worst case against it: one, seed 3, "+want {
			t.Errorf("got %s", got)
		}
	}
}

// TestAll: with All, a comparison runs all rounds, and its answer is the exact sign test's. Of a metric of which more is
// better, the ratio is still A's value over B's.
func TestAll(t *testing.T) {
	c := comparison(fake(func(seed uint64) float64 { return 200 + float64(seed) }), fake(func(uint64) float64 { return 100 }), 20)
	c.All = true
	r := run(t, c)
	if m := &r.Measures[0]; r.State != Complete || r.Rounds != 20 || math.Abs(m.P-math.Ldexp(1, -19)) > 1e-15 {
		t.Errorf("%s after %d rounds, p %g", r.State, r.Rounds, m.P)
	}
	c.Metrics = measure.MetricsNamed([]string{"goodput"})
	for i, v := range []float64{3, 1} {
		from := c.Cases[0].Runs[i]
		c.Cases[0].Runs[i].Make = func(ctx context.Context, seed uint64) (*measure.Summary, error) {
			s, err := from.Make(ctx, seed)
			s.Flows.Goodput = v + float64(seed)/1000
			return s, err
		}
	}
	m := run(t, c).Measures[0]
	if near := func(v *float64) bool { return *v > 2.9 && *v < 3 }; m.Answer != Better || !near(m.Ratio.Estimate) ||
		!(*m.Ratio.Low < *m.Ratio.Estimate && *m.Ratio.Estimate < *m.Ratio.High) {
		t.Errorf("goodput: %s, %g from %g to %g", m.Answer, *m.Ratio.Estimate, *m.Ratio.Low, *m.Ratio.High)
	}
}
