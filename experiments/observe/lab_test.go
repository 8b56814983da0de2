package observe

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/internal/loaded"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
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
	*runner.Result
	dir string
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

// observed returns options of a run with some observers.
func observed(by ...runner.NewObserver) runner.Options { return runner.Options{Observers: by} }

// table reads a CSV file of the run.
func (o *outcome) table(name string) testenv.Table {
	o.Helper()
	return testenv.ReadTable(o, filepath.Join(o.dir, name))
}
