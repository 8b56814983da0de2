// Package loaded resolves scenarios for the tests of the packages above the language of scenarios.
package loaded

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
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

// Load resolves a built-in scenario, or a file's.
func Load(t testing.TB, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
