package bound

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/loaded"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// What tests run.
var parse = loaded.Parse

// run runs a scenario under a controller, and says where its files are.
func run(t testing.TB, s *scenario.Scenario, controller string) (sum *measure.Summary, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	r, err := runner.Run(context.Background(), s, runner.Options{Controller: controller, Seed: s.Seed, Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	return &r.Summary, dir
}
