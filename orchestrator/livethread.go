//go:build linux

package orchestrator

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// preference is that of the thread which drives a live fabric, so that it wakes on time: exact timers, and before the programs that send
// into the fabric. It needs a real-time policy, as among ordinary threads even the nicest waits for milliseconds on a machine that is
// busy; with one processor alone there would be none left for the programs. Where it may not, the fabric is late more often, and says so.
//
// A thread that cannot keep up anyway never waits, and would take its processor from all others, but for the 5 % that the kernel leaves
// them (sched_rt_runtime_us): two such fabrics would make a machine of two processors 20 times slower. It is an ordinary one meanwhile.
type preference struct {
	ordinary  *unix.SchedAttr // nil: there is no preference to be had
	preferred bool
}

// preferThread prefers the calling thread.
func preferThread() *preference {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	p := &preference{}
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || runtime.NumCPU() < 2 {
		return p
	}
	p.ordinary = before
	if p.prefer(true); !p.preferred {
		p.ordinary = nil
	}
	return p
}

// prefer has the calling thread, the one that was preferred, be that or an ordinary one.
func (p *preference) prefer(preferred bool) {
	if p.ordinary == nil || p.preferred == preferred {
		return
	}
	attr := p.ordinary
	if preferred {
		attr = &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	}
	if unix.SchedSetAttr(0, attr, 0) == nil {
		p.preferred = preferred
	}
}
