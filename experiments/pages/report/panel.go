package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// plots holds one panel, ready to draw: a chart for each controller, all on the same scales.
type plots struct {
	title  string
	legend []legendItem
	names  []string   // of the charts: the controllers
	charts []*chart   // by controller
	ranges [][]string // by controller and line: the range of values
}

const noData = "no data"

type legendItem struct {
	Label string
	style int
}

const chartHeight = 255 // of a panel's chart

// chartWidth returns a panel's chart's. A lone chart may be wider.
func chartWidth(controllers int) float64 {
	if controllers == 1 {
		return 560
	}
	return 480
}

// timeSpan returns the time from the first to the last point of all panels, so that every chart of the page has the
// same time axis. If most of that is a tail without changes, as after a deadlock, hi is shortly after the last change,
// and end is the time of the last point.
func (r *Report) timeSpan() (lo, hi, end float64) {
	lo, end = math.Inf(1), math.Inf(-1)
	last := math.Inf(-1) // that anything happened
	for _, p := range r.Panels {
		for _, run := range r.Runs {
			for _, s := range p.Series[run.Controller] {
				if n := len(s.X); n > 0 {
					lo, end, last = min(lo, float64(s.X[0])), max(end, float64(s.X[n-1])), max(last, float64(s.changed()))
				}
			}
		}
	}
	if lo > end {
		return 0, 1, 1
	}
	if lo < end/10 {
		lo = 0 // a first sample at 1 us is a start at zero
	}
	for _, run := range r.Runs {
		for _, e := range run.Events {
			last = max(last, float64(e.Time))
		}
	}
	for _, s := range r.Spans {
		last = max(last, float64(s.To))
	}
	if tail := lo + 1.25*(last-lo); tail > lo && tail < lo+(end-lo)/3 {
		return lo, tail, end
	}
	return lo, end, end
}

// changed returns the time of the last point whose value differs from the previous one.
func (s *Series) changed() int64 {
	i := len(s.Y) - 1
	for i > 0 && (s.Y[i] == s.Y[i-1] || math.IsNaN(s.Y[i]) && math.IsNaN(s.Y[i-1])) {
		i--
	}
	return s.X[i]
}

// until returns the series up to a time.
func (s *Series) until(end float64) *Series {
	n := sort.Search(len(s.X), func(i int) bool { return float64(s.X[i]) > end })
	cut := *s
	cut.X, cut.Y = s.X[:n], s.Y[:n]
	return &cut
}

// tail returns a sentence about the time that the plots leave out.
func (r *Report) tail() string {
	_, hi, end := r.timeSpan()
	if hi == end {
		return ""
	}
	return fmt.Sprintf("Nothing changes from %s to %s; that part is not drawn. ", Nanoseconds.measure(hi).text(hi),
		Nanoseconds.measure(end).text(end))
}

// newPlots prepares panel i for the runs.
func newPlots(r *Report, i int, runs []Run) *plots {
	p := &r.Panels[i]
	out := &plots{title: p.Title}
	styles := make(map[string]int)
	// All runs count, also those not drawn: a chart alone has the scales it has in company.
	lo, hi, smallest := math.Inf(1), cmp.Or(p.Top, math.Inf(-1)), math.Inf(1)
	x0, x1, _ := r.timeSpan()
	drawn := make(map[string][]line)
	for _, run := range r.Runs {
		for _, s := range p.Series[run.Controller] {
			if _, ok := styles[s.Label]; !ok {
				styles[s.Label] = len(styles)
				out.legend = append(out.legend, legendItem{s.Label, styles[s.Label]})
			}
			l := line{style: styles[s.Label], label: s.Label, points: s.until(x1).drawn(), step: s.Step}
			drawn[run.Controller] = append(drawn[run.Controller], l)
			for _, pt := range l.points {
				if !math.IsNaN(pt.y) {
					lo, hi = min(lo, pt.y), max(hi, pt.y)
					if pt.y > 0 {
						smallest = min(smallest, pt.y)
					}
				}
			}
			if s.Reference != nil {
				lo, hi = min(lo, s.Reference.Value), max(hi, s.Reference.Value)
			}
		}
	}
	if lo > hi {
		lo, hi = 0, 0
	}
	y := roundAxis(lo, hi, p.Unit, 5)
	if p.Log {
		y = logAxis(smallest, hi, p.Unit)
	}
	x := exactAxis(x0, x1, Nanoseconds, 8)
	width := chartWidth(len(r.Runs))
	for k, run := range runs {
		c := &chart{
			id: fmt.Sprintf("p%dc%d", i, k), title: p.Title + " — " + run.Controller,
			group: "time", width: width, height: chartHeight, x: x, y: y, lines: drawn[run.Controller], spans: r.Spans,
			events: run.Events, eventRoom: slices.ContainsFunc(r.Runs, func(o Run) bool { return len(o.Events) > 0 }),
		}
		c.layout()
		c.levels = p.levels(r.Runs, run.Controller, c, drawn)
		ranges := make([]string, 0, len(c.lines))
		for _, l := range c.lines {
			text := noData
			if lo, hi, ok := l.extent(r.window()); ok {
				text = y.in.between(lo, hi)
			}
			ranges = append(ranges, text)
		}
		c.desc = describe(c, r.windowName(), ranges)
		out.names = append(out.names, run.Controller)
		out.charts, out.ranges = append(out.charts, c), append(out.ranges, ranges)
	}
	return out
}

