// Package pairs compares two alternatives in metrics of runs, by pairs of runs with the same traffic: which run of a
// pair is better, and what many pairs say, in words. Package paired has the statistics.
package pairs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/paired"
	"github.com/pausenet/pausenet/experiments/measure"
)

// moreIsBetter lists metrics of which more is better, and noBetter those of which neither more nor less is. Of all
// others, less is better.
var (
	moreIsBetter = []string{
		"mean_rate", "goodput", "fairness", "imbalance_jain", "algbw", "busbw", "grant_utilisation",
	}
	noBetter = []string{
		"ce_packets", "ue_packets", "utilisation_mean", "utilisation_max", "ecn_marks", "cnps", "cnms",
	}
	// ofEnded lists metrics that a run has only if its jobs or collectives end.
	ofEnded = []string{"jct", "collective_mean", "collective_max", "algbw", "busbw"}
	// ofAllFlows lists metrics of flows that also cover flows that have not ended.
	ofAllFlows = []string{"goodput", "ce_packets", "ue_packets"}
)

// baseName returns a metric's name without its tag.
func baseName(m *measure.Metric) string {
	name, _, _ := strings.Cut(m.Name, ":")
	return name
}

// Comparable reports whether less or more of a metric is better.
func Comparable(m *measure.Metric) bool { return !slices.Contains(noBetter, baseName(m)) }

// MoreIsBetter reports whether more of a metric is better.
func MoreIsBetter(m *measure.Metric) bool { return slices.Contains(moreIsBetter, baseName(m)) }

// CostRatio returns the ratio of A's cost to B's by their values of a metric; more is above 0 if A completed more flows
// than B, and below 0 if fewer. A run that completes fewer flows, or does not end its jobs, loses in the metrics of
// these: it would look better the more of its slowest flows it leaves out. ok is false if the pair says nothing about
// the metric.
func CostRatio(m *measure.Metric, a, b float64, more int) (ratio float64, unfinished, ok bool) {
	switch {
	case !m.OfRun && !slices.Contains(ofAllFlows, baseName(m)) && more != 0:
		unfinished = true
	case math.IsNaN(a) != math.IsNaN(b) && slices.Contains(ofEnded, baseName(m)):
		unfinished = true
		if more = 1; math.IsNaN(a) {
			more = -1
		}
	case math.IsNaN(a) || math.IsNaN(b):
		return 0, false, false
	}
	switch {
	case unfinished && more < 0:
		return math.Inf(1), true, true
	case unfinished:
		return 0, true, true
	case MoreIsBetter(m):
		return paired.Ratio(b, a), false, true
	}
	return paired.Ratio(a, b), false, true
}

// Value returns a metric of a run, NaN if it has none, and the number of completed flows that the metric covers.
func Value(s *measure.Summary, m *measure.Metric) (value float64, completed int) {
	flows := s.Flows
	if m.Tag != "" {
		flows = s.ByTag[m.Tag]
	}
	return m.Of(s, &flows), flows.Completed
}

// Pairs compares two alternatives by runs with the same traffic, over a number of pairs that was chosen beforehand.
type Pairs struct {
	metrics []*measure.Metric
	samples []paired.Sample
}

// New returns a comparison in those of the metrics of which less or more is better.
func New(metrics []*measure.Metric) *Pairs {
	p := &Pairs{metrics: slices.DeleteFunc(slices.Clone(metrics), func(m *measure.Metric) bool { return !Comparable(m) })}
	p.samples = slices.Repeat([]paired.Sample{{Design: paired.Fixed}}, len(p.metrics))
	return p
}

// Run describes one run of a pair.
type Run struct {
	Value  func(*measure.Metric) (value float64, completed int) // as Value
	Broken bool                                                 // the verdict is FAIL: the run loses
}

func of(s *measure.Summary) Run {
	return Run{func(m *measure.Metric) (float64, int) { return Value(s, m) }, s.Verdict.Status == measure.Fail}
}

// Add adds a pair. A pair of two broken runs says nothing.
func (p *Pairs) Add(a, b Run) {
	for i, m := range p.metrics {
		own, done := a.Value(m)
		other, otherDone := b.Value(m)
		ratio, _, ok := CostRatio(m, own, other, done-otherDone)
		switch {
		case a.Broken && b.Broken:
			continue
		case a.Broken:
			ratio, ok = math.Inf(1), true
		case b.Broken:
			ratio, ok = 0, true
		}
		if ok {
			p.samples[i].Add(ratio)
		}
	}
}

// BySeed compares the runs of two alternatives that have the same seed. Missing and partial runs have no pair.
func BySeed(metrics []*measure.Metric, a, b []*measure.Summary) *Pairs {
	p := New(metrics)
	for _, own := range a {
		for _, other := range b {
			if own != nil && other != nil && own.Seed == other.Seed && !own.Partial && !other.Partial {
				p.Add(of(own), of(other))
			}
		}
	}
	return p
}

// String returns the comparison in words: for each metric the median ratio of A's value to B's with its confidence
// interval, the pairs in which A is better and worse, and the p-value of the exact sign test, by Holm for all of these
// metrics. It returns "" if no metric has two pairs.
func (p *Pairs) String() string {
	var ps []float64
	var shown []int
	for i := range p.samples {
		if s := &p.samples[i]; s.Pairs() > 1 {
			s.Look()
			own, _ := s.P()
			ps, shown = append(ps, own), append(shown, i)
		}
	}
	var parts []string
	for k, own := range paired.Holm(ps) {
		m, s := p.metrics[shown[k]], &p.samples[shown[k]]
		median, low, high := s.Ratio()
		if MoreIsBetter(m) {
			median, low, high = 1/median, 1/high, 1/low
		}
		if s.Equal == s.Pairs() {
			parts = append(parts, m.Label+" equal in all")
			continue
		}
		ratio := ""
		if median > 0 && !math.IsInf(median, 1) { // otherwise one side is 0 or lost most pairs
			ratio = " " + paired.RatioText(median) + " times"
			if between := paired.RangeText(low, high); between != "" {
				ratio += " (95 % interval " + between + ")"
			}
			ratio += ","
		}
		parts = append(parts, fmt.Sprintf("%s%s better in %d and worse in %d (p %s)", m.Label, ratio, s.Better, s.Worse,
			paired.PText(own)))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%d pairs: %s", p.samples[shown[0]].Pairs(), strings.Join(parts, "; "))
}
