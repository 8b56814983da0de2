package experiments

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OverwriteError says that runs would take the place of results that were made under other settings.
type OverwriteError struct {
	groups []overwritten
}

// overwritten are results of runs that differ alike from those that would take their place.
type overwritten struct {
	scenario string   // folder
	runs     []string // folders below it
	why      []string // a line each
}

func (e *OverwriteError) Error() string {
	var b strings.Builder
	for i, g := range e.groups {
		if i > 0 {
			b.WriteByte('\n')
		}
		folders := filepath.Join(g.scenario, g.runs[0])
		hold := "holds"
		if len(g.runs) > 1 {
			folders = fmt.Sprintf("%s (%s)", g.scenario, strings.Join(g.runs, ", "))
			hold = "hold"
		}
		fmt.Fprintf(&b, "%s %s results that were made otherwise, and would be overwritten:\n  %s", folders, hold, strings.Join(g.why, "\n  "))
	}
	return b.String()
}

// add adds a run's folder below a scenario's, with what is different there.
func (e *OverwriteError) add(scenario, run string, why []string) {
	k := slices.IndexFunc(e.groups, func(g overwritten) bool { return g.scenario == scenario && slices.Equal(g.why, why) })
	if k < 0 {
		k = len(e.groups)
		e.groups = append(e.groups, overwritten{scenario: scenario, why: why})
	}
	e.groups[k].runs = append(e.groups[k].runs, run)
}

// Overwrites is an OverwriteError if a run of the suite would take the place of results that came of another configuration, or of
// nobody knows what. Results of the same configuration are as good as the ones that take their place, and of a run that was killed
// there is nothing to show.
func (s *Suite) Overwrites() error {
	e := new(OverwriteError)
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
			e.add(place.scenario, filepath.ToSlash(place.below()), why)
		}
	}
	if len(e.groups) == 0 {
		return nil
	}
	return e
}

// differs says how the results at a place differ from those that would take theirs; nothing if they do not, or there are none.
func (s *Suite) differs(c *SuiteScenario, at runPlace) ([]string, error) {
	path := at.path()
	if !isRegular(filepath.Join(path, manifestName)) {
		if name := firstResult(path); name != "" {
			return []string{fmt.Sprintf("there is %s and no %s, which says what made it", name, manifestName)}, nil
		}
		return nil, nil
	}
	var old manifest
	if err := readResult(filepath.Join(path, manifestName), &old); err != nil {
		return []string{err.Error()}, nil
	}
	if old.Status == statusRunning && !isRegular(filepath.Join(path, summaryName)) {
		return nil, nil
	}
	u, err := NewSetup(c.Scenario, at.controller, at.seed)
	if err != nil {
		return nil, err
	}
	own := describe(u, &Program{Version: s.Version, Sets: s.Sets})
	if own.sameAs(&old) {
		return nil, nil
	}
	return differences(&old, own), nil
}

// isRegular says whether a file is there, and is one.
func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// firstResult is the name of a file of results that a folder has; empty: it has none.
func firstResult(folder string) string {
	for _, name := range resultFiles {
		if isRegular(filepath.Join(folder, name)) {
			return name
		}
	}
	return ""
}

// FreshFolder is a folder's name with the first number behind it of which there is none yet.
func FreshFolder(path string) string {
	for n := 2; ; n++ {
		fresh := fmt.Sprintf("%s-%d", filepath.Clean(path), n)
		if _, err := os.Lstat(fresh); errors.Is(err, fs.ErrNotExist) {
			return fresh
		}
	}
}
