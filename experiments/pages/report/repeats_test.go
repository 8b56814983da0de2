package report

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/interval"
)

// TestContestOfSeeds checks that a mean is marked as best only if it is less in significantly many pairs of runs with the
// same seed. By hand: five pairs that agree have the p-value 2/32, six 2/64, seven 2/128; of two tests each counts twice.
func TestContestOfSeeds(t *testing.T) {
	of := func(from uint64, values ...float64) estimate {
		e := estimate{bySeed: map[uint64]float64{}}
		for i, v := range values {
			e.bySeed[from+uint64(i)] = 1e6 * v
		}
		e.Estimate = interval.Of(slices.Collect(maps.Values(e.bySeed)))
		return e
	}
	rising := []float64{1, 2, 3, 4, 5, 6, 7}
	above := []float64{1.1, 2.1, 3.1, 4.1, 5.1, 6.1, 7.1}
	for _, c := range []struct {
		name   string
		values []estimate
		best   int // -1: none
	}{
		{"six agree, and the intervals of the means meet", []estimate{of(1, above[:6]...), of(1, rising[:6]...)}, 1},
		{"five are too few", []estimate{of(1, above[:5]...), of(1, rising[:5]...)}, -1},
		{"five are too few, however far apart", []estimate{of(1, 9, 9, 9, 9, 9), of(1, rising[:5]...)}, -1},
		{"six are too few for two tests", []estimate{of(1, 9, 9, 9, 9, 9, 9), of(1, above[:6]...), of(1, rising[:6]...)}, -1},
		{"seven suffice", []estimate{of(1, 9, 9, 9, 9, 9, 9, 9), of(1, above...), of(1, rising...)}, 2},
		{"one disagrees", []estimate{of(1, 1.1, 2.1, 3.1, 4.1, 5.1, 0.1), of(1, 1, 2, 3, 4, 5, 0.2)}, -1},
		{"other seeds", []estimate{of(10, above[:6]...), of(1, rising[:6]...)}, -1},
		{"single runs", []estimate{of(2, 1), of(1, 2)}, 0},
	} {
		cells, _ := contest(c.values, Nanoseconds, lower, []bool{true, true, true}[:len(c.values)])
		if got := slices.IndexFunc(cells, func(c cell) bool { return c.Best }); got != c.best {
			t.Errorf("%s: %d is marked, want %d", c.name, got, c.best)
		}
	}
}

// repeated returns a synthetic report of three seeds.
func repeated() *Report {
	r := synthetic()
	r.Seeds = []uint64{1, 2, 3}
	for i := range r.Runs {
		run := &r.Runs[i]
		for seed := range uint64(3) {
			own := *run
			own.Seed, own.Fingerprint = seed+1, fmt.Sprintf("%d%d", i, seed)
			own.Summary.BySize = slices.Clone(own.Summary.BySize)
			own.Summary.All.FCT.Mean = 1e6 * float64(seed+1)
			for k := range own.Summary.BySize {
				own.Summary.BySize[k].Flows.Slowdown.P99 += 10 * float64(seed)
			}
			run.Repeats = append(run.Repeats, own)
		}
	}
	return r
}

