//go:build !js

package report

import (
	"cmp"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// plot lays the chart out for a file.
func (c *chart) plot() *plotted {
	label := func(x text.XAlignment, y text.YAlignment) text.Style {
		style := lettering(drawingText, false, light.muted)
		style.XAlign, style.YAlign = x, y
		return style
	}
	return &plotted{
		chart: c,
		x:     plottedAxis{&c.x, c.xName(), label(text.XCenter, text.YTop)},
		y:     plottedAxis{&c.y, c.yName(), label(text.XRight, text.YCenter)},
		room:  c.room(),
	}
}

// draw draws the chart on a canvas.
func (p *plotted) draw(c draw.Canvas) {
	data := p.data(c)
	p.drawX(c, data)
	p.drawY(c, data)
	marks := p.chart.marks()
	p.plotSpans(data)
	for _, t := range p.y.marks() {
		if y := p.upward(data, t.value); y <= data.Max.Y && y >= data.Min.Y {
			data.StrokeLine2(draw.LineStyle{Color: rgb(light.grid), Width: 1}, data.Min.X, y, data.Max.X, y)
		}
	}
	data.StrokeLine2(draw.LineStyle{Color: rgb(light.muted), Width: 1}, data.Min.X, data.Min.Y, data.Max.X, data.Min.Y)
	p.plotEvents(data, marks)
	for _, l := range p.levels {
		style := draw.LineStyle{Color: rgb(light.level), Width: 1, Dashes: []vg.Length{3, 2}}
		p.stroke(data, style, []point{{p.x.lo, l.Value}, {p.x.hi, l.Value}}, false)
	}
	for i := range p.lines {
		p.drawLine(data, &p.lines[i])
	}
	p.nameLevels(data)
	p.plotEventNames(data, marks)
}

// rightward and upward return the positions of values on the data's canvas.
func (p *plotted) rightward(data draw.Canvas, v float64) vg.Length { return data.X(p.x.norm(v)) }
func (p *plotted) upward(data draw.Canvas, v float64) vg.Length    { return data.Y(p.y.norm(v)) }

// stroke draws a line through points, as far as it is on the canvas. With steps it holds each value until the next one.
func (p *plotted) stroke(data draw.Canvas, style draw.LineStyle, points []point, steps bool) {
	at := make([]vg.Point, len(points))
	for i, q := range points {
		at[i] = vg.Point{X: p.rightward(data, q.x), Y: p.upward(data, q.y)}
	}
	data.SetLineStyle(style)
	for _, part := range data.ClipLinesXY(at) {
		var path vg.Path
		for i, q := range part {
			if i == 0 {
				path.Move(q)
				continue
			}
			if steps {
				path.Line(vg.Point{X: q.X, Y: part[i-1].Y})
			}
			path.Line(q)
		}
		data.Stroke(path)
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

// xName returns the title of the x axis: its quantity and its unit.
func (c *chart) xName() string {
	name := cmp.Or(c.xTitle, "time")
	if c.x.in.name == "" {
		return name
	}
	return name + ", " + c.x.in.name
}

// drawLine draws a line, the confidence intervals of its points, and the points.
func (p *plotted) drawLine(data draw.Canvas, l *line) {
	style := lineStyle(l.style)
	if len(l.points) > thinLine {
		style.Width = 1
	}
	for _, part := range l.parts() {
		p.stroke(data, style, part, l.step)
	}
	bar := draw.LineStyle{Color: style.Color, Width: 1.1}
	for i, q := range l.points {
		if !math.IsNaN(q.y) && i < len(l.halves) && l.halves[i] > 0 {
			p.drawInterval(data, bar, q, l.halves[i])
		}
	}
	for _, q := range l.points {
		if l.dots && !math.IsNaN(q.y) {
			drawDot(data, style.Color, vg.Point{X: p.rightward(data, q.x), Y: p.upward(data, q.y)})
		}
	}
}

// drawInterval draws a confidence interval, with caps.
func (p *plotted) drawInterval(data draw.Canvas, style draw.LineStyle, q point, half float64) {
	x, low, high := p.rightward(data, q.x), p.upward(data, q.y-half), p.upward(data, q.y+half)
	data.StrokeLines(style, data.ClipLinesY([]vg.Point{{X: x, Y: low}, {X: x, Y: high}})...)
	for _, y := range []vg.Length{low, high} {
		if data.Contains(vg.Point{X: x, Y: y}) {
			data.StrokeLine2(style, x-3, y, x+3, y)
		}
	}
}

// parts returns the line between its gaps, without the points on a level with both neighbours.
func (l *line) parts() [][]point {
	var parts [][]point
	var part []point
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
				part = append(part, point{p.x, part[n-1].y})
			}
			end()
		case n > 1 && part[n-1].y == p.y && part[n-2].y == p.y:
			part[n-1].x = p.x
		default:
			part = append(part, p)
		}
	}
	end()
	return parts
}

// drawDot draws a point's mark: a ring on paper.
func drawDot(data draw.Canvas, c color.Color, at vg.Point) {
	if !data.Contains(at) {
		return
	}
	const radius = 2.6
	var p vg.Path
	p.Move(vg.Point{X: at.X + radius, Y: at.Y})
	p.Arc(at, radius, 0, 2*math.Pi)
	p.Close()
	data.SetColor(rgb(light.paper))
	data.Fill(p)
	data.SetLineStyle(draw.LineStyle{Color: c, Width: 1.6})
	data.Stroke(p)
}

// plotSpans shades stretches of time, with their labels above the plot.
func (p *plotted) plotSpans(on draw.Canvas) {
	for _, s := range p.spans {
		from, to := on.X(max(0, p.x.norm(float64(s.From)))), on.X(min(1, p.x.norm(float64(s.To))))
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
	for _, l := range p.spanLabels() {
		on.FillText(style, vg.Point{X: p.across(on, l.at), Y: on.Max.Y + 4}, l.text)
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

// nameLevels writes the labels of the reference lines at their ends.
func (p *plotted) nameLevels(on draw.Canvas) {
	style := lettering(drawingText, false, light.muted)
	style.YAlign = text.YCenter
	for _, l := range p.levels {
		on.FillText(style, vg.Point{X: on.Max.X + 4, Y: p.upward(on, l.Value) + 2}, l.Label)
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
