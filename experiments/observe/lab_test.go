package observe

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/internal/loaded"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// What tests run.
var parse, mustLoad = loaded.Parse, loaded.Load

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is a run and its files.
type outcome struct {
	testing.TB
	*runner.Result
	dir string
}

// opener returns what opens the plane of the given name. The kernel's needs root.
func opener(t testing.TB, name string) plane.Opener {
	t.Helper()
	if name == plane.Kernel {
		testenv.NeedRoot(t)
	}
	return kernel.Opener(name)
}

// run runs a scenario under a controller.
func run(t testing.TB, s *scenario.Scenario, controller string, o runner.Options) *outcome {
	t.Helper()
	o.Seed, o.Controller, o.Directory = s.Seed, controller, filepath.Join(t.TempDir(), "run")
	r, err := runner.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return &outcome{t, r, o.Directory}
}

// observed are options of a run with some observers.
func observed(by ...runner.NewObserver) runner.Options { return runner.Options{Observers: by} }

// table is a CSV file of the run's.
func (o *outcome) table(name string) testenv.Table {
	o.Helper()
	return testenv.ReadTable(o, filepath.Join(o.dir, name))
}
