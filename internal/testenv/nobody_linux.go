package testenv

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Nobody drops all privileges of this process, permanently. It is for a process that a test starts. A program started
// as another user would do the same, but that user may be unable to read the test's program.
func Nobody(t testing.TB) {
	t.Helper()
	const nobody = 65534
	for _, err := range []error{
		syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody),
		unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0), // /proc/self is its own again, as after an execve
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
