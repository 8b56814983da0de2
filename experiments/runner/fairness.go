package runner

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/vtime"
)

// windows divides a run into windows of time, and tracks the flows that are active throughout a window.
type windows struct {
	window  vtime.Time // whole sampling intervals
	waiting starting   // flows that were not yet active at the end of a window
	begun   []int32    // those of them that seeStarts has seen
	active  []underWay // flows that were active at the end of a window, and have not ended
	tags    []string
	index   map[string]int32 // of tags
}

// newWindows returns the windows of a scenario: count of them in its duration, as far as sampling intervals allow.
func newWindows(s *scenario.Scenario, order []int32, count vtime.Time) windows {
	w := windows{index: map[string]int32{}, waiting: starting{
		scenario: s, order: order,
		of: func(*scenario.Flow) bool { return true },
	}}
	if step := s.Sample.Interval; step > 0 {
		w.window = step * max(1, s.Duration/count/step)
	}
	for i := range s.Flows {
		tag := s.Flows[i].Tag
		if _, known := w.index[tag]; !known {
			w.index[tag] = int32(len(w.tags))
			w.tags = append(w.tags, tag)
		}
	}
	return w
}

// end ends a window if it is time, and reports whether it did. It calls add with the bytes that each flow active
// throughout the window delivered in it.
func (w *windows) end(now vtime.Time, flows flowSet, add func(tag int32, delivered float64)) bool {
	if w.window == 0 || now%w.window != 0 {
		return false
	}
	kept := w.active[:0]
	for _, a := range w.active {
		if flows.finished(int(a.flow)) != vtime.Never {
			continue
		}
		delivered := flows.delivered(int(a.flow))
		add(a.tag, float64(delivered-a.before))
		a.before = delivered
		kept = append(kept, a)
	}
	w.seeStarts(now, flows)
	s := w.waiting.scenario
	for _, flow := range w.begun {
		if i := int(flow); flows.started(i) {
			kept = append(kept, underWay{flow, w.index[s.Flows[s.Entry(i)].Tag], flows.delivered(i)})
		}
	}
	w.active, w.begun = kept, w.begun[:0]
	return true
}

// seeStarts takes note of flows that have started before now and have not ended. Called within a window, it lets the
// list of flows that have started stay short.
func (w *windows) seeStarts(now vtime.Time, flows flowSet) {
	for i, ok := w.waiting.before(now); ok; i, ok = w.waiting.before(now) {
		w.begun = append(w.begun, int32(i))
	}
	w.begun = slices.DeleteFunc(w.begun, func(i int32) bool { return flows.finished(int(i)) != vtime.Never })
}

// fairness measures Jain's index (Jain, Chiu and Hawe, DEC-TR-301, 1984) of the goodputs of a tag's competing flows:
// in each window of time, over the flows of the tag that were active throughout, if there are two or more. The index
// of n goodputs x is (sum x)^2 / (n * sum x^2): 1 if they are equal, 1/n if one has everything. Windows without any
// delivery have no index.
type fairness struct {
	windows
	shares []shares // by tag
	totals []measure.Fairness
}

// shares holds the sums of one window.
type shares struct {
	n            int
	sum, squares float64
}

func (s *shares) add(x float64) {
	s.n++
	s.sum += x
	s.squares += x * x
}

// jain returns the index, or 0 if there is none.
func (s *shares) jain() float64 {
	if s.n < 2 || s.squares == 0 {
		return 0
	}
	return s.sum * s.sum / (float64(s.n) * s.squares)
}

// fairnessWindows sets the number of windows in a scenario's duration.
const fairnessWindows = 100

func newFairness(s *scenario.Scenario, order []int32) *fairness {
	f := &fairness{windows: newWindows(s, order, fairnessWindows)}
	f.shares, f.totals = make([]shares, len(f.tags)), make([]measure.Fairness, len(f.tags))
	return f
}

// sample ends a window, if it is time.
func (f *fairness) sample(now vtime.Time, flows flowSet) {
	if !f.end(now, flows, func(tag int32, delivered float64) { f.shares[tag].add(delivered) }) {
		return
	}
	for k := range f.shares {
		if j := f.shares[k].jain(); j > 0 {
			f.totals[k].Take(j)
		}
	}
	clear(f.shares)
}

// summary returns the indexes of tags whose flows competed.
func (f *fairness) summary() measure.FairnessSummary {
	sum := measure.FairnessSummary{WindowNS: f.window.RoundNanoseconds(), ByTag: map[string]measure.Fairness{}}
	for k, tag := range f.tags {
		if f.totals[k].Windows > 0 {
			sum.ByTag[tag] = f.totals[k]
		}
	}
	return sum
}

// lowest measures the lowest mean goodput of a tag's flows in any window, over the flows that were active throughout.
type lowest struct {
	windows
	shares []shares  // by tag
	least  []float64 // bytes for each flow and window; negative: no flow was active throughout a window
}

// lowestWindows sets the number of windows in a scenario's duration.
const lowestWindows = 10

func newLowest(s *scenario.Scenario, order []int32) *lowest {
	l := &lowest{windows: newWindows(s, order, lowestWindows)}
	l.shares, l.least = make([]shares, len(l.tags)), make([]float64, len(l.tags))
	for k := range l.least {
		l.least[k] = -1
	}
	return l
}

// sample ends a window, if it is time.
func (l *lowest) sample(now vtime.Time, flows flowSet) {
	if !l.end(now, flows, func(tag int32, delivered float64) { l.shares[tag].add(delivered) }) {
		return
	}
	for k, s := range l.shares {
		if mean := s.sum / float64(s.n); s.n > 0 && (l.least[k] < 0 || mean < l.least[k]) {
			l.least[k] = mean
		}
	}
	clear(l.shares)
}

// summary returns the lowest goodputs by tag, in bits per second.
func (l *lowest) summary() map[string]float64 {
	all := map[string]float64{}
	for k, tag := range l.tags {
		if l.least[k] >= 0 {
			all[tag] = l.least[k] * 8 / l.window.Seconds()
		}
	}
	return all
}
