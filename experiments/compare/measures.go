package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/analysis/paired"
	"github.com/pausenet/pausenet/experiments/analysis/pairs"
	"github.com/pausenet/pausenet/experiments/measure"
)

// DefaultMetrics lists the metrics that a comparison has by default, the decisive one first.
var DefaultMetrics = []string{"fct_p99", "fct_mean", "slowdown_p99", "jct", "pauses", "drops"}

// State names the reason for which a comparison ended.
type State string

const (
	Decided     State = "decided"     // the first metric is decided
	Complete    State = "complete"    // all pairs were run
	Interrupted State = "interrupted" // the user ended it
)

// Answer names the side that is better in a metric.
type Answer string

const (
	Better    Answer = "better" // A is significantly better
	Worse     Answer = "worse"  // A is significantly worse
	Undecided Answer = "undecided"
	Equal     Answer = "equal" // every pair is equal
)

// Result holds the result of a comparison.
type Result struct {
	Sentence  string    `json:"sentence"` // about the first metric
	A         string    `json:"a"`
	B         string    `json:"b"`
	State     State     `json:"state"`
	Scenarios []string  `json:"scenarios"`
	Family    bool      `json:"family,omitempty"` // each seed draws another scenario
	Rounds    int       `json:"rounds"`           // evaluated ones: a pair of each scenario under one seed
	Most      int       `json:"most_rounds"`
	Pairs     int       `json:"pairs"`           // without pairs of two broken runs
	Identical int       `json:"identical_pairs"` // pairs whose runs are equal frame by frame
	Measures  []Measure `json:"measures"`
	Notes     []string  `json:"notes"`
	Broken    []string  `json:"broken"` // runs whose verdict is FAIL, which lose their pairs
	Runs      []Pair    `json:"runs"`

	cases map[string]*Case
}

// Measure holds the result in one metric. Intervals cover with a probability of 95 %. An end that the pairs do not
// bound is absent.
type Measure struct {
	Metric string `json:"metric"`
	Label  string `json:"label"`
	Pairs  int    `json:"pairs"`
	Better int    `json:"a_better"`
	Equal  int    `json:"equal"`
	Worse  int    `json:"b_better"`
	// Shares of the pairs in which A and B are better.
	BetterShare Interval `json:"a_better_share"`
	WorseShare  Interval `json:"b_better_share"`
	// Ratio holds the median of A's value over B's.
	Ratio    Interval `json:"ratio"`
	P        float64  `json:"p"`          // two-sided
	Adjusted float64  `json:"p_adjusted"` // by Holm, for all metrics together
	Answer   Answer   `json:"answer"`
	// the pairs that speak most against A and B; nil: none does
	WorstA *Extreme `json:"worst_for_a,omitempty"`
	WorstB *Extreme `json:"worst_for_b,omitempty"`
	// by scenario, without those in which no pair has a value
	Scenarios []PerScenario `json:"by_scenario"`

	metric *measure.Metric
}

// PerScenario holds the pairs of one scenario in one metric.
type PerScenario struct {
	Scenario string   `json:"scenario"`
	Better   int      `json:"a_better"`
	Equal    int      `json:"equal"`
	Worse    int      `json:"b_better"`
	Ratio    Interval `json:"ratio"`
}