// levels returns the reference lines of a run, each once. A label is on the side where fewer lines of all the charts
// run, and has the value where another run's line of that label has another.
func (p *Panel) levels(runs []Run, controller string, c *chart, drawn map[string][]line) []drawnLevel {
	values := map[string]map[float64]bool{} // by label, of all runs
	for _, run := range runs {
		for _, s := range p.Series[run.Controller] {
			if s.Reference != nil {
				if values[s.Reference.Label] == nil {
					values[s.Reference.Label] = map[float64]bool{}
				}
				values[s.Reference.Label][s.Reference.Value] = true
			}
		}
	}
	var out []drawnLevel
	for _, s := range p.Series[controller] {
		if s.Reference == nil {
			continue
		}
		level := *s.Reference
		if len(values[level.Label]) > 1 {
			level.Label = strings.TrimSpace(level.Label + " " + c.y.in.text(level.Value))
		}
		if !slices.ContainsFunc(out, func(l drawnLevel) bool { return l.Level == level }) {
			out = append(out, drawnLevel{level, moreRoomLeft(runs, c, c.y.at(level.Value), drawn)})
		}
	}
	return out
}

// moreRoomLeft reports whether a label at a height of a chart is in the way of fewer lines, of all runs, at
// the left.
func moreRoomLeft(runs []Run, c *chart, y float64, drawn map[string][]line) bool {
	width := c.x.p1 - c.x.p0
	left, right := 0, 0
	for _, run := range runs {
		for _, l := range drawn[run.Controller] {
			for _, pt := range l.points {
				if py := c.y.at(pt.y); py > y || py < y-14 {
					continue
				}
				switch px := c.x.at(pt.x) - c.x.p0; {
				case px < width*0.3:
					left++
				case px > width*0.7:
					right++
				}
			}
		}
	}
	return left < right
}

// window returns the interval whose ranges are printed: the only shaded span, or else the whole run. Over a whole run
// most lines range from nothing to line rate, which is no information.
func (r *Report) window() (from, to float64) {
	if len(r.Spans) == 1 {
		return float64(r.Spans[0].From), float64(r.Spans[0].To)
	}
	return math.Inf(-1), math.Inf(1)
}

func (r *Report) windowName() string {
	if len(r.Spans) == 1 {
		return r.Spans[0].Label
	}
	return ""
}

// extent returns the lowest and highest value that the line takes from one time to another; ok is false if there is
// none.
func (l *line) extent(from, to float64) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	take := func(v float64) {
		if !math.IsNaN(v) {
			lo, hi, ok = min(lo, v), max(hi, v), true
		}
	}
	for i, p := range l.points {
		if p.x >= from && p.x <= to {
			take(p.y)
		}
		if i+1 == len(l.points) {
			break
		}
		// What the line is between two points also counts where the window begins and ends.
		next := l.points[i+1]
		for _, edge := range []float64{from, to} {
			switch {
			case edge <= p.x || edge >= next.x:
			case l.step:
				take(p.y)
			default:
				take(p.y + float64((next.y-p.y)*(edge-p.x)/(next.x-p.x)))
			}
		}
	}
	return lo, hi, ok
}

// describe returns a description of the chart for readers who cannot see it.
func describe(c *chart, window string, ranges []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Line chart over virtual time, %s.", c.x.in.named(c.x.in.between(c.x.lo, c.x.hi)))
	if window != "" {
		window = ", " + window
	}
	for i, l := range c.lines {
		text := ranges[i]
		if text != noData {
			text = c.y.in.named(text)
		}
		fmt.Fprintf(&b, " %s%s: %s.", l.label, window, text)
	}
	for _, l := range c.levels {
		fmt.Fprintf(&b, " Reference %s: %s.", l.Label, c.y.in.text(l.Value))
	}
	for _, s := range c.spans {
		fmt.Fprintf(&b, " %s: %s.", s.Label, c.x.in.named(c.x.in.between(float64(s.From), float64(s.To))))
	}
	b.WriteString(c.described())
	return b.String()
}
