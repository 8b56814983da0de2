package train

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/pausenet/pausenet/hostagent/lstm"
	"github.com/pausenet/pausenet/units"
)

// small returns the options of a short training. Its trial is that of the built-in weights, which TestBuiltIn checks.
func small() *Options {
	w, err := lstm.BuiltIn()
	if err != nil {
		panic(err)
	}
	return &Options{
		Seed: 1, Rounds: 3, Batch: 1, Passes: 2, Version: "v", collect: 2, unseen: 1, trial: w.Provenance.Trial,
	}
}

// trained returns the LSTM of small options, which several tests need.
var trained = sync.OnceValues(func() (*LSTMResult, error) { return LSTM(context.Background(), small()) })

func TestLSTM(t *testing.T) {
	o := small()
	o.trial = ""
	lines := 0
	o.Progress = func(string) { lines++ }
	r, err := LSTM(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	p := &r.Weights.Provenance
	if p.Pairs != 19058 || p.Rounds != 3 || len(p.MAPE) != 3 || len(r.Loss) != 15 || len(p.Scenarios) != 4 ||
		lines != 2*2+2+3 {
		t.Errorf("%+v, %d losses, %d lines", p, len(r.Loss), lines)
	}
	if p.MAPE[2].Test > .11 || p.MAPE[0].Train < 2*p.MAPE[2].Train || !(r.Unseen.All < r.Unseen.Smoothed/3) ||
		p.UnseenMAPE != r.Unseen.All {
		t.Errorf("it does not learn: %+v, %+v", p.MAPE, r.Unseen)
	}
	if r.Loss[0] < 1.5*r.Loss[14] {
		t.Errorf("the loss does not fall: %v", r.Loss)
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"4 runs, 19058 pairs", "4765 of", "0.113        0.081", "on runs of other seeds",
		"  under timely: 0.", "  under pid: 0.",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	first, err := r.Weights.Format()
	if err != nil {
		t.Fatal(err)
	}
	drawings, err := r.Drawings()
	if err != nil || len(drawings) != 3 {
		t.Fatalf("%d drawings, %v", len(drawings), err)
	}

	again, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.Weights.Format(); err != nil || !bytes.Equal(first, second) {
		t.Errorf("equal options, unequal weights: %v", err)
	}
	for i, d := range drawings {
		if other, _ := again.Drawings(); !bytes.Equal(other[i].SVG, d.SVG) {
			t.Errorf("drawing %s differs", d.Name)
		}
	}
	other := small()
	other.Seed = 2
	if r, err := LSTM(context.Background(), other); err != nil || r.Weights.Parameters == again.Weights.Parameters {
		t.Errorf("the seed changes nothing: %v", err)
	}
}

// TestBuiltIn checks that the built-in weights are those that the program would train. If it fails, the simulations,
// the drawing of pairs or the optimiser have changed: train again (pausenet train lstm --out
// hostagent/lstm/weights.json), and measure again the reports of docs/lstm-pid.md and docs/results/lstm-pid.md.
func TestBuiltIn(t *testing.T) {
	w, err := lstm.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	p := w.Provenance
	want := recipe(&Options{Seed: 1, Rounds: Rounds, Batch: Batch, Passes: Passes, Version: p.Version})
	for seed := range uint64(collectRuns) {
		s, err := randomIncast(1000*want.Seed + seed + 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, controller := range collectedUnder {
			want.Scenarios = append(want.Scenarios, s.Name+" under "+controller)
		}
	}
	if want.Trial, err = Trial(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if p.Trial != want.Trial {
		t.Errorf("the trial of weights.json is %s, and would be %s", p.Trial, want.Trial)
	}
	// What only the whole training tells.
	want.Pairs, want.MAPE, want.UnseenMAPE, want.Trial = p.Pairs, p.MAPE, p.UnseenMAPE, p.Trial
	if !reflect.DeepEqual(p, want) {
		t.Errorf("weights.json was trained as %+v\nand would be trained as %+v", p, want)
	}
}

// TestPrediction compares the drawn data with their sequences.
func TestPrediction(t *testing.T) {
	r := run{scenario: "s", controller: "pid", flows: []sequence{{5, 5}, {4.2, 4.4, 5, 6, 9, 7}}}
	var p lstm.Parameters
	p[len(p)-1] = .1
	got := predict(lstm.New(&p), &r)
	if got.Flow != 1 || got.From != 3 || len(got.Measured) != 3 || got.Measured[0] != 6 || got.Measured[2] != 7 {
		t.Errorf("%+v", got)
	}
	for i, smoothed := range []float64{4.392, 4.7136, 5.57088} {
		near(t, "predicted", got.Predicted[i], 1.1*smoothed, 1e-12)
	}
}

// TestGains compares with the end of the thesis' training. Its figure 13 does not say which flow it shows.
func TestGains(t *testing.T) {
	o := small()
	o.Rounds = 1
	r, err := Gains(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	f := &r.Flows[0]
	near(t, "Kp", f.Gains.P, -0.358, .02)
	near(t, "Ki", f.Gains.I, -0.060, .01)
	near(t, "Kd", f.Gains.D, 0.040, .01)
	if last := f.Path[len(f.Path)-1]; len(r.Flows) != 20 || f.Path[0].Gains != FirstGains || last.Gains != f.Gains ||
		last.Updates != f.Updates {
		t.Errorf("%d flows, path from %+v to %+v", len(r.Flows), f.Path[0], last)
	}
	for i := 1; i < len(f.Path); i++ {
		// Every step is at most 0.001/sqrt(t+1), so the way from one point to the next is bounded.
		most := 0.0
		for u := f.Path[i-1].Updates; u < f.Path[i].Updates; u++ {
			most += .001 / math.Sqrt(float64(u+1))
		}
		if d := math.Abs(f.Path[i].Gains.P - f.Path[i-1].Gains.P); d > most*(1+1e-9) {
			t.Errorf("Kp moved by %g from update %d to %d, by %g at most", d, f.Path[i-1].Updates, f.Path[i].Updates, most)
		}
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil || !strings.Contains(text.String(), "thesis        -  -0.358  -0.060  0.040") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if d, err := r.Drawings(); err != nil || len(d) != 1 || !bytes.Contains(d[0].SVG, []byte("Kd, thesis")) {
		t.Errorf("%v", err)
	}
}

func TestIncasts(t *testing.T) {
	s, err := thesisIncast()
	if err != nil {
		t.Fatal(err)
	}
	var total units.Bytes
	for i := range s.Flows {
		total += s.Flows[i].Size
	}
	if len(s.Flows) != 20 || total != 635_000_000 {
		t.Errorf("%d flows, %d bytes; the thesis has 20 of 635 MB", len(s.Flows), total)
	}
	degrees := map[int]bool{}
	for seed := range uint64(20) {
		a, err := randomIncast(seed)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := randomIncast(seed)
		if a.Name != b.Name || len(a.Flows) != len(b.Flows) || a.Flows[0].Size != b.Flows[0].Size {
			t.Errorf("seed %d gives two scenarios", seed)
		}
		if n := len(a.Flows); n < 4 || n > 32 {
			t.Errorf("degree %d", n)
		}
		degrees[len(a.Flows)] = true
	}
	if len(degrees) < 8 {
		t.Errorf("degrees %v", degrees)
	}
}

func TestOptions(t *testing.T) {
	if err := small().Validate(); err != nil {
		t.Error(err)
	}
	bad := &Options{Rounds: 0, Batch: 801, Passes: -1}
	err := bad.Validate()
	for _, want := range []string{"--rounds 0: expected 1", "--batch 801: expected 1 to 800", "--passes -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := LSTM(context.Background(), bad); err == nil {
		t.Error("bad options were taken")
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := LSTM(ctx, small()); err == nil {
		t.Error("LSTM went on")
	}
	if _, err := Gains(ctx, small()); err == nil {
		t.Error("Gains went on")
	}
}
