package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/internal/lists"
)

// mostLinks limits the links in a table.
const mostLinks = 12

// linkCharts returns the distributions of link utilisation: between switches, and to hosts.
func linkCharts(r *Report) []*chart {
	var charts []*chart
	for _, of := range []struct {
		id, title string
		has       func(*Link) bool
	}{
		{
			"util0", "Share of links up to a utilisation: between switches",
			func(l *Link) bool { return l.FromSwitch && l.ToSwitch },
		},
		{"util1", "Share of links up to a utilisation: to hosts", func(l *Link) bool { return l.FromSwitch && !l.ToSwitch }},
	} {
		c := &chart{
			id: of.id, group: of.id, title: of.title, desc: of.title + ".", xTitle: "utilisation",
			width: 480, height: 275,
			yTitle: "links", xColumn: "utilisation_percent", yColumn: "links_percent",
		}
		r.distributions(c, Percent, func(run *Run) *Sample {
			var all [][]float64
			for _, r := range run.counted() {
				var own []float64
				for i := range r.Summary.Links {
					if l := &r.Summary.Links[i]; of.has(l) {
						own = append(own, 100*l.Utilisation)
					}
				}
				all = append(all, own)
			}
			s := NewSample(all...)
			return &s
		})
		if len(c.lines) == 0 {
			continue
		}
		c.x = exactAxis(0, 100, Percent, 5)
		c.layout()
		charts = append(charts, c)
	}
	return charts
}

// imbalanceTable returns how evenly switches loaded equal-cost ports; nil if no switch has any.
func imbalanceTable(r *Report) []table {
	list := func(s *Summary) []Imbalance { return s.Imbalance }
	tiers := keys(r, list, func(of *Imbalance) int { return of.Tier })
	if len(tiers) == 0 {
		return nil
	}
	slices.Sort(tiers)
	t := table{
		Caption: "Load of equal-cost ports: max/mean and Jain's index; both are 1 if the load is even",
		Corner:  "Switches", Heads: r.names(),
	}
	for _, tier := range tiers {
		own := func(of *Imbalance) bool { return of.Tier == tier }
		worst := r.textRow("most uneven switch", func(run *Run) string {
			for _, of := range run.Summary.Imbalance {
				if own(&of) {
					return of.Worst
				}
			}
			return ""
		})
		t.Bodies = append(t.Bodies, body{fmt.Sprintf("Tier %d", tier), []row{
			r.row("max/mean", None, lower,
				numberOf(list, own, math.NaN(), func(of *Imbalance) float64 { return of.MaxOverMean })),
			r.row("Jain's index", None, neither,
				numberOf(list, own, math.NaN(), func(of *Imbalance) float64 { return of.Jain })),
			worst,
		}})
	}
	return []table{t}
}

// linkMeasure describes a quantity by which links are compared.
type linkMeasure struct {
	name string
	unit Unit
	of   func(*Link) float64
}

var (
	utilisationOf = linkMeasure{"utilisation", Percent, func(l *Link) float64 { return 100 * l.Utilisation }}
	pausedOf      = linkMeasure{"time paused", Nanoseconds, func(l *Link) float64 { return float64(l.Paused) }}
	pauseRateOf   = linkMeasure{"PAUSE frames/s", "frames/s", func(l *Link) float64 { return l.PauseRate }}
	congestedOf   = linkMeasure{"time congested", Nanoseconds, func(l *Link) float64 { return float64(l.Congested) }}
	peakQueueOf   = linkMeasure{"longest queue", Bytes, func(l *Link) float64 { return float64(l.PeakQueue) }}
)

// pausedTables returns the links that flow control paused longest, by the longest pause under any controller.
func pausedTables(r *Report) []table {
	return r.linkTables("Links that were paused longest, by direction. A → B is paused by PAUSE frames from B, or by a "+
		"lack of B's credits",
		pausedOf, pausedOf, pauseRateOf)
}

// busyTables returns the links that were congested longest, and the busiest.
func busyTables(r *Report) []table {
	return slices.Concat(
		r.linkTables("Busiest links, by direction", utilisationOf, utilisationOf, peakQueueOf),
		r.linkTables("Egress ports that were congested longest", congestedOf, congestedOf, peakQueueOf),
	)
}

