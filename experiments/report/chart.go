package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// chart is one line chart, drawn into a box of width by height units.
//
// Text sizes are left to whoever shows the chart: the page makes text larger where charts are narrow. The margins have
// room for the largest.
type chart struct {
	id          string // unique in the document
	title, desc string
	group       string // charts of a group share the crosshair
	xTitle      string
	yTitle      string // beside the unit, if it has one
	xColumn     string // what x and y are in a CSV file
	yColumn     string
	lineColumn  string   // what the lines are there; empty: controllers
	names       []string // of the values 0, 1, 2, ... of x, where x is not a number but a category
	width       float64
	height      float64
	x, y        axis
	lines       []line
	levels      []drawnLevel
	spans       []Span
	events      []Event
	eventRoom   bool // above the plot, also where other controllers' charts have events
}

type line struct {
	style  int
	label  string
	points []point
	step   bool
	dots   bool      // mark the points, where each is a fact and what lies between is not
	halves []float64 // of the points' confidence intervals, to be drawn as bars; NaN, or nil: none
}

// drawnLevel is a reference line with its label at the left or right end, wherever there is less to cover.
type drawnLevel struct {
	Level
	left bool
}

const (
	marginLeft, marginRight = 48.0, 14.0
	marginTop, marginBottom = 29.0, 28.0
	bareTop                 = 12.0 // the top margin of a plot with nothing above it
	titleHeight             = 20.0 // an axis title, if there is one
	letter                  = 6.2  // a generous mean width of a letter at 11 units
)

// layout sets the axes into the box; it comes before drawing.
func (c *chart) layout() {
	bottom := c.height - marginBottom
	if c.xTitle != "" {
		bottom -= titleHeight
	}
	top := marginTop
	if c.yName() == "" && len(c.spans) == 0 && !c.eventRoom {
		top = bareTop
	}
	c.x = c.x.place(marginLeft, c.width-marginRight)
	c.y = c.y.place(bottom, top)
}

// yName is what stands over the y axis: what it shows, and the unit.
func (c *chart) yName() string {
	if c.yTitle != "" && c.y.in.name != "" {
		return c.yTitle + ", " + c.y.in.name
	}
	return c.yTitle + c.y.in.name
}

// inline is the chart as an svg element for the page.
func (c *chart) inline() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d" font-size="11"`, num(c.width), num(c.height), c.id, c.id)
	// What the script needs to turn the drawing back into values; the values themselves it reads from the paths.
	fmt.Fprintf(&b, ` data-group="%s" data-x="%s" data-y="%s"`, c.group, c.x.data(), c.y.data())
	if c.names != nil {
		fmt.Fprintf(&b, ` data-names="%s"`, escape(strings.Join(c.names, "\n")))
	}
	b.WriteByte('>')
	fmt.Fprintf(&b, `<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`, c.id, escape(c.title), c.id, escape(c.desc))
	c.draw(&b)
	b.WriteString(`</svg>`)
	return b.String()
}

// data is the axis for the script: lo hi p0 p1 log divisor suffix name.
func (a *axis) data() string {
	l := 0
	if a.log {
		l = 1
	}
	return escape(fmt.Sprintf("%g %g %s %s %d %g|%s|%s", a.lo, a.hi, num(a.p0), num(a.p1), l, a.in.div, a.in.suffix, a.in.name))
}

// draw writes everything inside the box, back to front.
func (c *chart) draw(b *bytes.Buffer) {
	left, right, top, bottom := c.x.p0, c.x.p1, c.y.p1, c.y.p0
	fmt.Fprintf(b, `<clipPath id="%s-c"><rect x="%s" y="%s" width="%s" height="%s"/></clipPath>`,
		c.id, num(left), num(top-1.5), num(right-left), num(bottom-top+3))
	c.drawSpans(b)
	c.drawY(b)
	c.drawX(b)
	marks := c.marks()
	c.drawEvents(b, marks)
	for _, l := range c.levels {
		y := num(c.y.at(l.Value))
		fmt.Fprintf(b, `<path class="level" fill="none" stroke="%s" stroke-width="1" stroke-dasharray="3 2" d="M%s %sH%s"/>`, light.level, num(left), y, num(right))
	}
	fmt.Fprintf(b, `<g clip-path="url(#%s-c)"><g class="lines" stroke-width="1.6" stroke-linejoin="round">`, c.id)
	for _, l := range c.lines {
		step := ""
		if l.step {
			step = ` data-step="1"`
		}
		thin := ""
		if len(l.points) > 1000 {
			thin = ` stroke-width="1"` // a line that covers its neighbourhood anyway should not be fat too
		}
		fmt.Fprintf(b, `<path %s data-label="%s"%s%s d="%s"/>`, styleOf(l.style), escape(l.label), step, thin, pathData(l.points, &c.x, &c.y, l.step))
		b.WriteString(l.bars(&c.x, &c.y))
		if !l.dots {
			continue
		}
		for _, p := range l.points {
			if !math.IsNaN(p.y) {
				fmt.Fprintf(b, `<circle class="s%d paper" fill="%s" stroke="%s" cx="%s" cy="%s" r="2.6"/>`,
					l.style%len(light.series), light.paper, light.series[l.style%len(light.series)], num(c.x.at(p.x)), num(c.y.at(p.y)))
			}
		}
	}
	b.WriteString(`</g></g>`)
	for _, l := range c.levels {
		if l.Label == "" {
			continue
		}
		y := c.y.at(l.Value) - 4
		if y < top+8 {
			y += 16 // under the line where there is no room above it
		}
		x, anchor := right-3, "end"
		if l.left {
			x, anchor = left+5, "start"
		}
		drawText(b, x, y, anchor, "muted halo", l.Label)
	}
	c.nameEvents(b, marks)
}

