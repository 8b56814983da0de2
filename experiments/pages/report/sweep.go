package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/internal/interval"
)

// Sweep holds the content of a sweep's page.
type Sweep struct {
	Name, Description, Version, Command string
	// Facts describes the sweep in a few words, such as the parameters that it varied.
	Facts []Fact
	// Problems lists points that are in no chart because they failed or are missing, one per line.
	Problems []string
	// Equal lists points whose run equals an earlier one because no setting distinguishes them, one per line.
	Equal []string
	// Compared lists comparisons by pairs of points, one per line.
	Compared []string
	X        SweepAxis
	Lines    []string // names of the lines of every chart, in the order of their values
	Metrics  []SweepMetric
}

// Fact holds a label and one or two words.
type Fact struct{ Label, Text string }

// SweepAxis describes the x axis of a sweep's charts.
type SweepAxis struct {
	Title  string
	Column string   // name in a CSV file
	Names  []string // names of the positions, as the user wrote them
	// Values holds the positions as numbers in Unit's base unit, ascending; nil if they are not numbers: they are then
	// spaced equally.
	Values []float64
	Unit   Unit
}

// SweepMetric describes one metric: a chart and a table.
type SweepMetric struct {
	Title  string
	Column string // name in a CSV file
	Unit   Unit
	Lines  [][]interval.Estimate // by line and position on the axis
}

// WriteSweep writes the page.
func WriteSweep(w io.Writer, s *Sweep) error {
	if err := s.check(); err != nil {
		return err
	}
	page := newShell()
	d := &document{}
	d.begin(&page, s.Version, s.Name+" · pausenet sweep", "pausenet sweep", s.Name)
	d.lineIf(`<p class="lead">{}</p>`, withUnits(s.Description))
	facts := slices.Clone(s.Facts)
	for i := range facts {
		facts[i].Text = withUnits(facts[i].Text)
	}
	d.facts(facts)
	d.line(`<main>`)
	if len(s.Problems) > 0 {
		d.problems("Not in the charts", "fail", s.Problems)
	}
	var figures []figure
	var tables []table
	for i := range s.Metrics {
		if c := s.chart(i); c != nil {
			figures = append(figures, page.figure(s.Metrics[i].Title, c))
		}
		tables = append(tables, s.table(i))
	}
	if len(figures) > 0 {
		s.writeCharts(d, figures)
	}
	s.writeNumbers(d, tables)
	if len(s.Compared) > 0 {
		d.section("pairs", "Compared by pairs")
		d.line(`<p class="hint">The two points of a pair have equal seeds and parameters, except for what the line ` +
			`compares. Use these pairs to decide which is better: the intervals of means above also include the variation ` +
			`between seeds. The intervals here are of the median ratio. p is by the exact sign test, corrected by Holm ` +
			`for the metrics of a line.</p>`)
		d.put(`<ul>`)
		d.items(s.Compared)
		d.line(`</ul></section>`)
	}
	if s.Command != "" {
		d.section("repeat", "How to repeat this")
		d.command(s.Command)
		d.line(`</section>`)
	}
	return d.end(w, &page, "Times are virtual. 1 KB is 1000 bytes. sweep.csv beside this page has every point and metric.")
}

func (s *Sweep) writeCharts(d *document, figures []figure) {
	d.line(`<section aria-labelledby="charts">`)
	d.line(`<div class="bar-head"><h2 id="charts">By {}</h2>`, s.X.Title)
	d.line(`<p class="hint">Means over the seeds; bars are 95 % confidence intervals (Student's t).` +
		`<span class="js"> Point at a chart to read values in all of them.</span></p></div>`)
	legends := make([]legend, len(s.Lines))
	for i, name := range s.Lines {
		legends[i] = legend{name, swatch(i)}
	}
	d.chartRow(legends, "charts ", figures)
	d.line(`</section>`)
}

func (s *Sweep) writeNumbers(d *document, tables []table) {
	d.section("numbers", "Numbers")
	d.put(`<div class="spread">`)
	d.tables(tables...)
	d.put(`</div>`)
	if n := len(s.Equal); n > 0 {
		are := "are"
		if n == 1 {
			are = "is"
		}
		d.line(`<details class="fold"><summary>{} of the points {} the same run as another</summary>`, n, are)
		d.line(`<p>Their configurations are equal because a parameter has no effect, ` +
			`such as a constant of one controller under another.</p>`)
		d.put(`<ul>`)
		d.items(s.Equal)
		d.put(`</ul></details>`)
	}
	d.line(``)
	d.line(`</section>`)
}

func (s *Sweep) check() error {
	if n := len(s.X.Values); n > 0 && n != len(s.X.Names) {
		return fmt.Errorf("sweep %s: %d values of %d places", s.Name, n, len(s.X.Names))
	}
	for _, m := range s.Metrics {
		if len(m.Lines) != len(s.Lines) {
			return fmt.Errorf("sweep %s: %s has %d lines of %d", s.Name, m.Title, len(m.Lines), len(s.Lines))
		}
		for _, l := range m.Lines {
			if len(l) != len(s.X.Names) {
				return fmt.Errorf("sweep %s: %s has %d values at %d places", s.Name, m.Title, len(l), len(s.X.Names))
			}
		}
	}
	return nil
}

