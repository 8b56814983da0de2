package suite

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parse resolves a scenario.
func parse(t testing.TB, text string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mustLoad resolves a built-in scenario, or a file's.
func mustLoad(t testing.TB, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
