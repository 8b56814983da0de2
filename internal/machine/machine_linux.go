// Package machine says what the operating system is, and what of it this process has used.
package machine

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Release returns the operating system and its version.
func Release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "Linux"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// ProcessorTime returns the processor time this process has used, in nanoseconds.
func ProcessorTime() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// PeakResidentOf returns the most memory that a process which has ended had resident, in bytes.
func PeakResidentOf(p *os.ProcessState) int64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}

// Load returns the load average of the last minute: how many tasks ran or wanted to.
func Load() (load float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	_, _ = fmt.Sscan(string(text), &load)
	return load
}
