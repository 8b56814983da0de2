package results

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/scenario"
)

func TestBars(t *testing.T) {
	// Operation 1 from 10 to 20, 2 at once after it, and 3 later; the last point ends it.
	x, y := bars(&report.Series{X: []int64{0, 10, 20, 20, 30, 50, 60}, Y: []float64{0, 1, 0, 2, 0, 3, 0}})
	if got, want := fmt.Sprint(x, y), "[10 20 20 30 31 50 60 61] [1 1 2 2 NaN 3 3 NaN]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDefaultPanelsOfRuns checks that runs choose their own ports, that a page has the highest of all, and that panels
// about PAUSE exist if a run had any.
func TestDefaultPanelsOfRuns(t *testing.T) {
	run := func(pauses int64, byDefault bool, ports ...string) *RunFolder {
		r := new(RunFolder)
		r.summary.PFC.Pauses = pauses
		series, points := []scenario.SeriesView{}, []report.Series{}
		for i, p := range ports {
			series = append(series, scenario.SeriesView{Label: p, Quantity: scenario.QueueBytes})
			points = append(points, report.Series{X: []int64{0}, Y: []float64{float64(100 * len(ports) / (i + 1))}})
		}
		c := &r.manifest.Configuration
		c.ReportDefault = byDefault
		c.Report = []scenario.PanelView{
			{Title: "Longest queues", Note: fmt.Sprintf("of %d", len(ports)), Series: series},
			{Title: "PAUSE frames", Series: []scenario.SeriesView{{Label: "all ports", Quantity: scenario.PauseRate}}},
		}
		r.panels = [][]report.Series{points, {{X: []int64{0}, Y: []float64{0}}}}
		return r
	}
	labels := func(p *report.Panel) []string {
		all := map[string]bool{}
		for _, s := range slices.Concat(slices.Collect(maps.Values(p.Series))...) {
			all[s.Label] = true
		}
		return slices.Sorted(maps.Keys(all))
	}
	many := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for name, c := range map[string]struct {
		runs   []*RunFolder
		labels int
		titles []string
		note   string
	}{
		"no PAUSE": {
			[]*RunFolder{run(0, true, "a", "b"), run(0, true, "c")},
			3,
			[]string{"Longest queues"},
			"of 2 (1: of 1)",
		},
		"PAUSE in one": {
			[]*RunFolder{run(0, true, "a", "b"), run(9, true, "a", "c")},
			3,
			[]string{"Longest queues", "PAUSE frames"},
			"of 2",
		},
		"many ports": {
			[]*RunFolder{run(0, true, many...), run(0, true, "x")},
			8,
			[]string{"Longest queues"},
			"of 10 (1: of 1)",
		},
		"of a file, no PFC": {[]*RunFolder{run(0, false, many...)}, 10, []string{"Longest queues", "PAUSE frames"}, "of 10"},
	} {
		t.Run(name, func(t *testing.T) {
			p, page := reportPage{}, new(report.Report)
			for i, r := range c.runs {
				p.columns = append(p.columns, column{fmt.Sprint(i), []*RunFolder{r}})
			}
			p.panels(page)
			var titles []string
			for i := range page.Panels {
				titles = append(titles, page.Panels[i].Title)
			}
			if got := labels(&page.Panels[0]); len(got) != c.labels || !slices.Equal(titles, c.titles) ||
				page.Panels[0].Note != c.note {
				t.Errorf("got %q with the lines %q, note %q; want %q with %d lines, note %q", titles, got, page.Panels[0].Note,
					c.titles, c.labels, c.note)
			}
		})
	}
}

// TestPageHeadline checks that a page has the headline of its columns, with the verdicts of a column's runs.
func TestPageHeadline(t *testing.T) {
	run := func(status measure.Status, fct float64) *RunFolder {
		r := new(RunFolder)
		r.summary.Verdict.Status, r.summary.Flows.Completed, r.summary.Flows.Count, r.summary.Flows.FCT.Mean = status, 1, 2, fct
		return r
	}
	p := reportPage{columns: []column{
		{"none", []*RunFolder{run(measure.Pass, 4e6), run(measure.Warn, 4e6)}},
		{"dcqcn", []*RunFolder{run(measure.Fail, 2e6)}},
	}}
	page := p.page()
	var rows []string
	for _, r := range page.Headline {
		rows = append(rows, fmt.Sprint(r.Label, r.Cells))
	}
	if want := []string{"flows completed[2/4 1/2]", "FCT mean[4.00 ms 2.00 ms]"}; !slices.Equal(rows[:2], want) {
		t.Errorf("got %q, want %q first", rows, want)
	}
	if got := page.Runs[0].Verdict.Word + "; " + page.Runs[1].Verdict.Word; got != "1 ok, 1 incomplete; broken" {
		t.Errorf("the checks are %s", got)
	}
}
