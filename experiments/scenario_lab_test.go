package experiments

import "testing"

// parse_scenario resolves a scenario.
func parse_scenario(t testing.TB, text string, sets ...string) *Scenario {
	t.Helper()
	s, err := ParseScenario("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
