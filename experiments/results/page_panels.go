package results

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// panels adds the plots over time of each column's first run. Columns of different scenarios share plots with the same
// title.
func (p *reportPage) panels(page *report.Report) {
	paused := slices.ContainsFunc(p.columns, func(c column) bool { return c.runs[0].summary.PFC.Pauses > 0 })
	chosen := false // by a run
	for i := range p.columns {
		c := &p.columns[i]
		r := c.runs[0]
		if r.panels == nil {
			continue
		}
		byDefault := r.manifest.Configuration.ReportDefault
		for k, view := range r.manifest.Configuration.Report {
			if byDefault && aboutPauses(&view) && !paused {
				continue
			}
			unit := report.None
			if len(view.Series) > 0 {
				unit = unitOf(view.Series[len(view.Series)-1].Quantity)
			}
			at := slices.IndexFunc(page.Panels, func(o report.Panel) bool {
				return o.Title == view.Title && o.Unit == unit && len(o.Series[c.name]) == 0
			})
			if at < 0 {
				at = len(page.Panels)
				page.Panels = append(page.Panels, report.Panel{
					Title: view.Title, Note: view.Note, Unit: unit, Log: view.Log,
					Series: map[string][]report.Series{},
				})
			}
			for n := range view.Series {
				s := reportSeries(&view.Series[n], &r.panels[k][n])
				page.Panels[at].Series[c.name] = append(page.Panels[at].Series[c.name], s)
				if view.Series[n].Quantity == scenario.Collective {
					for _, y := range r.panels[k][n].Y {
						page.Panels[at].Top = max(page.Panels[at].Top, y+1) // a bar at the edge would be cut off
					}
				}
			}
			if p := &page.Panels[at]; byDefault && view.Note != p.Note {
				p.Note += fmt.Sprintf(" (%s: %s)", c.name, view.Note)
			}
			chosen = chosen || byDefault
		}
	}
	if chosen {
		for i := range page.Panels {
			keepHighest(&page.Panels[i])
		}
	}
}

// aboutPauses reports whether a default panel is empty if no port sent PAUSE.
func aboutPauses(v *scenario.PanelView) bool {
	return slices.ContainsFunc(v.Series, func(s scenario.SeriesView) bool {
		return s.Quantity == scenario.PauseRate || s.ReferenceTo == "pfc.xoff"
	})
}

// mostLabels limits the labels in the legend of a default panel, one for each colour.
const mostLabels = 8

// keepHighest keeps the labels with the highest lines in any run, because each run chose its own ports.
func keepHighest(p *report.Panel) {
	peaks := map[string]float64{}
	for _, all := range p.Series {
		for i := range all {
			peak := peaks[all[i].Label]
			for _, y := range all[i].Y {
				peak = max(peak, y)
			}
			peaks[all[i].Label] = peak
		}
	}
	if len(peaks) <= mostLabels {
		return
	}
	labels := slices.SortedFunc(maps.Keys(peaks), func(a, b string) int { return cmp.Or(cmp.Compare(peaks[b], peaks[a]), cmp.Compare(a, b)) })
	for name, all := range p.Series {
		p.Series[name] = slices.DeleteFunc(all, func(s report.Series) bool { return !slices.Contains(labels[:mostLabels], s.Label) })
	}
}

func reportSeries(v *scenario.SeriesView, points *report.Series) report.Series {
	s := report.Series{
		Label: v.Label, X: points.X, Y: points.Y,
		Step: v.Quantity == scenario.QueueBytes || v.Quantity == scenario.IngressBytes || v.Quantity == scenario.PortState,
	}
	if v.Quantity == scenario.Collective {
		s.X, s.Y = bars(points)
	}
	if v.Reference > 0 {
		s.Reference = &report.Level{Value: v.Reference, Label: v.ReferenceLabel}
	}
	return s
}

// bars returns a line for each interval in which the number, which is valid until the next point, is not 0.
func bars(points *report.Series) (x []int64, y []float64) {
	for i, v := range points.Y {
		if v == 0 || i+1 == len(points.X) {
			continue
		}
		from, to := points.X[i], points.X[i+1]
		if n := len(x); n > 0 && x[n-1] > from { // the gap after the previous one
			x, y = x[:n-1], y[:n-1]
		}
		x, y = append(x, from, to, to+1), append(y, v, v, math.NaN())
	}
	return x, y
}

func unitOf(q scenario.Quantity) report.Unit {
	switch q {
	case scenario.QueueBytes, scenario.IngressBytes:
		return report.Bytes
	case scenario.Throughput, scenario.SendingRate:
		return report.BitsPerSecond
	case scenario.PauseRate:
		return "frames/s"
	case scenario.CongestedMarks, scenario.UndeterminedMarks:
		return "marks/s"
	}
	return report.None
}
