package lab

import (
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/experiments/analysis/bound"
	"github.com/pausenet/pausenet/experiments/analysis/fluid"
	"github.com/pausenet/pausenet/experiments/measure"
)

// boundName stands for a run in relative_to: the flows of the run as an ideal fluid, the shortest first, as pausenet
// bound computes it.
const boundName = "bound"

// boundMetrics lists the figures that the bound has.
var boundMetrics = map[string]func(*bound.Discipline) float64{
	"slowdown_mean": func(d *bound.Discipline) float64 { return d.Slowdown.Mean },
	"slowdown_p99":  func(d *bound.Discipline) float64 { return d.Slowdown.P99 },
	"fct_mean":      func(d *bound.Discipline) float64 { return d.FCT.Mean },
	"fct_p99":       func(d *bound.Discipline) float64 { return d.FCT.P99 },
}

// figure returns the figure of a check: of its run, averaged over the seeds. Relative to another run or the bound, it
// is the mean of each seed's change.
func (s *Submission) figure(c *Check, all []measure.Measurement) (*float64, error) {
	if c.Row.RelativeTo == boundName {
		own, err := s.bounds(s.e.run(c.Run))
		if err != nil {
			return nil, err
		}
		for seed, d := range own {
			all = append(slices.Clip(all), measure.MeasurementOf(boundName, seed, &c.Row, boundMetrics[c.Row.Metric](d)))
		}
	}
	return measured(c.Run, &c.Row, all), nil
}

// bounds returns the bound for a run's flows, by seed.
func (s *Submission) bounds(r *Run) (map[uint64]*bound.Discipline, error) {
	if found := s.found[r.folder()]; found != nil {
		return found, nil
	}
	u, err := s.scenario(r)
	if err != nil {
		return nil, err
	}
	seeds := s.e.Seeds[r.Scenario]
	if len(seeds) == 0 {
		seeds = []uint64{u.Seed}
	}
	found := map[uint64]*bound.Discipline{}
	for _, seed := range seeds {
		if u, err = u.WithSeed(seed); err != nil {
			return nil, err
		}
		b, err := bound.Find(u)
		if err != nil {
			return nil, err
		}
		for i := range b.Disciplines {
			if b.Disciplines[i].Name == fluid.ShortestFirst.String() {
				found[seed] = &b.Disciplines[i]
			}
		}
	}
	if len(found) < len(seeds) {
		return nil, fmt.Errorf("scenario %s has no bound", r.Scenario)
	}
	s.found[r.folder()] = found
	return found, nil
}
