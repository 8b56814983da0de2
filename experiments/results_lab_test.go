package experiments

import "testing"

// parse_results resolves a scenario.
func parse_results(t testing.TB, text string, sets ...string) *Scenario {
	t.Helper()
	s, err := ParseScenario("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
