package experiments

import (
	"bytes"

	"github.com/pausenet/pausenet/experiments/report"
)

// render makes a scenario's report.html of its results.
func render(results []*Result, seed uint64, version, command string) ([]byte, error) {
	page := reportOf(results)
	page.Version, page.Seed, page.Command = version, seed, command
	for _, c := range Compare(results[0].Scenario, results) {
		page.Published = append(page.Published, reportPublished(&c))
	}
	var b bytes.Buffer
	if err := report.Write(&b, page); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// renderFigure draws a run's panels.
func renderFigure(r *Result) ([]byte, error) {
	var b bytes.Buffer
	if err := report.WriteFigure(&b, reportOf([]*Result{r}), r.Controller); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// reportOf is the results as package report takes them.
func reportOf(results []*Result) *report.Report {
	s := results[0].Scenario
	page := &report.Report{
		Scenario: s.Name, Description: s.Description, Topology: s.Topology.Summary(),
		Plane: results[0].Summary.Plane, LookAt: s.LookAt,
	}
	for _, r := range results {
		page.Runs = append(page.Runs, reportRun(r))
	}
	for i := range s.Panels {
		page.Panels = append(page.Panels, reportPanel(&s.Panels[i], i, results))
	}
	for _, span := range s.Spans {
		page.Spans = append(page.Spans, report.Span{
			From: wholeNanoseconds(span.From), To: wholeNanoseconds(span.To), Label: span.Label,
		})
	}
	return page
}

func reportRun(r *Result) report.Run {
	sum := &r.Summary
	run := report.Run{
		Controller: r.Controller, Fingerprint: sum.Fingerprint, Partial: sum.Partial,
		Verdict: report.Verdict{Status: report.Status(sum.Verdict.Status), Messages: sum.Verdict.Messages},
		Summary: report.Summary{
			All: reportFlows(sum.Flows), PFCFrames: sum.PFC.Pauses, PFCRate: sum.PFC.Rate, Paused: sum.PFC.PausedNS,
			ECNMarks: sum.ECNMarks, CNPs: sum.CNPs, CNMs: sum.CNMs, Drops: sum.Drops.Frames,
			RTT: report.RTT{Samples: sum.RTT.Samples, Mean: sum.RTT.Mean, P99: sum.RTT.P99, Max: sum.RTT.Max},
			Speed: report.Speed{
				Frames: sum.Speed.Frames, HopsPerSecond: sum.Speed.HopsPerSecond, WallSeconds: sum.Speed.WallSeconds,
				VirtualSeconds: float64(sum.VirtualNS) / 1e9,
			},
		},
	}
	if v := r.Scenario.variant(r.Controller); v != nil {
		run.Note = v.Describe()
	}
	for _, tag := range sum.tags {
		run.Summary.ByTag = append(run.Summary.ByTag, report.Group{Name: tag, Flows: reportFlows(sum.ByTag[tag])})
	}
	for _, b := range sum.BySize {
		run.Summary.BySize = append(run.Summary.BySize, report.Group{Name: b.Label, Flows: reportFlows(b.FlowStatistics)})
	}
	for _, d := range r.Slowdowns {
		run.Slowdowns = append(run.Slowdowns, report.Distribution{Tag: d.Tag, Slowdowns: d.Slowdowns})
	}
	return run
}

func reportPublished(c *Comparison) report.Published {
	p := report.Published{Title: c.Title, Source: c.Source, Note: c.Note, Columns: c.Columns}
	for _, from := range c.Rows {
		row := report.PublishedRow{Label: from.Label, Unit: from.Unit}
		for _, cell := range from.Cells {
			row.Cells = append(row.Cells, report.PublishedCell(cell))
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

func reportFlows(f FlowStatistics) report.Flows {
	return report.Flows{
		Count:    f.Completed,
		FCT:      report.Quantiles{Mean: f.FCT.Mean, P50: f.FCT.P50, P95: f.FCT.P95, P99: f.FCT.P99},
		Slowdown: report.Quantiles{Mean: f.Slowdown.Mean, P50: f.Slowdown.P50, P95: f.Slowdown.P95, P99: f.Slowdown.P99},
	}
}

func reportPanel(p *Panel, index int, results []*Result) report.Panel {
	panel := report.Panel{Title: p.Title, Note: p.Note, Log: p.Log, Series: map[string][]report.Series{}}
	for k := range p.Series {
		spec := &p.Series[k]
		panel.Unit = unitOf(spec.Quantity)
		for _, r := range results {
			points := &r.Panels[index][k]
			series := report.Series{
				Label: spec.Label, X: points.Time, Y: points.Value,
				Step: spec.Quantity == QueueBytes || spec.Quantity == IngressBytes || spec.Quantity == PortState,
			}
			if spec.Reference > 0 {
				series.Reference = &report.Level{Value: spec.Reference, Label: spec.ReferenceLabel}
			}
			panel.Series[r.Controller] = append(panel.Series[r.Controller], series)
		}
	}
	return panel
}

func unitOf(q Quantity) report.Unit {
	switch q {
	case QueueBytes, IngressBytes:
		return report.Bytes
	case Throughput, SendingRate:
		return report.BitsPerSecond
	case PauseRate:
		return "frames/s"
	case CongestedMarks, UndeterminedMarks:
		return "marks/s"
	}
	return report.None
}
