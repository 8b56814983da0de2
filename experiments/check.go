package experiments

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/hostagent/cc"
)

// Check finds every mistake that shows only once a scenario meets its controllers and its seeds: what a run, a sweep and validate
// refuse is what Check refuses, and nothing else of a scenario that could be read. Without seeds it is the scenario's own.
func Check(s *Scenario, controllers []string, seeds ...uint64) error {
	if len(seeds) == 0 {
		seeds = []uint64{s.Seed}
	}
	var errs []error
	said := map[string]bool{} // what is wrong under one seed mostly is under all
	for _, seed := range seeds {
		seeded, err := s.WithSeed(seed)
		if err != nil {
			errs = append(errs, fmt.Errorf("scenario %s with seed %d: %w", s.Name, seed, err))
			continue
		}
		for _, name := range controllers {
			if _, err := newRunner(seeded, Options{Controller: name, Seed: seed}); err != nil && !said[err.Error()] {
				said[err.Error()] = true
				errs = append(errs, fmt.Errorf("scenario %s: %w", s.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// fits says what of a scenario does not go with a congestion control, in a run as in a live fabric.
func fits(s *Scenario, spec *cc.Spec) error {
	if err := errors.Join(telemetryFits(s.Topology, spec), faultsFit(s, spec)); err != nil {
		return err
	}
	if err := HostSettings(s, spec.Needs).Validate(); err != nil {
		return fmt.Errorf("%s: host: %w", spec.Name, err)
	}
	return nil
}
