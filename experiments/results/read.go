package results

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// RunFolder holds a run as read from its folder.
type RunFolder struct {
	Path string
	// Unfinished holds the reason why the folder has no results, only the start of a run; empty: it has results.
	Unfinished string
	// Missing lists the files that a report needs but the folder lacks, each with a remedy.
	Missing []string

	manifest rundir.Manifest
	summary  measure.Summary
	tags     []string              // of the flows, in order of first occurrence
	flows    []tagFlows            // ended flows, by tag; nil after joinFlows
	times    []report.Distribution // times of the column's flows
	links    []measure.Link
	panels   [][]report.Series // points of the panels
	events   []report.Event    // first events of events.csv
	more     int               // number of further events
}

// tagFlows holds the ended flows with a tag.
type tagFlows struct {
	tag       string
	fcts      []float64 // ns
	slowdowns []float64
}

// readRuns reads the folders of runs column by column, so that only one column's flows, possibly millions, are in
// memory with their times.
func readRuns(locations []rundir.Location, column func(rundir.Location) string) ([]*RunFolder, error) {
	numbers := make([]int, len(locations))
	for i := range locations {
		numbers[i] = i
	}
	runs := make([]*RunFolder, len(locations))
	for _, group := range groupBy(numbers, func(i int) string { return column(locations[i]) }) {
		var own []*RunFolder
		for _, i := range group {
			var err error
			if runs[i], err = ReadRun(locations[i].Path()); err != nil {
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

// joinFlows combines the times of the flows of a column's runs, and frees those of each run.
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

// ReadRun reads a run's folder. An error is a FileError or one of the file system. Missing files are no error.
func ReadRun(path string) (*RunFolder, error) {
	r := &RunFolder{Path: path}
	if err := rundir.ReadJSON(filepath.Join(path, rundir.ManifestFile), &r.manifest); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &rundir.FileError{Path: path, Err: errors.New(
				"no manifest.json, which says what ran: run the scenario again")}
		}
		return nil, err
	}
	err := rundir.ReadJSON(filepath.Join(path, rundir.SummaryFile), &r.summary)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Unfinished = fmt.Sprintf("%s: no summary.json, because the run is still going on or was killed: wait for it, or run it again", path)
		return r, nil
	case err != nil:
		return nil, err
	case r.manifest.Status == rundir.StatusPartial && !r.summary.Partial:
		r.summary.Partial = true
		r.Missing = append(r.Missing, fmt.Sprintf("%s: the run ended, but not all of its files could be written, and some may be "+
			"incomplete: free some space and run it again", path))
	case r.manifest.Status == rundir.StatusRunning:
		r.Missing = append(r.Missing, fmt.Sprintf("%s: the manifest says that the run has not ended, so its files may come from "+
			"different runs: run it again", path))
	}
	return r, r.readTables()
}

// readTables reads the CSV files that a report shows, and checks their consistency.
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
		{rundir.Links.Name, "no links except the busiest", r.readLinks, false},
		{rundir.Events.Name, "no events", r.readEvents, r.summary.Faults == nil || len(r.summary.Faults.Events) == 0},
		{rundir.Panels.Name, "no plots over time", r.readPanels, len(r.manifest.Configuration.Report) == 0},
	} {
		err := file.read()
		shutdown.Alive() // an interrupted run gets its report, too
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if !file.needless {
				r.Missing = append(r.Missing, fmt.Sprintf("%s: no %s, so the report has %s of this run: run it again with this pausenet",
					r.Path, file.name, file.without))
			}
		case err != nil:
			return err
		}
	}
	return nil
}
