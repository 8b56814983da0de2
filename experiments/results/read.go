package results

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/report"
	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// RunFolder is a run as its folder has it.
type RunFolder struct {
	Path string
	// Unfinished says why there is nothing to show but that the run was begun; empty: there is.
	Unfinished string
	// Missing are what the folder lacks of what a report shows, each with what to do about it.
	Missing []string

	manifest rundir.Manifest
	summary  measure.Summary
	tags     []string              // of the flows, in their order
	flows    []tagFlows            // of those that ended, by tag, until all runs of the column have been read
	times    []report.Distribution // of the column's flows
	links    []measure.Link
	panels   [][]report.Series // their points
	events   []report.Event    // the first of events.csv
	more     int               // how many there are beside
}

// tagFlows are the flows with a tag that ended.
type tagFlows struct {
	tag       string
	fcts      []float64 // ns
	slowdowns []float64
}

// readRuns reads the folders of runs, those of a column one after the other: so only one column's flows, of which there
// may be millions, have their times in memory.
func readRuns(places []rundir.Place, column func(rundir.Place) string) ([]*RunFolder, error) {
	numbers := make([]int, len(places))
	for i := range places {
		numbers[i] = i
	}
	runs := make([]*RunFolder, len(places))
	for _, group := range groupBy(numbers, func(i int) string { return column(places[i]) }) {
		var own []*RunFolder
		for _, i := range group {
			var err error
			if runs[i], err = ReadRun(places[i].Path()); err != nil {
				return nil, err
			}
			if runs[i].Unfinished == "" {
				own = append(own, runs[i])
			}
		}
		joinFlows(own)
	}
	return runs, nil
}

// joinFlows puts together the times of the flows of a column's runs, and lets go of each run's.
func joinFlows(runs []*RunFolder) {
	type values struct{ slowdowns, fcts [][]float64 }
	byTag := map[string]*values{}
	var tags []string
	for _, r := range report.Counted(runs, func(r *RunFolder) bool { return r.summary.Trusted() }) {
		for _, f := range r.flows {
			if byTag[f.tag] == nil {
				byTag[f.tag] = &values{}
				tags = append(tags, f.tag)
			}
			v := byTag[f.tag]
			v.slowdowns, v.fcts = append(v.slowdowns, f.slowdowns), append(v.fcts, f.fcts)
		}
	}
	var all []report.Distribution
	for _, tag := range tags {
		shutdown.Alive()
		v := byTag[tag]
		all = append(all, report.Distribution{
			Tag: tag, Slowdowns: report.NewSample(v.slowdowns...),
			FCTs: report.NewSample(v.fcts...),
		})
	}
	for _, r := range runs {
		r.flows, r.times = nil, all
	}
}

// ReadRun reads a run's folder. An error is a FileError or one of the file system's; files that are not there are none.
func ReadRun(path string) (*RunFolder, error) {
	r := &RunFolder{Path: path}
	if err := rundir.ReadJSON(filepath.Join(path, rundir.ManifestFile), &r.manifest); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &rundir.FileError{Path: path, Err: errors.New(
				"no manifest.json, without which nobody knows what ran: run the scenario again")}
		}
		return nil, err
	}
	err := rundir.ReadJSON(filepath.Join(path, rundir.SummaryFile), &r.summary)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Unfinished = fmt.Sprintf("%s: no summary.json, the run is still going on or was killed: wait for it, or run it again", path)
		return r, nil
	case err != nil:
		return nil, err
	case r.manifest.Status == rundir.StatusPartial && !r.summary.Partial:
		r.summary.Partial = true
		r.Missing = append(r.Missing, fmt.Sprintf("%s: the run has ended, and its files could not all be written, so some may have a part of it: free some space, and run it again", path))
	case r.manifest.Status == rundir.StatusRunning:
		r.Missing = append(r.Missing, fmt.Sprintf("%s: the manifest says that the run has not ended, so its files may not be of one run: run it again", path))
	}
	return r, r.readTables()
}

// readTables reads the CSV files that a report shows, and checks what it relies on.
func (r *RunFolder) readTables() error {
	switch r.summary.Verdict.Status {
	case measure.Pass, measure.Warn, measure.Fail:
	default:
		return &rundir.FileError{
			Path: filepath.Join(r.Path, rundir.SummaryFile),
			Err:  fmt.Errorf("unknown verdict %q", r.summary.Verdict.Status),
		}
	}
	for _, file := range []struct {
		name, without string
		read          func() error
		needless      bool
	}{
		{rundir.Flows.Name, "no distributions of FCT and slowdown", r.readFlows, false},
		{rundir.Links.Name, "no table of links but the busiest", r.readLinks, false},
		{rundir.Events.Name, "no events", r.readEvents, r.summary.Faults == nil || len(r.summary.Faults.Events) == 0},
		{rundir.Panels.Name, "no plots over time", r.readPanels, len(r.manifest.Configuration.Report) == 0},
	} {
		err := file.read()
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
