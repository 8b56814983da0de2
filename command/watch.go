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

	"github.com/pausenet/pausenet/experiments/ccfile"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// quiet is how long files have to be left alone before they are run: an editor writes a file in several steps.
const quiet = 50 * time.Millisecond

// watch runs, and runs again each time that one of the files is saved, until it is interrupted. What is wrong with a
// file is told, and waited for to be put right.
func (f *runFlags) watch(c *cobra.Command, names []string, seedGiven bool) error {
	paths := f.watched(names)
	if len(paths) == 0 {
		return badInput(errors.New("--watch: neither a scenario nor a congestion control is a file, so nothing changes"))
	}
	changes, err := fsnotify.NewWatcher()
	if err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("--watch: %w", err)}
	}
	defer changes.Close()
	for _, path := range paths { // folders: an editor may put a new file in the old one's place
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
		f.force = true // what is overwritten from here on is its own
		fmt.Fprintf(stderr(), "\nwaiting for a change of %s; Ctrl-C ends\n", strings.Join(paths, ", "))
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

// ended is an error of a command that goes on until a signal ends it: its exit code is what a shell has for a program
// that the signal ended.
func ended(err error) error { return &exitError{128 + shutdown.Signal(), err} }

// watched are the files that decide what is run, of those that the command line names.
func (f *runFlags) watched(names []string) (paths []string) {
	for _, name := range f.controllers {
		if ccfile.Is(name) {
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

// contents are what files have in them; nil for one that cannot be read now.
func contents(paths []string) [][]byte {
	all := make([][]byte, len(paths))
	for i, path := range paths {
		all[i], _ = os.ReadFile(path)
	}
	return all
}

// changed waits until files have other contents than they had, and are left alone.
func changed(ctx context.Context, changes *fsnotify.Watcher, paths []string, was [][]byte) error {
	for {
		if now := contents(paths); !slices.ContainsFunc(now, func(data []byte) bool { return data == nil }) &&
			!slices.EqualFunc(now, was, bytes.Equal) {
			return nil
		}
		select {
		case _, open := <-changes.Events:
			if !open {
				return errors.New("the files are watched no more")
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

// watchedMetrics are those whose changes are told.
var watchedMetrics = []string{"fct_mean", "fct_p99", "slowdown_p99", "goodput", "pauses"}

// writeChanges says what runs come to that is not what they came to before.
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
			fmt.Fprintf(w, "  %s: as before\n", r.Controller)
			continue
		}
		var figures []string
		for _, m := range measure.MetricsNamed(watchedMetrics) {
			from, to := m.Over([]*measure.Summary{&old.Summary}), m.Over([]*measure.Summary{&r.Summary})
			figures = append(figures, fmt.Sprintf("%s %s -> %s", m.Label, m.Text(from), m.Text(to)))
		}
		fmt.Fprintf(w, "  %s has changed: %s\n", r.Controller, strings.Join(figures, "; "))
	}
}

func resultName(r *runner.Result) string {
	return fmt.Sprintf("%s %s %d", r.Scenario.Name, r.Controller, r.Summary.Seed)
}
