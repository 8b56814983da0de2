package experiments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/report"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// RunFolder is a run as its folder has it.
type RunFolder struct {
	Path string
	// Unfinished says why there is nothing to show but that the run was begun; empty: there is.
	Unfinished string
	// Missing are what the folder lacks of what a report shows, each with what to do about it.
	Missing []string

	manifest manifest
	summary  Summary
	tags     []string   // of the flows, in their order
	flows    []tagFlows // of those that ended, by tag
	links    []Link
	panels   [][]Points     // as Result.Panels
	events   []report.Event // the first of events.csv
	more     int            // how many there are beside
}

// tagFlows are the flows with a tag that ended.
type tagFlows struct {
	tag       string
	fcts      []float64 // ns
	slowdowns []float64
}

// FileError is a mistake in a file of results.
type FileError struct {
	Path string
	Line int // 0: of no line
	Err  error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// isRunFolder says whether a folder is a run's.
func isRunFolder(path string) bool {
	for _, name := range []string{manifestName, summaryName} {
		if info, err := os.Lstat(filepath.Join(path, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// ReadRun reads a run's folder. An error is a FileError or one of the file system's; files that are not there are none.
func ReadRun(path string) (*RunFolder, error) {
	r := &RunFolder{Path: path}
	if err := readResult(filepath.Join(path, manifestName), &r.manifest); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &FileError{Path: path, Err: errors.New("no manifest.json, without which nobody knows what ran: run the scenario again")}
		}
		return nil, err
	}
	err := readResult(filepath.Join(path, summaryName), &r.summary)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Unfinished = fmt.Sprintf("%s: no summary.json, the run is still going on or was killed: wait for it, or run it again", path)
		return r, nil
	case err != nil:
		return nil, err
	case r.manifest.Status == statusRunning:
		r.Missing = append(r.Missing, fmt.Sprintf("%s: the manifest says that the run has not ended, so its files may not be of one run: run it again", path))
	}
	return r, r.readTables()
}

// readTables reads the CSV files that a report shows, and checks what it relies on.
func (r *RunFolder) readTables() error {
	switch r.summary.Verdict.Status {
	case Pass, Warn, Fail:
	default:
		return &FileError{Path: filepath.Join(r.Path, summaryName), Err: fmt.Errorf("unknown verdict %q", r.summary.Verdict.Status)}
	}
	for _, file := range []struct {
		name, without string
		read          func(path string) error
		needless      bool
	}{
		{"flows.csv", "no distributions of FCT and slowdown", r.readFlows, false},
		{"links.csv", "no table of links but the busiest", r.readLinks, false},
		{"events.csv", "no events", r.readEvents, r.summary.Faults == nil || len(r.summary.Faults.Events) == 0},
		{"panels.csv", "no plots over time", r.readPanels, len(r.manifest.Configuration.Report) == 0},
	} {
		err := file.read(filepath.Join(r.Path, file.name))
		shutdown.Alive() // a run that was interrupted gets its report
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if !file.needless {
				r.Missing = append(r.Missing, fmt.Sprintf("%s: no %s, so there are %s of this run: run it again with this pausenet to have them",
					r.Path, file.name, file.without))
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// What a folder of results is read from. Whoever can put a file there can put a link or a device there.
var (
	resultJSON = files.Kind{Name: "a result in JSON", Most: 256 << 20, Plain: true}
	resultCSV  = files.Kind{Name: "a table of results", Most: 1 << 30, Plain: true}
)

// readResult reads a file of JSON; a mistake in it is a FileError.
func readResult(path string, into any) error {
	data, err := files.Read(path, resultJSON)
	if err != nil {
		return err
	}
	return parseResult(path, data, into)
}

func parseResult(path string, data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	at := int64(0)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at, err = kind.Offset, fmt.Errorf("%s is a %s, which is not what belongs there", kind.Field, kind.Value)
	}
	at = min(max(at-1, 0), int64(len(data))) // the offset is behind what is wrong
	return &FileError{path, 1 + bytes.Count(data[:at], []byte{'\n'}), err}
}
