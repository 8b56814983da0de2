package runner

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/internal/loaded"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// Functions that many tests call.
var parse, mustLoad, opener = loaded.Parse, loaded.Load, loaded.Opener

func TestMain(m *testing.M) {
	testenv.CollectLess()
	goleak.VerifyTestMain(m)
}

// outcome holds the results of a run, and the folder of its files.
type outcome struct {
	testing.TB
	*Result
	dir string
}

// run runs a scenario under a controller on the wasm plane, unless o opens another.
func run(t testing.TB, s *scenario.Scenario, controller string, o Options) *outcome {
	t.Helper()
	if o.Plane == nil {
		o.Plane = wasmplane.Open
	}
	if o.Seed == 0 {
		o.Seed = s.Seed
	}
	o.Controller, o.Directory = controller, filepath.Join(t.TempDir(), "run")
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return &outcome{t, r, o.Directory}
}

// table reads a CSV file of the run.
func (o *outcome) table(name string) testenv.Table {
	o.Helper()
	return testenv.ReadTable(o, filepath.Join(o.dir, name))
}

func (o *outcome) json(name string) map[string]any {
	o.Helper()
	return testenv.ReadJSON(o, filepath.Join(o.dir, name))
}
