// Package testenv checks a test's requirements on the machine, and provides helpers for tests.
package testenv

import (
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"time"
)

// Hung is how long a test waits for an event before it fails. No event takes as long on a working program, even under
// the race detector on a busy machine.
const Hung = 20 * time.Minute

// CollectLess makes the garbage collector of this process run less often. The heaps of tests' runs are small, and
// collecting them costs 5 to 10 % of the time.
func CollectLess() { debug.SetGCPercent(400) }

// NeedRoot skips a test that loads programs into the kernel or makes namespaces if the user may not. In CI (environment
// variable CI set) it fails instead, because nobody would notice a skipped test there.
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

// WholeScenario skips a test in short mode, in which the race detector runs. Call it in tests that drive whole
// scenarios, or render their results, on one goroutine. The race detector makes such tests ten times as slow, and finds
// nothing that shorter tests of the same code do not show.
func WholeScenario(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a whole scenario: not in the short mode of the race detector's runs")
	}
}

// ShortDir makes a folder for sockets, removed at the test's end. The path of the test's own folder may be too long: a
// socket's address has 108 bytes.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pausenet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// WriteProgram writes a file that a test then runs. A child that another test forks meanwhile would have the file open
// for writing until it runs its own program, and nobody could run this one (text file busy).
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}

// PlaceProgram gives the program of this test a further path: by a link, or as a copy on another file system.
func PlaceProgram(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if os.Link(self, path) == nil {
		return nil
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return WriteProgram(path, program)
}
