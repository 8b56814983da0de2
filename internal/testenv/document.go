package testenv

import (
	"os"
	"strings"
	"testing"
)

// Document compares a block of a document, between "<!-- NAME -->" and "<!-- end -->", with a text, or writes the
// block.
func Document(t testing.TB, path, name, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), "<!-- "+name+" -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->\n")
	if !found || !ended {
		t.Fatalf("%s has no block %s", path, name)
	}
	renewed := before + "<!-- " + name + " -->\n" + want + "<!-- end -->\n" + after
	switch {
	case renewed == string(data):
	case *Update:
		if err := os.WriteFile(path, []byte(renewed), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s: the block %s is stale: run %s with -update", path, name, t.Name())
	}
}
