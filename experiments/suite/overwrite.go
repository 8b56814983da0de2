package suite

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// Overwrites is a rundir.OverwriteError if a run of the suite would take the place of results that came of another configuration, or of
// nobody knows what. Results of the same configuration are as good as the ones that take their place, and of a run that was killed
// there is nothing to show.
func (s *Suite) Overwrites() error {
	e := new(rundir.OverwriteError)
	for i := range s.Scenarios {
		c := &s.Scenarios[i]
		for _, place := range s.places(c) {
			why, err := s.differs(c, place)
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

// differs says how the results at a place differ from those that would take theirs; nothing if they do not, or there are none.
func (s *Suite) differs(c *Scenario, at rundir.Place) ([]string, error) {
	path := at.Path()
	if !isRegular(filepath.Join(path, rundir.ManifestFile)) {
		if name := firstResult(path); name != "" {
			return []string{fmt.Sprintf("there is %s and no %s, which says what made it", name, rundir.ManifestFile)}, nil
		}
		return nil, nil
	}
	var old rundir.Manifest
	if err := rundir.ReadJSON(filepath.Join(path, rundir.ManifestFile), &old); err != nil {
		return []string{err.Error()}, nil
	}
	if old.Status == rundir.StatusRunning && !isRegular(filepath.Join(path, rundir.SummaryFile)) {
		return nil, nil
	}
	u, err := scenario.NewSetup(c.Scenario, at.Controller, at.Seed)
	if err != nil {
		return nil, err
	}
	own := rundir.NewManifest(u, &rundir.Program{Version: s.Version, Sets: s.Sets})
	if own.SameAs(&old) {
		return nil, nil
	}
	return results.Differences(&old, own), nil
}

// isRegular says whether a file is there, and is one.
func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// firstResult is the name of a file of results that a folder has; empty: it has none.
func firstResult(folder string) string {
	for _, name := range rundir.Files {
		if isRegular(filepath.Join(folder, name)) {
			return name
		}
	}
	return ""
}
