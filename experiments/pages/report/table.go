package report

import (
	"fmt"
	"math"

	"github.com/pausenet/pausenet/internal/lists"
)

// table compares the controllers: one column each, or one column each under every head.
type table struct {
	Caption string
	Corner  string   // heads the first column
	Heads   []string // of the columns, or of groups of columns
	Sub     []string // columns of each group, if there are groups
	Bodies  []body
	Texts   bool // all cells are texts
	Turned  bool // heads are measures, and may take several lines
}

// body holds a group of rows with an optional heading.
type body struct {
	Heading string
	Rows    []row
}

type row struct {
	Label, Unit string
	Cells       []cell
}

// turned returns a table without groups, with rows and columns exchanged.
func (t table) turned() table {
	out := t
	out.Heads, out.Bodies, out.Turned = nil, []body{{}}, true
	for i, head := range t.Heads {
		own := row{Label: head}
		for _, b := range t.Bodies {
			for _, r := range b.Rows {
				own.Cells = append(own.Cells, r.Cells[i])
			}
		}
		out.Bodies[0].Rows = append(out.Bodies[0].Rows, own)
	}
	for _, b := range t.Bodies {
		for _, r := range b.Rows {
			out.Heads = append(out.Heads, r.Label)
		}
	}
	return out
}

// span returns the number of t's columns.
func (t *table) span() int { return 1 + len(t.Heads)*max(1, len(t.Sub)) }

// class returns the style class of the i-th cell of a row: the best stands out, and a group's first column has a rule.
func (t *table) class(i int, c cell) string {
	switch first := len(t.Sub) > 0 && i%len(t.Sub) == 0; {
	case first && c.Best:
		return "group best"
	case first:
		return "group"
	case c.Best:
		return "best"
	case c.Words:
		return "words"
	}
	return ""
}

// cell holds one number. Bar holds its share of the row's largest, in percent, or is negative for no bar. Change holds
// its difference from the first column's number, in a comparison.
type cell struct {
	Text   string
	Change string
	Words  bool // text, which may take several lines
	Best   bool
	Bar    float64
}

// counts selects the unit of whole numbers that are printed in full.
const counts Unit = "counts"

// better tells whether a larger or a smaller number is better.
type better int

const (
	neither better = iota // the number is neutral
	lower
)

// contest makes a row's cells. All cells share one prefix, so that a reader compares digits, not units. The best is
// marked among the runs that may win, if it differs from any other as printed and is less than all of these, over seeds
// significantly: a failed or partial run proves nothing, and a lone one beats nobody.
func contest(values []estimate, u Unit, b better, mayWin []bool) ([]cell, string) {
	top := math.Inf(-1)
	means := make([]float64, len(values))
	for i, v := range values {
		if means[i] = v.Mean; v.N > 0 {
			top = max(top, v.Mean)
		}
	}
	m := u.measureOf(means)
	if u == None || u == counts || math.IsInf(top, -1) {
		m = measure{div: 1}
	}
	cells := make([]cell, len(values))
	best := -1
	for i, v := range values {
		cells[i] = cell{Text: m.cell(v.Mean, u == counts), Bar: -1}
		if v.N == 0 {
			continue
		}
		if v.N > 1 {
			cells[i].Text = m.plusMinus(v.Mean, half(v.Half))
		}
		if b == lower && top > 0 {
			cells[i].Bar = 100 * v.Mean / top
		}
		if mayWin[i] && (best < 0 || v.Mean < values[best].Mean) {
			best = i
		}
	}
	if b == neither || best < 0 {
		return cells, m.name
	}
	beaten := false
	for i := range values {
		if v := &values[i]; mayWin[i] && v.N > 0 && cells[i].Text != cells[best].Text {
			if beaten = true; !values[best].less(v, len(values)-1) {
				return cells, m.name // nobody knows which of the two is better
			}
		}
	}
	for i := range cells {
		cells[i].Best = beaten && mayWin[i] && values[i].N > 0 && cells[i].Text == cells[best].Text
	}
	return cells, m.name
}

// cell prints v for a column of numbers: trailing zeros stay, so that the digits line up.
func (m measure) cell(v float64, whole bool) string {
	switch {
	case v == 0 || math.IsNaN(v):
		return digits(v)
	case whole || m.div == 1 && math.Abs(v) >= 1000:
		return count(int64(math.Round(v)))
	default:
		return digits(v/m.div) + m.suffix
	}
}

func (r *Report) names() []string {
	return lists.Map(r.Runs, func(run Run) string { return run.Controller })
}

// row takes one number of each run.
func (r *Report) row(label string, u Unit, b better, of func(*Run) float64) row {
	values := make([]estimate, len(r.Runs))
	for i := range r.Runs {
		values[i] = r.Runs[i].estimate(of)
	}
	cells, unit := contest(values, u, b, r.mayWin())
	if r.Compares {
		for i := 1; i < len(cells); i++ {
			cells[i].Change = change(values[0], values[i])
		}
	}
	return row{label, unit, cells}
}

