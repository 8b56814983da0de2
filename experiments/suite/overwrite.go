package suite

import (
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// Overwrites returns a rundir.OverwriteError if a run of the suite would replace results of another or an unknown
// configuration. Results of the same configuration may be replaced, and so may those of a run that was killed.
func (s *Suite) Overwrites() error {
	e := new(rundir.OverwriteError)
	for i := range s.Scenarios {
		c := &s.Scenarios[i]
		for _, location := range s.Locations(c) {
			why, err := results.Overwritten(location.Path(), func() (*rundir.Manifest, error) {
				return rundir.ManifestOf(c.Scenario, location.Controller, location.Seed,
					&rundir.Program{Version: s.Version, Sets: s.Sets})
			})
			if err != nil {
				return err
			}
			if len(why) == 0 {
				continue
			}
			e.Add(location.Scenario, filepath.ToSlash(location.Below()), why)
		}
	}
	return e.OrNil()
}
