package runner

import (
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/vtime"
)

// fairness measures Jain's index (Jain, Chiu and Hawe, DEC-TR-301, 1984) of the goodputs of a tag's flows while they
// compete: in each window of time, over the flows of the tag that were active all through it, if they are two or more. The
// index of n goodputs x is (sum x)^2 / (n * sum x^2): 1 if they are equal, 1/n if one has everything. Windows in which
// nothing was delivered have none.
type fairness struct {
	window  vtime.Time // whole sampling intervals
	waiting starting   // flows that have not been active at the end of a window
	active  []underWay // flows that were, and had not ended
	tags    []string
	index   map[string]int32 // of tags
	shares  []shares         // by tag
	totals  []measure.Fairness
}

// shares adds up one window.
type shares struct {
	n            int
	sum, squares float64
}

func (s *shares) add(x float64) {
	s.n++
	s.sum += x
	s.squares += x * x
}

// jain is the index, 0 if there is none.
func (s *shares) jain() float64 {
	if s.n < 2 || s.squares == 0 {
		return 0
	}
	return s.sum * s.sum / (float64(s.n) * s.squares)
}

// fairnessWindows is how many windows a scenario's duration has.
const fairnessWindows = 100

func newFairness(s *scenario.Scenario, order []int32) *fairness {
	f := &fairness{index: map[string]int32{}, waiting: starting{flows: s.Flows, order: order, of: func(*scenario.Flow) bool { return true }}}
	if step := s.Sample.Interval; step > 0 {
		f.window = step * max(1, s.Duration/fairnessWindows/step)
	}
	for i := range s.Flows {
		tag := s.Flows[i].Tag
		if _, known := f.index[tag]; !known {
			f.index[tag] = int32(len(f.tags))
			f.tags = append(f.tags, tag)
		}
	}
	f.shares, f.totals = make([]shares, len(f.tags)), make([]measure.Fairness, len(f.tags))
	return f
}

// sample ends a window, if it is time.
func (f *fairness) sample(now vtime.Time, flows flowSet) {
	if f.window == 0 || now%f.window != 0 {
		return
	}
	clear(f.shares)
	kept := f.active[:0]
	for _, a := range f.active {
		if flows.finished(int(a.flow)) != vtime.Never {
			continue
		}
		delivered := flows.delivered(int(a.flow))
		f.shares[a.tag].add(float64(delivered - a.before))
		a.before = delivered
		kept = append(kept, a)
	}
	for i, ok := f.waiting.before(now); ok; i, ok = f.waiting.before(now) {
		if flows.started(i) && flows.finished(i) == vtime.Never {
			kept = append(kept, underWay{int32(i), f.index[f.waiting.flows[i].Tag], flows.delivered(i)})
		}
	}
	f.active = kept
	for k := range f.shares {
		if j := f.shares[k].jain(); j > 0 {
			f.totals[k].Take(j)
		}
	}
}

// summary is by tag, of tags whose flows competed.
func (f *fairness) summary() measure.FairnessSummary {
	sum := measure.FairnessSummary{WindowNS: f.window.RoundNanoseconds(), ByTag: map[string]measure.Fairness{}}
	for k, tag := range f.tags {
		if f.totals[k].Windows > 0 {
			sum.ByTag[tag] = f.totals[k]
		}
	}
	return sum
}
