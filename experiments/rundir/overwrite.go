package rundir

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

// Add adds a run's folder below a scenario's, with what is different there.
func (e *OverwriteError) Add(scenario, run string, why []string) {
	k := slices.IndexFunc(e.groups, func(g overwritten) bool { return g.scenario == scenario && slices.Equal(g.why, why) })
	if k < 0 {
		k = len(e.groups)
		e.groups = append(e.groups, overwritten{scenario: scenario, why: why})
	}
	e.groups[k].runs = append(e.groups[k].runs, run)
}

// OrNil is the error, nil if nothing has been added to it.
func (e *OverwriteError) OrNil() error {
	if len(e.groups) == 0 {
		return nil
	}
	return e
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
