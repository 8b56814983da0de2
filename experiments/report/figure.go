package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// figureWidth is the width of a figure's chart: two abreast are as wide as a page of documentation.
const figureWidth = 480.0

// swatchWidth is the length of a line's sample in a figure's legend: eight short names fit beside each other.
const swatchWidth = 22.0

// WriteFigure writes one run's panels as a stand-alone SVG drawing, two abreast. Unlike WriteSVG's its scales are the run's
// own: it is to be looked at by itself.
func WriteFigure(w io.Writer, r *Report, controller string) error {
	if err := r.check(); err != nil {
		return err
	}
	i := slices.IndexFunc(r.Runs, func(run Run) bool { return run.Controller == controller })
	if i < 0 {
		return fmt.Errorf("report %s: no run of %s", r.Scenario, controller)
	}
	if len(r.Panels) == 0 {
		return fmt.Errorf("report %s: no panels to draw", r.Scenario)
	}
	alone := *r
	alone.Runs = r.Runs[i : i+1]
	f := &drawing{title: r.Scenario + " under " + controller}
	for k := range r.Panels {
		p := newPlots(&alone, k, alone.Runs)
		c := p.charts[0]
		c.title, c.width = p.title, figureWidth
		c.layout()
		f.cells = append(f.cells, drawingCell{caption: p.title, note: r.Panels[k].Note, legend: p.legend, chart: c})
	}
	_, err := w.Write(f.svg())
	return err
}

// drawing is charts of one width beside and below each other, each with its caption and legend.
type drawing struct {
	title string
	cells []drawingCell
}

type drawingCell struct {
	caption, note string
	legend        []legendItem
	chart         *chart
}

// noteHeight is a line of a note that stands under its caption.
const noteHeight = 15.0

// noteFits says whether the note has room beside the caption.
func (c *drawingCell) noteFits() bool {
	letters := len([]rune(c.caption)) + 2 + len([]rune(c.note))
	return letter*float64(letters) <= c.chart.width-marginLeft-marginRight
}

// wrap breaks text between words into lines of a width; a longer word has a line of its own.
func wrap(text string, width float64) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && letter*float64(len([]rune(lines[n-1]))+1+len([]rune(word))) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// placed is a legend's item within its cell.
type placed struct {
	legendItem
	x, y float64
}

// layLegend places a legend's items in rows of a width, and says how high they are together.
func layLegend(items []legendItem, width float64) (at []placed, height float64) {
	x, y := marginLeft, 0.0
	for _, item := range items {
		need := swatchWidth + 5 + letter*float64(len([]rune(item.Label))) + 11
		if x > marginLeft && x+need > width {
			x, y = marginLeft, y+legendHeight
		}
		at = append(at, placed{item, x, y})
		x += need
	}
	return at, y + legendHeight
}

// svg is the drawing as a document.
func (d *drawing) svg() []byte {
	const across = 2
	first := d.cells[0].chart
	legends := make([][]placed, len(d.cells))
	tallest := 0.0
	for i := range d.cells {
		var height float64
		legends[i], height = layLegend(d.cells[i].legend, first.width)
		tallest = max(tallest, height)
	}
	under, most := make([][]string, len(d.cells)), 0
	for i := range d.cells {
		if cell := &d.cells[i]; !cell.noteFits() {
			under[i] = wrap(cell.note, first.width-marginLeft-marginRight)
			most = max(most, len(under[i]))
		}
	}
	caption := captionHeight + noteHeight*float64(most)
	pitch := caption + tallest + first.height
	columns := min(across, len(d.cells))
	rows := (len(d.cells) + across - 1) / across
	width, height := first.width*float64(columns), headHeight+pitch*float64(rows)

	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" role="img" aria-labelledby="t d" `+
		`font-family="system-ui, 'Helvetica Neue', Arial, sans-serif" font-size="11.5">`+"\n", num(width), num(height))
	fmt.Fprintf(&b, `<title id="t">%s</title><desc id="d">`, escape(d.title))
	for i := range d.cells {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(escape(d.cells[i].caption + ": " + d.cells[i].chart.desc))
	}
	fmt.Fprintf(&b, "</desc>\n<style>@media (prefers-color-scheme:dark){%s}</style>\n", dark.rules())
	fmt.Fprintf(&b, `<rect class="paper" fill="%s" width="100%%" height="100%%"/>`+"\n", light.paper)
	b.WriteString(`<g font-size="13.5" font-weight="600">`)
	drawText(&b, marginLeft, 19, "start", "ink", d.title)
	b.WriteString("</g>\n")
	for i := range d.cells {
		cell := &d.cells[i]
		x, y := float64(i%across)*first.width, headHeight+float64(i/across)*pitch
		b.WriteString(`<g font-weight="600">`)
		drawText(&b, x+marginLeft, y+captionHeight-4, "start", "ink", cell.caption)
		b.WriteString(`</g>`)
		if under[i] == nil && cell.note != "" {
			drawText(&b, x+first.width-marginRight, y+captionHeight-4, "end", "muted", cell.note)
		}
		for n, text := range under[i] {
			drawText(&b, x+marginLeft, y+captionHeight-4+noteHeight*float64(n+1), "start", "muted", text)
		}
		for _, item := range legends[i] {
			at := y + caption + item.y
			fmt.Fprintf(&b, `<path %s stroke-width="1.8" d="M%s %sh%s"/>`, styleOf(item.style), num(x+item.x), num(at+8), num(swatchWidth))
			drawText(&b, x+item.x+swatchWidth+5, at+12, "start", "ink", item.Label)
		}
		fmt.Fprintf(&b, `<g transform="translate(%s %s)">`, num(x), num(y+caption+tallest))
		cell.chart.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
