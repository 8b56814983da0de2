//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Process identifies a process. A PID is not enough, as PIDs are reused.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since the machine's start, as in /proc/PID/stat
}

// ThisProcess returns the calling process.
func ThisProcess() (Process, error) {
	start, _, err := processStart(os.Getpid())
	return Process{os.Getpid(), start}, err
}

// Runs reports whether the process still runs. A zombie does not count.
func (p Process) Runs() bool {
	start, state, err := processStart(p.PID)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false
	}
	// If its state cannot be read, assume that it runs.
	return err != nil || start == p.Start && state != 'Z' && state != 'X'
}

// Wait waits for the process to end, up to a timeout, and reports whether it has ended.
func (p Process) Wait(timeout time.Duration) (ended bool) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return !p.Runs()
	}
	defer unix.Close(fd)
	return !p.Runs() || endedWithin(fd, timeout)
}

// processStart returns a process's start time and the letter of its state.
func processStart(pid int) (start uint64, state byte, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	// The name, in brackets, may hold anything, brackets and spaces too.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("/proc/%d/stat: too short", pid)
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return start, fields[0][0], err
}

// endedWithin waits for the process behind a pidfd to end.
func endedWithin(fd int, timeout time.Duration) bool {
	deadline := time.Now().Add(timeout)
	for {
		left := time.Until(deadline)
		if left < 0 {
			return false
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if err != unix.EINTR {
			return n > 0
		}
	}
}