// axis maps the positions. Each has a tick, and a name if it fits, because only these values were run.
func (x *SweepAxis) axis() axis {
	if x.Values == nil {
		return namedAxis(x.Names)
	}
	lo, hi := x.Values[0], x.Values[len(x.Values)-1]
	if lo > 0 && hi/lo >= 20 {
		a := logAxis(lo, hi, x.Unit)
		a.lo, a.hi = lo*math.Pow(hi/lo, -0.04), hi*math.Pow(hi/lo, 0.04)
		a.ticks = x.ticks(&a)
		return a
	}
	margin := (hi - lo) * 0.04
	a := exactAxis(lo-margin, hi+margin, x.Unit, 8)
	a.in = x.Unit.measure(hi)
	a.ticks = x.ticks(&a)
	return a
}

// ticks returns a tick for each position. If names would overlap, those further left are left out: the last has the
// unit.
func (x *SweepAxis) ticks(a *axis) []tick {
	ticks := make([]tick, len(x.Values))
	on := a.place(0, 420) // as wide as a plot at its narrowest
	free := math.Inf(1)
	for i := len(ticks) - 1; i >= 0; i-- {
		v := x.Values[i]
		ticks[i].value = v
		label := strconv.FormatFloat(v/a.in.div, 'f', -1, 64)
		switch {
		case a.log && x.Unit != None: // 101 KB rather than 0.101 of the last one's MB
			label = withUnits(x.Names[i])
		case v != 0:
			label += a.in.suffix
		}
		half := 4 * float64(len([]rune(label))) // a letter takes up to 8 units in the largest print
		if i == len(ticks)-1 && !a.log {
			half = 4 * float64(len([]rune(a.in.named(label))))
		}
		if on.at(v)+half <= free {
			ticks[i].label = label
			free = on.at(v) - half - 8
		}
	}
	return ticks
}

// chart returns a metric's chart, nil if no run has the metric.
func (s *Sweep) chart(i int) *chart {
	m := &s.Metrics[i]
	c := &chart{
		id: fmt.Sprintf("m%d", i), group: "sweep", title: m.Title, xTitle: s.X.Title, width: 480, height: 275,
		xColumn: s.X.Column, yColumn: m.Column, lineColumn: "line",
		desc: fmt.Sprintf("%s by %s.", m.Title, s.X.Title), x: s.X.axis(),
	}
	if s.X.Values == nil {
		c.names = s.X.Names
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for k, estimates := range m.Lines {
		l := line{style: k, label: s.Lines[k], dots: true}
		var least, most float64 = math.Inf(1), math.Inf(-1)
		for n, e := range estimates {
			p := point{float64(n), math.NaN()}
			if s.X.Values != nil {
				p.x = s.X.Values[n]
			}
			bar := math.NaN() // of one run there is none
			if e.N > 0 {
				p.y = e.Mean
				bar = e.Half
				least, most = min(least, e.Mean), max(most, e.Mean)
				lo, hi = min(lo, e.Mean-half(e.Half)), max(hi, e.Mean+half(e.Half))
			}
			l.points, l.halves = append(l.points, p), append(l.halves, bar)
		}
		c.lines = append(c.lines, l)
		if least <= most {
			u := m.Unit.measure(most)
			c.desc += fmt.Sprintf(" %s: %s.", l.label, u.named(u.between(least, most)))
		}
	}
	if lo > hi {
		return nil
	}
	// An interval may reach below zero where no value can be: the plot need not.
	c.y = roundAxis(max(lo, 0), hi, m.Unit, 5)
	c.layout()
	return c
}

// table returns a metric's numbers: a row for each position, a column for each line.
func (s *Sweep) table(i int) table {
	m := &s.Metrics[i]
	top := 0.0
	for _, l := range m.Lines {
		for _, e := range l {
			if e.N > 0 {
				top = max(top, math.Abs(e.Mean))
			}
		}
	}
	u := m.Unit.measure(top)
	if m.Unit == None {
		u = measure{div: 1}
	}
	t := table{Caption: u.named(m.Title + ","), Corner: s.X.Title, Heads: s.Lines, Bodies: []body{{}}}
	if u.name == "" {
		t.Caption = m.Title
	}
	for n, name := range s.X.Names {
		r := row{Label: withUnits(name)}
		for k := range s.Lines {
			e := m.Lines[k][n]
			text := digits(math.NaN())
			if e.N > 0 {
				if text = u.cell(e.Mean, m.Unit == None && e.Mean == math.Trunc(e.Mean)); !math.IsNaN(e.Half) {
					text = u.plusMinus(e.Mean, e.Half)
				}
			}
			r.Cells = append(r.Cells, cell{Text: text, Bar: -1})
		}
		t.Bodies[0].Rows = append(t.Bodies[0].Rows, r)
	}
	return t
}
