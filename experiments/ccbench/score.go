package ccbench

import (
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/analysis/bound"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/vtime"
)

// shortFlow is the largest size, in bytes, of a flow that counts as short.
const shortFlow = 100_000

// unfinishedFactor multiplies the time limit of a run for a flow or job that has not ended by then.
const unfinishedFactor = 2

// group holds flows that count together: those with the same tag that are all short, or all long.
type group struct {
	tag   string
	short bool
}

// class names the size of the group's flows.
func (g group) class() string {
	if g.short {
		return "short"
	}
	return "long"
}

// standard holds what a scenario under a seed is compared with, the same for all controllers.
type standard struct {
	groups []group // in order of their first flows
	of     []int   // index of each flow's group; -1: it waits for others, as part of a job
	count  []int   // flows of each group
	ideal  []vtime.Time
	starts []vtime.Time
	limit  vtime.Time // the time limit of the run
	// least holds the lower bound of the flows' slowdown; 0 without flows that start by themselves.
	least float64
	jobs  []bound.JobLimit
	// fair holds the same as least for flows as fluids with max-min fair shares; 0: it is not known.
	fair float64
}

// standardOf computes the standard of a scenario.
func standardOf(s *scenario.Scenario) (*standard, error) {
	st := &standard{of: make([]int, len(s.Flows)), limit: s.Duration + s.DrainLimit}
	for i := range s.Flows {
		f := &s.Flows[i]
		st.starts = append(st.starts, f.Start)
		if st.of[i] = -1; f.Waits() {
			continue
		}
		g := group{f.Tag, f.Size <= shortFlow}
		at := slices.Index(st.groups, g)
		if at < 0 {
			at = len(st.groups)
			st.groups, st.count = append(st.groups, g), append(st.count, 0)
		}
		st.of[i] = at
		st.count[at]++
	}
	slowdowns, err := bound.LeastSlowdown(s, st.weight)
	if err != nil {
		return nil, err
	}
	st.ideal, st.least = slowdowns.Ideal, slowdowns.Least
	if s.Topology.Moving() {
		return st, nil
	}
	b, err := bound.Find(s)
	if err != nil {
		return nil, err
	}
	st.jobs = b.Jobs
	if len(st.groups) > 0 && len(st.jobs) == 0 && len(s.Faults) == 0 {
		fair := make([]vtime.Time, len(s.Flows))
		for i := range fair {
			fair[i] = b.Disciplines[0].FCTOf(i)
		}
		st.fair, _ = st.flows(fair)
	}
	return st, nil
}

// weight returns a flow's share of the scenario's slowdown: each group has the same, and its flows share that equally.
func (st *standard) weight(flow int) float64 {
	if st.of[flow] < 0 {
		return 0
	}
	return 1 / float64(len(st.groups)*st.count[st.of[flow]])
}

// flows returns the mean over groups of their flows' mean slowdown, and the flows' slowdowns by group. A flow with the
// completion time vtime.Never counts as if it ended at unfinishedFactor times the limit.
func (st *standard) flows(fct []vtime.Time) (mean float64, byGroup [][]float64) {
	byGroup = make([][]float64, len(st.groups))
	for i, at := range st.of {
		if at < 0 {
			continue
		}
		took := fct[i]
		if took == vtime.Never {
			took = unfinishedFactor*st.limit - st.starts[i]
		}
		slowdown := float64(took) / float64(st.ideal[i])
		mean += st.weight(i) * slowdown
		byGroup[at] = append(byGroup[at], slowdown)
	}
	return mean, byGroup
}

// score returns the score of a run: the mean of its parts, each at least 1. One part is the slowdown of the flows over
// its lower bound. Each job adds its completion time over its lower bound; a time of 0 stands for a job that has not
// ended.
func (st *standard) score(slowdown float64, jobs []int64) float64 {
	sum, parts := 0.0, 0
	if len(st.groups) > 0 {
		sum, parts = slowdown/st.least, 1
	}
	for i := range st.jobs {
		took := unfinishedFactor * float64(st.limit) / float64(vtime.Nanosecond)
		if i < len(jobs) && jobs[i] > 0 {
			took = float64(jobs[i])
		}
		sum += took / float64(max(st.jobs[i].JCT, 1))
		parts++
	}
	return sum / float64(max(parts, 1))
}

// quantile returns the smallest of the ascending values that at least a fraction q of them do not exceed.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return values[max(int(math.Ceil(q*float64(len(values))))-1, 0)]
}
