package results

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/internal/interval"
	"github.com/pausenet/pausenet/internal/lists"
)

// Comparison holds runs of several folders side by side, each compared with the first.
type Comparison struct {
	page  reportPage
	shown *report.Report
}

// Compare reads the runs of folders (of runs, of scenarios, or of results) for comparison. Runs of one folder that
// differ only in their seed form one column.
func Compare(roots []string) (*Comparison, error) {
	c := &Comparison{page: reportPage{compares: true}}
	seen := map[string]bool{}
	var locations []rundir.Location
	rootOf := map[string]int{} // by path
	for i, root := range roots {
		found, err := runfolders.FindRuns(root)
		if err != nil {
			return nil, err
		}
		for _, location := range found {
			whole, err := filepath.Abs(location.Path())
			if err != nil {
				return nil, err
			}
			if !seen[whole] {
				seen[whole] = true
				rootOf[location.Path()] = i
				locations = append(locations, location)
			}
		}
	}
	columnOf := func(p rundir.Location) string { return filepath.Join(p.Scenario, p.Controller) }
	all, err := readRuns(locations, columnOf)
	if err != nil {
		return nil, err
	}
	var runs []*RunFolder
	for _, own := range groupBy(all, func(r *RunFolder) string { return strconv.Itoa(rootOf[r.Path]) }) {
		own = slices.DeleteFunc(own, func(r *RunFolder) bool {
			if r.Unfinished != "" {
				c.page.problems = append(c.page.problems, r.Unfinished)
			}
			return r.Unfinished != ""
		})
		sortRuns(own)
		runs = append(runs, own...)
	}
	if len(runs) == 0 {
		return nil, &rundir.FileError{
			Path: strings.Join(roots, ", "),
			Err:  fmt.Errorf("nothing to show; %s", strings.Join(c.page.problems, "; ")),
		}
	}
	for _, group := range groupBy(runs, func(r *RunFolder) string {
		return columnOf(rundir.LocationOf(r.Path))
	}) {
		c.page.columns = append(c.page.columns, column{group[0].manifest.Controller, group})
	}
	c.page.tellChanged()
	c.page.distinguish()
	c.shown = c.page.page()
	return c, nil
}

// wholes adds findings about the compared runs as a whole: equal fingerprints and configurations.
func (p *reportPage) wholes(page *report.Report) {
	var scenarios []string
	for i := range p.columns {
		if name := p.columns[i].runs[0].manifest.Scenario; !slices.Contains(scenarios, name) {
			scenarios = append(scenarios, name)
		}
	}
	page.Scenario = strings.Join(scenarios, ", ")
	if len(scenarios) > 1 {
		page.Description, page.Topology, page.LookAt, page.Spans = "", "", nil, nil
	}
	page.Plane, page.Version = "", ""
	names := lists.Map(page.Runs, func(r report.Run) string { return r.Controller })
	equal := map[string][]string{} // columns by fingerprints
	var order []string
	for i := range p.columns {
		print := p.columns[i].fingerprints()
		if equal[print] == nil {
			order = append(order, print)
		}
		equal[print] = append(equal[print], names[i])
	}
	for _, print := range order {
		if same := equal[print]; len(same) > 1 {
			page.Findings = append(page.Findings, fmt.Sprintf("%s are equal frame by frame: their fingerprints are the same.",
				list(same)))
		}
	}
	if len(order) == len(names) && len(names) > 1 {
		page.Findings = append(page.Findings, "No two of the runs have the same fingerprint.")
	}
	for i := range p.columns {
		for k := range p.columns[:i] {
			a, b := &p.columns[k].runs[0].manifest, &p.columns[i].runs[0].manifest
			if a.Hash == b.Hash && a.Hash != "" && a.Status == rundir.StatusComplete && b.Status == rundir.StatusComplete &&
				a.Fingerprint != b.Fingerprint {
				page.Findings = append(page.Findings, fmt.Sprintf(
					"%s and %s have the same configuration but different fingerprints: the programs differ, or pausenet has a bug.", names[k], names[i]))
			}
		}
	}
	if len(configured(page.Runs)) == 0 && len(names) > 1 {
		page.Findings = append(page.Findings, "Their configurations are the same.")
	}
}

