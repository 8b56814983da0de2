// Package machine says what the operating system is, and what of it this process has used.
package machine

import "golang.org/x/sys/unix"

// Release is the operating system and its version.
func Release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "Linux"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// PeakResident is the most memory this process has had resident, in bytes.
func PeakResident() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Maxrss << 10
}

// ProcessorTime is the processor time this process has used, in nanoseconds.
func ProcessorTime() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
