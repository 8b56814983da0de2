package experiments

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/pausenet/pausenet/experiments/report"
	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/topologies"
)

// render makes a scenario's report.html of its results.
func render(results []*Result, seed uint64, version, command string) ([]byte, error) {
	s := results[0].Scenario
	page := &report.Report{
		Scenario: s.Name, Description: s.Description, Topology: DescribeTopology(s.Topology), Version: version,
		Seed: seed, Plane: results[0].Summary.Plane, Command: command, LookAt: s.LookAt,
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
	var b bytes.Buffer
	if err := report.Write(&b, page); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
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

func reportFlows(f FlowStatistics) report.Flows {
	return report.Flows{
		Count:    f.Completed,
		FCT:      report.Quantiles{Mean: f.FCT.Mean, P50: f.FCT.P50, P95: f.FCT.P95, P99: f.FCT.P99},
		Slowdown: report.Quantiles{Mean: f.Slowdown.Mean, P50: f.Slowdown.P50, P95: f.Slowdown.P95, P99: f.Slowdown.P99},
	}
}

func reportPanel(p *Panel, index int, results []*Result) report.Panel {
	panel := report.Panel{Title: p.Title, Note: p.Note, Series: map[string][]report.Series{}}
	for k := range p.Series {
		spec := &p.Series[k]
		panel.Unit = unitOf(spec.Quantity)
		for _, r := range results {
			points := &r.Panels[index][k]
			series := report.Series{
				Label: spec.Label, X: points.Time, Y: points.Value,
				Step: spec.Quantity == QueueBytes || spec.Quantity == IngressBytes,
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
	}
	return report.None
}

// DescribeTopology says in plain language what a fabric looks like, such as "3 leaves, 2 spines, 18 hosts; 40Gbps links
// of 5us".
func DescribeTopology(plan *topologies.Plan) string {
	tiers := map[int]int{}
	top := 0
	for _, id := range plan.Switch {
		t := plan.Nodes[id].Tier
		tiers[t]++
		top = max(top, t)
	}
	names := map[int][2]string{1: {"leaf switch", "leaf switches"}, 2: {"spine switch", "spine switches"}, 3: {"core switch", "core switches"}}
	if top == 1 {
		names[1] = [2]string{"switch", "switches"}
	}
	if top == 3 {
		names[1], names[2] = [2]string{"edge switch", "edge switches"}, [2]string{"aggregation switch", "aggregation switches"}
	}
	var parts []string
	for t := 1; t <= top; t++ {
		parts = append(parts, count(tiers[t], names[t]))
	}
	parts = append(parts, count(len(plan.Hosts), [2]string{"host", "hosts"}))
	low, high := units.Rate(math.MaxInt64), units.Rate(0)
	for i := range plan.Links {
		low, high = min(low, plan.Links[i].Rate), max(high, plan.Links[i].Rate)
	}
	rate := low.String()
	if high != low {
		rate += " to " + high.String()
	}
	return fmt.Sprintf("%s; links of %s", strings.Join(parts, ", "), rate)
}

func count(n int, name [2]string) string {
	if n == 1 {
		return "1 " + name[0]
	}
	return fmt.Sprintf("%d %s", n, name[1])
}
