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

// preferred keeps the thread that the engine's goroutine is on, whichever that is, one that wakes on time: with exact
// timers, and before the programs that send into the fabric. It needs a real-time policy, as among normal threads even
// the nicest waits for milliseconds on a machine that is busy; the kernel keeps those from taking a processor whole
// (sched_rt_runtime_us), and with one processor alone there would be none left for the programs. Where it may not, the
// fabric is late more often, and says so.
//
// The goroutine is not locked to its thread, and sleeps in raw system calls. Go's scheduler is run by normal threads,
// which wait for a processor on a busy machine, and a real-time thread that waits for one of them waits as long: for
// some 50 ms whenever a locked goroutine is preempted (each 10 ms), as another thread has to hand it back; for the 950
// ms of sched_rt_runtime_us where the thread comes back from a system call that Go knows of as the normal thread that
// watches those (sysmon) is about to look at it: it spins on the processor that the other needs. A goroutine that is
// preempted unlocked is taken up again by its own thread. That is one real-time thread at any time.
//
// A thread that cannot keep up anyway never waits, and would take its processor from all others, but for the 5 % that
// the kernel leaves them: two such fabrics would make a machine of two processors 20 times slower. It is a normal one
// meanwhile.
type preferred struct {
	tid      int             // 0 if none
	before   *unix.SchedAttr // previous attributes of that thread; nil if unchanged
	looked   time.Time
	givesWay bool
}

// followEvery is the longest time for which the engine may run on another thread before that gets the priority.
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

var processors sync.Mutex // the number of Go's

// addProcessor changes how many threads may run Go code at a time. One that sleeps in a raw system call counts as one
// of them.
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
