package report

import (
	"fmt"
	"math"
)

// bySize are charts of slowdown over the size bins, a line a controller: at the median and in the tail.
func bySize(r *Report) []*chart {
	names := r.groupNames(func(s *Summary) []Group { return s.BySize })
	if len(names) < 3 {
		return nil // two points make no curve; the table has them
	}
	var charts []*chart
	for i, q := range []quantile{quantiles[1], quantiles[3]} {
		title := "Slowdown by flow size, " + q.name
		c := &chart{
			id: fmt.Sprintf("size%d", i), group: "size", title: title, desc: title + ".",
			xTitle: "flow size", names: names, width: 480, height: 255,
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for k := range r.Runs {
			l := line{style: k, label: r.Runs[k].Controller, dots: true}
			for n, name := range names {
				p := point{float64(n), math.NaN()}
				if g := sizeBin(&r.Runs[k], name); g != nil {
					p.y = q.of(&g.Flows.Slowdown)
					lo, hi = min(lo, p.y), max(hi, p.y)
				}
				l.points = append(l.points, p)
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
		c.x = namedAxis(names)
		c.layout()
		charts = append(charts, c)
	}
	return charts
}

// sizeBin is the run's size bin of that name, or nil if no flow of it ended.
func sizeBin(run *Run, name string) *Group {
	for i := range run.Summary.BySize {
		if g := &run.Summary.BySize[i]; g.Name == name && g.Flows.Count > 0 {
			return g
		}
	}
	return nil
}

// namedAxis has one place a name, half a place from the ends, and as many labels as fit.
func namedAxis(names []string) axis {
	a := axis{lo: -0.5, hi: float64(len(names)) - 0.5, in: measure{div: 1}}
	longest := 0
	for _, name := range names {
		longest = max(longest, len([]rune(name)))
	}
	// A letter takes up to 8 units in the largest print, and the plot has about 420.
	fit := max(2, 420/(8*(longest+1)))
	stride := (len(names) + fit - 1) / fit
	for i := 0; i < len(names); i += stride {
		a.ticks = append(a.ticks, tick{float64(i), names[i]})
	}
	return a
}
