package results

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/units"
)

// column holds the runs of a page's column, which differ only in their seed.
type column struct {
	name string
	runs []*RunFolder
}

// reportPage represents a page made only from the files in folders, so that it can be rebuilt at any time.
type reportPage struct {
	columns          []column // each with at least one run
	problems         []string
	command, version string
	folder           string // folder of the scenario
	compares         bool
}

// page returns the page for package report.
func (p *reportPage) page() *report.Report {
	first := &p.columns[0].runs[0].manifest
	view := &first.Configuration
	page := &report.Report{
		Scenario: first.Scenario, Description: view.Description, Topology: first.Fabric, Version: p.version,
		Plane:   first.Plane,
		Command: p.command, LookAt: view.LookAt, Seed: first.Seed, Compares: p.compares, Problems: slices.Clone(p.problems),
	}
	for i := range p.columns {
		c := &p.columns[i]
		for _, r := range c.runs {
			page.Problems = append(page.Problems, r.Missing...)
			if len(c.runs) > 1 && !slices.Contains(page.Seeds, r.manifest.Seed) {
				page.Seeds = append(page.Seeds, r.manifest.Seed)
			}
		}
		page.Runs = append(page.Runs, c.report())
	}
	if earlier := runfolders.Earlier(p.folder); earlier != "" && p.folder != "" {
		page.Earlier, page.EarlierCommand = filepath.Base(earlier), fmt.Sprintf("pausenet report %s %s", earlier, p.folder)
	}
	page.Headline = p.headline()
	p.panels(page)
	for _, span := range view.Spans {
		page.Spans = append(page.Spans, report.Span{
			From: int64(span.From + 0.5), To: int64(span.To + 0.5),
			Label: span.Label,
		})
	}
	if p.compares {
		p.wholes(page)
		return page
	}
	for _, c := range measure.CompareMeasured(view.Tables(), p.measurements()) {
		page.Published = append(page.Published, reportPublished(&c))
	}
	return page
}

