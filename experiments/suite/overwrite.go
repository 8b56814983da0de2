package suite

import (
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/rundir"
)

// Overwrites is a rundir.OverwriteError if a run of the suite would take the place of results that came of another
// configuration, or of nobody knows what. Results of the same configuration are as good as the ones that take their
// place, and of a run that was killed there is nothing to show.
func (s *Suite) Overwrites() error {
	e := new(rundir.OverwriteError)
	for i := range s.Scenarios {
		c := &s.Scenarios[i]
		for _, place := range s.Places(c) {
			why, err := results.Overwritten(place.Path(), func() (*rundir.Manifest, error) {
				return rundir.ManifestOf(c.Scenario, place.Controller, place.Seed,
					&rundir.Program{Version: s.Version, Sets: s.Sets})
			})
			if err != nil {
				return err
			}
			if len(why) == 0 {
				continue
			}
			e.Add(place.Scenario, filepath.ToSlash(place.Below()), why)
		}
	}
	return e.OrNil()
}
