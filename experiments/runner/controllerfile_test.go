package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/pausenet/pausenet/controllerfile/star"
	_ "github.com/pausenet/pausenet/controllerfile/wasm"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

const examples = "../../examples/controllers/"

// runFile runs a scenario under a controller, a name or a file's path.
func runFile(t *testing.T, name, controller, dir string, sets ...string) (*Result, error) {
	t.Helper()
	s, err := scenario.Reading{Sets: sets, Controllers: []string{controller}}.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return Run(context.Background(), s, Options{Controller: controller, Plane: wasmplane.Open, Seed: 1, Directory: dir})
}

// TestControllerFilesAreTheBuiltIns checks that the examples have the fingerprints of the built-in controllers that
// they imitate.
func TestControllerFilesAreTheBuiltIns(t *testing.T) {
	testenv.WholeScenario(t)
	// The second flow joins at 20 ms. The burst lasts from 20 to 27 ms.
	durations := map[string]string{"convergence-2": "duration=25ms", "dcon-burst": "duration=28ms"}
	for builtIn, c := range map[string]struct{ scenarios, languages []string }{
		"timely": {[]string{"convergence-2", "dcon-burst"}, []string{".star", ".wasm"}},
		"dcqcn":  {[]string{"convergence-2", "dcon-burst"}, []string{".star", ".wasm"}},
		"dctcp":  {[]string{"dcon-burst"}, []string{".star"}},
		"swift":  {[]string{"dcon-burst"}, []string{".star"}},
	} {
		for _, name := range c.scenarios {
			native, err := runFile(t, name, builtIn, t.TempDir(), durations[name])
			if err != nil {
				t.Fatal(err)
			}
			for _, language := range c.languages {
				fromFile, err := runFile(t, name, examples+builtIn+language, t.TempDir(), durations[name])
				if err != nil {
					t.Fatal(err)
				}
				if fromFile.Summary.Fingerprint != native.Summary.Fingerprint {
					t.Errorf("%s%s in %s: fingerprint %s, want %s", builtIn, language, name, fromFile.Summary.Fingerprint,
						native.Summary.Fingerprint)
				}
			}
		}
	}
}

// TestControllerFileIsKept checks that the run's folder has the file and the manifest its hash, and that the copy runs
// to the same fingerprint under the same name.
func TestControllerFileIsKept(t *testing.T) {
	dir := t.TempDir()
	first, err := runFile(t, "incast", examples+"aimd.star", dir, "cc.aimd.star.factor=3/4")
	if err != nil {
		t.Fatal(err)
	}
	var m rundir.Manifest
	if err := rundir.ReadJSON(filepath.Join(dir, rundir.ManifestFile), &m); err != nil {
		t.Fatal(err)
	}
	if m.File == nil || m.File.Name != "aimd.star" || len(m.File.SHA256) != 64 ||
		m.Constants[0].Values["factor"] != "0.75" {
		t.Errorf("manifest: %+v, %v", m.File, m.Constants)
	}
	again, err := runFile(t, "incast", filepath.Join(dir, "aimd.star"), t.TempDir(), "cc.aimd.star.factor=3/4")
	if err != nil || again.Summary.Fingerprint != first.Summary.Fingerprint || again.Controller != "aimd.star" {
		t.Errorf("%v: %s under %s, want %s", err, again.Summary.Fingerprint, again.Controller, first.Summary.Fingerprint)
	}
}

// TestControllerFileFails checks that a mistake during a run fails it, with the position in the file, and keeps the
// measurements so far.
func TestControllerFileFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "wrong.star")
	source := "def init(flow):\n    flow.rate = path.line_rate\n    flow.n = 0\n" +
		"def on_ack(flow, ack):\n    flow.n += 1\n    if flow.n > 50:\n        flow.rate = -flow.rate\n"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := runFile(t, "incast", path, filepath.Join(dir, "run"))
	if err == nil || result == nil || result.Summary.Verdict.Status != measure.Fail || !result.Summary.Partial {
		t.Fatalf("%v, %v", result, err)
	}
	said := strings.Join(result.Summary.Verdict.Messages, "\n")
	for _, want := range []string{
		"wrong.star, flow 0 (h0 to h4) at ",
		"wrong.star:7:13: in on_ack: the rate would be -4e+10 bps",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the verdict does not say %q: %s", want, said)
		}
	}
	trace, err := os.ReadFile(filepath.Join(dir, "run", rundir.PanicFile))
	if err != nil || strings.Contains(string(trace), "goroutine") {
		t.Errorf("%s, %v", trace, err)
	}
}
