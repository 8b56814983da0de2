package cc

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent/lstm"
)

// flat returns a network that always answers its head's bias.
func flat(t testing.TB, bias float64) []byte {
	t.Helper()
	w := new(lstm.Weights)
	w.Parameters[len(w.Parameters)-1] = bias
	data, err := w.Format()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func files(content map[string][]byte) Resolver {
	return Resolver{ReadFile: func(path string) ([]byte, error) {
		if data, ok := content[path]; ok {
			return data, nil
		}
		return nil, errors.New("no such file")
	}}
}

// TestLSTMPIDActsOnThePrediction has a network say that the next RTT will be 1.1 times the smoothed one.
func TestLSTMPIDActsOnThePrediction(t *testing.T) {
	r := files(map[string][]byte{"w.json": flat(t, .1)})
	set, err := r.Resolve(lstmPIDSpec, map[string]string{"target": "5us", "weights": "w.json", "ki": "0", "kd": "0"},
		env100)
	if err != nil {
		t.Fatal(err)
	}
	c, err := lstmPIDSpec.New(env100, set)
	if err != nil {
		t.Fatal(err)
	}
	want := 10.0
	smoothed := []float64{4.2, 4.24, 4.392, 4.7136, 5.57088, 5.856704} // ../lstm/testdata/vectors.txt
	roundTrips(c, []float64{4.2, 4.4, 5, 6, 9, 7}, func(i int) {
		want *= 1 - .358*(1.1*smoothed[i]-5)/5
		expect(t, "rate", c.Rate(), want)
	})
}

// TestLSTMPIDBuiltIn holds the built-in network to the least that a prediction is for: an RTT that stands still goes on
// standing, and one that rises steadily is expected to be higher than its smoothed value.
func TestLSTMPIDBuiltIn(t *testing.T) {
	c := mustBuild(t, "lstm-pid", nil, env100).(*pid)
	predicted := 0.0
	for range 30 {
		predicted = c.predict(5e6)
	}
	near(t, "prediction of 5 us", predicted/1e6, 5, .15)
	for i := range 6 {
		predicted = c.predict(5e6 + float64(i)*4e5)
	}
	if predicted < 1.05*c.series.Smoothed {
		t.Errorf("%g ps predicted after a rise to 7 us, %g smoothed", predicted, c.series.Smoothed)
	}
	w, err := lstm.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	if p := w.Provenance; p.Command == "" || p.Version == "" || p.Pairs < 10_000 || len(p.MAPE) != p.Rounds ||
		!(p.UnseenMAPE <= .05) {
		t.Errorf("provenance %+v", p)
	}
}

func TestWeightsFile(t *testing.T) {
	good := flat(t, .25)
	r := files(map[string][]byte{"w.json": good, "cut.json": good[:len(good)/2], "other.json": flat(t, .5)})
	resolve := func(weights string) (Settings, error) {
		return r.Resolve(lstmPIDSpec, map[string]string{"weights": weights}, env100)
	}
	set, err := resolve(" w.json ")
	if err != nil {
		t.Fatal(err)
	}
	out := set.constants.(*pidConstants).network.Predict(&lstm.Features{})
	if math.Abs(out-.25) > 1e-15 {
		t.Errorf("the network answers %g: not the file's", out)
	}
	// What is written out names the content too, and reads back only while that is the same.
	text := set.Map()["weights"]
	if path, sum := cutDigest(text); path != "w.json" || len(sum) != 16 {
		t.Errorf("spelled %q", text)
	}
	if reread, err := resolve(text); err != nil || reread.Map()["weights"] != text {
		t.Errorf("%v, %v", reread.Map(), err)
	}
	for given, want := range map[string]string{
		strings.Replace(text, "w.json", "other.json", 1): "has changed: its SHA-256 now begins",
		"none.json":        `lstm-pid.weights = "none.json": no such file`,
		"cut.json":         "weights file cut.json: line ",
		"":                 "is not a path",
		"w.json#sha256=00": "no such file", // no digest: a part of the name
	} {
		if _, err := resolve(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", given, err)
		}
	}
	if _, err := Resolve("lstm-pid", map[string]string{"weights": "w.json"}, env100); err == nil ||
		!strings.Contains(err.Error(), "cannot read files here") {
		t.Errorf("without a reader: %v", err)
	}
	if set, err := resolve("built-in"); err != nil || set.Map()["weights"] != "built-in" {
		t.Errorf("built-in: %v", err)
	}
}
