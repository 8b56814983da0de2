//go:build !js

package report

import (
	"math"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pausenet/pausenet/internal/letters"
)

// Sizes of a drawing, in points.
const (
	drawingTitle  = 13.5
	drawingText   = 11
	drawingMargin = 8.0
	drawingGap    = 18.0 // between charts beside each other
	titleRow      = 24.0
	legendRow     = 19.0
	captionRow    = 19.0
	noteRow       = 15.0
	labelRow      = 15.0 // labels of spans and events above a plot
	swatchWidth   = 24.0 // sample of a line in a legend
)

// lettering returns the style of text in a colour of the palette.
func lettering(size vg.Length, bold bool, colour string) text.Style {
	return letters.Style(size, bold, rgb(colour))
}

// drawnRow holds the layout of a row of charts.
type drawnRow struct {
	plots    []*plotted
	captions []string
	notes    [][]string
	legends  [][][]legendItem
	head     vg.Length // height of the texts above the charts
	chart    vg.Length // height of a chart
}

// laidOut holds a drawing with its layout.
type laidOut struct {
	*Drawing
	legends       [][]legendItem
	rows          []drawnRow
	column        vg.Length // width of a chart
	left, right   vg.Length // margins of the plots within their charts, so that those below each other are aligned
	width, height vg.Length
}

// lay computes the layout of the drawing.
func (d *Drawing) lay() *laidOut {
	l := &laidOut{Drawing: d, column: vg.Length(d.cells[0].chart.width)}
	across := min(d.across, len(d.cells))
	l.width = 2*drawingMargin + vg.Length(across)*l.column + vg.Length(across-1)*drawingGap
	l.legends = legendRows(d.legend, l.width-2*drawingMargin)
	l.height = 2*drawingMargin + titleRow + legendRow*vg.Length(len(l.legends))
	note := lettering(drawingText, false, light.muted)
	for from := 0; from < len(d.cells); from += across {
		row := drawnRow{}
		most, deepest := 0, 0
		for _, cell := range d.cells[from:min(from+across, len(d.cells))] {
			row.plots, row.captions = append(row.plots, cell.chart.plot()), append(row.captions, cell.caption)
			notes := wrap(cell.note, func(s string) bool { return note.Width(s) <= l.column })
			legends := legendRows(cell.legend, l.column)
			most, deepest = max(most, len(notes)), max(deepest, len(legends))
			row.notes, row.legends = append(row.notes, notes), append(row.legends, legends)
			row.chart = max(row.chart, vg.Length(cell.chart.height))
		}
		row.head = captionRow + noteRow*vg.Length(most) + legendRow*vg.Length(deepest)
		l.rows = append(l.rows, row)
		l.height += row.head + row.chart
	}
	for _, row := range l.rows {
		whole := draw.Canvas{Rectangle: vg.Rectangle{Max: vg.Point{X: l.column, Y: row.chart}}}
		for _, p := range row.plots {
			data := p.data(whole)
			l.left, l.right = max(l.left, data.Min.X), max(l.right, l.column-data.Max.X)
		}
	}
	return l
}

// wrap breaks text between words into lines that fit; a longer word has a line of its own.
func wrap(text string, fits func(string) bool) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && fits(lines[n-1]+" "+word) {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// legendRows divides a legend's items into rows of at most this width.
func legendRows(items []legendItem, width vg.Length) [][]legendItem {
	var rows [][]legendItem
	x := vg.Length(math.Inf(1))
	for _, item := range items {
		need := item.width()
		if x+need > width {
			rows, x = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], item)
		x += need + drawingGap
	}
	return rows
}

func (item legendItem) width() vg.Length {
	return swatchWidth + lettering(drawingText, false, light.ink).Rectangle(" "+item.Label).Max.X
}

// draw draws the item at the upper left corner of a canvas.
func (item legendItem) draw(c draw.Canvas) {
	style := lettering(drawingText, false, light.ink)
	descent, height := style.FontExtents().Descent, style.Rectangle(item.Label).Max.Y
	y := c.Max.Y - height - descent
	line := lineStyle(item.style)
	line.Width = 1.8
	middle := (y + (y + height)) / 2
	c.StrokeLine2(line, c.Min.X, middle, c.Min.X+swatchWidth, middle)
	c.FillText(style, vg.Point{
		X: c.Min.X + swatchWidth + style.Rectangle(" ").Max.X,
		Y: y + (height-descent-height)/2 + descent,
	}, item.Label)
}

// draw draws the drawing on a canvas of its size.
func (l *laidOut) draw(c draw.Canvas) {
	c.FillPolygon(rgb(light.paper), []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	c.Rectangle = vg.Rectangle{
		Min: vg.Point{X: c.Min.X + drawingMargin, Y: c.Min.Y + drawingMargin},
		Max: vg.Point{X: c.Max.X - drawingMargin, Y: c.Max.Y - drawingMargin},
	}
	c.FillText(lettering(drawingTitle, true, light.ink), vg.Point{X: c.Min.X, Y: c.Max.Y - drawingTitle}, l.title)
	c.Max.Y -= titleRow
	drawLegend(c, l.legends)
	c.Max.Y -= legendRow * vg.Length(len(l.legends))
	for i := range l.rows {
		row := &l.rows[i]
		for k, p := range row.plots {
			cell := c
			cell.Min.X = c.Min.X + vg.Length(k)*(l.column+drawingGap)
			cell.Max.X = cell.Min.X + l.column
			cell.Min.Y = c.Max.Y - row.head - row.chart
			l.drawCell(cell, row, k, p)
		}
		c.Max.Y -= row.head + row.chart
	}
}

// drawCell draws a chart with its caption, its note and, right above the plot, its legend.
func (l *laidOut) drawCell(c draw.Canvas, row *drawnRow, k int, p *plotted) {
	at := vg.Point{X: c.Min.X, Y: c.Max.Y - drawingText - 2}
	c.FillText(lettering(drawingText, true, light.ink), at, row.captions[k])
	for _, line := range row.notes[k] {
		at.Y -= noteRow
		c.FillText(lettering(drawingText, false, light.muted), at, line)
	}
	c.Max.Y -= row.head
	over := c
	over.Max.Y += legendRow * vg.Length(len(row.legends[k]))
	drawLegend(over, row.legends[k])
	p.draw(l.inLine(c, p))
}

// inLine returns the part of a canvas in which to draw a chart, so that plots below each other are aligned.
func (l *laidOut) inLine(c draw.Canvas, p *plotted) draw.Canvas {
	data := p.data(c)
	return draw.Crop(c, l.left-(data.Min.X-c.Min.X), (c.Max.X-data.Max.X)-l.right, 0, 0)
}

// drawLegend draws rows of a legend from the top of a canvas.
func drawLegend(c draw.Canvas, rows [][]legendItem) {
	for _, row := range rows {
		x := c.Min.X
		for _, item := range row {
			item.draw(draw.Crop(c, x-c.Min.X, 0, 0, 0))
			x += item.width() + drawingGap
		}
		c.Max.Y -= legendRow
	}
}
