package report

import (
	"math"
	"slices"
)

type quantile struct {
	id, name string
	of       func(*Quantiles) float64
}

var quantiles = []quantile{
	{"mean", "mean", func(q *Quantiles) float64 { return q.Mean }},
	{"p50", "p50", func(q *Quantiles) float64 { return q.P50 }},
	{"p95", "p95", func(q *Quantiles) float64 { return q.P95 }},
	{"p99", "p99", func(q *Quantiles) float64 { return q.P99 }},
}

func slowdownOf(f *Flows) *Quantiles { return &f.Slowdown }

// groupTables compares parts of the flows: a row for each tag or size bin, and under each quantile the controllers, so
// that values to compare are side by side.
func groupTables(r *Report) []table {
	measures := []struct {
		caption string
		unit    Unit
		of      func(*Flows) *Quantiles
	}{
		{"Slowdown (FCT divided by the ideal FCT)", None, slowdownOf},
		{"Flow completion time", Nanoseconds, func(f *Flows) *Quantiles { return &f.FCT }},
	}
	var tables []table
	for _, m := range measures {
		for part := range slices.Chunk(quantiles, r.quantilesAbreast()) {
			t := r.quantileTable(m.caption, "Flows", part)
			for _, kind := range kinds {
				b := body{Heading: kind.heading}
				for _, name := range r.groupNames(kind.of) {
					row := r.groupRow(name, m.unit, part, kind.of, m.of)
					row.Label = kind.label(name)
					b.Rows = append(b.Rows, row)
				}
				if len(b.Rows) > 0 {
					t.Bodies = append(t.Bodies, b)
				}
			}
			if len(t.Bodies) > 0 {
				tables = append(tables, t)
			}
		}
	}
	return append(tables, r.unfinishedTable()...)
}

// kinds lists the ways to divide flows.
var kinds = []struct {
	heading string
	of      func(*Summary) []Group
	label   func(name string) string
}{
	{"By tag", func(s *Summary) []Group { return s.ByTag }, func(tag string) string { return tag }},
	{"By size", func(s *Summary) []Group { return s.BySize }, withUnits},
}

// unfinishedTable counts the unfinished flows, which all other tables leave out. It returns no table if all flows had
// ended.
func (r *Report) unfinishedTable() []table {
	t := table{Caption: "Flows unfinished at the end of the run; they have no FCT", Corner: "Flows", Heads: r.names()}
	for _, kind := range kinds {
		b := body{Heading: kind.heading}
		for _, name := range r.namesOf(kind.of, func(f *Flows) bool { return f.Unfinished > 0 }) {
			b.Rows = append(b.Rows, r.row(kind.label(name), counts, neither,
				numberOf(kind.of, func(g *Group) bool { return g.Name == name }, 0,
					func(g *Group) float64 { return float64(g.Flows.Unfinished) })))
		}
		if len(b.Rows) > 0 {
			t.Bodies = append(t.Bodies, b)
		}
	}
	if len(t.Bodies) == 0 {
		return nil
	}
	return []table{t}
}

// quantilesAbreast returns how many quantiles a table has beside each other: 32 columns fit neither screen nor paper.
// Numbers with intervals are twice as wide.
func (r *Report) quantilesAbreast() int {
	wide := len(r.Runs)
	if len(r.Seeds) > 1 {
		wide *= 2
	}
	switch {
	case wide > 6:
		return 1
	case wide > 4:
		return 2
	}
	return len(quantiles)
}

// quantileTable returns a table of some quantiles under each controller, without its rows.
func (r *Report) quantileTable(caption, corner string, part []quantile) table {
	if len(part) == 1 {
		return table{Caption: caption + ", " + part[0].name, Corner: corner, Heads: r.names()}
	}
	t := table{Caption: caption, Corner: corner, Sub: r.names()}
	for _, q := range part {
		t.Heads = append(t.Heads, q.name)
	}
	return t
}

// groupNames returns the names of all runs' groups that have ended flows.
func (r *Report) groupNames(of func(*Summary) []Group) []string {
	return r.namesOf(of, func(f *Flows) bool { return f.Count > 0 })
}

// namesOf returns the names of all runs' groups that are wanted, in the order of the runs.
func (r *Report) namesOf(of func(*Summary) []Group, wanted func(*Flows) bool) []string {
	var names []string
	seen := make(map[string]bool)
	for run := range r.counted() {
		for _, g := range of(&run.Summary) {
			if wanted(&g.Flows) && !seen[g.Name] {
				seen[g.Name] = true
				names = append(names, g.Name)
			}
		}
	}
	return names
}

// groupRow returns one group's row: each quantile is a contest of its own, but the prefix is the row's.
func (r *Report) groupRow(name string, u Unit, part []quantile, groups func(*Summary) []Group,
	of func(*Flows) *Quantiles,
) row {
	return r.quantileRow(name, u, part, of, func(run *Run) *Flows {
		for _, g := range groups(&run.Summary) {
			if g.Name == name {
				return &g.Flows
			}
		}
		return nil
	})
}

// quantileRow returns the row of the flows that each run gives for it, nil if it has none.
func (r *Report) quantileRow(label string, u Unit, part []quantile, of func(*Flows) *Quantiles,
	flows func(*Run) *Flows,
) row {
	values := make([]estimate, 0, len(part)*len(r.Runs))
	top := 0.0
	for _, q := range part {
		for i := range r.Runs {
			e := r.Runs[i].estimate(func(run *Run) float64 {
				if f := flows(run); f != nil && f.Count > 0 {
					return q.of(of(f))
				}
				return math.NaN()
			})
			if e.N > 0 {
				top = max(top, e.Mean)
			}
			values = append(values, e)
		}
	}
	m := u.measure(top)
	if u == None {
		m = measure{div: 1}
	}
	out := row{Label: label, Unit: m.name, Cells: make([]cell, 0, len(values))}
	for values := range slices.Chunk(values, len(r.Runs)) {
		for i := range values {
			values[i].Mean /= m.div
			values[i].Half /= m.div
		}
		cells, _ := contest(values, None, lower, r.mayWin())
		for i := range cells {
			cells[i].Bar = -1 // so many bars show nothing
		}
		out.Cells = append(out.Cells, cells...)
	}
	return out
}
