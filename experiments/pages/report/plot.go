//go:build !js

package report

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// plot returns the chart as gonum draws it, for a file.
func (c *chart) plot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	c.x.dress(&p.X, c.xName())
	c.y.dress(&p.Y, c.yName())
	line := draw.LineStyle{Color: rgb(light.muted), Width: 1}
	p.X.Width, p.X.Tick.LineStyle, p.X.Tick.Length = 0, line, 4 // the axis comes after the grid, which would be over it
	p.Y.Width, p.Y.Tick.Length = 0, 0                           // the grid says where the ticks are
	marks := c.marks()
	p.Add(
		c.room(), plotFunc(c.plotSpans),
		&plotter.Grid{Horizontal: draw.LineStyle{Color: rgb(light.grid), Width: 1}},
		plotFunc(func(on draw.Canvas, _ *plot.Plot) {
			on.StrokeLine2(line, on.Min.X, on.Min.Y, on.Max.X, on.Min.Y)
			c.plotEvents(on, marks)
		}),
	)
	for _, l := range c.levels {
		p.Add(fixed{&plotter.Line{
			XYs:       plotter.XYs{{X: c.x.lo, Y: l.Value}, {X: c.x.hi, Y: l.Value}},
			LineStyle: draw.LineStyle{Color: rgb(light.level), Width: 1, Dashes: []vg.Length{3, 2}},
		}})
	}
	for i := range c.lines {
		p.Add(c.lines[i].plotters()...)
	}
	p.Add(plotFunc(c.nameLevels), plotFunc(func(on draw.Canvas, _ *plot.Plot) { c.plotEventNames(on, marks) }))
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = c.x.lo, c.x.hi, c.y.lo, c.y.hi
	return p
}

// plotFunc is what gonum has no Plotter for.
type plotFunc func(draw.Canvas, *plot.Plot)

// Plot calls f.
func (f plotFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// fixed is a Plotter that does not say what it covers: gonum would have the axes longer for it, and margins around the
// plot. The axes are the chart's.
type fixed struct{ plot.Plotter }

// room is the space that a plot leaves for labels above it and at its right.
type room struct{ top, right vg.Length }

// Plot draws nothing.
func (room) Plot(draw.Canvas, *plot.Plot) {}

// GlyphBoxes returns boxes as high and as wide as the space, at the axes' ends.
func (r room) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{
		{Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: r.top}}},
		{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: r.right}}},
	}
}

// room returns the space that the chart's labels need, where no line may run.
func (c *chart) room() room {
	r := room{top: 4}
	if len(c.spans) > 0 {
		r.top += labelRow
	}
	if c.eventRoom {
		r.top += labelRow
	}
	for _, l := range c.levels {
		r.right = max(r.right, lettering(drawingText, false, light.muted).Width(l.Label)+5)
	}
	return r
}

// Normalize returns where a value lies between the axis' ends, which are its own whatever gonum says.
func (a *axis) Normalize(_, _, v float64) float64 {
	unit := a.place(0, 1)
	return unit.at(v)
}

// dress makes one of gonum's axes this one.
func (a *axis) dress(as *plot.Axis, name string) {
	as.Label.Text, as.Label.Padding, as.Padding = name, 3, 0
	style := lettering(drawingText, false, light.muted)
	style.XAlign, style.YAlign = as.Label.TextStyle.XAlign, as.Label.TextStyle.YAlign
	as.Label.TextStyle = style
	style.XAlign, style.YAlign = as.Tick.Label.XAlign, as.Tick.Label.YAlign
	as.Tick.Label = style
	as.Scale = a
	ticks := make(plot.ConstantTicks, 0, len(a.ticks))
	for _, t := range a.ticks {
		ticks = append(ticks, plot.Tick{Value: t.value, Label: t.label})
	}
	as.Tick.Marker = ticks
}

// xName returns what the x axis shows, and its unit.
func (c *chart) xName() string {
	name := c.xTitle
	if name == "" {
		name = "time"
	}
	if c.x.in.name == "" {
		return name
	}
	return name + ", " + c.x.in.name
}

// plotters draw a line: it, the intervals of its points, and the points.
func (l *line) plotters() []plot.Plotter {
	style := lineStyle(l.style)
	if len(l.points) > thinLine {
		style.Width = 1
	}
	var all []plot.Plotter
	for _, part := range l.parts() {
		line := &plotter.Line{XYs: part, LineStyle: style}
		if l.step {
			line.StepStyle = plotter.PostStep
		}
		all = append(all, fixed{line})
	}
	bars := &plotter.YErrorBars{LineStyle: draw.LineStyle{Color: style.Color, Width: 1.1}, CapWidth: 6}
	dots := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: style.Color, Radius: 2.6, Shape: dot{}}}
	for i, p := range l.points {
		if math.IsNaN(p.y) {
			continue
		}
		if i < len(l.halves) && l.halves[i] > 0 {
			bars.XYs = append(bars.XYs, plotter.XY{X: p.x, Y: p.y})
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{l.halves[i], l.halves[i]})
		}
		if l.dots {
			dots.XYs = append(dots.XYs, plotter.XY{X: p.x, Y: p.y})
		}
	}
	return append(all, fixed{bars}, fixed{dots})
}

