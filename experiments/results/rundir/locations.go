package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// Runs holds the content of runs.json: the runs that a scenario's report.html shows.
type Runs struct {
	Scenario string   `json:"scenario"`
	Version  string   `json:"version"`
	Command  string   `json:"command"`
	Runs     []string `json:"runs"` // folders below the scenario's, separated by /
}

// RunsFile names the file with Runs in a scenario's folder.
const RunsFile = "runs.json"

// seedFolder matches the folders of runs under one of several seeds.
var seedFolder = regexp.MustCompile(`^seed=([0-9]+)$`)

// Location identifies a run below a folder of results.
type Location struct {
	Scenario   string // folder of the scenario
	Seed       uint64 // 0 unless the scenario has runs under several seeds
	Several    bool
	Controller string
}

// Path returns the run's folder.
func (p Location) Path() string { return filepath.Join(p.Scenario, p.Below()) }

// Below returns the run's folder relative to the scenario's.
func (p Location) Below() string {
	if p.Several {
		return filepath.Join(fmt.Sprintf("seed=%d", p.Seed), p.Controller)
	}
	return p.Controller
}

// LocationOf returns the location of a run's folder.
func LocationOf(path string) Location {
	path = filepath.Clean(path)
	p := Location{Scenario: filepath.Dir(path), Controller: filepath.Base(path)}
	if m := seedFolder.FindStringSubmatch(filepath.Base(p.Scenario)); m != nil {
		if seed, err := strconv.ParseUint(m[1], 10, 64); err == nil {
			p.Scenario, p.Seed, p.Several = filepath.Dir(p.Scenario), seed, true
		}
	}
	return p
}

// IsRun reports whether a folder is a run's.
func IsRun(path string) bool {
	for _, name := range []string{ManifestFile, SummaryFile} {
		if info, err := os.Lstat(filepath.Join(path, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Names of files in a scenario's folder: its report and its published tables.
const (
	ReportFile    = "report.html"
	PublishedFile = "published.json"
)

// FiguresFolder names the folder with a report's figures.
const FiguresFolder = "figures"