// TestRepeats checks that each number is a mean over the seeds, without failed runs, and that charts have intervals.
func TestRepeats(t *testing.T) {
	r := repeated()
	r.Runs[1].Repeats[2].Partial = true
	page := render(t, r)
	save(t, "seeds.html", page)
	// 1, 2, 3 ms: 2 ± 4.303/sqrt(3); 1, 2 ms: 1.5 ± 12.706*sqrt(0.5)/sqrt(2).
	for _, want := range []string{
		"2.0 ± 2.5", "1.5 ± 6.4", "1, 2, 3: means with 95 % confidence intervals",
		"seed 3: fingerprint <code title=\"02\">02</code>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	charts := bySize(r)
	if len(charts) != 3 || math.Abs(charts[2].lines[0].halves[1]-4.3027*10/math.Sqrt(3)) > 0.01 ||
		charts[0].lines[0].halves[1] != 0 {
		t.Errorf("%d charts", len(charts))
	}
}

// TestFigures checks that each plot of the page is available as a drawing and as a table, under valid file names.
func TestFigures(t *testing.T) {
	for name, r := range map[string]*Report{"one seed": synthetic(), "seeds": repeated()} {
		r.Panels[1].Title = r.Panels[0].Title
		for i := range r.Runs {
			run := &r.Runs[i]
			run.Slowdowns[0].FCTs = NewSample(slices.Repeat([][]float64{{2e6, 1e6}}, max(1, len(run.Repeats)))...)
		}
		figures, err := Figures(r)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range figures {
			names = append(names, f.Name)
			wellFormed(t, drawnAs(t, f.Drawing, "svg"))
			rows, err := csv.NewReader(strings.NewReader(string(f.CSV))).ReadAll()
			if err != nil || len(rows) < 3 || rows[0][0] != "controller" || rows[1][0] != "dcqcn" ||
				rows[len(rows)-1][0] != "dcon" {
				t.Errorf("%s, %s: %d rows, %v", name, f.Name, len(rows), err)
			}
		}
		want := []string{
			"panel-1-congested-port-egress-queue-of-l2-to-r1", "panel-2-congested-port-egress-queue-of-l2-to-r1",
			"panel-3-egress-queue-of-s1-to-l2", "panel-4-pause-frames", "panel-5-goodput-of-the-long-flows",
			"share-of-flows-up-to-a-slowdown-burst", "share-of-flows-up-to-an-fct-burst",
			"slowdown-by-flow-size-decades-p50", "slowdown-by-flow-size-decades-p95",
			"slowdown-by-flow-size-decades-p99",
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q", name, names)
		}
		fcts := string(figures[6].CSV)
		if n := map[string]int{"one seed": 1, "seeds": 3}[name]; strings.Count(fcts, "dcqcn,1000000,") != n+1 ||
			!strings.HasPrefix(fcts, "controller,fct_ns,flows_percent\n") {
			t.Errorf("%s: %s", name, fcts)
		}
		if has := strings.Contains(string(figures[9].CSV), "half_width_95"); has != (name == "seeds") {
			t.Errorf("%s: intervals %t", name, has)
		}
	}
}

// TestLinks checks that the table lists the leading links over all controllers, and that unknown values are dashes.
func TestLinks(t *testing.T) {
	r := synthetic()
	r.Runs[0].Summary.Links = []Link{
		{
			Node: "a", Port: "a-eth1", Peer: "b", FromSwitch: true, ToSwitch: true, Utilisation: 0.5, Paused: 1e6,
			PauseRate: 100,
		},
		{Node: "a", Port: "a-eth2", Peer: "h", FromSwitch: true, Utilisation: 1},
		{
			Node: "a", Port: "a-eth3", Peer: "b", FromSwitch: true, ToSwitch: true, Utilisation: 0.25, Paused: 5e6,
			PauseRate: 50,
		},
	}
	r.Runs[1].Summary.Links = []Link{{Node: "c", Port: "c-eth1", Peer: "d", FromSwitch: true, ToSwitch: true, Paused: 2e6}}
	var got []string
	for _, row := range pausedTables(r)[0].Bodies[0].Rows {
		text := row.Label
		for _, c := range row.Cells {
			text += " " + c.Text
		}
		got = append(got, text)
	}
	want := []string{"a → b (a-eth3) 5.00 – 50.0 –", "c → d – 2.00 – 0", "a → b (a-eth1) 1.00 – 100 –"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if charts := linkCharts(r); len(charts) != 2 || len(charts[0].lines) != 2 || len(charts[1].lines) != 1 {
		t.Errorf("%d charts", len(charts))
	}
}

// TestDifferences checks that settings are listed by name, in order, and that a setting missing in one run is a
// difference.
func TestDifferences(t *testing.T) {
	runs := []Run{
		{Settings: []Setting{{"Switch", "xoff", "1"}, {"Switch", "xon", "2"}}},
		{Settings: []Setting{{"Switch", "xoff", "1"}, {"Host", "x", "3"}, {"Switch", "xon", "4"}}},
	}
	if got := fmt.Sprint(Differences(runs)); got != "[{Switch xon [2 4]} {Host x [ 3]}]" {
		t.Error(got)
	}
	same, differ := settingTables(&Report{Runs: runs})
	if len(same) != 1 || len(differ) != 1 || len(differ[0].Bodies) != 2 || same[0].Bodies[0].Rows[0].Cells[0].Text != "1" {
		t.Errorf("%v, %v", same, differ)
	}
}
