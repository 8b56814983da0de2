package report

import (
	"fmt"
	"slices"
)

// Sample holds as much of a sample of values as a picture of its distribution needs: a run may have millions of flows.
type Sample struct {
	most           int // number of values of a run; of repeats, the maximum
	median, lo, hi float64
	points         []point // result of cumulate
}

// NewSample returns the sample of the values of a run, or of several repeats together. It reorders the values.
func NewSample(runs ...[]float64) Sample {
	var s Sample
	for _, values := range runs {
		s.most = max(s.most, len(values))
	}
	if s.most == 0 {
		return s
	}
	all := runs[0]
	if len(runs) > 1 {
		all = slices.Concat(runs...)
	}
	slices.Sort(all)
	s.lo, s.median, s.hi, s.points = all[0], all[(len(all)-1)/2], all[len(all)-1], cumulate(all)
	return s
}

// slowdownCDFs returns the distributions of slowdown: one chart for each tag, with a line for each controller, so that
// the lines can be compared.
func slowdownCDFs(r *Report) []*chart {
	return r.flowCDFs("cdf", "Share of flows up to a slowdown", "slowdown (FCT over ideal FCT)", "slowdown", None,
		func(d *Distribution) *Sample { return &d.Slowdowns })
}

// fctCDFs returns the distributions of the completion times.
func fctCDFs(r *Report) []*chart {
	return r.flowCDFs("fct", "Share of flows up to an FCT", "flow completion time", "fct_ns", Nanoseconds,
		func(d *Distribution) *Sample { return &d.FCTs })
}

// flowCDFs returns distributions by tag. A tag without two flows in some run has none.
func (r *Report) flowCDFs(id, title, axis, column string, u Unit, sample func(*Distribution) *Sample) []*chart {
	var tags []string
	for i := range r.Runs {
		for k := range r.Runs[i].Slowdowns {
			if d := &r.Runs[i].Slowdowns[k]; sample(d).most > 1 && !slices.Contains(tags, d.Tag) {
				tags = append(tags, d.Tag)
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
		r.distributions(c, u, func(run *Run) *Sample {
			for k := range run.Slowdowns {
				if run.Slowdowns[k].Tag == tag {
					return sample(&run.Slowdowns[k])
				}
			}
			return &Sample{}
		})
		charts = append(charts, c)
	}
	return charts
}

// distributions draws each run's cumulative distribution of some values.
func (r *Report) distributions(c *chart, u Unit, of func(*Run) *Sample) {
	lo, hi := 0.0, 0.0
	for k := range r.Runs {
		v := of(&r.Runs[k])
		if v.most == 0 {
			continue
		}
		if len(c.lines) == 0 || v.lo < lo {
			lo = v.lo
		}
		hi = max(hi, v.hi)
		c.lines = append(c.lines, line{style: k, label: r.Runs[k].Controller, points: v.points, step: true})
		m := u.measure(v.hi)
		c.desc += fmt.Sprintf(" %s: half up to %s, all up to %s.", r.Runs[k].Controller, m.text(v.median), m.text(v.hi))
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

// cumulate returns the distribution of the sorted values, in percent, with as few points as its picture needs. It keeps
// each of the last hundred values, because readers of such a plot look at the tail.
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
