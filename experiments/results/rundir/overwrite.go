package rundir

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// OverwriteError reports that runs would replace results of other settings.
type OverwriteError struct {
	groups []overwritten
}

// overwritten lists results of runs that differ in the same way from the new ones.
type overwritten struct {
	scenario string   // folder
	runs     []string // folders below it
	why      []string // one line for each difference
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
		fmt.Fprintf(&b, "%s %s results of another configuration, which this run would overwrite:\n  %s", folders, hold,
			strings.Join(g.why, "\n  "))
	}
	return b.String()
}

// Add adds a run's folder below a scenario's, with its differences.
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

// Settings returns the differing settings of a scenario's folder in a few words.
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

// OrNil returns the error, or nil if nothing was added to it.
func (e *OverwriteError) OrNil() error {
	if len(e.groups) == 0 {
		return nil
	}
	return e
}
