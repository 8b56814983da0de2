package scenario

import "testing"

// parse resolves a scenario.
func parse(t testing.TB, text string, sets ...string) *Scenario {
	t.Helper()
	s, err := Parse("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
