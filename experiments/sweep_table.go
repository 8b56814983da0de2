package experiments

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/experiments/report"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/interval"
)

// sweepMetrics are what a sweep's tables and charts show unless its user says.
var sweepMetrics = []string{"fct_mean", "fct_p99", "slowdown_p99", "goodput", "pauses", "pauses_between_switches"}

// shown are the metrics that tables and charts show.
func (s *Sweep) shown() []*metric {
	names := s.Metrics
	if len(names) == 0 {
		names = sweepMetrics
	}
	return metricsNamed(names)
}

// WriteCSV writes sweep.csv into the sweep's folder: a row a point, with every metric in its base unit. What a point has
// none of is empty; equal sweeps give equal bytes.
func (s *Sweep) writeCSV(folder *files.Folder, points []SweepPoint, outcomes []SweepOutcome) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	header := []string{"point"}
	for _, p := range s.Varying() {
		header = append(header, p.Path)
	}
	header = append(header, "controller", "seed", "state", "verdict", "fingerprint", "same_as")
	for i := range metrics {
		header = append(header, metrics[i].column())
	}
	_ = w.Write(header) // into a buffer; Flush would tell
	for i := range points {
		p, o := &points[i], &outcomes[i]
		state := "complete"
		if !o.Complete() {
			state = string(o.State)
		}
		row := append([]string{p.Folder}, p.Values...)
		row = append(row, p.Controller, strconv.FormatUint(p.Seed, 10), state, string(o.Verdict.Status), o.Fingerprint, p.SameAs)
		for k := range metrics {
			text := ""
			if v, ok := o.Figures[metrics[k].name]; ok {
				text = strconv.FormatFloat(v, 'f', -1, 64)
			}
			row = append(row, text)
		}
		_ = w.Write(row)
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	return folder.Write("sweep.csv", b.Bytes())
}

// SweepRow is a combination of parameters' values under a controller, over the seeds.
type SweepRow struct {
	Values     []string // by parameter that varies
	Controller string
	Verdicts   Verdicts            // of its points, one a seed
	Estimates  []interval.Estimate // by metric shown, of the runs that can be trusted
}

// Rows are the sweep's points over their seeds, in the points' order. Runs that failed are not in the estimates.
func (s *Sweep) Rows(points []SweepPoint, outcomes []SweepOutcome) []SweepRow {
	shown := s.shown()
	var rows []SweepRow
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
			rows = append(rows, SweepRow{Values: p.Values, Controller: p.Controller})
			values = make([][]float64, len(shown))
		}
		row := &rows[len(rows)-1]
		row.Verdicts.Runs++
		if !o.Complete() {
			continue
		}
		if row.Verdicts.add(o.Verdict.Status); o.Verdict.Status == Fail {
			continue
		}
		for k, m := range shown {
			if v, ok := o.Figures[m.name]; ok {
				values[k] = append(values[k], v)
			}
		}
	}
	if len(points) > 0 {
		finish()
	}
	return rows
}

// MetricLabels are the metrics shown, for people.
func (s *Sweep) MetricLabels() []string {
	var labels []string
	for _, m := range s.shown() {
		labels = append(labels, m.label)
	}
	return labels
}

// Text is an estimate of the k-th metric shown for people: "5.23 ± 0.04 ms", "5.23 ms" of one run, "-" of none.
func (s *Sweep) Text(k int, e interval.Estimate) string { return s.shown()[k].text(e) }

// SweepView is a point for programs.
type SweepView struct {
	Point       string             `json:"point"`
	Parameters  map[string]string  `json:"parameters"`
	Controller  string             `json:"controller"`
	Seed        uint64             `json:"seed"`
	SameAs      string             `json:"same_as,omitempty"` // an earlier point of equal configuration
	State       SweepState         `json:"state"`
	Error       string             `json:"error,omitempty"`
	Verdict     *Verdict           `json:"verdict,omitempty"`
	Fingerprint string             `json:"fingerprint,omitempty"`
	Metrics     map[string]float64 `json:"metrics,omitempty"` // in base units
}

// View is what the points came to, for programs.
func (s *Sweep) View(points []SweepPoint, outcomes []SweepOutcome) []SweepView {
	views := make([]SweepView, len(points))
	for i := range points {
		p, o := &points[i], &outcomes[i]
		v := SweepView{
			Point: p.Folder, Parameters: map[string]string{}, Controller: p.Controller, Seed: p.Seed, SameAs: p.SameAs, State: o.State,
			Fingerprint: o.Fingerprint, Metrics: o.Figures,
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

// Write writes sweep.csv and sweep.html into the sweep's folder, and the page's figures in the given formats into a folder
// beside them.
func (s *Sweep) Write(directory string, r *SweepRunner, outcomes []SweepOutcome, formats []string) error {
	folder, err := files.OpenFolder(directory, directory)
	if err == nil {
		defer folder.Close()
		err = s.writeCSV(folder, r.Points, outcomes)
	}
	if err == nil {
		err = s.writePage(folder, s.shownIn(r, outcomes), formats)
	}
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
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
	return writeFigures(folder, figuresFolder, figures, formats)
}
