package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
		fmt.Fprintf(&b, "%s %s results that were made otherwise, and would be overwritten:\n  %s", folders, hold,
			strings.Join(g.why, "\n  "))
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

// Folders returns the scenarios' folders that hold such results.
func (e *OverwriteError) Folders() []string {
	var all []string
	for _, g := range e.groups {
		if !slices.Contains(all, g.scenario) {
			all = append(all, g.scenario)
		}
	}
	return all
}

// Settings returns in few words the settings that the results of a scenario's folder were made under.
func (e *OverwriteError) Settings(folder string) string {
	i := slices.IndexFunc(e.groups, func(g overwritten) bool { return g.scenario == folder })
	if i < 0 {
		return ""
	}
	if why := e.groups[i].why; len(why) > 1 {
		return fmt.Sprintf("%d settings differ", len(why))
	}
	return e.groups[i].why[0]
}

// OrNil is the error, nil if nothing has been added to it.
func (e *OverwriteError) OrNil() error {
	if len(e.groups) == 0 {
		return nil
	}
	return e
}

// MoveAside renames a folder to its name with a point and the first number behind it that no folder has: victim to
// victim.1. It returns the new path.
func MoveAside(path string) (string, error) {
	moved := unused(path+".", 1)
	return moved, os.Rename(path, moved)
}

// Earlier returns the folder into which MoveAside put the results that a folder had before, the latest of several; ""
// if there is none.
func Earlier(path string) string {
	n := 1
	for ; exists(fmt.Sprintf("%s.%d", path, n)); n++ {
	}
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("%s.%d", path, n-1)
}

// FreshFolder is a folder's name with the first number behind it of which there is none yet.
func FreshFolder(path string) string { return unused(filepath.Clean(path)+"-", 2) }

// unused is a path with the first number behind it, from a first one on, of which there is nothing.
func unused(path string, first int) string {
	for n := first; ; n++ {
		if numbered := path + strconv.Itoa(n); !exists(numbered) {
			return numbered
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
