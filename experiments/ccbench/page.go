package ccbench

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/pages/report"
)

// mostLines limits the controllers in a chart, so that they can be told apart.
const mostLines = 7

// page returns the HTML page.
func (r *Report) page() ([]byte, error) {
	sheet := &report.Sheet{
		Kicker: "pausenet bench cc", Title: "Benchmark of congestion control", Version: r.Version,
		Lead: "A score of 1 is a lower bound that no controller can beat. Less is better.",
		Facts: []report.Fact{
			{Label: "Scenarios", Text: fmt.Sprint(len(r.bench.Cases))},
			{Label: "Controllers", Text: fmt.Sprint(len(r.bench.Controllers))},
			{Label: "Seeds", Text: strings.Trim(fmt.Sprint(r.Seeds), "[]")},
			{Label: "Runs", Text: fmt.Sprint(len(r.Runs))},
		},
		Foot: "Times are virtual: the same controllers get the same scores on any machine, in any order.",
	}
	if r.HeldOut != nil {
		sheet.Facts = append(sheet.Facts, report.Fact{
			Label: "Kendall's tau, public and held-out",
			Text:  fmt.Sprintf("%.2f (%.2f to %.2f)", r.HeldOut.Tau, r.HeldOut.Low, r.HeldOut.High),
		})
	}
	if r.Partial {
		sheet.Parts = append(sheet.Parts, report.SheetPart{Title: "Partial", Texts: []string{
			"Scenarios were left out, so these scores do not compare with those of the whole benchmark.",
		}})
	}
	for _, h := range r.Halves {
		sheet.Parts = append(sheet.Parts, rankingPart(&h))
	}
	if len(r.Halves) > 0 && len(r.Halves[0].Ranking) > 0 {
		first := &r.Halves[0]
		sheet.Parts = append(sheet.Parts, familyParts(first)...)
		sheet.Parts = append(sheet.Parts, r.profilePart(first), r.multiplesPart(first), r.worstPart())
	}
	var b bytes.Buffer
	err := report.WriteSheet(&b, sheet)
	return b.Bytes(), err
}

func rankingPart(h *Half) report.SheetPart {
	t := &report.SheetTable{
		Caption: fmt.Sprintf("%d %s scenarios. Bars: score of the first over the controller's. In brackets: 95 %% "+
			"intervals, "+
			"by a bootstrap over scenarios. Unfinished: runs in which flows did not end. ECMP: runs with ECMP, as the "+
			"controller refuses the scenario's load balancing", h.Scenarios, h.Name),
		Heads: []string{
			"controller", "score", "rank", "worst scenario", "its score", "unfinished", "ECMP",
		},
	}
	for i, e := range h.Ranking {
		t.Rows = append(t.Rows, report.SheetRow{Cells: []string{
			e.Controller, fmt.Sprintf("%.2f (%.2f to %.2f)", e.Score, e.Low, e.High),
			fmt.Sprintf("%d (%d to %d)", e.Rank, e.RankLow, e.RankHigh), e.Worst, fmt.Sprintf("%.1f", e.WorstScore),
			fmt.Sprint(e.Unfinished),
			fmt.Sprint(e.Fallbacks),
		}, Best: i == 0, Part: h.Ranking[0].Score / e.Score})
	}
	return report.SheetPart{Title: "Ranking, " + h.Name, Table: t}
}

// familiesPerTable limits the columns of a table of families to the width of a screen.
const familiesPerTable = 6

// familyParts shows scores by family.
func familyParts(h *Half) (parts []report.SheetPart) {
	var shown []string
	for _, f := range families {
		if _, has := h.Ranking[0].Families[f.Name]; has {
			shown = append(shown, f.Name)
		}
	}
	for names := range slices.Chunk(shown, familiesPerTable) {
		t := &report.SheetTable{
			Caption: "Score on each family of scenarios alone; the best has a star",
			Heads:   append([]string{"controller"}, names...),
		}
		for _, e := range h.Ranking {
			row := report.SheetRow{Cells: []string{e.Controller}, Part: -1}
			for _, name := range names {
				text := fmt.Sprintf("%.2f", e.Families[name])
				if !slices.ContainsFunc(h.Ranking, func(o Entry) bool { return o.Families[name] < e.Families[name] }) {
					text += " ★"
				}
				row.Cells = append(row.Cells, text)
			}
			t.Rows = append(t.Rows, row)
		}
		parts = append(parts, report.SheetPart{Title: "By family: " + strings.Join(names, ", "), Table: t})
	}
	return parts
}

