package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// quiet sets how long files must stay unchanged before they are run: an editor writes a file in several steps.
const quiet = 50 * time.Millisecond

// watch runs the scenarios, and repeats them whenever one of the files is saved, until it is interrupted. If a file
// has a mistake, watch prints it and waits for the next change.
func (f *runFlags) watch(c *cobra.Command, names []string, seedGiven bool) error {
	paths := f.watched(names)
	if len(paths) == 0 {
		return badInput(
			errors.New("--watch: neither the scenario nor a congestion controller is a file, so nothing can change"))
	}
	changes, err := fsnotify.NewWatcher()
	if err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("--watch: %w", err)}
	}
	defer changes.Close()
	for _, path := range paths { // watch folders, as an editor may replace the file
		if err := changes.Add(filepath.Dir(path)); err != nil {
			return badInput(fmt.Errorf("--watch: %w", err))
		}
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	var before [][]*runner.Result
	for {
		was := contents(paths)
		f.results = nil
		if err := f.run(c, names, seedGiven); err != nil {
			if f.interrupted {
				return ended(err)
			}
			fmt.Fprintf(c.ErrOrStderr(), "pausenet: %v\n", err)
		}
		if f.results != nil {
			writeChanges(c.OutOrStdout(), before, f.results)
			before = f.results
		}
		f.force = true // from here on, it overwrites only its own results
		fmt.Fprintf(stderr(), "\nwaiting for changes of %s; Ctrl-C stops\n", strings.Join(paths, ", "))
		err := changed(ctx, changes, paths, was)
		if errors.Is(err, context.Canceled) {
			return ended(errors.New("interrupted"))
		}
		if err != nil {
			return &exitError{exitEnvironment, fmt.Errorf("--watch: %w", err)}
		}
		fmt.Fprintln(c.OutOrStdout())
	}
}

// ended returns the error of a command that a signal ended. Its exit code is 128 plus the signal's number, as in
// shells.
func ended(err error) error { return &exitError{128 + shutdown.Signal(), err} }

// watched returns the files on the command line that affect the runs.
func (f *runFlags) watched(names []string) (paths []string) {
	for _, name := range f.controllers {
		if controllerfile.Is(name) {
			paths = append(paths, filepath.Clean(name))
		}
	}
	for _, name := range names {
		if _, err := scenario.BuiltinSource(name); err != nil && scenario.IsFile(name) && !files.IsStream(name) {
			paths = append(paths, filepath.Clean(name))
		}
	}
	return paths
}

// contents returns the files' contents; nil for a file that cannot be read.
func contents(paths []string) [][]byte {
	all := make([][]byte, len(paths))
	for i, path := range paths {
		all[i], _ = os.ReadFile(path)
	}
	return all
}

// changed waits until the files' contents differ from was and stay unchanged for a while.
func changed(ctx context.Context, changes *fsnotify.Watcher, paths []string, was [][]byte) error {
	for {
		if now := contents(paths); !slices.ContainsFunc(now, func(data []byte) bool { return data == nil }) &&
			!slices.EqualFunc(now, was, bytes.Equal) {
			return nil
		}
		select {
		case _, open := <-changes.Events:
			if !open {
				return errors.New("watching the files stopped")
			}
		case err := <-changes.Errors:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		for still := false; !still; {
			select {
			case <-changes.Events:
			case <-time.After(quiet):
				still = true
			}
		}
	}
}

// watchedMetrics lists the metrics whose changes are printed.
var watchedMetrics = []string{"fct_mean", "fct_p99", "slowdown_p99", "goodput", "pauses"}

// writeChanges prints how the runs' metrics differ from those of the previous runs.
func writeChanges(w io.Writer, before, after [][]*runner.Result) {
	known := map[string]*runner.Result{}
	for _, r := range slices.Concat(before...) {
		if r != nil {
			known[resultName(r)] = r
		}
	}
	for _, r := range slices.Concat(after...) {
		if r == nil || known[resultName(r)] == nil {
			continue
		}
		old := known[resultName(r)]
		if old.Summary.Fingerprint == r.Summary.Fingerprint {
			fmt.Fprintf(w, "  %s: unchanged\n", r.Controller)
			continue
		}
		var figures []string
		for _, m := range measure.MetricsNamed(watchedMetrics) {
			from, to := m.Over([]*measure.Summary{&old.Summary}), m.Over([]*measure.Summary{&r.Summary})
			figures = append(figures, fmt.Sprintf("%s %s -> %s", m.Label, m.Text(from), m.Text(to)))
		}
		fmt.Fprintf(w, "  %s changed: %s\n", r.Controller, strings.Join(figures, "; "))
	}
}

func resultName(r *runner.Result) string {
	return fmt.Sprintf("%s %s %d", r.Scenario.Name, r.Controller, r.Summary.Seed)
}
