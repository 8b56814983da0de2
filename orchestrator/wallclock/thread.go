//go:build linux

package wallclock

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// preferred makes the current thread of the engine's goroutine wake on time: with exact timers, and before the programs
// that send into the fabric. It needs a real-time policy. Among normal threads even the nicest waits for milliseconds
// on a busy machine. The kernel keeps real-time threads from using a whole processor (sched_rt_runtime_us). With only
// one processor there would be none left for the programs, so the policy is not used. Without it the fabric is late
// more often, and reports that.
//
// The goroutine is not locked to its thread, and sleeps in raw system calls. Normal threads run Go's scheduler. They
// wait for a processor on a busy machine, and a real-time thread that waits for one of them waits as long. It would
// wait for some 50 ms whenever a locked goroutine is preempted (each 10 ms), as another thread has to hand it back. It
// would wait for the 950 ms of sched_rt_runtime_us if it returned from a system call that Go tracks while the normal
// thread that watches those (sysmon) is about to check it: it would spin on the processor that the other needs. A
// goroutine that is preempted unlocked is resumed by its own thread. That is one real-time thread at any time.
//
// A thread that cannot keep up anyway never waits. It would take its processor from all others, except for the 5 % that
// the kernel leaves them: two such fabrics would make a machine of two processors 20 times slower. So it becomes a
// normal thread meanwhile.
type preferred struct {
	tid      int             // 0: none
	before   *unix.SchedAttr // previous attributes of that thread; nil if unchanged
	looked   time.Time
	givesWay bool
}

// followEvery limits how long the engine may run on another thread before that thread gets the priority.
const followEvery = 100 * time.Microsecond

// follow raises the priority of the thread that runs the goroutine.
func (p *preferred) follow(now time.Time) {
	if p.givesWay || now.Sub(p.looked) < followEvery {
		return
	}
	p.looked = now
	tid, _, _ := unix.RawSyscall(unix.SYS_GETTID, 0, 0, 0)
	if int(tid) == p.tid {
		return
	}
	p.release()
	p.tid = int(tid)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	before, err := unix.SchedGetAttr(p.tid, 0)
	if err != nil || runtime.NumCPU() < 2 {
		return
	}
	own := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}
	if unix.SchedSetAttr(p.tid, &own, 0) == nil {
		p.before = before
	}
}

// prefer raises the priority of the goroutine's thread from the next poll on, or restores it.
func (p *preferred) prefer(want bool) {
	if p.givesWay == !want {
		return
	}
	p.givesWay = !want
	p.release()
	p.tid, p.looked = 0, time.Time{}
}

// release restores the priority of the thread, if it still exists.
func (p *preferred) release() {
	if p.before == nil {
		return
	}
	if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(p.tid)); err == nil {
		_ = unix.SchedSetAttr(p.tid, p.before, 0)
	}
	p.before = nil
}

var processors sync.Mutex // serialises changes of GOMAXPROCS

// addProcessor changes how many threads may run Go code at a time. A thread that sleeps in a raw system call counts as
// one of them.
func addProcessor(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}

// sleepAtMost limits a raw sleep. Go interrupts it by a signal if it needs the thread, unless that is disabled
// (asyncpreemptoff).
const sleepAtMost = 100 * time.Millisecond

// pollRaw waits until one of the files is readable, up to a timeout. It may return early.
func pollRaw(files []unix.PollFd, most time.Duration) {
	timeout := unix.NsecToTimespec(int64(min(most, sleepAtMost)))
	unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(files))), uintptr(len(files)),
		uintptr(unsafe.Pointer(&timeout)), 0, 0, 0)
}
