package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/observe"
	"github.com/pausenet/pausenet/experiments/results/parquet"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

type rerunFlags struct {
	plane      string
	processors int
	format     string
}

// rerunView represents a repeated run.
type rerunView struct {
	Folder      string `json:"folder"`
	Scenario    string `json:"scenario"`
	Controller  string `json:"controller"`
	Seed        uint64 `json:"seed"`
	Version     string `json:"version"` // of the program that made the run first
	Fingerprint string `json:"fingerprint"`
	Now         string `json:"fingerprint_now"`
	Difference  string `json:"difference,omitempty"` // the first difference: file and position
	Equal       bool   `json:"equal"`
}

func newRerunCommand() *cobra.Command {
	var f rerunFlags
	c := &cobra.Command{
		Use:   "rerun DIR...",
		Short: "Repeat runs from their folders and compare the results",
		Long: `Repeat each run below DIR and compare the results with the folder's. A run's
manifest.json records the scenario, the settings, the seed and the congestion
controller, so the original files are not needed. Fingerprints and files must
be equal, except for wall-clock times, program versions and machine names. If
they differ, rerun prints the first difference and exits with 1. Captures are
not repeated. rerun deletes the new results afterwards.

rerun refuses a folder whose files have changed since the run. (SHA256SUMS has
their checksums; sha256sum -c also checks them.)`,
		Example: `  pausenet rerun results/dcon-burst
  pausenet rerun results --plane kernel`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	planeFlag(c, &f.plane)
	processorsFlag(c, &f.processors, " (default: all)")
	formatFlag(c, &f.format)
	return c
}

func (f *rerunFlags) run(c *cobra.Command, folders []string) error {
	plane, err := choosePlane(f.plane)
	if err != nil {
		return err
	}
	if err := checkProcessors(c, plane); err != nil {
		return err
	}
	var locations []rundir.Location
	for _, folder := range folders {
		found, err := runfolders.FindRuns(folder)
		if err != nil {
			return badInput(err)
		}
		locations = append(locations, found...)
	}
	var runs []*recorded
	for _, location := range locations { // before the first run
		r, err := readRecorded(location)
		if err != nil {
			return badInput(err)
		}
		runs = append(runs, r)
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	var views []rerunView
	for _, r := range runs {
		view, err := f.repeat(ctx, c.ErrOrStderr(), r, plane)
		if err != nil {
			return err
		}
		views = append(views, *view)
	}
	return f.conclude(c.OutOrStdout(), views)
}

// recorded holds a run to repeat.
type recorded struct {
	location rundir.Location
	manifest *rundir.Manifest
	scenario *scenario.Scenario
}

// readRecorded reads a run's folder. It returns an error if files have changed since the run, or if the run would
// give other results.
func readRecorded(location rundir.Location) (*recorded, error) {
	folder := location.Path()
	if err := rundir.CheckSums(folder); err != nil {
		return nil, err
	}
	r := &recorded{location: location, manifest: new(rundir.Manifest)}
	path := filepath.Join(folder, rundir.ManifestFile)
	if err := rundir.ReadJSON(path, r.manifest); err != nil {
		return nil, err
	}
	m := r.manifest
	switch {
	case m.Status != rundir.StatusComplete:
		return nil, &rundir.FileError{Path: path, Err: fmt.Errorf(
			"the run is %s: a run that ended early has no fingerprint to compare", m.Status)}
	case m.Recipe == nil:
		return nil, &rundir.FileError{Path: path, Err: errors.New(
			"the manifest does not record the scenario: a program made it")}
	}
	var err error
	if r.scenario, err = m.Recipe.Load(); err != nil {
		return nil, &rundir.FileError{Path: path, Err: err}
	}
	now, err := rundir.ManifestOf(r.scenario, m.Controller, m.Seed, &rundir.Program{})
	if err != nil {
		return nil, &rundir.FileError{Path: path, Err: err}
	}
	if now.Hash != m.Hash {
		return nil, &rundir.FileError{Path: path, Err: fmt.Errorf(
			"the scenario's configuration has changed (now %.12s, was %.12s): this is pausenet %s, but %s made the run",
			now.Hash, m.Hash, version(), m.Version)}
	}
	return r, nil
}

// repeat repeats a run into a temporary folder, and prints the first difference to w.
func (f *rerunFlags) repeat(ctx context.Context, w io.Writer, r *recorded, plane string) (*rerunView, error) {
	m := r.manifest
	folder, err := os.MkdirTemp("", "pausenet-rerun-")
	if errors.Is(err, fs.ErrNotExist) { // a machine with only the program lacks the folder
		folder, err = os.MkdirTemp(".", ".pausenet-rerun-")
	}
	if err != nil {
		return nil, writeError(err)
	}
	defer os.RemoveAll(folder)
	o, err := r.options()
	if err != nil {
		return nil, badInput(err)
	}
	o.Plane, o.Processors, o.Directory = kernel.Opener(plane), f.processors, folder
	result, err := runner.Run(ctx, r.scenario, o)
	if err != nil {
		return nil, runError(err)
	}
	view := &rerunView{
		Folder: r.location.Path(), Scenario: m.Scenario, Controller: m.Controller, Seed: m.Seed, Version: m.Version,
		Fingerprint: m.Fingerprint, Now: result.Summary.Fingerprint, Equal: m.Fingerprint == result.Summary.Fingerprint,
	}
	d, err := runfolders.Differ(r.location.Path(), folder)
	if err != nil {
		return nil, badInput(err)
	}
	if d != nil {
		view.Equal, view.Difference = false, d.Position()
		fmt.Fprintf(w, "pausenet: %s\n", filepath.Join(r.location.Path(), d.String()))
		if m.Version != version() {
			fmt.Fprintf(w, "  pausenet %s made the run; this is %s\n", m.Version, version())
		}
	}
	return view, nil
}

// options returns options that make a run write the same files as the folder. Two facts are in no manifest: a
// sweep's point records neither times nor a check of settings, and with other controllers a setting without effect
// is only a note.
func (r *recorded) options() (runner.Options, error) {
	m := r.manifest
	folder := r.location.Path()
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(folder, name))
		return err == nil
	}
	var summary measure.Summary
	if err := rundir.ReadJSON(filepath.Join(folder, rundir.SummaryFile), &summary); err != nil {
		return runner.Options{}, err
	}
	o := runner.Options{
		Controller: m.Controller, Seed: m.Seed, Sets: m.Settings, Anywhere: m.Machine == "", CheckSets: m.Machine != "",
		Compared: slices.ContainsFunc(summary.Verdict.Notes,
			func(note string) bool { return strings.HasPrefix(note, "--set ") }),
	}
	if has(rundir.HPCCFlowsFile) {
		o.Export = runner.ExportHPCC
	}
	for _, f := range []struct {
		name    string
		observe runner.NewObserver
	}{
		{rundir.Why.Name, observe.Why},
		{rundir.RecordFile, observe.Record},
		{rundir.PerfettoFile, observe.Perfetto},
		{rundir.Flows.ParquetName(), parquet.Observe},
	} {
		if has(f.name) {
			o.Observers = append(o.Observers, f.observe)
		}
	}
	return o, nil
}

func (f *rerunFlags) conclude(w io.Writer, views []rerunView) error {
	different := 0
	for i := range views {
		if !views[i].Equal {
			different++
		}
	}
	if structured(f.format) {
		if err := writeStructured(w, f.format, views); err != nil {
			return err
		}
	} else {
		t := tabwriter.NewWriter(people(w), 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "scenario\tcc\tseed\tfingerprint\tnow\tfolder")
		for _, v := range views {
			now := "equal"
			switch {
			case v.Now != v.Fingerprint:
				now = short(v.Now)
			case !v.Equal:
				now = v.Difference + " differs"
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", v.Scenario, v.Controller, v.Seed, short(v.Fingerprint), now, v.Folder)
		}
		t.Flush()
	}
	if different > 0 {
		return &exitError{exitVerdict, fmt.Errorf("%d of %d runs now have different results", different, len(views))}
	}
	return nil
}
