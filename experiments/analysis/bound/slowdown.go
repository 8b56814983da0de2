package bound

import (
	"fmt"

	"github.com/pausenet/pausenet/experiments/analysis/fluid"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Slowdowns holds a lower bound of a weighted sum of flows' slowdowns, which no controller can beat.
type Slowdowns struct {
	// Ideal holds the ideal FCT of each flow; 0 for flows that wait for others or have no size.
	Ideal []vtime.Time
	// Least holds the bound. It counts only flows with an ideal FCT.
	Least float64
}

// LeastSlowdown returns a lower bound of the sum of flows' slowdowns, each times its weight of at least 0, under any
// control. See fluid.WeightedLowerBound. If packets of a flow may take several paths, or if the scenario has faults,
// the bound uses only the links of hosts, which each path includes. Flows must have a single QP.
func LeastSlowdown(s *scenario.Scenario, weight func(flow int) float64) (*Slowdowns, error) {
	m := &fluidModel{s: s, flows: make([]fluidFlow, len(s.Flows))}
	portsOf := s.QPPortsOf(s.Seed)
	result := &Slowdowns{Ideal: make([]vtime.Time, len(s.Flows))}
	weights := make([]float64, len(s.Flows)) // of a picosecond
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.Waits() || f.Size == 0 {
			continue
		}
		if special := f.Extra(); special.QPs.Count > 1 || special.Stop > 0 || special.Off > 0 {
			return nil, fmt.Errorf("scenario %s: flow %d (%s) has qps, stop or on_off, for which there is no bound of "+
				"slowdowns: remove that",
				s.Name, i, f.Tag)
		}
		if err := m.flows[i].trace(s, portsOf, i); err != nil {
			return nil, err
		}
		own := &m.flows[i]
		result.Ideal[i] = measure.IdealFCT(s.Topology, own.path, own.back, int64(own.size))
		weights[i] = weight(i) / float64(result.Ideal[i])
		result.Least += weight(i) // no slowdown is below 1
	}
	first := func([]topologies.PortID) int { return 0 }
	last := func(path []topologies.PortID) int { return len(path) - 1 }
	choices := []func([]topologies.PortID) int{first, last}
	if !s.Topology.Moving() && len(s.Faults) == 0 {
		choices = append(choices, m.busiest())
	}
	for _, choose := range choices {
		result.Least = max(result.Least, m.leastWeighted(weights, choose))
	}
	return result, nil
}

// leastWeighted returns a lower bound of the weighted sum of FCTs, as leastSum does without weights.
func (m *fluidModel) leastWeighted(weights []float64, choose func(path []topologies.PortID) int) float64 {
	plan := m.s.Topology
	jobs := make([][]fluid.WeightedJob, len(plan.Ports))
	sum := 0.0
	for i := range m.flows {
		if weights[i] == 0 {
			continue
		}
		link, job, others := m.jobAt(i, choose)
		jobs[link] = append(jobs[link], fluid.WeightedJob{Job: job, Weight: weights[i]})
		sum += weights[i] * float64(others)
	}
	for _, own := range jobs {
		sum += fluid.WeightedLowerBound(own)
	}
	return sum
}

// FCTOf returns the completion time of a flow under the discipline; vtime.Never if it has not ended or has none.
func (d *Discipline) FCTOf(flow int) vtime.Time {
	if f := &d.flows[flow]; f.Ended {
		return f.Times.FCT
	}
	return vtime.Never
}
