package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestChanged checks that a saved file is noticed, whether it is changed in place or replaced. A change to a
// neighbouring file, or a save without a change, is not.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.star")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("mine.star", "one")
	changes, err := fsnotify.NewWatcher()
	if err != nil {
		t.Skip(err)
	}
	defer changes.Close()
	if err := changes.Add(dir); err != nil {
		t.Fatal(err)
	}
	for _, save := range []func(){
		func() { write("mine.star", "two") },
		func() {
			write("other.star", "x")
			write("mine.star", "two")
			write("new", "three")
			if err := os.Rename(filepath.Join(dir, "new"), path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		was := contents([]string{path})
		done := make(chan error)
		go func() { done <- changed(t.Context(), changes, []string{path}, was) }()
		save()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestWriteChanges checks that only changed metrics are printed.
func TestWriteChanges(t *testing.T) {
	s, err := scenario.Load("incast", nil)
	if err != nil {
		t.Fatal(err)
	}
	result := func(controller, fingerprint string, pauses int64) *runner.Result {
		r := &runner.Result{
			Scenario: s, Controller: controller,
			Summary: measure.Summary{Seed: 1, Fingerprint: fingerprint, Verdict: measure.Verdict{Status: measure.Pass}},
		}
		r.Summary.PFC.Pauses = pauses
		return r
	}
	var text bytes.Buffer
	writeChanges(&text, [][]*runner.Result{{result("dcqcn", "a", 3), result("mine.star", "b", 3)}},
		[][]*runner.Result{{result("dcqcn", "a", 3), result("mine.star", "c", 7), nil, result("new", "d", 1)}})
	for _, want := range []string{"  dcqcn: unchanged\n", "  mine.star changed: ", "PAUSE frames 3 -> 7\n"} {
		if !strings.Contains(text.String(), want) || strings.Contains(text.String(), "new") {
			t.Errorf("no %q in %s", want, text.String())
		}
	}
}
