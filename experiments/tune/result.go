package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/jsonfile"
	"github.com/pausenet/pausenet/internal/lists"
)

// conclude makes the hold-out runs and writes the results.
func (s *tuning) conclude(ctx context.Context, best *candidate, near []neighbour, folder string) (err error) {
	r := &s.result
	goal := "highest"
	if s.Lowest {
		goal = "lowest"
	}
	r.Tuning, r.Objective = s.Name, fmt.Sprintf("%s %s under %s", goal, s.Metric.Name, s.Under)
	for i := range s.Limits {
		r.Objective += ", " + s.Limits[i].String()
	}
	r.Candidates, r.Ratio, r.Feasible = len(s.all)-1, s.ratio(best.score), best.broken == 0
	for i := range s.vary {
		p := Parameter{Path: s.vary[i].path, Own: s.template.Value(s.vary[i].path), Tuned: best.values[i]}
		for k := range near {
			n := &near[k]
			if n.parameter != i {
				continue
			}
			step := Step{Value: n.values[i], Broken: n.err != "" || n.broken > best.broken}
			if n.err == "" {
				step.Percent = 100 * (s.ratio(n.score)/s.ratio(best.score) - 1)
			}
			p.Steps = append(p.Steps, step)
		}
		r.Parameters = append(r.Parameters, p)
	}
	if r.HoldOut, err = s.holdOut(ctx, best); err != nil {
		return err
	}
	set := s.settings(best.values)
	r.Command = fmt.Sprintf("pausenet run %s --cc %s", filepath.ToSlash(filepath.Join(folder, s.Name+"-tuned.yaml")),
		s.Under)
	head := fmt.Sprintf("# %s, tuned: %s\n#%s\n", s.Name, r.Objective, commandSettings(set))
	write := func(name string, data []byte) error {
		r.Files = append(r.Files, filepath.ToSlash(filepath.Join(folder, name)))
		return files.WriteWhole(filepath.Join(folder, name), data)
	}
	if err := write(s.Name+"-tuned.yaml", []byte(head+s.template.Text(set, nil, nil))); err != nil {
		return err
	}
	if s.TradeOff != nil {
		r.TradeOff = s.front()
		drawing, err := s.drawing()
		if err != nil {
			return err
		}
		if err := write("trade-off.svg", drawing); err != nil {
			return err
		}
	}
	data, err := jsonfile.Format(r)
	if err != nil {
		return err
	}
	return write("tune.json", data)
}

// sound returns the candidates that keep all limits.
func (s *tuning) sound() (some []*candidate) {
	return lists.Filter(s.all, func(c *candidate) bool { return c.err == "" && c.broken == 0 })
}

// front returns the candidates than which none is better in both quantities, in the order of the one weighed against.
func (s *tuning) front() (points []Point) {
	some := s.sound()
	slices.SortStableFunc(some, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.trade, b.trade), cmp.Compare(a.score, b.score))
	})
	best := math.Inf(1)
	for _, c := range some {
		if c.score < best {
			best = c.score
			points = append(points, Point{c.worth, c.trade, s.settings(c.values)})
		}
	}
	return points
}

// drawing returns the plot of the trade-off as SVG.
func (s *tuning) drawing() ([]byte, error) {
	some := s.sound()
	slices.SortStableFunc(some, func(a, b *candidate) int { return cmp.Compare(a.trade, b.trade) })
	tried := report.NumberLine{Label: "candidates", Dots: true}
	for _, c := range some {
		tried.X, tried.Y = append(tried.X, c.trade, c.trade), append(tried.Y, c.worth, math.NaN())
	}
	front := report.NumberLine{Label: "best of both"}
	for _, p := range s.result.TradeOff {
		front.X, front.Y = append(front.X, p.Against), append(front.Y, p.Objective)
	}
	own := report.NumberLine{Label: "the file's own values", Dots: true}
	own.X, own.Y = []float64{s.baseline.trade}, []float64{s.baseline.worth}
	unit := func(q *explore.Quantity) string {
		if names := q.Kind.UnitNames(); len(names) > 0 {
			return q.Name + ", " + names[0]
		}
		return q.Name
	}
	drawn, err := (&report.Lines{Title: "Trade-off of " + s.Name, Charts: []report.LineChart{{
		Name: "mean " + unit(s.Metric), XTitle: "mean " + unit(s.TradeOff), Lines: []report.NumberLine{tried, front, own},
	}}}).Drawing()
	if err != nil {
		return nil, err
	}
	return drawn.Picture("svg")
}

// Texts of a point's values, for people.
func (t *Tuning) Texts(p *Point) (objective, against string) {
	return t.Metric.Text(p.Objective), t.TradeOff.Text(p.Against)
}
