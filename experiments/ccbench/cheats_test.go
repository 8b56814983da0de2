package ccbench

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// sample lists cheap scenarios for cheats: packets of 9 KB, 25 Gb/s, an incast, a rival, and a collective.
var sample = []string{"packet-5", "rate-1", "incast-2", "rivals-4", "collective-5"}

// caught lists the cheats whose runs end by an error of the controller.
var caught = []string{"10-overflow.star", "11-crash.star", "12-endless.star", "13-hoard.star"}

// copied is a copy of a built-in controller, the last cheat.
const copied = "../../examples/controllers/swift.star"

func cheats(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/cheats/*.star")
	if err != nil {
		t.Fatal(err)
	}
	if files = append(files, copied); len(files) != 20 {
		t.Fatalf("%d cheats, want 20", len(files))
	}
	return files
}

// TestCheats runs all cheats on a sample, and compares the table in docs/bench-cc.md with it and with the whole suite's
// results in testdata/cheats.csv, the file ranking.csv of the command that the page shows. None has a better score than
// swift. With -update it writes the table.
func TestCheats(t *testing.T) {
	testenv.WholeScenario(t)
	files := cheats(t)
	b := newBench(t, Options{Controllers: append([]string{"swift", "none"}, files...), Only: sample})
	results := run(t, b, 2)
	entries := map[string]Entry{}
	for _, e := range b.Report(results, "test").Halves[0].Ranking {
		entries[e.Controller] = e
	}
	of := func(controller string) (rows []Row) {
		for _, r := range results.Rows {
			if r.Score < 1 {
				t.Errorf("%s beats the bound of %s: %v", r.Controller, r.Scenario, r.Score)
			}
			if r.Controller == controller {
				rows = append(rows, r)
			}
		}
		return rows
	}
	swift := of("swift")
	summary := regexp.MustCompile(`(?m)^summary = "(.*)"$`)
	var table strings.Builder
	table.WriteString("| controller | what it does | in 5 scenarios | score | score in 60 (95 %) | flows do not end in |\n" +
		"|---|---|---|---|---|---|\n")
	whole := ranking(t, "cheats.csv", Public)
	ofAll := func(controller string) string {
		r := rowOf(t, whole, controller)
		if best := rowOf(t, whole, "swift").Score; r.Score < best {
			t.Errorf("%s has the score %v in 60 scenarios, better than swift's %v", controller, r.Score, best)
		}
		return fmt.Sprintf("%.4g (%.4g to %.4g) | %d of 60 |\n", r.Score, r.Low, r.High, r.Unfinished)
	}
	for _, name := range []string{"swift", "none"} {
		fmt.Fprintf(&table, "| `%s` | for comparison | all flows end | %.4g | %s", name, entries[name].Score, ofAll(name))
	}
	for _, file := range files {
		name := filepath.Base(file)
		e := entries[name]
		result := "all flows end"
		switch {
		case strings.Contains(strings.Join(caught, " "), name):
			if result = "its error ends each run"; e.Broken != len(sample) {
				t.Errorf("%s broke %d runs", name, e.Broken)
			}
		case e.Broken > 0:
			t.Errorf("%s broke %d runs", name, e.Broken)
		case e.Unfinished > 0:
			result = fmt.Sprintf("flows do not end in %d of %d runs", e.Unfinished, len(sample))
		}
		if e.Score < entries["swift"].Score {
			t.Errorf("%s has the score %v, better than swift's %v", name, e.Score, entries["swift"].Score)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		about := summary.FindSubmatch(text)[1]
		if file == copied {
			about, result = []byte("a copy of `swift` under another name"), "the fingerprints of `swift`"
			for i, r := range of(name) {
				if r.Fingerprint != swift[i].Fingerprint || r.Score != swift[i].Score {
					t.Errorf("the copy of swift differs in %s", r.Scenario)
				}
			}
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %.4g | %s", name, about, result, e.Score, ofAll(name))
	}
	inDocument(t, "cheats", table.String())
}

// TestCheatsShort runs cheats of each kind on one scenario.
func TestCheatsShort(t *testing.T) {
	b := newBench(t, Options{
		Controllers: []string{"swift", "testdata/cheats/01-trickle.star", "testdata/cheats/11-crash.star"}, Only: []string{"rate-1"},
	})
	rows := run(t, b, 1).Rows
	swift, trickle, crash := rows[0], rows[1], rows[2]
	if trickle.Unfinished == 0 || trickle.Broken != "" || trickle.Score < 100*swift.Score {
		t.Errorf("one bit per second: %+v", trickle)
	}
	if crash.Broken != "controller" || crash.Unfinished != crash.Flows || crash.Score < trickle.Score ||
		!strings.Contains(crash.Error, "enough") {
		t.Errorf("a controller that fails: %+v", crash)
	}
}

// TestRecognised checks that a controller fitted to a public scenario gains nothing in the held-out one.
func TestRecognised(t *testing.T) {
	testenv.WholeScenario(t)
	b := newBench(t, Options{
		Controllers: []string{"none", "testdata/cheats/04-recognise.star"}, Only: []string{"incast-2"}, HeldOut: "x",
	})
	scores := map[string]float64{}
	for _, r := range run(t, b, 2).Rows {
		scores[r.Half+" "+r.Controller] = r.Score
	}
	if scores["public 04-recognise.star"] >= scores["public none"] ||
		scores["held-out 04-recognise.star"] != scores["held-out none"] {
		t.Errorf("%v", scores)
	}
}
