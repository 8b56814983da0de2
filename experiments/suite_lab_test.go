package experiments

import "testing"

// parse_suite resolves a scenario.
func parse_suite(t testing.TB, text string, sets ...string) *Scenario {
	t.Helper()
	s, err := ParseScenario("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// load_suite resolves a built-in scenario, or a file's.
func load_suite(t testing.TB, name string, sets ...string) *Scenario {
	t.Helper()
	s, err := LoadScenario(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
