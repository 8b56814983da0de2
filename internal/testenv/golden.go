package testenv

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Update makes tests write their golden files.
var Update = flag.Bool("update", false, "write the golden files anew")

// Golden compares a text with a file's, or writes the file.
func Golden(t testing.TB, path, got string) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run go test -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s (if that is meant, run go test -update):\n%s", path, difference(got, string(want)))
	}
}

// difference returns the lines in which two texts differ, from the first difference to the last.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	for len(a) > first && len(b) > first && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	rest := func(lines []string) string { return strings.Join(lines[first:], "\n") }
	return fmt.Sprintf("from line %d on: got\n%s\nwant\n%s", first+1, rest(a), rest(b))
}
