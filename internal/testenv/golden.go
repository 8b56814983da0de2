package testenv

import (
	"flag"
	"os"
	"testing"
)

// Update says that golden files are to be written anew.
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
		t.Errorf("%s (if that is meant, run go test -update): got\n%s\nwant\n%s", path, got, want)
	}
}
