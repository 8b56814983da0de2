package runner

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/vtime"
)

// victimSlowdown sets the slowdown above which a flow counts as slowed: it got less than half of its path's capacity.
const victimSlowdown = 2

// mostVictims limits the victim flows in the summary.
const mostVictims = 10

func (r *runner) victims() measure.VictimSummary {
	sum := measure.VictimSummary{Over: victimSlowdown, ByTag: map[string]int{}, Worst: []measure.VictimFlow{}}
	// the times of congestion and pauses are known for one priority only
	if r.recorder.pfc.pauses == 0 || len(r.recorder.data) > 1 {
		return sum
	}
	plan, ports := r.Scenario.Topology, r.recorder.congestion.ports
	now := r.engine.Now()
	flows := r.flows()
	for i := range flows.n {
		f := *flows.qp(i)
		slowdown := r.slowdownSoFar(i)
		if slowdown <= victimSlowdown {
			continue
		}
		end := min(flows.finished(i), now)
		paused, own := false, false // own: it passes a congested port, or its destination pauses its switch
		look := func(f *engine.Flow) {
			met := paths.Forward(plan, f.Source, f.Destination, f.Ports)
			if plan.Moving() {
				met = slices.Concat(plan.Ways(f.Source, f.Destination, f.Ports.Pair)...)
			}
			for _, id := range met {
				stopped := ports[id].paused.meet(f.Start, end)
				paused = paused || stopped
				own = own || ports[id].congested.meet(f.Start, end) || stopped &&
					plan.Ports[plan.Ports[id].Peer].Node == f.Destination
			}
		}
		look(&f)
		for _, q := range flows.others(i) {
			look(flows.qp(int(q)))
		}
		if paused && !own {
			sum.Count++
			sum.ByTag[r.Scenario.Flows[r.Scenario.Entry(i)].Tag]++
			sum.Worst = append(sum.Worst,
				measure.VictimFlow{Flow: i, Tag: r.Scenario.Flows[r.Scenario.Entry(i)].Tag, Slowdown: slowdown})
		}
	}
	slices.SortStableFunc(sum.Worst, func(a, b measure.VictimFlow) int { return cmp.Compare(b.Slowdown, a.Slowdown) })
	sum.Worst = sum.Worst[:min(len(sum.Worst), mostVictims)]
	return sum
}

// slowdownSoFar returns a flow's slowdown, or that of its part so far; 0 if it has not started.
func (r *runner) slowdownSoFar(i int) float64 {
	s := r.flows()
	f := s.qp(i)
	switch {
	case r.cut(i):
		return 0
	case s.finished(i) != vtime.Never:
		v := r.records.Record(i)
		return v.Times.Slowdown()
	case !f.Started():
		return 0
	}
	plan := r.Scenario.Topology
	if s.others(i) != nil {
		t := measure.FlowTimes{FCT: r.engine.Now() - f.Start, Ideal: r.ideal(i, max(s.delivered(i), 1))}
		return t.Slowdown()
	}
	path := paths.Forward(plan, f.Source, f.Destination, f.Ports)
	back := paths.Back(plan, f.Source, f.Destination, f.Ports)
	t := measure.FlowTimes{FCT: r.engine.Now() - f.Start, Ideal: measure.IdealFCT(plan, path, back, max(f.Delivered(), 1))}
	return t.Slowdown()
}
