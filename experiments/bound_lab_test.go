package experiments

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/orchestrator"
)

// parse_bound resolves a scenario.
func parse_bound(t testing.TB, text string, sets ...string) *Scenario {
	t.Helper()
	s, err := ParseScenario("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run_bound runs a scenario under a controller, and says where its files are.
func run_bound(t testing.TB, s *Scenario, controller string) (sum *Summary, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	r, err := Run(context.Background(), s, Options{Plane: orchestrator.PlaneWasm, Controller: controller, Seed: s.Seed, Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	return &r.Summary, dir
}
