package report

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/pausenet/pausenet/internal/lists"
)

// pageChart holds a chart for the page's script: page/chart.js, which receives it by page/data.js.
type pageChart struct {
	Title  string      `json:"title"`
	Group  string      `json:"group"` // charts of a group share the cursor
	X      pageAxis    `json:"x"`
	Y      pageAxis    `json:"y"`
	XTitle string      `json:"xTitle,omitempty"`
	YName  string      `json:"yName,omitempty"`
	Names  []string    `json:"names,omitempty"` // names of the values 0, 1, 2, ... of x
	Room   bool        `json:"room,omitempty"`  // space above the plot
	Lines  []pageLine  `json:"lines"`
	Levels []pageLevel `json:"levels,omitempty"`
	Spans  []pageSpan  `json:"spans,omitempty"`
	Events []pageEvent `json:"events,omitempty"`
}

// pageAxis holds an axis in its base unit. A number on it is divided by Div and followed by Suffix; Unit appears once.
type pageAxis struct {
	Lo     float64  `json:"lo"`
	Hi     float64  `json:"hi"`
	Log    bool     `json:"log,omitempty"`
	Div    float64  `json:"div"`
	Suffix string   `json:"suffix"`
	Unit   string   `json:"unit"`
	Ticks  [][2]any `json:"ticks"` // value and label
}

type pageLine struct {
	Label  string    `json:"label"`
	Colour int       `json:"colour"`
	Dash   []float64 `json:"dash,omitempty"`
	Step   bool      `json:"step,omitempty"`
	Thin   bool      `json:"thin,omitempty"` // drawn thinner, as it covers its neighbourhood anyway
	Dots   bool      `json:"dots,omitempty"`
	X      numbers   `json:"x"`
	Y      numbers   `json:"y"`
	Half   numbers   `json:"half,omitempty"` // of the points' confidence intervals
}

type pageLevel struct {
	Value float64 `json:"value"`
	Label string  `json:"label"`
	Left  bool    `json:"left,omitempty"` // position of the label
}

type pageSpan struct {
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Label string `json:"label"`
}

type pageEvent struct {
	Time int64  `json:"time"`
	Name string `json:"name"`
}

// allWithUnits returns names as the page spells them.
func allWithUnits(names []string) []string {
	return lists.Map(names, withUnits)
}

// forPage returns the chart for the page's script.
func (c *chart) forPage() pageChart {
	p := pageChart{
		Title: c.title, Group: c.group, X: c.x.forPage(), Y: c.y.forPage(), XTitle: c.xTitle, YName: c.yName(),
		Names: allWithUnits(c.names),
		Room:  c.eventRoom,
		Lines: []pageLine{},
	}
	for i := range c.lines {
		l := &c.lines[i]
		out := pageLine{Label: l.label, Step: l.step, Dots: l.dots, Thin: len(l.points) > thinLine}
		out.Colour, out.Dash = styleAt(l.style)
		for k, pt := range l.points {
			if l.bend(k) {
				out.X, out.Y = append(out.X, pt.x), append(out.Y, pt.y)
			}
		}
		if l.halves != nil {
			out.Half = l.halves
		}
		p.Lines = append(p.Lines, out)
	}
	for _, l := range c.levels {
		p.Levels = append(p.Levels, pageLevel{l.Value, l.Label, l.left})
	}
	for _, s := range c.spans {
		p.Spans = append(p.Spans, pageSpan(s))
	}
	for _, e := range c.events {
		p.Events = append(p.Events, pageEvent{e.Time, e.Name})
	}
	return p
}

// bend reports whether the line needs its k-th point for more than to continue as before: the picture, and each value
// that is read off it, needs no other.
func (l *line) bend(k int) bool {
	if l.dots || k == 0 || k == len(l.points)-1 {
		return true
	}
	last, y, next := l.points[k-1].y, l.points[k].y, l.points[k+1].y
	if l.step {
		return last != y // never of a gap, which is NaN
	}
	return last != y || y != next
}

func (a *axis) forPage() pageAxis {
	p := pageAxis{Lo: a.lo, Hi: a.hi, Log: a.log, Div: a.in.div, Suffix: a.in.suffix, Unit: a.in.name, Ticks: [][2]any{}}
	for _, t := range a.ticks {
		p.Ticks = append(p.Ticks, [2]any{t.value, t.label})
	}
	return p
}

// numbers represents a column of numbers; NaN means none.
type numbers []float64

// columnDigits sets the number of digits of a fraction: a plot's pixel is a thousandth of it.
const columnDigits = 7

// MarshalJSON writes whole numbers as the differences of neighbours, several that are equal as one and how many, and
// others as they are.
func (c numbers) MarshalJSON() ([]byte, error) {
	const exact = 1 << 53 // limit of the integers that JavaScript's numbers can add up exactly
	for _, v := range c {
		if v != math.Trunc(v) && !math.IsNaN(v) || math.Abs(v) >= exact {
			return c.fractions(), nil
		}
	}
	b := []byte(`{"d":[`)
	last := 0.0
	for i := 0; i < len(c); {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(c[i]) {
			b = append(b, "null"...)
			i++
			continue
		}
		step, n := c[i]-last, 0
		for ; i < len(c) && c[i]-last == step; i++ {
			last = c[i]
			n++
		}
		if n > 1 {
			b = append(b, '[')
		}
		b = strconv.AppendInt(b, int64(step), 10)
		if n > 1 {
			b = append(b, ',')
			b = strconv.AppendInt(b, int64(n), 10)
			b = append(b, ']')
		}
	}
	return append(b, "]}"...), nil
}

func (c numbers) fractions() []byte {
	b := []byte{'['}
	for i, v := range c {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(v) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, v, 'g', columnDigits, 64)
		}
	}
	return append(b, ']')
}

var _ json.Marshaler = numbers(nil)
