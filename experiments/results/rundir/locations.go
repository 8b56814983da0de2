package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
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

// deepestRun limits the depth of a run below a folder of results: scenario, seed, controller.
const deepestRun = 3

// FindRuns returns the runs' folders at or below a folder, in the file system's order.
func FindRuns(root string) ([]Location, error) {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &FileError{Path: root, Err: fmt.Errorf("%w: name the folder of a run, of a scenario or of results, "+
			"such as results/incast", fs.ErrNotExist)}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &FileError{Path: root, Err: errors.New(
			"not a folder: name the folder of a run, of a scenario or of results")}
	}
	var locations []Location
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if IsRun(path) {
			locations = append(locations, LocationOf(path))
			return fs.SkipDir
		}
		if below, err := filepath.Rel(root, path); err == nil && below != "." &&
			strings.Count(below, string(filepath.Separator)) >= deepestRun-1 {
			return fs.SkipDir
		}
		return nil
	})
	if err == nil && len(locations) == 0 {
		err = &FileError{Path: root, Err: errors.New("no run in this folder: pausenet run writes runs, as results/<scenario>/<cc>")}
	}
	return locations, err
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