func (p *reportPage) render() ([]byte, error) {
	var b bytes.Buffer
	if err := report.Write(&b, p.page()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// figure returns the run's panels as a drawing.
func (r *RunFolder) figure() (*report.Drawing, error) {
	p := reportPage{columns: []column{{r.manifest.Controller, []*RunFolder{r}}}}
	return report.RunFigure(p.page(), r.manifest.Controller)
}

// measurements returns the measurements of all trusted runs, to compare with published figures.
func (p *reportPage) measurements() []measure.Measurement {
	var all []measure.Measurement
	for i := range p.columns {
		for _, r := range p.columns[i].runs {
			if r.summary.Trusted() {
				all = append(all, r.summary.Measurement(p.columns[i].name))
			}
		}
	}
	return all
}

// report returns the column for package report: its first run. If there are several, they are its repeats, and the
// verdict combines theirs.
func (c *column) report() report.Run {
	run := c.runs[0].report(c.name)
	if len(c.runs) == 1 {
		return run
	}
	run.Verdict = report.Verdict{Status: report.Pass}
	verdicts := measure.Verdicts{Runs: len(c.runs)}
	run.Partial = false
	for _, r := range c.runs {
		own := r.report(c.name)
		verdicts.Add(r.summary.Verdict.Status)
		run.Repeats = append(run.Repeats, own)
		run.Partial = run.Partial || own.Partial
		for _, m := range own.Verdict.Messages {
			run.Verdict.Messages = append(run.Verdict.Messages, fmt.Sprintf("seed %d: %s", r.manifest.Seed, m))
		}
		for _, n := range own.Verdict.Notes {
			run.Verdict.Notes = append(run.Verdict.Notes, fmt.Sprintf("seed %d: %s", r.manifest.Seed, n))
		}
		if s := own.Verdict.Status; s == report.Fail || s == report.Warn && run.Verdict.Status == report.Pass {
			run.Verdict.Status = s
		}
	}
	run.Verdict.Word = verdicts.String()
	return run
}

// headline returns the headline of the columns, as on the terminal.
func (p *reportPage) headline() (rows []report.HeadlineRow) {
	columns := make([]HeadlineColumn, len(p.columns))
	for i := range p.columns {
		columns[i].Name = p.columns[i].name
		for _, r := range p.columns[i].runs {
			columns[i].Runs = append(columns[i].Runs, &r.summary)
		}
	}
	for _, row := range Headline(columns) {
		rows = append(rows, report.HeadlineRow(row))
	}
	return rows
}

// report returns the run for package report.
func (r *RunFolder) report(name string) report.Run {
	sum := &r.summary
	run := report.Run{
		Controller: name, Fingerprint: sum.Fingerprint, Partial: sum.Partial, Seed: r.manifest.Seed, Settings: r.settings(),
		Verdict: report.Verdict{
			Status: report.Status(sum.Verdict.Status), Word: sum.Verdict.Status.Word(),
			Messages: sum.Verdict.Messages, Notes: sum.Verdict.Notes,
		},
		Summary: report.Summary{
			All: reportFlows(sum.Flows), PFCFrames: sum.PFC.Pauses, SwitchPauses: sum.PFC.SwitchPauses, PFCRate: sum.PFC.Rate,
			Paused: sum.PausedNS(), ECNMarks: sum.ECNMarks, CNPs: sum.CNPs, CNMs: sum.CNMs, Drops: sum.Drops.Frames,
			RTT: report.RTT{Samples: sum.RTT.Samples, Mean: sum.RTT.Mean, P99: sum.RTT.P99, Max: sum.RTT.Max},
			Speed: report.Speed{
				Frames: sum.Speed.Frames, HopsPerSecond: sum.Speed.HopsPerSecond, WallSeconds: sum.Speed.WallSeconds,
				VirtualSeconds: float64(sum.VirtualNS) / 1e9,
			},
			PeakIngress: sum.PeakIngress,
			Spread: report.Spread{
				Depth: sum.PFC.Spread.Depth, ByDepth: sum.PFC.Spread.ByDepth, Chain: sum.PFC.Spread.Chain,
				Time: sum.PFC.Spread.Time,
			},
			Victims: report.Victims{Over: sum.Victims.Over, Count: sum.Victims.Count},
			Links:   r.reportLinks(),
		},
	}
	run.Events, run.MoreEvents = r.events, r.more
	run.Faults = len(r.manifest.Configuration.Faults) > 0
	for i := range r.manifest.Configuration.Variants {
		if v := &r.manifest.Configuration.Variants[i]; v.Name == r.manifest.Controller {
			run.Note = v.Describe()
		}
	}
	for _, s := range sum.Switches {
		run.Summary.PeakEgress = max(run.Summary.PeakEgress, s.QueuePeak)
	}
	for _, v := range sum.Victims.Worst {
		run.Summary.Victims.Worst = append(run.Summary.Victims.Worst, report.Victim(v))
	}
	for _, tag := range r.orderOf(sum) {
		if f, ok := sum.ByTag[tag]; ok {
			run.Summary.ByTag = append(run.Summary.ByTag, report.Group{Name: tag, Flows: reportFlows(f)})
		}
		if f, ok := sum.Fairness.ByTag[tag]; ok {
			run.Summary.Fairness = append(run.Summary.Fairness, report.Fairness{Tag: tag, Mean: f.Mean, Least: f.Least})
		}
	}
	for _, b := range sum.BySize {
		run.Summary.BySize = append(run.Summary.BySize, report.Group{Name: b.Label, Flows: reportFlows(b.FlowStatistics)})
	}
	for _, b := range sum.BySizeBin {
		run.Summary.BySizeBin = append(run.Summary.BySizeBin,
			report.SizeBin{UpTo: b.UpTo, Flows: reportFlows(b.FlowStatistics)})
	}
	for i := range sum.Imbalance {
		of := &sum.Imbalance[i]
		run.Summary.Imbalance = append(run.Summary.Imbalance,
			report.Imbalance{Tier: of.Tier, MaxOverMean: of.MaxOverMean, Jain: of.Jain, Worst: of.Worst.Node})
	}
	if of := sum.Recovery; of != nil {
		run.Summary.Recovery = &report.Recovery{
			Timeouts: of.Timeouts, Naks: of.Naks, Retransmitted: of.Retransmitted,
			Spurious: of.Spurious, Duplicates: of.Duplicates, Reordered: of.Reordered, Extent: of.Extent, Trimmed: of.Trimmed,
		}
	}
	lossy := sum.Drops.Lossy
	run.Summary.Lossy = report.LossyDrops{
		Queue: lossy[measure.LossyQueue], Threshold: lossy[measure.LossyThreshold],
		Buffer: lossy[measure.LossyBuffer],
	}
	for _, p := range sum.Drops.Positions {
		run.Summary.Drop = append(run.Summary.Drop, report.DropPosition{
			At:    p.Node + " to " + p.Peer,
			Cause: measure.DropTexts[p.Cause], Frames: p.Frames,
		})
	}
	for i := range sum.Jobs {
		j := &sum.Jobs[i]
		run.Summary.Jobs = append(run.Summary.Jobs, report.Job{
			Tag: j.Tag, JCT: j.JCT, Limit: j.Limit, Compute: j.Compute, Exposed: j.Exposed, Late: j.Late,
			ExposedShare: j.ExposedShare, Straggler: j.Straggler,
		})
	}
	for i := range sum.Collectives {
		c := &sum.Collectives[i]
		run.Summary.Collectives = append(run.Summary.Collectives, report.Collective{
			Name:      fmt.Sprintf("%s: %s by %s, %v, %d ranks", c.Tag, c.Kind, c.Algorithm, units.Bytes(c.Size), c.Ranks),
			Completed: c.Completed,
			Time:      report.Quantiles{Mean: c.Time.Mean, P50: c.Time.P50, P95: c.Time.P95, P99: c.Time.P99}, Limit: c.Limit,
			Algorithmic: c.Algorithmic, Bus: c.Bus, Skew: c.Skew.Mean, Late: c.Late.Mean,
		})
	}
	run.Slowdowns = r.times
	return run
}

// orderOf returns the tags in the order of the flows, or alphabetically without flows.csv.
func (r *RunFolder) orderOf(sum *measure.Summary) []string {
	if r.tags != nil {
		return r.tags
	}
	var tags []string
	for tag := range sum.ByTag {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	return tags
}

// reportLinks returns all links, or without links.csv those that the summary names.
func (r *RunFolder) reportLinks() []report.Link {
	links := r.links
	if links == nil {
		seen := map[string]bool{}
		for _, l := range slices.Concat(r.summary.Links.Busiest, r.summary.Links.Congested, r.summary.Links.Paused) {
			if !seen[l.Port] {
				seen[l.Port] = true
				links = append(links, l)
			}
		}
	}
	switches := map[string]bool{}
	for _, n := range r.manifest.Configuration.Topology.Nodes {
		switches[n.Name] = n.Kind == "switch"
	}
	all := make([]report.Link, len(links))
	for i := range links {
		l := &links[i]
		all[i] = report.Link{
			Node: l.Node, Port: l.Port, Peer: l.Peer, FromSwitch: switches[l.Node], ToSwitch: switches[l.Peer],
			Utilisation: l.Utilisation,
			PauseRate:   l.PauseRate, Paused: l.PausedNS, Congested: l.CongestedNS, PeakQueue: l.PeakQueue,
		}
	}
	return all
}

func reportPublished(c *measure.Comparison) report.Published {
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

func reportFlows(f measure.FlowStatistics) report.Flows {
	unfinished := 0
	if f.Unfinished != nil {
		unfinished = f.Unfinished.Flows
	}
	return report.Flows{
		Unfinished: unfinished,
		Count:      f.Completed,
		FCT:        report.Quantiles{Mean: f.FCT.Mean, P50: f.FCT.P50, P95: f.FCT.P95, P99: f.FCT.P99},
		Slowdown:   report.Quantiles{Mean: f.Slowdown.Mean, P50: f.Slowdown.P50, P95: f.Slowdown.P95, P99: f.Slowdown.P99},
	}
}