// parts returns the line between its gaps, without the points on a level with both neighbours.
func (l *line) parts() []plotter.XYs {
	var parts []plotter.XYs
	var part plotter.XYs
	end := func() {
		if len(part) > 1 {
			parts = append(parts, part)
		}
		part = nil
	}
	for _, p := range l.points {
		n := len(part)
		switch {
		case math.IsNaN(p.y):
			if n > 0 && l.step { // a gap ends a step where it begins, not at the last change before it
				part = append(part, plotter.XY{X: p.x, Y: part[n-1].Y})
			}
			end()
		case n > 1 && part[n-1].Y == p.y && part[n-2].Y == p.y:
			part[n-1].X = p.x
		default:
			part = append(part, plotter.XY{X: p.x, Y: p.y})
		}
	}
	end()
	return parts
}

// dot is a point's mark: a ring on paper.
type dot struct{}

// DrawGlyph draws the dot.
func (dot) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var p vg.Path
	p.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	p.Arc(at, style.Radius, 0, 2*math.Pi)
	p.Close()
	c.SetColor(rgb(light.paper))
	c.Fill(p)
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: 1.6})
	c.Stroke(p)
}

// plotSpans shades stretches of time, with their labels above the plot.
func (c *chart) plotSpans(on draw.Canvas, p *plot.Plot) {
	for _, s := range c.spans {
		from, to := on.X(max(0, p.X.Norm(float64(s.From)))), on.X(min(1, p.X.Norm(float64(s.To))))
		if to < on.Min.X || from > on.Max.X {
			continue
		}
		to = max(to, from+1)
		on.FillPolygon(rgb(light.span), []vg.Point{
			{X: from, Y: on.Min.Y},
			{X: to, Y: on.Min.Y},
			{X: to, Y: on.Max.Y},
			{X: from, Y: on.Max.Y},
		})
	}
	style := lettering(drawingText, false, light.muted)
	style.XAlign = text.XCenter
	for _, l := range c.spanLabels() {
		on.FillText(style, vg.Point{X: c.across(on, l.at), Y: on.Max.Y + 4}, l.text)
	}
}

// across returns the position on a canvas of a position in the page's chart.
func (c *chart) across(on draw.Canvas, x float64) vg.Length {
	return on.X((x - c.x.p0) / (c.x.p1 - c.x.p0))
}

// plotEvents draws a line where something happened.
func (c *chart) plotEvents(on draw.Canvas, marks []mark) {
	style := draw.LineStyle{Color: rgb(light.muted), Width: 1, Dashes: []vg.Length{5, 3}}
	for i := range marks {
		drawn := math.Inf(-1)
		for _, at := range marks[i].at {
			if at > drawn+0.01 {
				on.StrokeLine2(style, c.across(on, at), on.Min.Y, c.across(on, at), on.Max.Y)
				drawn = at
			}
		}
	}
}

// plotEventNames writes the events' numbers and names above the plot, and above the spans' labels.
func (c *chart) plotEventNames(on draw.Canvas, marks []mark) {
	style := lettering(drawingText, false, light.ink)
	y := on.Max.Y + 4
	if len(c.spans) > 0 {
		y += labelRow
	}
	for _, l := range c.eventLabels(marks, -3) {
		style.XAlign = text.XLeft
		if l.left {
			style.XAlign = text.XRight
		}
		on.FillText(style, vg.Point{X: c.across(on, l.at), Y: y}, l.text)
	}
}

// nameLevels writes what the reference lines are at their ends.
func (c *chart) nameLevels(on draw.Canvas, p *plot.Plot) {
	style := lettering(drawingText, false, light.muted)
	style.YAlign = text.YCenter
	for _, l := range c.levels {
		on.FillText(style, vg.Point{X: on.Max.X + 4, Y: on.Y(p.Y.Norm(l.Value)) + 2}, l.Label)
	}
}

// lineStyle returns the colour and dash pattern of the i-th line, as styleOf gives them to the page.
func lineStyle(i int) draw.LineStyle {
	colour, dash := styleAt(i)
	style := draw.LineStyle{Color: rgb(light.series[colour]), Width: 1.6}
	for _, l := range dash {
		style.Dashes = append(style.Dashes, vg.Length(l))
	}
	return style
}

// rgb returns a colour of the palette's.
func rgb(hex string) color.NRGBA {
	v, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		panic(err)
	}
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}
