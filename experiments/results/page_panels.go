package results

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/report"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// panels are the plots over time of each column's first run. Columns of different scenarios share those of one title.
func (p *reportPage) panels(page *report.Report) {
	for i := range p.columns {
		c := &p.columns[i]
		r := c.runs[0]
		if r.panels == nil {
			continue
		}
		for k, view := range r.manifest.Configuration.Report {
			unit := report.None
			if len(view.Series) > 0 {
				unit = unitOf(view.Series[len(view.Series)-1].Quantity)
			}
			at := slices.IndexFunc(page.Panels, func(o report.Panel) bool {
				return o.Title == view.Title && o.Unit == unit && len(o.Series[c.name]) == 0
			})
			if at < 0 {
				at = len(page.Panels)
				page.Panels = append(page.Panels, report.Panel{Title: view.Title, Note: view.Note, Unit: unit, Log: view.Log, Series: map[string][]report.Series{}})
			}
			for n := range view.Series {
				page.Panels[at].Series[c.name] = append(page.Panels[at].Series[c.name], reportSeries(&view.Series[n], &r.panels[k][n]))
			}
		}
	}
}

func reportSeries(v *scenario.SeriesView, points *report.Series) report.Series {
	s := report.Series{
		Label: v.Label, X: points.X, Y: points.Y,
		Step: v.Quantity == scenario.QueueBytes || v.Quantity == scenario.IngressBytes || v.Quantity == scenario.PortState,
	}
	if v.Reference > 0 {
		s.Reference = &report.Level{Value: v.Reference, Label: v.ReferenceLabel}
	}
	return s
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
