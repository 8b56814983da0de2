package sweep

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/pairs"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/interval"
)

// columns returns the metrics with columns in sweep.csv: all, and those of single tags that the user named.
func (s *Sweep) columns() []*measure.Metric {
	all := measure.MetricsNamed(measure.MetricNames())
	for _, m := range s.shown() {
		if m.Tag != "" {
			all = append(all, m)
		}
	}
	return all
}

// figures returns an outcome's metrics, including those of single tags that the user named.
func (s *Sweep) figures(o *Outcome) map[string]float64 {
	all := maps.Clone(o.Figures)
	for _, m := range s.shown() {
		if v, ok := o.figure(m); ok {
			all[m.Name] = v
		}
	}
	return all
}

// writeCSV writes sweep.csv into the sweep's folder: one row for each point, with every metric in its base unit. A
// metric that the point does not have is empty. Equal sweeps give equal bytes. A parameter whose values have a unit
// has a column of numbers in addition to its texts.
func (s *Sweep) writeCSV(folder *files.Folder, points []Point, outcomes []Outcome) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	header := []string{"point"}
	varying := s.Varying()
	numbers := make([]map[string]string, len(varying)) // by value, for parameters whose values have a unit
	for k, p := range varying {
		header = append(header, escape.Cell(p.Path))
		if values, unit := numbersOf(p.Values); unit != report.None {
			header = append(header, escape.Cell(p.Path+unitSuffixes[unit]))
			numbers[k] = map[string]string{}
			for i, v := range p.Values {
				numbers[k][v] = strconv.FormatFloat(values[i], 'f', -1, 64)
			}
		}
	}
	header = append(header, "controller", "seed", "state", "verdict", "fingerprint", "same_as")
	metrics := s.columns()
	for _, m := range metrics {
		header = append(header, escape.Cell(m.Column()))
	}
	_ = w.Write(header) // into a buffer; Flush returns errors
	for i := range points {
		p, o := &points[i], &outcomes[i]
		state := "complete"
		if !o.Complete() {
			state = string(o.State)
		}
		row := []string{escape.Cell(p.Folder)}
		for k, v := range p.Values {
			if row = append(row, escape.Cell(v)); numbers[k] != nil {
				row = append(row, numbers[k][v])
			}
		}
		row = append(row, escape.Cell(p.Controller), strconv.FormatUint(p.Seed, 10), state,
			escape.Cell(string(o.Verdict.Status)),
			escape.Cell(o.Fingerprint), escape.Cell(p.SameAs))
		for _, m := range metrics {
			text := ""
			if v, ok := o.figure(m); ok {
				text = strconv.FormatFloat(v, 'f', -1, 64)
			}
			row = append(row, text)
		}
		_ = w.Write(row)
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	if err := folder.Remove(parquetFile); err != nil { // of an earlier sweep
		return err
	}
	return folder.Write(tableFile, b.Bytes())
}

// Row holds a combination of parameters' values and a controller, over all seeds.
type Row struct {
	Values     []string // of the varying parameters
	Controller string
	Verdicts   measure.Verdicts    // of its points, one for each seed
	Estimates  []interval.Estimate // by shown metric, over the runs that can be trusted
}

// Rows returns the sweep's points over their seeds, in the points' order. The estimates exclude failed runs.
func (s *Sweep) Rows(points []Point, outcomes []Outcome) []Row {
	shown := s.shown()
	var rows []Row
	var values [][]float64
	finish := func() {
		for _, v := range values {
			rows[len(rows)-1].Estimates = append(rows[len(rows)-1].Estimates, interval.Of(v))
		}
	}
	for i := range points {
		p, o := &points[i], &outcomes[i]
		if i == 0 || p.Controller != points[i-1].Controller || !slices.Equal(p.Values, points[i-1].Values) {
			if i > 0 {
				finish()
			}
			rows = append(rows, Row{Values: p.Values, Controller: p.Controller})
			values = make([][]float64, len(shown))
		}
		row := &rows[len(rows)-1]
		row.Verdicts.Runs++
		if !o.Complete() {
			continue
		}
		if row.Verdicts.Add(o.Verdict.Status); o.Verdict.Status == measure.Fail {
			continue
		}
		for k, m := range shown {
			if v, ok := o.figure(m); ok {
				values[k] = append(values[k], v)
			}
		}
	}
	if len(points) > 0 {
		finish()
	}
	return rows
}

