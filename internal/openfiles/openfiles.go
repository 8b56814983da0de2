//go:build unix

package openfiles

import (
	"os" // it raises the limit to what it may be
	"strconv"
	"syscall"
)

// least is how many files a program needs that does little, with some to spare.
const least = 16

// environment is the exit code for what a machine lacks.
const environment = 3

// init comes before those of packages that need more than this one imports.
func init() {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < least {
		_, _ = os.Stderr.WriteString("pausenet: the limit on open files is " + strconv.Itoa(int(limit.Cur)) +
			": raise it with ulimit -n 1024\n")
		os.Exit(environment)
	}
}
