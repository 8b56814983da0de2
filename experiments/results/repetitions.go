package results

import "github.com/pausenet/pausenet/experiments/measure"

// Repetitions are what a controller's runs under several seeds came to.
type Repetitions struct {
	Controller string
	Runs       int
	Verdicts   measure.Verdicts // of as many runs as there are seeds
	Cells      []string         // by RepetitionLabels: "5.23 ± 0.04 ms"
}

// repeated are the metrics that a table of repetitions has.
var repeated = measure.MetricsNamed([]string{
	"fct_mean", "fct_p99", "slowdown_p99", "pauses", "pauses_between_switches", "ecn_marks", "cnps", "cnms", "drops",
})

// RepetitionLabels head the cells of Repetitions.
var RepetitionLabels = []string{"FCT mean", "FCT p99", "slowdown p99", "PAUSE", "between switches", "ECN marks", "CNPs", "CNMs", "drops"}

// Repeat puts runs under several seeds together, a row a controller. Runs that are absent are missing.
func Repeat(controllers []string, seeds int, all []*measure.Summary) []Repetitions {
	rows := make([]Repetitions, len(controllers))
	for i, name := range controllers {
		rows[i] = Repetitions{Controller: name, Verdicts: measure.Verdicts{Runs: seeds}}
		var runs []*measure.Summary
		for _, s := range all {
			if s == nil || s.Controller != name {
				continue
			}
			runs = append(runs, s)
			rows[i].Verdicts.Add(s.Verdict.Status)
		}
		rows[i].Runs = len(runs)
		for _, m := range repeated {
			rows[i].Cells = append(rows[i].Cells, m.Text(m.Over(runs)))
		}
	}
	return rows
}
