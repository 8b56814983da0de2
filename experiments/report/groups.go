package report

import (
	"math"
	"slices"
)

type quantile struct {
	name string
	of   func(*Quantiles) float64
}

var quantiles = []quantile{
	{"mean", func(q *Quantiles) float64 { return q.Mean }},
	{"median", func(q *Quantiles) float64 { return q.P50 }},
	{"95 %", func(q *Quantiles) float64 { return q.P95 }},
	{"99 %", func(q *Quantiles) float64 { return q.P99 }},
}

// groupTables compare the parts of the flows: a row a tag or size bin, and under each quantile the controllers, so that
// what is compared stands side by side.
func groupTables(r *Report) []table {
	kinds := []struct {
		heading string
		of      func(*Summary) []Group
	}{
		{"By tag", func(s *Summary) []Group { return s.ByTag }},
		{"By size", func(s *Summary) []Group { return s.BySize }},
	}
	measures := []struct {
		caption string
		unit    Unit
		of      func(*Flows) *Quantiles
	}{
		{"Slowdown (FCT over the ideal FCT)", None, func(f *Flows) *Quantiles { return &f.Slowdown }},
		{"Flow completion time", Nanoseconds, func(f *Flows) *Quantiles { return &f.FCT }},
	}
	// 32 columns fit neither screen nor paper.
	parts := len(quantiles)
	switch {
	case len(r.Runs) > 6:
		parts = 1
	case len(r.Runs) > 4:
		parts = 2
	}
	var tables []table
	for _, m := range measures {
		for part := range slices.Chunk(quantiles, parts) {
			t := table{Caption: m.caption, Corner: "Flows", Sub: r.names()}
			for _, q := range part {
				t.Heads = append(t.Heads, q.name)
			}
			if parts == 1 {
				t.Caption, t.Heads, t.Sub = m.caption+", "+part[0].name, r.names(), nil
			}
			for _, kind := range kinds {
				b := body{Heading: kind.heading}
				for _, name := range r.groupNames(kind.of) {
					b.Rows = append(b.Rows, r.groupRow(name, m.unit, part, kind.of, m.of))
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
	return tables
}

// groupNames are the names of all runs' groups that have flows, in the order in which the runs give them.
func (r *Report) groupNames(of func(*Summary) []Group) []string {
	var names []string
	seen := make(map[string]bool)
	for i := range r.Runs {
		for _, g := range of(&r.Runs[i].Summary) {
			if g.Flows.Count > 0 && !seen[g.Name] {
				seen[g.Name] = true
				names = append(names, g.Name)
			}
		}
	}
	return names
}

// groupRow is one group's row: each quantile is a contest of its own, but the prefix is the row's.
func (r *Report) groupRow(name string, u Unit, part []quantile, groups func(*Summary) []Group, of func(*Flows) *Quantiles) row {
	values := make([]float64, 0, len(part)*len(r.Runs))
	top := 0.0
	for _, q := range part {
		for i := range r.Runs {
			v := math.NaN()
			for _, g := range groups(&r.Runs[i].Summary) {
				if g.Name == name && g.Flows.Count > 0 {
					v = q.of(of(&g.Flows))
					top = max(top, v)
				}
			}
			values = append(values, v)
		}
	}
	m := u.measure(top)
	if u == None {
		m = measure{div: 1}
	}
	out := row{Label: name, Unit: m.name, Cells: make([]cell, 0, len(values))}
	for values := range slices.Chunk(values, len(r.Runs)) {
		for i := range values {
			values[i] /= m.div
		}
		cells, _ := contest(values, None, lower, r.mayWin())
		for i := range cells {
			cells[i].Bar = -1 // so many bars are a fence, not a picture
		}
		out.Cells = append(out.Cells, cells...)
	}
	return out
}
