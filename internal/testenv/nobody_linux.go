package testenv

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Nobody makes this process one without privileges, for good: it is for a process that a test starts. A program that is
// started as another user would do, were it not that this user may be unable to read the test's program.
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
