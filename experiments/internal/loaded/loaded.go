// Package loaded resolves scenarios and opens planes for the tests of packages that run scenarios.
package loaded

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// Parse resolves a scenario's text.
func Parse(t testing.TB, text string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Load resolves a scenario, a built-in's name or a file's path.
func Load(t testing.TB, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Opener returns a function that opens the plane of a name. The kernel's needs root.
func Opener(t testing.TB, name string) plane.Opener {
	t.Helper()
	if name == plane.Kernel {
		testenv.NeedRoot(t)
	}
	return kernel.Opener(name)
}
