package view

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/results/replay"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// mostRuns limits the runs of a page, because a browser holds all of them in memory.
const mostRuns = 12

// Read makes the replays of the runs below folders: of runs, scenarios or results. The title is the scenario's, or of
// several all. The warnings name files that were changed after their run.
func Read(folders []string) (title string, runs [][]byte, warnings []string, err error) {
	var locations []rundir.Location
	for _, folder := range folders {
		found, err := runfolders.FindRuns(folder)
		if err != nil {
			return "", nil, nil, err
		}
		sorted(found)
		locations = append(locations, found...)
	}
	if len(locations) > mostRuns {
		return "", nil, nil, fmt.Errorf("there are %d runs below %s, and a page takes %d: name the folders of fewer",
			len(locations), strings.Join(folders, ", "), mostRuns)
	}
	var titles []string
	for i, label := range labels(locations) {
		shutdown.Alive()
		run, changed, err := replay.Read(locations[i].Path(), label)
		if err != nil {
			return "", nil, nil, err
		}
		runs, warnings = append(runs, run), append(warnings, changed...)
		if name := filepath.Base(locations[i].Scenario); !slices.Contains(titles, name) {
			titles = append(titles, name)
		}
	}
	return strings.Join(titles, ", "), runs, warnings, nil
}

// sorted puts the runs of a folder in the order of the command that ran them, the others behind them.
func sorted(locations []rundir.Location) {
	lists := map[string]*rundir.Runs{}
	rank := func(p rundir.Location) int {
		list, known := lists[p.Scenario]
		if !known {
			list = &rundir.Runs{}
			if err := rundir.ReadJSON(filepath.Join(p.Scenario, rundir.RunsFile), list); err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				list.Runs = nil // the order alone is lost
			}
			lists[p.Scenario] = list
		}
		if i := slices.Index(list.Runs, filepath.ToSlash(p.Below())); i >= 0 {
			return i
		}
		return len(list.Runs)
	}
	slices.SortStableFunc(locations, func(a, b rundir.Location) int {
		if a.Scenario != b.Scenario {
			return 0
		}
		return rank(a) - rank(b)
	})
}

// labels tell runs apart by as much of their folders' paths as that needs, from the end.
func labels(locations []rundir.Location) []string {
	all := make([]string, len(locations))
	for i, p := range locations {
		words := strings.Split(filepath.ToSlash(p.Path()), "/")
		for n := 1; n <= len(words); n++ {
			all[i] = strings.Join(words[len(words)-n:], "/")
			alike := func(o rundir.Location) bool {
				return o != p && strings.HasSuffix("/"+filepath.ToSlash(o.Path()), "/"+all[i])
			}
			if !slices.ContainsFunc(locations, alike) {
				break
			}
		}
	}
	return all
}
