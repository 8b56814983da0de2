package lab

import (
	"fmt"

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

// figure returns the figure of a check: of its run, averaged over the seeds, and relative to another run or the bound.
func (s *Submission) figure(c *Check, all []measure.Measurement) (*float64, error) {
	if c.Row.RelativeTo != boundName {
		return measured(c.Run, &c.Row, all), nil
	}
	own := c.Row
	own.RelativeTo = ""
	v := measured(c.Run, &own, all)
	if v == nil {
		return nil, nil
	}
	ideal, err := s.bound(s.e.run(c.Run), c.Row.Metric)
	if err != nil {
		return nil, err
	}
	change := 100 * (*v/ideal - 1)
	return &change, nil
}

// bound returns a figure of the bound for a run's flows, averaged over the seeds.
func (s *Submission) bound(r *Run, metric string) (float64, error) {
	found, known := s.bounds[r.folder()]
	if !known {
		u, err := s.scenario(r)
		if err != nil {
			return 0, err
		}
		seeds := s.e.Seeds[r.Scenario]
		if len(seeds) == 0 {
			seeds = []uint64{u.Seed}
		}
		for _, seed := range seeds {
			if u, err = u.WithSeed(seed); err != nil {
				return 0, err
			}
			b, err := bound.Find(u)
			if err != nil {
				return 0, err
			}
			for i := range b.Disciplines {
				if b.Disciplines[i].Name == fluid.ShortestFirst.String() {
					found = append(found, b.Disciplines[i])
				}
			}
		}
		if len(found) < len(seeds) {
			return 0, fmt.Errorf("scenario %s has no bound", r.Scenario)
		}
		s.bounds[r.folder()] = found
	}
	sum := 0.0
	for i := range found {
		sum += boundMetrics[metric](&found[i])
	}
	return sum / float64(len(found)), nil
}
