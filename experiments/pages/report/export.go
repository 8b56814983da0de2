package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Figure holds one plot of a page for separate files.
type Figure struct {
	Name    string // suitable as a file name
	Drawing *Drawing
	CSV     []byte // its points, one per row
}

// name sets the label of the y axis to its quantity, if there is room.
func (c *chart) name(as string) {
	const longest = 28 // letters
	if len([]rune(as)) <= longest {
		c.yTitle = as
	}
}

// Figures returns all plots of a report's page, each with the controllers side by side or as its lines.
func Figures(r *Report) ([]Figure, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	var all []Figure
	taken := map[string]bool{}
	for i := range r.Panels {
		p := newPlots(r, i, r.Runs)
		for _, c := range p.charts {
			c.name(p.title)
		}
		table, err := r.panelCSV(i)
		if err != nil {
			return nil, err
		}
		all = append(all, Figure{figureName(fmt.Sprintf("panel-%d-%s", i+1, r.Panels[i].Title), taken), p.drawing(), table})
	}
	for _, c := range slices.Concat(slowdownCDFs(r), fctCDFs(r), bySize(r), linkCharts(r)) {
		f, err := c.figure(r.Scenario, taken)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// SweepFigures returns all plots of a sweep's page.
func SweepFigures(s *Sweep) ([]Figure, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var all []Figure
	taken := map[string]bool{}
	for i := range s.Metrics {
		c := s.chart(i)
		if c == nil {
			continue
		}
		c.name(s.Metrics[i].Title)
		f, err := c.figure(s.Name, taken)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// figure returns a single chart with the legend of its lines, named after the group of charts that it belongs to.
func (c *chart) figure(of string, taken map[string]bool) (Figure, error) {
	p := &plots{title: of, names: []string{c.title}, charts: []*chart{c}}
	for _, l := range c.lines {
		p.legend = append(p.legend, legendItem{l.label, l.style})
	}
	table, err := c.csv()
	return Figure{figureName(c.title, taken), p.drawing(), table}, err
}

var noName = regexp.MustCompile(`[^a-z0-9.+]+`)

// longestFile limits the name of a figure's file.
const longestFile = 80

// figureName returns a name that no other figure has.
func figureName(title string, taken map[string]bool) string {
	title = strings.ReplaceAll(strings.ToLower(title), "%", "percent")
	base := strings.Trim(noName.ReplaceAllString(title, "-"), "-.")
	base = strings.Trim(base[:min(len(base), longestFile)], "-.")
	base = cmp.Or(base, "figure")
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	taken[name] = true
	return name
}

// panelCSV returns every point of a panel, also those that the drawing leaves out.
func (r *Report) panelCSV(i int) ([]byte, error) {
	p := &r.Panels[i]
	rows := [][]string{{"controller", "series", "time_ns", column(p.Unit)}}
	for k := range r.Runs {
		name := r.Runs[k].Controller
		for _, s := range p.Series[name] {
			for n := range s.X {
				rows = append(rows, []string{name, s.Label, strconv.FormatInt(s.X[n], 10), csvNumber(s.Y[n])})
			}
		}
	}
	return csvOf(rows)
}

// column returns a name for a CSV column with values of a unit.
func column(u Unit) string {
	switch u {
	case Bytes:
		return "bytes"
	case BitsPerSecond:
		return "bits_per_second"
	case None:
		return "value"
	}
	return strings.Trim(noName.ReplaceAllString(strings.ReplaceAll(strings.ToLower(string(u)), "/s", "_per_second"), "_"),
		"_")
}

// csv returns the chart's points as they are drawn.
func (c *chart) csv() ([]byte, error) {
	head := []string{cmp.Or(c.lineColumn, "controller"), c.xColumn, c.yColumn}
	intervals := slices.ContainsFunc(c.lines, func(l line) bool {
		return slices.ContainsFunc(l.halves, func(h float64) bool { return h > 0 })
	})
	if intervals {
		head = append(head, "half_width_95")
	}
	rows := [][]string{head}
	for _, l := range c.lines {
		for i, p := range l.points {
			x := csvNumber(p.x)
			if c.names != nil {
				x = c.names[i]
			}
			row := []string{l.label, x, csvNumber(p.y)}
			if intervals {
				row = append(row, csvNumber(l.halves[i]))
			}
			rows = append(rows, row)
		}
	}
	return csvOf(rows)
}

// csvNumber formats a number; NaN is empty.
func csvNumber(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func csvOf(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(rows)
	return b.Bytes(), err
}
