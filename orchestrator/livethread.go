//go:build linux

package orchestrator

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// preferThread has the calling thread wake on time: exact timers, and before the programs that send into the fabric. It needs a
// real-time policy, as among ordinary threads even the nicest waits for milliseconds on a machine that is busy; the kernel keeps
// those from taking a processor whole (sched_rt_runtime_us), and with one processor alone there would be none left for the programs.
// Where it may not, the fabric is late more often, and says so. undo makes the thread an ordinary one again.
func preferThread() (undo func()) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || runtime.NumCPU() < 2 {
		return func() {}
	}
	own := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if unix.SchedSetAttr(0, &own, 0) != nil {
		return func() {}
	}
	return func() { _ = unix.SchedSetAttr(0, before, 0) }
}
