package testenv

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// Derived runs a Python script of testdata that computes expected values from their sources, and compares its output
// with the committed file. The script can be read beside the paper. Without python3 Derived skips the test; in CI
// (environment variable CI set), where python3 is installed, it fails instead.
func Derived(t testing.TB, script, file string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		const why = "this test runs a derivation of expected values: it needs python3"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	command := exec.Command(python, script)
	command.Stderr = os.Stderr
	got, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	if *Update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s prints other than %s has (if that is meant, run go test -update and read the difference)", script, file)
	}
}
