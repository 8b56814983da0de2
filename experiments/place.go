package experiments

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

// runsFile is runs.json: the runs that a scenario's report.html shows.
type runsFile struct {
	Scenario string   `json:"scenario"`
	Version  string   `json:"version"`
	Command  string   `json:"command"`
	Runs     []string `json:"runs"` // folders below the scenario's, with /
}

const runsName = "runs.json"

// seedFolder are the names of folders of runs under one of several seeds.
var seedFolder = regexp.MustCompile(`^seed=([0-9]+)$`)

// runPlace is where a run is.
type runPlace struct {
	scenario   string // folder
	seed       uint64 // of several
	several    bool
	controller string
}

func (p runPlace) path() string { return filepath.Join(p.scenario, p.below()) }

// below is the run's folder below the scenario's.
func (p runPlace) below() string {
	if p.several {
		return filepath.Join(fmt.Sprintf("seed=%d", p.seed), p.controller)
	}
	return p.controller
}

// placeOf is the place of a run's folder.
func placeOf(path string) runPlace {
	path = filepath.Clean(path)
	p := runPlace{scenario: filepath.Dir(path), controller: filepath.Base(path)}
	if m := seedFolder.FindStringSubmatch(filepath.Base(p.scenario)); m != nil {
		if seed, err := strconv.ParseUint(m[1], 10, 64); err == nil {
			p.scenario, p.seed, p.several = filepath.Dir(p.scenario), seed, true
		}
	}
	return p
}

// deepestRun is how many folders below a folder of results a run may be: scenario, seed, controller.
const deepestRun = 3

// findRuns are the runs' folders below a folder, itself included, in the file system's order.
func findRuns(root string) ([]runPlace, error) {
	if info, err := os.Stat(root); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &FileError{Path: root, Err: errors.New("not a folder: name the folder of a run, of a scenario or of results")}
	}
	var places []runPlace
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if isRunFolder(path) {
			places = append(places, placeOf(path))
			return fs.SkipDir
		}
		if below, err := filepath.Rel(root, path); err == nil && below != "." && strings.Count(below, string(filepath.Separator)) >= deepestRun-1 {
			return fs.SkipDir
		}
		return nil
	})
	if err == nil && len(places) == 0 {
		err = &FileError{Path: root, Err: errors.New("no run's folder in it: pausenet run writes them, as results/<scenario>/<cc>")}
	}
	return places, err
}

// isRunFolder says whether a folder is a run's.
func isRunFolder(path string) bool {
	for _, name := range []string{manifestName, summaryName} {
		if info, err := os.Lstat(filepath.Join(path, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Files of a scenario's folder: its report, and its published tables.
const (
	reportName    = "report.html"
	publishedName = "published.json"
)

// figuresFolder is the folder of a report's figures.
const figuresFolder = "figures"
