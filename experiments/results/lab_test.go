package results

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// parse resolves a scenario.
func parse(t testing.TB, text string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