// configured returns the settings in which runs differ, those of --set first. It omits settings that follow from
// others: a controller's constants do if all runs under one controller have the same.
func configured(runs []report.Run) []report.Difference {
	all := append([]report.Difference{}, report.Differences(runs)...)
	var controllers []string
	for _, d := range all {
		if d.Group == thisRun && d.Name == "controller" {
			controllers = d.Values
		}
	}
	all = slices.DeleteFunc(all, func(d report.Difference) bool {
		return d.Group == madeBy || d.Group == controllerConstants && follows(d.Values, controllers)
	})
	slices.SortStableFunc(all, func(a, b report.Difference) int {
		return cmp.Compare(isSetting(b), isSetting(a))
	})
	return all
}

// isSetting returns 1 for the settings of --set, and 0 for other differences.
func isSetting(d report.Difference) int {
	if d.Group == thisRun && d.Name == settingsName {
		return 1
	}
	return 0
}

// follows reports whether values are equal wherever others are.
func follows(values, others []string) bool {
	by := map[string]string{}
	for i, other := range others {
		if value, known := by[other]; known && value != values[i] {
			return false
		}
		by[other] = values[i]
	}
	return len(others) > 0
}

// fingerprints returns the fingerprints of all runs of the column.
func (c *column) fingerprints() string {
	return strings.Join(lists.Map(c.runs, func(r *RunFolder) string { return r.summary.Fingerprint }), " ")
}

// list joins words for people: "a, b and c".
func list(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Missing returns the files that the folders lack for the page.
func (c *Comparison) Missing() []string { return c.page.missing() }

// Write writes the page, and the figures in the given formats into a folder beside it.
func (c *Comparison) Write(path string, formats []string) error {
	return c.page.write(path, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+"-"+rundir.FiguresFolder,
		formats)
}

// Columns returns the compared runs, for a headline.
func (c *Comparison) Columns() []HeadlineColumn {
	columns := make([]HeadlineColumn, len(c.page.columns))
	for i := range c.page.columns {
		columns[i].Name = c.page.columns[i].name
		for _, r := range c.page.columns[i].runs {
			columns[i].Runs = append(columns[i].Runs, &r.summary)
		}
	}
	return columns
}

// ComparisonView represents a comparison in structured output. Values and metrics are in the order of the runs.
type ComparisonView struct {
	Runs        []ComparedRunView   `json:"runs"`
	Findings    []string            `json:"findings"`
	Differences []report.Difference `json:"differences"`
	Missing     []string            `json:"missing"`
}

// ComparedRunView describes a run, or several with different seeds.
type ComparedRunView struct {
	Name         string                `json:"name"`
	Folders      []string              `json:"folders"`
	Verdict      string                `json:"verdict"`
	Partial      bool                  `json:"partial"`
	Fingerprints []string              `json:"fingerprints"`
	Metrics      map[string]MetricView `json:"metrics"` // in base units, of the runs that can be trusted
}

// MetricView holds a metric's value, with half the width of its 95 % confidence interval if it is a mean over several
// runs.
type MetricView struct {
	Mean float64  `json:"mean"`
	Half *float64 `json:"half_width_95,omitempty"`
	Runs int      `json:"runs"`
}

// View returns the comparison for programs.
func (c *Comparison) View() ComparisonView {
	v := ComparisonView{
		Findings: append([]string{}, c.shown.Findings...),
		Missing:  append([]string{}, c.page.missing()...),
	}
	v.Differences = configured(c.shown.Runs)
	for i := range c.page.columns {
		col := &c.page.columns[i]
		run := ComparedRunView{
			Name: col.name, Verdict: string(c.shown.Runs[i].Verdict.Status), Partial: c.shown.Runs[i].Partial,
			Metrics: map[string]MetricView{},
		}
		summaries := make([]*measure.Summary, len(col.runs))
		for k, r := range col.runs {
			run.Folders = append(run.Folders, r.Path)
			run.Fingerprints = append(run.Fingerprints, r.summary.Fingerprint)
			summaries[k] = &r.summary
		}
		for k := range measure.Metrics {
			if e := measure.Metrics[k].Over(summaries); e.N > 0 {
				run.Metrics[measure.Metrics[k].Name] = viewMetric(e)
			}
		}
		v.Runs = append(v.Runs, run)
	}
	return v
}

func viewMetric(e interval.Estimate) MetricView {
	m := MetricView{Mean: e.Mean, Runs: e.N}
	if e.N > 1 {
		m.Half = &e.Half
	}
	return m
}
