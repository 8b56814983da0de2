package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// bySize returns charts of slowdown over bins of flow size, a line a controller: at the median and in the tail, by
// decade and by parts of equal count.
func bySize(r *Report) []*chart {
	var charts []*chart
	if names := r.groupNames(func(s *Summary) []Group { return s.BySize }); len(names) >= 3 { // two points make no curve
		short := make([]string, len(names))
		for i, name := range names {
			short[i] = strings.NewReplacer("up to ", "≤ ", "over ", "> ").Replace(name)
		}
		for _, q := range quantiles[1:] {
			charts = append(charts, r.sizeChart("size", "Slowdown by flow size, decades, "+q.name, "flow size", q, short,
				func(run *Run, bin int) *Flows {
					for i := range run.Summary.BySize {
						if g := &run.Summary.BySize[i]; g.Name == names[bin] {
							return &g.Flows
						}
					}
					return nil
				}))
		}
	}
	if names := r.sizeBinNames(); len(names) >= 3 {
		for _, q := range quantiles[1:] {
			charts = append(charts, r.sizeChart("bin", fmt.Sprintf("Slowdown by flow size, bins of %g %% of the flows, %s",
				100/float64(len(names)), q.name), "flow size, up to", q, names, sizeBin))
		}
	}
	return charts
}

// sizeBin returns a bin of a run, nil if it has none.
func sizeBin(run *Run, bin int) *Flows {
	if bin >= len(run.Summary.BySizeBin) {
		return nil
	}
	return &run.Summary.BySizeBin[bin].Flows
}

// sizeBinNames returns the upper sizes of the bins, of the first run that has bins: all runs have the same flows,
// except for unfinished ones. If most flows have one size, there are no bins, because they would not differ in size.
func (r *Report) sizeBinNames() []string {
	for run := range r.counted() {
		if len(run.Summary.BySizeBin) == 0 {
			continue
		}
		var names []string
		for _, s := range run.Summary.BySizeBin {
			m := Bytes.measure(float64(s.UpTo))
			names = append(names, trimZeros(digits(float64(s.UpTo)/m.div))+m.name)
		}
		if different := len(slices.Compact(slices.Clone(names))); 2*different < len(names) {
			return nil
		}
		return names
	}
	return nil
}

func (r *Report) sizeChart(id, title, xTitle string, q quantile, names []string, bin func(*Run, int) *Flows) *chart {
	c := &chart{
		id: id + q.id, group: id, title: title, desc: title + ".", xTitle: xTitle, names: names, width: 480, height: 275,
		yTitle: "slowdown", xColumn: "size", yColumn: "slowdown_" + q.id,
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for k := range r.Runs {
		l := line{style: k, label: r.Runs[k].Controller, dots: true}
		for n := range names {
			e := r.Runs[k].estimate(func(run *Run) float64 {
				if f := bin(run, n); f != nil && f.Count > 0 {
					return q.of(&f.Slowdown)
				}
				return math.NaN()
			})
			p := point{float64(n), math.NaN()}
			if e.N > 0 {
				p.y = e.Mean
				lo, hi = min(lo, max(p.y-half(e.Half), p.y/2)), max(hi, p.y+half(e.Half))
			}
			l.points, l.halves = append(l.points, p), append(l.halves, e.Half)
		}
		c.lines = append(c.lines, l)
		if lo, hi, ok := l.extent(math.Inf(-1), math.Inf(1)); ok {
			c.desc += fmt.Sprintf(" %s: %s to %s.", l.label, digits(lo), digits(hi))
		}
	}
	if lo > 0 && hi/lo > 20 {
		c.y = logAxis(lo, hi, None)
	} else {
		c.y = roundAxis(lo, hi, None, 5)
	}
	c.yTitle = "slowdown"
	c.x = namedAxis(names)
	c.layout()
	return c
}

// sizeBinTables returns tables of slowdown over the parts with equally many flows.
func sizeBinTables(r *Report) []table {
	names := r.sizeBinNames()
	if names == nil {
		return nil
	}
	var tables []table
	for part := range slices.Chunk(quantiles, r.quantilesAbreast()) {
		t := r.quantileTable(fmt.Sprintf("Slowdown by flow size, bins of %g %% of the flows", 100/float64(len(names))),
			"Up to", part)
		b := body{}
		for n, name := range names {
			b.Rows = append(b.Rows, r.quantileRow(name, None, part, slowdownOf,
				func(run *Run) *Flows { return sizeBin(run, n) }))
		}
		t.Bodies = []body{b}
		tables = append(tables, t)
	}
	return tables
}

// namedAxis returns an axis with one position for each name, half a step from the ends, and as many labels as fit.
func namedAxis(names []string) axis {
	a := axis{lo: -0.5, hi: float64(len(names)) - 0.5, in: measure{div: 1}}
	longest := 0
	for _, name := range names {
		longest = max(longest, len([]rune(withUnits(name))))
	}
	// A letter takes up to 8 units in the largest print, and the plot has about 420.
	fit := max(2, 420/(8*longest+14))
	stride := (len(names) + fit - 1) / fit
	for i := 0; i < len(names); i += stride {
		a.ticks = append(a.ticks, tick{float64(i), withUnits(names[i])})
	}
	return a
}