// charted returns the controllers that charts show: the first of the ranking, and none.
func charted(h *Half) []string {
	var names []string
	for _, e := range h.Ranking {
		if len(names) < mostLines-1 || e.Controller == "none" {
			names = append(names, e.Controller)
		}
	}
	return names
}

// profilePart draws performance profiles: for each controller the part of the scenarios in which its score is within a
// factor of the best (Dolan and Moré, Benchmarking optimization software with performance profiles, Math. Program. 91,
// 2002).
func (r *Report) profilePart(h *Half) report.SheetPart {
	s := r.bench.scoresOf(h.Name, r.Runs, 0)
	best := make([]float64, len(s.scenarios))
	for k := range best {
		best[k] = math.Inf(1)
		for i := range s.log {
			best[k] = min(best[k], s.log[i][k])
		}
	}
	chart := report.LineChart{Name: "Scenarios within a factor of the best", XTitle: "factor", Unit: report.Percent}
	for _, name := range charted(h) {
		i := slices.Index(s.controllers, name)
		var factors []float64
		for k := range s.scenarios {
			factors = append(factors, math.Exp(s.log[i][k]-best[k]))
		}
		slices.Sort(factors)
		line := report.NumberLine{Label: name}
		for step := range 61 {
			factor := 1 + float64(step)*0.05
			within := 0
			for _, f := range factors {
				within += count(f <= factor+1e-12)
			}
			line.X, line.Y = append(line.X, factor), append(line.Y, 100*float64(within)/float64(len(factors)))
		}
		chart.Lines = append(chart.Lines, line)
	}
	return report.SheetPart{
		Title: "Performance profile",
		Texts: []string{"A line that is higher is better: more scenarios in which the controller's score is within this " +
			"factor of the best controller's."},
		Lines: &report.Lines{Title: "Performance profile", Charts: []report.LineChart{chart}},
	}
}

// multiplesPart draws one chart for each family: the score over the family's parameter.
func (r *Report) multiplesPart(h *Half) report.SheetPart {
	s := r.bench.scoresOf(h.Name, r.Runs, 0)
	lines := &report.Lines{Title: "Scores by scenario"}
	for _, f := range families {
		chart := report.LineChart{
			Name: f.Name + ": " + strings.Join(f.Values, ", "), XTitle: "scenario, by " + f.Parameter, Log: true,
		}
		for _, name := range charted(h) {
			i := slices.Index(s.controllers, name)
			line := report.NumberLine{Label: name, Dots: true}
			for k := range s.scenarios {
				if s.family[k] == f.Name {
					line.X = append(line.X, float64(len(line.X)+1))
					line.Y = append(line.Y, math.Exp(s.log[i][k]))
				}
			}
			if len(line.X) > 0 {
				chart.Lines = append(chart.Lines, line)
			}
		}
		if len(chart.Lines) > 0 {
			lines.Charts = append(lines.Charts, chart)
		}
	}
	return report.SheetPart{Title: "Scores by scenario", Lines: lines}
}

func (r *Report) worstPart() report.SheetPart {
	t := &report.SheetTable{
		Caption: "Public runs with the highest scores. Repeat one: pausenet run scenarios/NAME.yaml --cc CONTROLLER",
		Heads: []string{
			"scenario", "controller", "score", "parameter", "slowdown", "lower bound", "max-min fair", "PAUSE frames",
		},
	}
	for _, row := range r.worst(20) {
		c := r.bench.caseOf(row.key())
		fair := "-"
		if row.Fair > 0 {
			fair = fmt.Sprintf("%.2f", row.Fair)
		}
		t.Rows = append(t.Rows, report.SheetRow{Cells: []string{
			row.Scenario, row.Controller, fmt.Sprintf("%.1f", row.Score), c.Value, fmt.Sprintf("%.1f", row.Slowdown),
			fmt.Sprintf("%.2f", row.Least), fair, fmt.Sprint(row.Pauses),
		}, Part: -1})
	}
	return report.SheetPart{Title: "Worst cases", Table: t}
}
