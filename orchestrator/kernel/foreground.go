//go:build linux

package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// keepForeground records whether this process's group is in the foreground of a command's terminal. If so, restore
// returns it there.
func keepForeground(cmd *exec.Cmd) (restore func()) {
	terminal, ok := cmd.Stdin.(*os.File)
	if !ok || terminal == nil {
		return func() {}
	}
	if group, err := foreground(terminal); err != nil || group != unix.Getpgrp() {
		return func() {}
	}
	return func() { TakeBack(terminal) }
}

func foreground(terminal *os.File) (group int, err error) {
	return unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
}

// TakeBack returns a terminal's foreground to this process's group if a program on a node took it. A shell there
// makes its own group the foreground group, and cannot restore this one at its end, because it has no number in
// its PID namespace.
func TakeBack(terminal *os.File) {
	group, err := foreground(terminal)
	if err != nil || group <= 0 || group == unix.Getpgrp() || !elsewhere(group) {
		return
	}
	// Whoever is in the background and does that is stopped, unless it blocks the signal; were it ignored, programs would
	// inherit that.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stop, was unix.Sigset_t
	stop.Val[0] = 1 << (unix.SIGTTOU - 1)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &stop, &was) != nil {
		return
	}
	_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &was, nil)
}

// elsewhere reports whether a process group is in another PID namespace than this process, or has ended.
func elsewhere(group int) bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return false
	}
	if leader, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", group)); err == nil {
		return leader != own
	}
	return unix.Kill(-group, 0) == unix.ESRCH
}