// Interval holds an estimate with the ends of its confidence interval; nil stands for infinite or unknown.
type Interval struct {
	Estimate *float64 `json:"estimate"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
}

// Extreme describes the pair that speaks most against a side.
type Extreme struct {
	Scenario string   `json:"scenario"`
	Seed     uint64   `json:"seed"`
	Times    *float64 `json:"times"` // the worse value over the better one, or its inverse, at least 1; nil: infinite
	A        *float64 `json:"a"`     // nil: none, because its flows have not ended
	B        *float64 `json:"b"`
	// Unfinished is true if the side completed fewer flows, whatever the values.
	Unfinished bool `json:"unfinished,omitempty"`
	Broken     bool `json:"broken,omitempty"` // the verdict of the side's run is FAIL
}

// Pair holds the values of both runs of a pair, by metric.
type Pair struct {
	Scenario string              `json:"scenario"`
	Seed     uint64              `json:"seed"`
	A        map[string]*float64 `json:"a"`
	B        map[string]*float64 `json:"b"`
}

// evaluation collects pairs.
type evaluation struct {
	*Comparison
	names   [2]string
	samples []paired.Sample   // by metric
	perCase [][]paired.Sample // by metric and case
	worst   [][2]extreme      // by metric and side
	fewer   [2]int            // pairs in which a side completes fewer flows
	varied  []bool            // by case: the seed changes a value
	first   []*[2]made        // by case: the first pair
	rounds  int
	stopped State
	out     Result
}

// extreme holds the pair that speaks most against a side so far, by the ratio of costs.
type extreme struct {
	times float64 // 0: none
	Extreme
}

func (c *Comparison) newEvaluation() *evaluation {
	e := &evaluation{
		Comparison: c, names: [2]string{c.A, c.B}, samples: make([]paired.Sample, len(c.Metrics)),
		worst: make([][2]extreme, len(c.Metrics)), varied: make([]bool, len(c.Cases)), first: make([]*[2]made, len(c.Cases)),
		stopped: Complete,
	}
	empty := paired.Sample{Design: c.design(), Margin: c.Margin}
	for i := range e.samples {
		e.samples[i], e.perCase = empty, append(e.perCase, slices.Repeat([]paired.Sample{empty}, len(c.Cases)))
	}
	return e
}

// add adds a pair of a case.
func (e *evaluation) add(at int, seed uint64, pair *[2]made) {
	c := &e.Cases[at]
	for side := range pair {
		if text := pair[side].broken; text != "" {
			e.out.Broken = append(e.out.Broken, brokenText(c.Name, e.names[side], seed, text))
		}
	}
	if pair[0].broken != "" && pair[1].broken != "" {
		return
	}
	if e.first[at] == nil {
		e.first[at] = pair
	}
	e.out.Pairs++
	if pair[0].fingerprint == pair[1].fingerprint && pair[0].fingerprint != "" {
		e.out.Identical++
	}
	row := Pair{c.Name, seed, map[string]*float64{}, map[string]*float64{}}
	fewer := 0
	for i, m := range e.Metrics {
		a, b := pair[0].values[i], pair[1].values[i]
		if row.A[m.Name], row.B[m.Name] = finite(a), finite(b); !same(a, e.first[at][0].values[i]) ||
			!same(b, e.first[at][1].values[i]) {
			e.varied[at] = true
		}
		more := cmp.Compare(pair[0].completed[i], pair[1].completed[i])
		ratio, unfinished, ok := pairs.CostRatio(m, a, b, more)
		if unfinished {
			fewer = more
		}
		switch { // otherwise a side that breaks down where it is hard would look better
		case pair[0].broken != "":
			ratio, ok = math.Inf(1), true
		case pair[1].broken != "":
			ratio, ok = 0, true
		}
		if !ok {
			continue
		}
		e.perCase[i][at].Add(ratio)
		side, times := 0, ratio
		if e.samples[i].Add(ratio) < 0 {
			side, times = 1, 1/ratio
		}
		if w := &e.worst[i][side]; times > 1+e.Margin && times > w.times {
			*w = extreme{times, Extreme{
				Scenario: c.Name, Seed: seed, Times: finite(times), A: finite(a), B: finite(b), Unfinished: unfinished,
				Broken: pair[side].broken != "",
			}}
		}
	}
	switch fewer {
	case -1:
		e.fewer[0]++
	case 1:
		e.fewer[1]++
	}
	e.out.Runs = append(e.out.Runs, row)
}

// same reports whether two values are equal; NaN equals NaN.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// look tests the pairs so far, after a round.
func (e *evaluation) look() {
	e.rounds++
	for i := range e.samples {
		e.samples[i].Look()
	}
}

// adjusted returns the p-values of the metrics that have pairs, adjusted for their number; 1 for the others.
func (e *evaluation) adjusted() []float64 {
	var p []float64
	for i := range e.samples {
		if e.samples[i].Pairs() > 0 {
			own, _ := e.samples[i].P()
			p = append(p, own)
		}
	}
	p = paired.Holm(p)
	all := make([]float64, len(e.samples))
	for i := range all {
		if all[i] = 1; e.samples[i].Pairs() > 0 {
			all[i], p = p[0], p[1:]
		}
	}
	return all
}

// decided reports whether the first metric with pairs is decided.
func (e *evaluation) decided() bool {
	i := slices.IndexFunc(e.samples, func(s paired.Sample) bool { return s.Pairs() > 0 })
	return i >= 0 && e.adjusted()[i] <= paired.Alpha
}

// result returns the result of the pairs so far.
func (e *evaluation) result() *Result {
	r := &e.out
	r.A, r.B, r.State, r.Rounds, r.Most = e.A, e.B, e.stopped, e.rounds, len(e.Seeds)
	r.cases = map[string]*Case{}
	for i := range e.Cases {
		r.Scenarios = append(r.Scenarios, e.Cases[i].Name)
		r.cases[e.Cases[i].Name] = &e.Cases[i]
		r.Family = r.Family || e.Cases[i].Family
	}
	adjusted := e.adjusted()
	for i, m := range e.Metrics {
		s := &e.samples[i]
		v := Measure{
			Metric: m.Name, Label: m.Label, Pairs: s.Pairs(), Better: s.Better, Equal: s.Equal, Worse: s.Worse,
			P: 1, Adjusted: adjusted[i], Answer: Undecided, metric: m,
		}
		if v.Pairs == 0 {
			if !slices.Contains(DefaultMetrics, m.Name) {
				r.Notes = append(r.Notes, "no pair has a value of "+m.Label+" on both sides")
			}
			continue
		}
		v.BetterShare, v.WorseShare, v.Ratio = interval(s.Share(s.Better)), interval(s.Share(s.Worse)), ratioOf(m, s)
		for k := range e.Cases {
			if own := &e.perCase[i][k]; own.Pairs() > 0 {
				v.Scenarios = append(v.Scenarios, PerScenario{e.Cases[k].Name, own.Better, own.Equal, own.Worse, ratioOf(m, own)})
			}
		}
		var direction int
		v.P, direction = s.P()
		switch {
		case v.Better == 0 && v.Worse == 0:
			v.Answer = Equal
		case v.Adjusted <= paired.Alpha && direction < 0:
			v.Answer = Better
		case v.Adjusted <= paired.Alpha:
			v.Answer = Worse
		}
		if w := &e.worst[i][0]; w.times > 0 {
			v.WorstA = &w.Extreme
		}
		if w := &e.worst[i][1]; w.times > 0 {
			v.WorstB = &w.Extreme
		}
		r.Measures = append(r.Measures, v)
	}
	e.note()
	r.Sentence = r.sentence()
	for _, all := range []*[]string{&r.Notes, &r.Broken} {
		if *all == nil {
			*all = []string{} // an empty list in JSON
		}
	}
	return r
}

// ratioOf returns the median of A's value over B's. The sample has ratios of costs.
func ratioOf(m *measure.Metric, s *paired.Sample) Interval {
	median, low, high := s.Ratio()
	if pairs.MoreIsBetter(m) {
		median, low, high = 1/median, 1/high, 1/low
	}
	return interval(median, low, high)
}

// Lost returns the labels of the metrics in which A is significantly worse.
func (r *Result) Lost() (labels []string) {
	for i := range r.Measures {
		if m := &r.Measures[i]; m.Answer == Worse {
			labels = append(labels, m.Label)
		}
	}
	return labels
}

func interval(estimate, low, high float64) Interval {
	return Interval{finite(estimate), finite(low), finite(high)}
}

// finite returns a number, or nil for one that JSON does not have.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
