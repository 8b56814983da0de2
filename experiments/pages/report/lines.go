package report

import (
	"fmt"
	"math"
)

// Lines holds line charts that are drawn side by side. Their x axis is a number, not virtual time. All charts draw a
// label in the same style.
type Lines struct {
	Title  string
	Charts []LineChart
}

// LineChart holds one chart of Lines, with its own scales.
type LineChart struct {
	Name   string
	XTitle string
	Unit   Unit // of y
	Log    bool // y is logarithmic
	Lines  []NumberLine
	Levels []Level
}

// NumberLine holds one line. A NaN in Y is a gap.
type NumberLine struct {
	Label string
	X, Y  []float64 // of equal length, X ascending
	Dots  bool      // mark the points, because the line between them is not measured
}

// Drawing returns the charts as a drawing, which can be written to a file.
func (l *Lines) Drawing() (*Drawing, error) {
	if len(l.Charts) == 0 {
		return nil, fmt.Errorf("drawing %s: no charts", l.Title)
	}
	p := &plots{title: l.Title}
	styles := map[string]int{}
	for i := range l.Charts {
		c, err := l.Charts[i].chart(fmt.Sprintf("l%d", i), func(label string) int {
			style, known := styles[label]
			if !known {
				style = len(styles)
				styles[label] = style
				p.legend = append(p.legend, legendItem{label, style})
			}
			return style
		})
		if err != nil {
			return nil, fmt.Errorf("drawing %s: chart %s: %w", l.Title, l.Charts[i].Name, err)
		}
		p.charts = append(p.charts, c)
		p.names = append(p.names, l.Charts[i].Name)
	}
	return p.drawing(), nil
}

// chart lays one chart out.
func (l *LineChart) chart(id string, style func(label string) int) (*chart, error) {
	c := &chart{id: id, group: id, title: l.Name, xTitle: l.XTitle, width: 480, height: 275}
	x0, x1 := math.Inf(1), math.Inf(-1)
	lo, hi, smallest := math.Inf(1), math.Inf(-1), math.Inf(1)
	include := func(y float64) {
		lo, hi = min(lo, y), max(hi, y)
		if y > 0 {
			smallest = min(smallest, y)
		}
	}
	for i := range l.Lines {
		n := &l.Lines[i]
		if len(n.X) != len(n.Y) {
			return nil, fmt.Errorf("line %s: %d points of x but %d of y", n.Label, len(n.X), len(n.Y))
		}
		points := make([]point, 0, len(n.X))
		for k, x := range n.X {
			y := n.Y[k]
			if math.IsNaN(x) || math.IsInf(x, 0) || math.IsInf(y, 0) || k > 0 && x < n.X[k-1] {
				return nil, fmt.Errorf("line %s: point %d is (%g, %g), but x must be finite and ascend, and y not infinite",
					n.Label, k, x, y)
			}
			points = append(points, point{x, y})
			x0, x1 = min(x0, x), max(x1, x)
			if !math.IsNaN(y) {
				include(y)
			}
		}
		c.lines = append(c.lines, line{style: style(n.Label), label: n.Label, points: points, dots: n.Dots})
	}
	for _, level := range l.Levels {
		include(level.Value)
		c.levels = append(c.levels, drawnLevel{Level: level})
	}
	if x0 > x1 || lo > hi {
		return nil, fmt.Errorf("nothing to draw")
	}
	c.x = exactAxis(x0, x1, None, 8)
	if c.y = roundAxis(lo, hi, l.Unit, 5); l.Log {
		c.y = logAxis(smallest, hi, l.Unit)
	}
	c.layout()
	c.desc = fmt.Sprintf("Line chart over %s, %s.", l.XTitle, c.x.in.between(c.x.lo, c.x.hi))
	for i := range c.lines {
		if from, to, ok := c.lines[i].extent(math.Inf(-1), math.Inf(1)); ok {
			c.desc += fmt.Sprintf(" %s: %s.", c.lines[i].label, c.y.in.named(c.y.in.between(from, to)))
		}
	}
	return c, nil
}
