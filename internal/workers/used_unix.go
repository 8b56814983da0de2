//go:build unix

package workers

import (
	"syscall"
	"time"
)

// used is what this process has used of the processors' time.
func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
