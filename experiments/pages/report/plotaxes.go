//go:build !js

package report

import (
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pausenet/pausenet/internal/lists"
)

// Sizes of axes, in points.
const (
	titlePadding = 3.0 // between an axis' title and the labels of its ticks
	tickLength   = 4.0
)

// plotted holds the layout of a chart for a file. Its axes and margins equal those of gonum.org/v1/plot.
type plotted struct {
	*chart
	x, y plottedAxis
	room room
}

// plottedAxis holds an axis with its title.
type plottedAxis struct {
	*axis
	name  string
	label text.Style // of the ticks
}

// room holds the space that a plot leaves for labels above it and to its right.
type room struct{ top, right vg.Length }

// norm returns the position of a value between the axis' ends, which are 0 and 1.
func (a *plottedAxis) norm(v float64) float64 {
	unit := a.place(0, 1)
	return unit.at(v)
}

// title returns the style of the axis' title, which is centered below it.
func (a *plottedAxis) title() text.Style {
	style := lettering(drawingText, false, light.muted)
	style.XAlign = text.XCenter
	return style
}

// marks returns the ticks with labels.
func (a *plottedAxis) marks() (marks []tick) {
	return lists.Filter(a.ticks, func(t tick) bool { return t.label != "" })
}

// extent holds the extent of a text beside an axis: the position on the axis that it belongs to, and its ends relative
// to that position.
type extent struct {
	at       float64
	from, to vg.Length
}

// widest returns the largest of the labels' sizes.
func (a *plottedAxis) widest(size func(vg.Rectangle) vg.Length) (most vg.Length) {
	for _, t := range a.marks() {
		most = max(most, size(a.label.Rectangle(t.label)))
	}
	return most
}

func across(r vg.Rectangle) vg.Length { return r.Size().X }
func upward(r vg.Rectangle) vg.Length { return r.Size().Y }

// height returns the height of the x axis with its labels and title.
func (a *plottedAxis) height() (h vg.Length) {
	if a.name != "" {
		h += a.title().Height(a.name)
		h += titlePadding
	}
	if len(a.ticks) > 0 {
		h += tickLength
		h += a.widest(upward)
	}
	return h
}

// width returns the width of the y axis with its labels and title.
func (a *plottedAxis) width() (w vg.Length) {
	style := a.title()
	if a.name != "" {
		w += style.FontExtents().Descent
		w += style.Height(a.name)
		w += titlePadding
	}
	if labels := a.widest(across); labels > 0 {
		w += labels
		w += style.Width(" ")
	}
	return w
}

// data returns the part of a canvas that the plot without its axes has.
func (p *plotted) data(c draw.Canvas) draw.Canvas {
	right := []extent{{1, 0, p.room.right}}
	if p.x.name != "" {
		r := p.x.title().Rectangle(p.x.name)
		right = append(right, extent{p.x.norm(0.5 * (p.x.hi + p.x.lo)), r.Min.X, r.Max.X})
	}
	for _, t := range p.x.marks() {
		r := p.x.label.Rectangle(t.label)
		right = append(right, extent{p.x.norm(t.value), r.Min.X, r.Max.X})
	}
	top := []extent{{1, 0, p.room.top}}
	if p.y.name != "" {
		turned := p.y.title()
		turned.Rotation += math.Pi / 2
		r := turned.Rectangle(p.y.name)
		top = append(top, extent{p.y.norm(0.5 * (p.y.hi + p.y.lo)), r.Min.Y, r.Max.Y})
	}
	font := p.y.label.FontExtents()
	for _, t := range p.y.marks() {
		r := p.y.label.Rectangle(t.label).Add(vg.Point{Y: font.Height - font.Ascent})
		top = append(top, extent{p.y.norm(t.value), r.Min.Y, r.Max.Y})
	}
	out := draw.Crop(c, p.y.width(), 0, p.x.height(), 0)
	out.Min.X, out.Max.X = fit(out.Min.X, out.Max.X, right)
	out.Min.Y, out.Max.Y = fit(out.Min.Y, out.Max.Y, top)
	return out
}

// fit returns the ends of an axis between lo and hi, such that no extent reaches beyond hi.
func fit(lo, hi vg.Length, extents []extent) (from, to vg.Length) {
	farthest, last := hi, extent{at: 1}
	for _, e := range extents {
		if e.to <= e.from || e.at > 1 {
			continue
		}
		if end := vg.Length(e.at)*(hi-lo) + lo + e.from + (e.to - e.from); end > farthest {
			farthest, last = end, e
		}
	}
	hi -= last.from + (last.to - last.from)
	at := vg.Length(last.at)
	return (-at * lo) / -at, (-hi - at*lo + lo) / -at
}

// drawX draws the ticks, their labels and the title of the x axis. Data is the part of the canvas without the axes.
func (p *plotted) drawX(c, data draw.Canvas) {
	y := c.Min.Y
	if style := p.x.title(); p.x.name != "" {
		c.FillText(style, vg.Point{X: data.Center().X, Y: y + style.FontExtents().Descent}, p.x.name)
		y += style.Height(p.x.name)
		y += titlePadding
	}
	height, descent := p.x.widest(upward), p.x.label.FontExtents().Descent
	for _, t := range p.x.marks() {
		if x := data.X(p.x.norm(t.value)); data.ContainsX(x) {
			c.FillText(p.x.label, vg.Point{X: x, Y: y + height + descent}, t.label)
		}
	}
	y += height
	line := draw.LineStyle{Color: rgb(light.muted), Width: 1}
	for _, t := range p.x.ticks {
		from := y
		if t.label == "" {
			from += tickLength / 2
		}
		if x := data.X(p.x.norm(t.value)); data.ContainsX(x) {
			c.StrokeLine2(line, x, from, x, y+tickLength)
		}
	}
}

// drawY draws the labels and the title of the y axis. The grid shows where its ticks are.
func (p *plotted) drawY(c, data draw.Canvas) {
	x := c.Min.X
	if style := p.y.title(); p.y.name != "" {
		x += style.Height(p.y.name)
		descent := style.FontExtents().Descent
		style.Rotation += math.Pi / 2
		c.FillText(style, vg.Point{X: x - descent, Y: data.Center().Y}, p.y.name)
		x += descent
		x += titlePadding
	}
	x += p.y.widest(across)
	descent := p.y.label.FontExtents().Descent
	for _, t := range p.y.marks() {
		if y := data.Y(p.y.norm(t.value)); data.ContainsY(y) {
			c.FillText(p.y.label, vg.Point{X: x, Y: y + descent}, t.label)
		}
	}
}
