package report

import (
	"math"

	"github.com/pausenet/pausenet/experiments/analysis/paired"
	"github.com/pausenet/pausenet/internal/interval"
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

// Counted returns the repeats of a run that count: those that can be trusted, or all if none can.
func Counted[R any](repeats []R, trusted func(R) bool) []R {
	var some []R
	for _, r := range repeats {
		if trusted(r) {
			some = append(some, r)
		}
	}
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
