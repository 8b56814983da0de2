package experiments

import (
	"math"

	"github.com/pausenet/pausenet/internal/interval"
)

// over is the estimate of a metric of all flows over runs, those that cannot be trusted left out.
func (m *metric) over(runs []*Summary) interval.Estimate {
	var values []float64
	for _, s := range runs {
		if s == nil || !s.trusted() {
			continue
		}
		if v := m.of(s, &s.Flows); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return interval.Of(values)
}

// Repetitions are what a controller's runs under several seeds came to.
type Repetitions struct {
	Controller string
	Runs       int
	Verdicts   string   // in few words, as SweepRow.Verdicts
	Cells      []string // by repeated metric: "5.23 ± 0.04 ms"
}

// repeated are the metrics that a table of repetitions has.
var repeated = Sweep{Metrics: []string{
	"fct_mean", "fct_p99", "slowdown_p99", "pauses", "pauses_between_switches", "ecn_marks", "cnps", "cnms", "drops",
}}

// RepetitionLabels head the cells of Repetitions.
var RepetitionLabels = []string{"FCT mean", "FCT p99", "slowdown p99", "PAUSE", "between switches", "ECN marks", "CNPs", "CNMs", "drops"}

// Repeat puts runs under several seeds together, a row a controller. Runs that are absent are missing.
func Repeat(controllers []string, seeds int, all []*Summary) []Repetitions {
	rows := make([]Repetitions, len(controllers))
	for i, name := range controllers {
		verdicts := SweepRow{Points: seeds}
		var runs []*Summary
		for _, s := range all {
			if s == nil || s.Controller != name {
				continue
			}
			runs = append(runs, s)
			switch s.Verdict.Status {
			case Pass:
				verdicts.Passed++
			case Warn:
				verdicts.Warned++
			default:
				verdicts.Failed++
			}
		}
		rows[i] = Repetitions{Controller: name, Runs: len(runs), Verdicts: verdicts.Verdicts()}
		for k, m := range repeated.shown() {
			rows[i].Cells = append(rows[i].Cells, repeated.Text(k, m.over(runs)))
		}
	}
	return rows
}