// Compared compares the sweep's controllers with the first one in the shown metrics, by pairs of points with equal
// parameters and seed. With one controller, it compares the values of the first varying parameter with the first value.
// Each comparison is a line for people.
func (s *Sweep) Compared(points []Point, outcomes []Outcome) (lines []string) {
	varying := s.Varying()
	side := func(p *Point) string { return p.Controller }
	rest := func(p *Point) string { return fmt.Sprint(p.Values, p.Seed) }
	baseline := func(name string) string { return name }
	what := "equal parameters and seed"
	if !slices.ContainsFunc(points, func(p Point) bool { return p.Controller != points[0].Controller }) {
		if len(varying) == 0 {
			return nil
		}
		side = func(p *Point) string { return varying[0].Path + "=" + p.Values[0] }
		baseline = func(name string) string { return strings.TrimPrefix(name, varying[0].Path+"=") }
		if rest, what = func(p *Point) string { return fmt.Sprint(p.Values[1:], p.Seed) }, "equal seed"; len(varying) > 1 {
			what = "equal other parameters and seed"
		}
	}
	first := map[string]*Outcome{}
	var sides []string
	all := map[string]*pairs.Pairs{}
	for i := range points {
		p, o := &points[i], &outcomes[i]
		name := side(p)
		if all[name] == nil {
			sides, all[name] = append(sides, name), pairs.New(s.shown())
		}
		if !o.Complete() {
			continue
		}
		if name == sides[0] {
			first[rest(p)] = o
		}
	}
	for i := range points {
		if base := first[rest(&points[i])]; base != nil && outcomes[i].Complete() {
			all[side(&points[i])].Add(outcomes[i].paired(), base.paired())
		}
	}
	for _, name := range sides[min(1, len(sides)):] {
		if text := all[name].String(); text != "" {
			lines = append(lines, fmt.Sprintf("%s against %s, by %s, %s", name, baseline(sides[0]), what, text))
		}
	}
	return lines
}

// MetricLabels returns the labels of the shown metrics.
func (s *Sweep) MetricLabels() []string {
	var labels []string
	for _, m := range s.shown() {
		label := m.Label
		if m.Name == "goodput" {
			label += ", all flows" // combined
		}
		labels = append(labels, label)
	}
	return labels
}

// Text returns an estimate of the k-th shown metric for people: "5.23 ± 0.04 ms", "5.23 ms" for one run, "-" for none.
func (s *Sweep) Text(k int, e interval.Estimate) string { return s.shown()[k].Text(e) }

// View represents a point in structured output.
type View struct {
	Point       string             `json:"point"`
	Parameters  map[string]string  `json:"parameters"`
	Controller  string             `json:"controller"`
	Seed        uint64             `json:"seed"`
	SameAs      string             `json:"same_as,omitempty"` // name of an earlier point with an equal configuration
	State       State              `json:"state"`
	Error       string             `json:"error,omitempty"`
	Verdict     *measure.Verdict   `json:"verdict,omitempty"`
	Fingerprint string             `json:"fingerprint,omitempty"`
	Metrics     map[string]float64 `json:"metrics,omitempty"` // in base units
}

// View returns the points' results for programs.
func (s *Sweep) View(points []Point, outcomes []Outcome) []View {
	views := make([]View, len(points))
	for i := range points {
		p, o := &points[i], &outcomes[i]
		v := View{
			Point: p.Folder, Parameters: map[string]string{}, Controller: p.Controller, Seed: p.Seed, SameAs: p.SameAs,
			State:       o.State,
			Fingerprint: o.Fingerprint, Metrics: s.figures(o),
		}
		for k, parameter := range s.Varying() {
			v.Parameters[parameter.Path] = p.Values[k]
		}
		if o.Err != nil {
			v.Error = o.Err.Error()
		}
		if o.Complete() {
			v.Verdict = &o.Verdict
		}
		views[i] = v
	}
	return views
}

// Write writes sweep.csv, sweep.html and times.csv into the sweep's folder, and the page's figures in the given
// formats into a folder beside them.
func (s *Sweep) Write(directory string, r *Runner, outcomes []Outcome, formats []string) error {
	folder, err := files.OpenFolder(directory, directory)
	if err == nil {
		defer folder.Close()
		err = s.writeCSV(folder, r.Points, outcomes)
	}
	if err == nil {
		err = s.writePage(folder, s.shownIn(r, outcomes), formats)
	}
	if err == nil {
		err = writeTimes(folder, r.Points, outcomes)
	}
	if err != nil {
		return fmt.Errorf("cannot write the results: %w", err)
	}
	return nil
}

// WriteTimes writes only times.csv, into the folder of a shard.
func (s *Sweep) WriteTimes(r *Runner, outcomes []Outcome) error {
	folder, err := files.OpenFolder(r.Within, r.Within)
	if err != nil {
		return err
	}
	defer folder.Close()
	return writeTimes(folder, r.Points, outcomes)
}

func (s *Sweep) writePage(folder *files.Folder, shown *report.Sweep, formats []string) error {
	var page bytes.Buffer
	if err := report.WriteSweep(&page, shown); err != nil {
		return err
	}
	if err := folder.Write("sweep.html", page.Bytes()); err != nil {
		return err
	}
	if len(formats) == 0 {
		return nil
	}
	figures, err := report.SweepFigures(shown)
	if err != nil {
		return err
	}
	return results.WriteFigures(folder, rundir.FiguresFolder, figures, formats)
}
