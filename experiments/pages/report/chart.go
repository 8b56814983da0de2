package report

import (
	"encoding/xml"
	"strings"
)

// chart describes one line chart: for the page, whose script draws it (data.go), and for files, where it is drawn into
// a box of width by height units.
type chart struct {
	id          string // unique in the document
	title, desc string
	group       string // charts of a group share the crosshair
	xTitle      string
	yTitle      string // title beside the unit, if the axis has one
	xColumn     string // names of x and y in a CSV file
	yColumn     string
	lineColumn  string   // name of the lines' column there; empty: controllers
	names       []string // names of the values 0, 1, 2, ... of x, if x is a category instead of a number
	width       float64
	height      float64
	x, y        axis
	lines       []line
	levels      []drawnLevel
	spans       []Span
	events      []Event
	eventRoom   bool // leave space above the plot for events: this chart, or one beside it, has some
}

type point struct{ x, y float64 }

// thinLine sets the number of points from which a line is drawn thinner, because so dense a line looks thick.
const thinLine = 1000

type line struct {
	style  int
	label  string
	points []point
	step   bool
	dots   bool      // mark the points, because the line between them is not measured
	halves []float64 // half widths of the points' confidence intervals, drawn as bars; NaN, or nil: none
}

// drawnLevel describes a reference line. Its label is at the left or right end, where it hides less.
type drawnLevel struct {
	Level
	left bool
}

const (
	marginLeft, marginRight = 48.0, 14.0
	marginTop, marginBottom = 29.0, 28.0
	bareTop                 = 12.0 // the top margin of a plot with nothing above it
	titleHeight             = 20.0 // an axis title, if there is one
	letter                  = 6.2  // mean width of a letter of a font of 11 units, rounded up
)

// layout places the axes in the box. Call it before drawing.
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

// yName returns the title of the y axis: its quantity and its unit.
func (c *chart) yName() string {
	if c.yTitle != "" && c.y.in.name != "" {
		return c.yTitle + ", " + c.y.in.name
	}
	return c.yTitle + c.y.in.name
}

// spanLabels returns the spans' labels that have room, each in the middle of its span.
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

// escape makes s safe in XML text and attributes, and thereby in HTML.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}
