// Package runfolders finds the runs below a folder of results, and free names beside results. It compares the files of
// two runs.
package runfolders

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// deepestRun limits the depth of a run below a folder of results: scenario, seed, controller.
const deepestRun = 3

// FindRuns returns the runs' folders at or below a folder, in the file system's order.
func FindRuns(root string) ([]rundir.Location, error) {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &rundir.FileError{Path: root, Err: fmt.Errorf("%w: name the folder of a run, of a scenario or of results, "+
			"such as results/incast", fs.ErrNotExist)}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &rundir.FileError{Path: root, Err: errors.New(
			"not a folder: name the folder of a run, of a scenario or of results")}
	}
	var locations []rundir.Location
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if rundir.IsRun(path) {
			locations = append(locations, rundir.LocationOf(path))
			return fs.SkipDir
		}
		if below, err := filepath.Rel(root, path); err == nil && below != "." &&
			strings.Count(below, string(filepath.Separator)) >= deepestRun-1 {
			return fs.SkipDir
		}
		return nil
	})
	if err == nil && len(locations) == 0 {
		err = &rundir.FileError{Path: root, Err: errors.New("no run in this folder: pausenet run writes runs, as results/<scenario>/<cc>")}
	}
	return locations, err
}

// MoveAside renames a folder to its name with a dot and the first unused number: victim to victim.1. It returns the
// new path.
func MoveAside(path string) (string, error) {
	moved := unused(path+".", 1)
	return moved, os.Rename(path, moved)
}

// Earlier returns the latest folder into which MoveAside moved the results of a folder; "" if there is none.
func Earlier(path string) string {
	n := 1
	for ; exists(fmt.Sprintf("%s.%d", path, n)); n++ {
	}
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("%s.%d", path, n-1)
}

// FreshFolder returns a folder's name with the first number that gives an unused name.
func FreshFolder(path string) string { return unused(filepath.Clean(path)+"-", 2) }

// unused returns a path with the first number, from first on, that gives an unused name.
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
