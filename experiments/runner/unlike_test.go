package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestUnlike checks that a repetition with another result than the one it replaces is reported. Runs with other
// settings, of another version, or unfinished ones are not repetitions.
func TestUnlike(t *testing.T) {
	s := mustLoad(t, "incast")
	dir := filepath.Join(t.TempDir(), "run")
	manifest := filepath.Join(dir, rundir.ManifestFile)
	run := func(version string) *Result {
		t.Helper()
		r, err := Run(context.Background(), s, Options{
			Controller: "dcqcn", Plane: wasmplane.Open, Seed: 1, Directory: dir,
			Version: version,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	change := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(data), from, to, 1)
		if changed == string(data) {
			t.Fatalf("no %q in the manifest", from)
		}
		if err := os.WriteFile(manifest, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const another = "0123456789abcdef0123456789abcdef"
	own := run("one").Summary.Fingerprint
	if r := run("one"); r.Unlike != "" {
		t.Errorf("the same again: unlike %s", r.Unlike)
	}
	change(own, another)
	if r := run("one"); r.Unlike != another {
		t.Errorf("unlike %q, want %q", r.Unlike, another)
	}
	change(own, another)
	if r := run("two"); r.Unlike != "" {
		t.Errorf("another version: unlike %s", r.Unlike)
	}
	change(own, another)
	change(`"complete"`, `"partial"`)
	if r := run("two"); r.Unlike != "" {
		t.Errorf("after a partial run: unlike %s", r.Unlike)
	}
}
