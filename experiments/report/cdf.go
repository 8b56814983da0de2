package report

import (
	"fmt"
	"slices"
)

// slowdownCDFs are the distributions of slowdown, one chart a tag with a line a controller: here the lines are what is
// compared, so they share a chart.
func slowdownCDFs(r *Report) []*chart {
	return r.flowCDFs("cdf", "Share of flows up to a slowdown", "slowdown (FCT over ideal FCT)", "slowdown", None, func(d *Distribution) []float64 { return d.Slowdowns })
}

// fctCDFs are those of the completion times.
func fctCDFs(r *Report) []*chart {
	return r.flowCDFs("fct", "Share of flows up to an FCT", "flow completion time", "fct_ns", Nanoseconds, func(d *Distribution) []float64 { return d.FCTs })
}

// flowCDFs are distributions by tag. A tag of which no run has two flows has none.
func (r *Report) flowCDFs(id, title, axis, column string, u Unit, values func(*Distribution) []float64) []*chart {
	var tags []string
	for i := range r.Runs {
		for _, run := range r.Runs[i].counted() {
			for k := range run.Slowdowns {
				if d := &run.Slowdowns[k]; len(values(d)) > 1 && !slices.Contains(tags, d.Tag) {
					tags = append(tags, d.Tag)
				}
			}
		}
	}
	charts := make([]*chart, 0, len(tags))
	for i, tag := range tags {
		name := fmt.Sprintf("%s%d", id, i)
		c := &chart{
			id: name, group: name, title: title + ": " + tag, desc: "Cumulative distribution, flows tagged " + tag + ".",
			xTitle: axis, yTitle: "flows", width: 480, height: 275, xColumn: column, yColumn: "flows_percent",
		}
		r.distributions(c, u, func(run *Run) []float64 {
			for k := range run.Slowdowns {
				if run.Slowdowns[k].Tag == tag {
					return values(&run.Slowdowns[k])
				}
			}
			return nil
		})
		charts = append(charts, c)
	}
	return charts
}

// distributions draws each run's cumulative distribution of some values, of its repeats together.
func (r *Report) distributions(c *chart, u Unit, of func(*Run) []float64) {
	lo, hi := 0.0, 0.0
	for k := range r.Runs {
		v := r.Runs[k].pooled(of)
		if len(v) == 0 {
			continue
		}
		slices.Sort(v)
		if len(c.lines) == 0 || v[0] < lo {
			lo = v[0]
		}
		hi = max(hi, v[len(v)-1])
		c.lines = append(c.lines, line{style: k, label: r.Runs[k].Controller, points: cumulate(v), step: true})
		m := u.measure(v[len(v)-1])
		c.desc += fmt.Sprintf(" %s: half up to %s, all up to %s.", r.Runs[k].Controller, m.text(v[(len(v)-1)/2]), m.text(v[len(v)-1]))
	}
	switch {
	case lo > 0 && hi/lo > 20:
		c.x = logAxis(lo, hi, u)
	case u == None:
		c.x = exactAxis(min(lo, 1), hi, u, 8)
	default:
		c.x = exactAxis(0, hi, u, 8)
	}
	c.y = roundAxis(0, 100, Percent, 4)
	c.layout()
}

// cumulate is the distribution of the sorted values, in percent, as few points as its picture needs. The last hundred
// values are all kept: the tail is what such a plot is read for.
func cumulate(sorted []float64) []point {
	n := len(sorted)
	stride := max(1, n/columns)
	points := []point{{sorted[0], 0}}
	for i := 0; i < n; i++ {
		if i%stride == 0 || i >= n-100 {
			points = append(points, point{sorted[i], 100 * float64(i+1) / float64(n)})
		}
	}
	return points
}
