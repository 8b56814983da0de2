package animation

import (
	"cmp"
	"math"
	"sort"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/units"
)

// chart draws a panel of a run's report over the time of the picture.
type chart struct {
	panel  *scenario.PanelView
	points plotted
	spans  []scenario.SpanView

	left, top, right, bottom float64 // ends of its axes
	legendLeft               float64
	from, to, most           float64
	unit                     []units.Unit
}

// mostSeries limits the series of a chart: no more fit into its legend.
const mostSeries = 3

// shown returns how many of the panel's series are drawn.
func (c *chart) shown() int { return min(mostSeries, len(c.points.x)) }

// place computes the position of the chart in a column, and its scales, which all runs share.
func (c *chart) place(s *scene, left, top float64) {
	c.left, c.right = left+margin+axisWide, left+s.column-margin-6
	c.top, c.bottom = top+s.chartHead+4, top+s.chartHead+chartHigh
	c.legendLeft = left + margin
	if s.chartHead == oneRow {
		c.legendLeft += c.titleWide(s.pen)
	}
	c.from, c.to, c.unit = s.from, s.to, unitsOf(c.panel.Series[0].Quantity)
	for _, other := range s.charts {
		for k := range other.shown() {
			for i, x := range other.points.x[k] {
				if float64(x) >= s.from && float64(x) <= s.to {
					c.most = max(c.most, float64(other.points.y[k][i]))
				}
			}
		}
	}
	c.most = cmp.Or(c.most, 1)
	c.most *= 1.06
}

func (c *chart) x(t float64) float64 { return c.left + (t-c.from)/(c.to-c.from)*(c.right-c.left) }
func (c *chart) y(v float64) float64 { return c.bottom - v/c.most*(c.bottom-c.top) }

// drawStill draws the parts that do not change with time: spans, axes and the legend.
func (c *chart) drawStill(s *scene) {
	p := s.pen
	p.text(c.panel.Title, point{c.left - axisWide, c.top - 4 - s.chartHead + 12}, 12.5, true, ink, leftOf)
	for k := range c.shown() {
		label := c.label(p, k)
		left := c.entry(p, k) - p.width(label, 12.5, false)
		p.text(label, point{left, c.top - 16}, 12.5, false, ink, leftOf)
		p.line(series[k%len(series)], 2, nil, point{left - sampleWide, c.top - 15.5}, point{left - 5, c.top - 15.5})
	}
	for _, span := range c.spans {
		if span.From >= c.to || span.To <= c.from {
			continue
		}
		left, right := c.x(max(span.From, c.from)), c.x(min(span.To, c.to))
		p.box(card, left, c.top, right, c.bottom)
		p.text(p.fitting(span.Label, 11, false, right-left-8), point{left + 5, c.top + 8}, 11, false, muted, leftOf)
	}
	for step, v := roundStep(c.most, 3), 0.0; v <= c.most; v += step {
		y := c.y(v)
		p.line(rule, 1, nil, point{c.left, y}, point{c.right, y})
		p.text(number(v, c.unit), point{c.left - 6, y}, 11, false, muted, rightOf)
	}
	for step, t := roundStep(c.to-c.from, 6), 0.0; t <= c.to; t += step {
		if t < c.from {
			continue
		}
		x := c.x(t)
		p.line(rule, 1, nil, point{x, c.bottom}, point{x, c.bottom + 4})
		if label := clock(t, step); x+p.width(label, 11, false)/2 <= c.right+margin {
			p.text(label, point{x, c.bottom + 11}, 11, false, muted, middle)
		}
	}
}

// Widths of a series' entry in the legend. The value has room for the widest one, so that nothing moves.
const (
	entryWide  = 82.0 // width of the value, and the gap after it
	sampleWide = 20.0
)

// entry returns where the value of a series is in the legend: the entries end at the chart's right.
func (c *chart) entry(p *pen, k int) float64 {
	x := c.right + 6 - entryWide
	for i := c.shown() - 1; i > k; i-- {
		x -= p.width(c.label(p, i), 12.5, false) + sampleWide + entryWide
	}
	return x
}

// label returns a series' label, cut to the room for it.
func (c *chart) label(p *pen, k int) string {
	room := (c.right + 6 - c.legendLeft) / float64(c.shown())
	return p.fitting(c.panel.Series[k].Label, 12.5, false, room-sampleWide-entryWide)
}

func (c *chart) titleWide(p *pen) float64 { return p.width(c.panel.Title, 12.5, true) + 16 }

// oneRowFits reports whether title and legend fit beside each other in a column.
func (c *chart) oneRowFits(p *pen, column float64) bool {
	longest := 0.0
	for k := range c.shown() {
		longest = max(longest, p.width(c.panel.Series[k].Label, 12.5, false))
	}
	return c.titleWide(p)+float64(c.shown())*(longest+sampleWide+entryWide) <= column-2*margin
}

// draw draws the lines as far as t, or whole, and the values at t.
func (c *chart) draw(p *pen, t float64, whole bool) {
	for k := c.shown() - 1; k >= 0; k-- {
		xs, ys := c.points.x[k], c.points.y[k]
		first := sort.Search(len(xs), func(i int) bool { return float64(xs[i]) >= c.from })
		last := sort.Search(len(xs), func(i int) bool { return float64(xs[i]) > t })
		end := last
		if whole {
			end = sort.Search(len(xs), func(i int) bool { return float64(xs[i]) > c.to })
		}
		colour := series[k%len(series)]
		for _, part := range c.thinned(xs[min(first, end):end], ys[min(first, end):end]) {
			p.line(colour, 1.5, nil, part...)
		}
		v := 0.0
		if last > 0 {
			v = float64(ys[last-1])
			if !whole && float64(xs[last-1]) >= c.from {
				p.disc(colour, point{c.x(float64(xs[last-1])), c.y(v)}, 2.6)
			}
		}
		p.text(number(v, c.unit), point{c.entry(p, k) + entryWide - 12, c.top - 16}, 12.5, true, colour, rightOf)
	}
	x := c.x(t)
	p.line(ink, 1.2, nil, point{x, c.top}, point{x, c.bottom})
}

// partLength limits the points of a line that are stroked at once: the rasteriser is slow for a line that goes up and
// down often.
const partLength = 60

// thinned returns the line of a series' points. Of the points in one pixel it keeps the first, least, largest and last.
func (c *chart) thinned(xs, ys []int64) (parts [][]point) {
	var all []point
	for i := 0; i < len(xs); {
		column := math.Floor(c.x(float64(xs[i])))
		low, high, last := i, i, i
		for ; last+1 < len(xs) && math.Floor(c.x(float64(xs[last+1]))) == column; last++ {
			if ys[last+1] < ys[low] {
				low = last + 1
			}
			if ys[last+1] > ys[high] {
				high = last + 1
			}
		}
		before := -1
		for _, k := range []int{i, min(low, high), max(low, high), last} {
			if k != before {
				all = append(all, point{c.x(float64(xs[k])), c.y(float64(ys[k]))})
			}
			before = k
		}
		i = last + 1
	}
	for from := 0; from+1 < len(all); from += partLength {
		parts = append(parts, all[from:min(len(all), from+partLength+1)])
	}
	return parts
}
