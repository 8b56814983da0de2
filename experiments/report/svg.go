package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// WriteSVG writes one panel as a stand-alone SVG drawing: the named controllers beside each other with a common legend, or
// all of them if none is named. The scales are those of the report, so drawings of single controllers still compare.
func WriteSVG(w io.Writer, r *Report, panel int, controllers ...string) error {
	if err := r.check(); err != nil {
		return err
	}
	if panel < 0 || panel >= len(r.Panels) {
		return fmt.Errorf("report %s: no panel %d", r.Scenario, panel)
	}
	runs := r.Runs
	if len(controllers) > 0 {
		runs = nil
		for _, name := range controllers {
			i := slices.IndexFunc(r.Runs, func(run Run) bool { return run.Controller == name })
			if i < 0 {
				return fmt.Errorf("report %s: no run of %s", r.Scenario, name)
			}
			runs = append(runs, r.Runs[i])
		}
	}
	_, err := w.Write(newPlots(r, panel, runs).standAlone())
	return err
}

const (
	headHeight    = 26.0 // title
	legendHeight  = 20.0 // a row of the legend
	captionHeight = 18.0 // controller over its chart
	letter        = 6.2  // a generous mean width of a letter at 11 units
	abreast       = 4    // charts in a row
)

// standAlone is the panel as an SVG document.
func (p *plots) standAlone() []byte {
	first := p.charts[0]
	across := min(len(p.charts), abreast)
	down := (len(p.charts) + across - 1) / across
	width := first.width * float64(across)
	// Lay the legend out first: it decides the height.
	type place struct{ x, y float64 }
	var places []place
	x, y := marginLeft, headHeight
	for _, item := range p.legend {
		need := 34 + letter*float64(len([]rune(item.Label))) + 14
		if x > marginLeft && x+need > width {
			x, y = marginLeft, y+legendHeight
		}
		places = append(places, place{x, y})
		x += need
	}
	top, pitch := y+legendHeight, captionHeight+first.height
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" role="img" aria-labelledby="t d" `+
		`font-family="system-ui, 'Helvetica Neue', Arial, sans-serif" font-size="11">`+"\n", num(width), num(top+float64(down)*pitch))
	fmt.Fprintf(&b, `<title id="t">%s</title><desc id="d">`, escape(p.title))
	for i, c := range p.charts {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(escape(c.title + ": " + c.desc))
	}
	fmt.Fprintf(&b, "</desc>\n<style>@media (prefers-color-scheme:dark){%s}</style>\n", dark.rules())
	fmt.Fprintf(&b, `<rect class="paper" fill="%s" width="100%%" height="100%%"/>`+"\n", light.paper)
	fmt.Fprintf(&b, `<g font-size="13" font-weight="600">`)
	drawText(&b, marginLeft, 18, "start", "ink", p.title)
	b.WriteString("</g>\n")
	for i, item := range p.legend {
		at := places[i]
		fmt.Fprintf(&b, `<path %s stroke-width="1.8" d="M%s %sh28"/>`, styleOf(item.style), num(at.x), num(at.y+10))
		drawText(&b, at.x+34, at.y+14, "start", "ink", item.Label)
	}
	b.WriteByte('\n')
	for i, c := range p.charts {
		x, y := float64(i%across)*c.width, top+float64(i/across)*pitch
		b.WriteString(`<g font-weight="600">`)
		drawText(&b, x+marginLeft, y+captionHeight-4, "start", "ink", p.names[i])
		b.WriteString(`</g>`)
		fmt.Fprintf(&b, `<g transform="translate(%s %s)">`, num(x), num(y+captionHeight))
		c.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
