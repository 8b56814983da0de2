// Package testenv says what a test needs of the machine it runs on.
package testenv

import (
	"os"
	"testing"
)

// NeedRoot skips a test that loads programs into the kernel or makes namespaces where the user may not. In CI
// (environment variable CI set) it fails instead: there a skipped test would be a hole that nobody sees.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	const why = "this test loads eBPF programs or makes network namespaces, which only root may: run it with sudo"
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// WholeScenario skips a test that drives whole scenarios, or renders what came of them, on one goroutine, in the short
// mode that the race detector's runs use: it makes them ten times as slow, and sees nothing there that shorter tests of
// the same code do not show it.
func WholeScenario(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a whole scenario: not in the short mode of the race detector's runs")
	}
}

// ShortDir makes a folder for sockets until the test's end. The folder of a test's own may have too long a path for
// one: a socket's address has 108 bytes.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pausenet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
