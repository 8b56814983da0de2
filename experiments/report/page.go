package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// page is what the template shows.
type page struct {
	*Report
	Style   template.CSS
	Script  template.JS
	Cards   []card
	Rows    []plotRow
	Compare table
	Groups  []table
	// Sources are the tables of published values.
	Sources []table
	// Flows are charts that compare the controllers' lines in one plot; FlowLegend names those lines.
	Flows      []figure
	FlowLegend []legend
}

// card is one run's verdict.
type card struct {
	Run
	Kind, Sign string
	Short      string // the fingerprint's first digits
	// Said are the first of the verdict's messages; More are folded away. A law that breaks once often breaks at every
	// frame.
	Said, More []string
}

// mostSaid is how many messages a card shows.
const mostSaid = 3

type plotRow struct {
	Title, Note, Unit string
	Legend            []legend
	Figures           []figure
}

type legend struct {
	Label  string
	Swatch template.HTML
}

// figure is a chart with its heading. Ranges stand where the script will show values.
type figure struct {
	Name   string
	Window string // the stretch of time of the ranges, if it is not all of the run
	Ranges []rangeText
	SVG    template.HTML // from chart, which escapes what it draws
}

type rangeText struct{ Label, Text string }

func newPage(r *Report) (*page, error) {
	p := &page{
		Report:  r,
		Style:   template.CSS(pageColours() + "\n" + pageCSS),
		Script:  template.JS(pageJS),
		Compare: comparison(r),
		Groups:  groupTables(r),
		Sources: publishedTables(r),
	}
	signs := map[Status]string{Pass: "✓", Warn: "!", Fail: "✕"}
	for _, run := range r.Runs {
		short := run.Fingerprint
		if len(short) > 16 {
			short = short[:16]
		}
		said := min(len(run.Verdict.Messages), mostSaid)
		p.Cards = append(p.Cards, card{
			run, strings.ToLower(string(run.Verdict.Status)), signs[run.Verdict.Status], short,
			run.Verdict.Messages[:said], run.Verdict.Messages[said:],
		})
	}
	for i := range r.Panels {
		plots := newPlots(r, i, r.Runs)
		row := plotRow{Title: plots.title, Note: r.Panels[i].Note}
		for _, item := range plots.legend {
			row.Legend = append(row.Legend, legend{item.Label, swatch(item.style)})
		}
		for k, c := range plots.charts {
			f := figure{Name: plots.names[k], SVG: template.HTML(c.inline())}
			f.Window = r.windowName()
			for n, l := range c.lines {
				text := plots.ranges[k][n]
				if n == len(c.lines)-1 && text != noData {
					text = c.y.in.named(text) // once is enough
				}
				f.Ranges = append(f.Ranges, rangeText{l.label, text})
			}
			row.Figures = append(row.Figures, f)
		}
		p.Rows = append(p.Rows, row)
	}
	for _, c := range flowCharts(r) {
		p.Flows = append(p.Flows, figure{Name: c.title, SVG: template.HTML(c.inline())})
	}
	for k, name := range r.names() {
		p.FlowLegend = append(p.FlowLegend, legend{name, swatch(k)})
	}
	return p, nil
}

// swatch is a sample of a line.
func swatch(style int) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="swatch" viewBox="0 0 30 8" aria-hidden="true"><path %s stroke-width="2" d="M0 4h30"/></svg>`, styleOf(style)))
}
