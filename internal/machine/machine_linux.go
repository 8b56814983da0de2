// Package machine describes the operating system, and the resources that this process has used.
package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
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

// PeakResidentOf returns the maximum resident memory of an ended process, in bytes.
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

// AvailableMemory returns the memory that a program can use without swapping, in bytes; 0 if unknown. A limit of the
// process's control group counts, less the group's current use.
func AvailableMemory() int64 {
	free := int64(0)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if _, err := fmt.Sscanf(line, "MemAvailable: %d kB", &free); err == nil {
				free <<= 10
				break
			}
		}
	}
	const group = "/sys/fs/cgroup/memory."
	if limit, used := numberIn(group+"max"), numberIn(group+"current"); limit > 0 && used >= 0 {
		free = min(free, max(1, limit-used))
	}
	return free
}

// numberIn returns the number in a file; -1 if it has none.
func numberIn(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
