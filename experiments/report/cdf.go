package report

import (
	"fmt"
	"slices"
)

// flowCharts are the charts in which the controllers are the lines.
func flowCharts(r *Report) []*chart { return slices.Concat(cdfs(r), bySize(r)) }

// cdfs are the distributions of slowdown, one chart a tag with a line a controller: here the lines are what is compared,
// so they share a chart.
func cdfs(r *Report) []*chart {
	var tags []string
	for _, run := range r.Runs {
		for _, d := range run.Slowdowns {
			if len(d.Slowdowns) > 0 && !slices.Contains(tags, d.Tag) {
				tags = append(tags, d.Tag)
			}
		}
	}
	charts := make([]*chart, 0, len(tags))
	for i, tag := range tags {
		c := &chart{id: fmt.Sprintf("cdf%d", i), group: fmt.Sprintf("cdf%d", i), title: "Share of flows up to a slowdown: " + tag, xTitle: "slowdown", width: 480, height: 255}
		lo, hi := 0.0, 0.0
		c.desc = "Cumulative distribution of the slowdown of the flows tagged " + tag + "."
		for k, run := range r.Runs {
			for _, d := range run.Slowdowns {
				if d.Tag != tag || len(d.Slowdowns) == 0 {
					continue
				}
				v := slices.Clone(d.Slowdowns)
				slices.Sort(v)
				if lo == 0 || v[0] < lo {
					lo = v[0]
				}
				hi = max(hi, v[len(v)-1])
				c.lines = append(c.lines, line{style: k, label: run.Controller, points: cumulate(v), step: true})
				c.desc += fmt.Sprintf(" %s: half below %s, all below %s.", run.Controller, digits(v[len(v)/2]), digits(v[len(v)-1]))
			}
		}
		if lo > 0 && hi/lo > 20 {
			c.x = logAxis(lo, hi, None)
		} else {
			c.x = exactAxis(min(lo, 1), hi, None, 8)
		}
		c.y = roundAxis(0, 100, Percent, 4)
		c.layout()
		charts = append(charts, c)
	}
	return charts
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