// linkTables returns tables of the links with the largest maximum of by over all runs, at most mostLinks, with their
// measures.
func (r *Report) linkTables(caption string, by linkMeasure, measures ...linkMeasure) []table {
	most := map[string]float64{} // without zeros, which most links of a large fabric have
	for run := range r.counted() {
		for k := range run.Summary.Links {
			l := &run.Summary.Links[k]
			if v := by.of(l); v > 0 {
				most[l.Port] = max(most[l.Port], v)
			}
		}
	}
	var order []*Link
	listed := map[string]bool{}
	for run := range r.counted() {
		for k := range run.Summary.Links {
			l := &run.Summary.Links[k]
			if most[l.Port] > 0 && !listed[l.Port] {
				listed[l.Port] = true
				order = append(order, l)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *Link) int { return cmp.Compare(most[b.Port], most[a.Port]) })
	order = order[:min(len(order), mostLinks)]
	if len(order) == 0 {
		return nil
	}
	shown := map[string]int{}
	for _, l := range order {
		shown[l.Name()]++
	}
	var tables []table
	abreast := len(measures)
	if r.quantilesAbreast() < len(measures) {
		abreast = 1
	}
	for part := range slices.Chunk(measures, abreast) {
		t := table{Caption: caption, Corner: "Link", Sub: r.names()}
		var units []measure
		for _, m := range part {
			u := r.linkUnit(order, m)
			units = append(units, u)
			t.Heads = append(t.Heads, u.titled(m.name))
		}
		if len(part) == 1 {
			t.Caption, t.Heads, t.Sub = caption+": "+units[0].titled(part[0].name), r.names(), nil
		}
		b := body{}
		for _, l := range order {
			row := row{Label: l.Name()}
			if shown[l.Name()] > 1 {
				row.Label += " (" + l.Port + ")" // one of parallel links
			}
			for n, m := range part {
				row.Cells = append(row.Cells, r.linkCells(l.Port, m, units[n])...)
			}
			b.Rows = append(b.Rows, row)
		}
		t.Bodies = []body{b}
		tables = append(tables, t)
	}
	return tables
}

// linkOf returns a run's link that begins at a port; nil if the run does not have it.
func (run *Run) linkOf(port string) *Link {
	return lists.Find(run.Summary.Links, func(l *Link) bool { return l.Port == port })
}

func (r *Report) linkUnit(links []*Link, m linkMeasure) measure {
	var all []float64
	for _, l := range links {
		for run := range r.counted() {
			if own := run.linkOf(l.Port); own != nil {
				all = append(all, m.of(own))
			}
		}
	}
	return m.unit.measureOf(all)
}

func (r *Report) linkCells(port string, m linkMeasure, u measure) []cell {
	var cells []cell
	for i := range r.Runs {
		e := r.Runs[i].estimate(func(run *Run) float64 {
			if l := run.linkOf(port); l != nil {
				return m.of(l)
			}
			return math.NaN()
		})
		c := cell{Text: u.cell(e.Mean, false), Bar: -1}
		if e.N > 1 {
			c.Text = u.plusMinus(e.Mean, half(e.Half))
		}
		cells = append(cells, c)
	}
	return cells
}

// utilisationTable returns the mean, median and maximum of the links' utilisation.
func utilisationTable(r *Report) []table {
	t := table{
		Caption: "Utilisation of links, by direction: the share of the run's time that a port spent sending",
		Corner:  "Links", Heads: r.names(),
	}
	for _, of := range []struct {
		heading string
		has     func(*Link) bool
	}{
		{"Between switches", func(l *Link) bool { return l.FromSwitch && l.ToSwitch }},
		{"From switches to hosts", func(l *Link) bool { return l.FromSwitch && !l.ToSwitch }},
	} {
		b := body{Heading: of.heading}
		values := func(run *Run) []float64 {
			var all []float64
			for i := range run.Summary.Links {
				if l := &run.Summary.Links[i]; of.has(l) {
					all = append(all, 100*l.Utilisation)
				}
			}
			slices.Sort(all)
			return all
		}
		any := false
		for _, q := range []struct {
			name string
			of   func([]float64) float64
		}{
			{"mean", func(v []float64) float64 {
				sum := 0.0
				for _, x := range v {
					sum += x
				}
				return sum / float64(len(v))
			}},
			{"median", func(v []float64) float64 { return v[(len(v)-1)/2] }},
			{"max", func(v []float64) float64 { return v[len(v)-1] }},
		} {
			b.Rows = append(b.Rows, r.row(q.name, Percent, neither, func(run *Run) float64 {
				v := values(run)
				if len(v) == 0 {
					return math.NaN()
				}
				any = true
				return q.of(v)
			}))
		}
		if any {
			t.Bodies = append(t.Bodies, b)
		}
	}
	if len(t.Bodies) == 0 {
		return nil
	}
	return []table{t}
}