// change returns the difference of a number from another in percent; empty if there is no such figure.
func change(from, to estimate) string {
	switch {
	case from.N == 0 || to.N == 0 || from.Mean == 0 && to.Mean != 0:
		return ""
	case from.Mean == to.Mean:
		return "="
	}
	d := 100 * (to.Mean/from.Mean - 1)
	if math.Abs(d) >= 1000 {
		return fmt.Sprintf("%+.0f %%", d)
	}
	return fmt.Sprintf("%+.1f %%", d)
}

// some returns v, or nothing if it was computed from no samples: a mean of nothing is not zero.
func some(samples int64, v float64) float64 {
	if samples == 0 {
		return math.NaN()
	}
	return v
}

// comparison returns the table of the whole runs.
func comparison(r *Report) table {
	flow := func(label string, u Unit, of func(*Flows) float64) row {
		return r.row(label, u, lower, func(run *Run) float64 {
			all := &run.Summary.All
			return some(int64(all.Count), of(all))
		})
	}
	rtt := func(label string, of func(*RTT) float64) row {
		return r.row(label, Nanoseconds, lower, func(run *Run) float64 {
			return some(run.Summary.RTT.Samples, of(&run.Summary.RTT))
		})
	}
	t := table{
		Caption: "All flows of a run. A dot marks the best value of a row, which is the lowest.", Corner: "Measure",
		Heads: r.names(), Bodies: []body{
			{"Flow completion time", []row{
				r.row("flows completed", counts, neither, func(run *Run) float64 { return float64(run.Summary.All.Count) }),
				r.row("flows unfinished", counts, neither,
					func(run *Run) float64 { return float64(run.Summary.All.Unfinished) }),
				flow("FCT mean", Nanoseconds, func(f *Flows) float64 { return f.FCT.Mean }),
				flow("FCT p50", Nanoseconds, func(f *Flows) float64 { return f.FCT.P50 }),
				flow("FCT p95", Nanoseconds, func(f *Flows) float64 { return f.FCT.P95 }),
				flow("FCT p99", Nanoseconds, func(f *Flows) float64 { return f.FCT.P99 }),
				flow("slowdown mean", None, func(f *Flows) float64 { return f.Slowdown.Mean }),
				flow("slowdown p50", None, func(f *Flows) float64 { return f.Slowdown.P50 }),
				flow("slowdown p95", None, func(f *Flows) float64 { return f.Slowdown.P95 }),
				flow("slowdown p99", None, func(f *Flows) float64 { return f.Slowdown.P99 }),
			}},
			{"Flow control and marks", []row{
				r.row("PAUSE frames", counts, lower, func(run *Run) float64 { return float64(run.Summary.PFCFrames) }),
				r.row("PAUSE frames between switches", counts, lower,
					func(run *Run) float64 { return float64(run.Summary.SwitchPauses) }),
				r.row("PAUSE frames/s", None, lower, func(run *Run) float64 { return run.Summary.PFCRate }),
				r.row("time paused, all ports", Nanoseconds, lower, func(run *Run) float64 { return float64(run.Summary.Paused) }),
				r.row("hops that PAUSE spread", counts, lower, func(run *Run) float64 { return float64(run.Summary.Spread.Depth) }),
				r.row("victim flows", counts, lower, func(run *Run) float64 { return float64(run.Summary.Victims.Count) }),
				r.row("peak ingress occupancy", Bytes, lower,
					func(run *Run) float64 { return float64(run.Summary.PeakIngress) }),
				r.row("longest egress queue", Bytes, lower, func(run *Run) float64 { return float64(run.Summary.PeakEgress) }),
				r.row("ECN marks", counts, neither, func(run *Run) float64 { return float64(run.Summary.ECNMarks) }),
				r.row("CNPs", counts, neither, func(run *Run) float64 { return float64(run.Summary.CNPs) }),
				r.row("CNMs", counts, neither, func(run *Run) float64 { return float64(run.Summary.CNMs) }),
				r.row("drops", counts, lower, func(run *Run) float64 { return float64(run.Summary.Drops) }),
			}},
			{"Round-trip time", []row{
				rtt("RTT mean", func(t *RTT) float64 { return t.Mean }),
				rtt("RTT p99", func(t *RTT) float64 { return t.P99 }),
				rtt("RTT max", func(t *RTT) float64 { return t.Max }),
			}},
		},
	}
	speed := func(label string, u Unit, of func(*Speed) float64) row {
		return r.row(label, u, neither, func(run *Run) float64 { return of(&run.Summary.Speed) })
	}
	rows := []row{
		speed("frames", counts, func(s *Speed) float64 { return float64(s.Frames) }),
		speed("virtual time", Nanoseconds, func(s *Speed) float64 { return s.VirtualSeconds * 1e9 }),
	}
	for i := range r.Runs {
		if r.Runs[i].Summary.Speed.WallSeconds > 0 {
			rows = append(rows,
				speed("wall-clock time", "s", func(s *Speed) float64 { return orNothing(s.WallSeconds) }),
				speed("packet-hops/s", None, func(s *Speed) float64 { return orNothing(s.HopsPerSecond) }))
			break
		}
	}
	t.Bodies = append(t.Bodies, body{"Speed of the emulation", rows})
	return t
}

func orNothing(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}