// drawSpans shades spans of time, with their labels above the plot, where no line can cover them, as far as there is room.
func (c *chart) drawSpans(b *bytes.Buffer) {
	if len(c.spans) == 0 {
		return
	}
	fmt.Fprintf(b, `<g clip-path="url(#%s-c)"><g class="spans">`, c.id)
	for _, s := range c.spans {
		x0, x1 := c.x.at(float64(s.From)), c.x.at(float64(s.To))
		fmt.Fprintf(b, `<rect class="span" fill="%s" x="%s" y="%s" width="%s" height="%s"/>`, light.span, num(x0), num(c.y.p1), num(max(x1-x0, 1)), num(c.y.p0-c.y.p1))
	}
	b.WriteString(`</g></g><g class="spanlabels">`)
	for _, l := range c.spanLabels() {
		drawText(b, l.at, c.y.p1-7, "middle", "muted", l.text)
	}
	b.WriteString(`</g>`)
}

// spanLabels are the spans' labels that have room, each in the middle of its span.
func (c *chart) spanLabels() []placedLabel {
	var labels []placedLabel
	free := c.x.p0
	for _, s := range c.spans {
		mid := (max(c.x.at(float64(s.From)), c.x.p0) + min(c.x.at(float64(s.To)), c.x.p1)) / 2
		if half := letter * float64(len([]rune(s.Label))) / 2; mid-half >= free && mid <= c.x.p1 {
			labels = append(labels, placedLabel{at: mid, text: s.Label})
			free = mid + half + letter
		}
	}
	return labels
}

func (c *chart) drawY(b *bytes.Buffer) {
	var d strings.Builder
	for _, t := range c.y.ticks {
		fmt.Fprintf(&d, "M%s %sH%s", num(c.x.p0), num(c.y.at(t.value)), num(c.x.p1))
	}
	fmt.Fprintf(b, `<path class="grid" fill="none" stroke="%s" stroke-width="1" d="%s"/><g class="yticks">`, light.grid, d.String())
	for _, t := range c.y.ticks {
		drawText(b, c.x.p0-6, c.y.at(t.value)+3.8, "end", "muted", t.label)
	}
	b.WriteString(`</g>`)
	if name := c.yName(); name != "" {
		drawText(b, 1, marginTop-17, "start", "muted", name)
	}
}

func (c *chart) drawX(b *bytes.Buffer) {
	bottom := c.y.p0
	var d strings.Builder
	fmt.Fprintf(&d, "M%s %sH%s", num(c.x.p0), num(bottom), num(c.x.p1))
	for _, t := range c.x.ticks {
		fmt.Fprintf(&d, "M%s %sv4", num(c.x.at(t.value)), num(bottom))
	}
	fmt.Fprintf(b, `<path class="axis xmarks" fill="none" stroke="%s" stroke-width="1" d="%s"/><g class="xticks">`, light.muted, d.String())
	for i, t := range c.x.ticks {
		x, anchor, label := c.x.at(t.value), "middle", t.label
		if i == len(c.x.ticks)-1 && c.x.in.name != "" {
			// The last tick names the unit. It stays in the box even in large print.
			label += " " + c.x.in.name
			if c.width-x < 30 {
				x, anchor = c.width-1, "end"
			}
		}
		drawText(b, x, bottom+18, anchor, "muted", label)
	}
	b.WriteString(`</g>`)
	if c.xTitle != "" {
		drawText(b, (c.x.p0+c.x.p1)/2, c.height-6, "middle", "muted", c.xTitle)
	}
}

// drawText writes a label. With "halo" in its class it keeps clear of the lines under it.
func drawText(b *bytes.Buffer, x, y float64, anchor, class, s string) {
	fmt.Fprintf(b, `<text class="%s" x="%s" y="%s"`, class, num(x), num(y))
	if anchor != "start" {
		fmt.Fprintf(b, ` text-anchor="%s"`, anchor)
	}
	fill := light.muted
	if strings.Contains(class, "ink") {
		fill = light.ink
	}
	fmt.Fprintf(b, ` fill="%s"`, fill)
	if strings.Contains(class, "halo") {
		fmt.Fprintf(b, ` stroke="%s" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`, light.paper)
	}
	fmt.Fprintf(b, `>%s</text>`, escape(s))
}

// num prints a coordinate to a hundredth of a unit.
func num(v float64) string {
	var p pen
	p.number(hundredths(v))
	return string(p.data)
}

// escape makes s safe in XML text and attributes, and thereby in HTML.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}
