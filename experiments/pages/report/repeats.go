package report

import (
	"iter"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/analysis/paired"
	"github.com/pausenet/pausenet/internal/interval"
	"github.com/pausenet/pausenet/internal/lists"
)

// counted returns the runs over which a column takes means: the run itself, or those of its repeats that can be
// trusted; if none can, all of them.
func (run *Run) counted() []*Run {
	if len(run.Repeats) == 0 {
		return []*Run{run}
	}
	all := make([]*Run, len(run.Repeats))
	for i := range run.Repeats {
		all[i] = &run.Repeats[i]
	}
	return Counted(all, (*Run).trusted)
}

// counted yields the counted runs of all columns.
func (r *Report) counted() iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		for i := range r.Runs {
			for _, run := range r.Runs[i].counted() {
				if !yield(run) {
					return
				}
			}
		}
	}
}

// numberOf returns a function that takes a number of the first element of a summary's list that is wanted, or missing.
func numberOf[E any](list func(*Summary) []E, wanted func(*E) bool, missing float64,
	number func(*E) float64,
) func(*Run) float64 {
	return func(run *Run) float64 {
		all := list(&run.Summary)
		if k := slices.IndexFunc(all, func(e E) bool { return wanted(&e) }); k >= 0 {
			return number(&all[k])
		}
		return missing
	}
}

// textRow takes a text of each column's first counted run.
func (r *Report) textRow(label string, of func(*Run) string) row {
	out := row{Label: label}
	for i := range r.Runs {
		out.Cells = append(out.Cells, words(of(r.Runs[i].counted()[0])))
	}
	return out
}

// Counted returns the repeats of a run that count: those that can be trusted, or all if none can.
func Counted[R any](repeats []R, trusted func(R) bool) []R {
	some := lists.Filter(repeats, trusted)
	if len(some) == 0 {
		return repeats
	}
	return some
}

func (run *Run) trusted() bool { return run.Verdict.Status != Fail && !run.Partial }

// estimate holds a number of a run over its repeats.
type estimate struct {
	interval.Estimate
	bySeed map[uint64]float64
}

// estimate returns a number of a run, over its repeats. Those that have none, NaN, do not count.
func (run *Run) estimate(of func(*Run) float64) estimate {
	var values []float64
	e := estimate{bySeed: map[uint64]float64{}}
	for _, r := range run.counted() {
		if v := of(r); !math.IsNaN(v) {
			values, e.bySeed[r.Seed] = append(values, v), v
		}
	}
	e.Estimate = interval.Of(values)
	return e
}

// less reports whether a is less than b: as numbers of single runs, or significantly by the pairs of runs with the same
// seed, if it is one of several tests.
func (a *estimate) less(b *estimate, tests int) bool {
	if a.N == 1 && b.N == 1 {
		return a.Mean < b.Mean
	}
	pairs := paired.Sample{Design: paired.Fixed}
	for seed, v := range a.bySeed {
		if other, both := b.bySeed[seed]; both {
			pairs.Add(paired.Ratio(v, other))
		}
	}
	pairs.Look()
	p, direction := pairs.P()
	return direction < 0 && p*float64(tests) <= paired.Alpha
}

// half returns the half-width that a chart or a table shows; 0 if there is none to show.
func half(width float64) float64 {
	if math.IsNaN(width) {
		return 0
	}
	return width
}

// mayWin reports whether a run's numbers count in a contest.
func (r *Report) mayWin() []bool {
	out := make([]bool, len(r.Runs))
	for i := range r.Runs {
		for _, run := range r.Runs[i].counted() {
			out[i] = out[i] || run.trusted()
		}
	}
	return out
}
