//go:build linux

package lockstep

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/vtime"
)

// Slots limits the threads of programs that the library wakes.
const Slots = 2046

// futexWake is FUTEX_WAKE, see futex(2).
const futexWake = 1

// slot holds what a thread shares with the fabric: struct clock_slot of verbs/c/clock.h.
type slot struct {
	deadline uint64 // virtual ns; 0: none
	polls    uint32 // wakes early if its process gets data
	busy     uint32 // a request has been sent, and its reply has not been read
	calls    uint32 // that passed time
	waits    uint32 // 1: it waits for this word, a futex, instead of its eventfd
	_        [2]uint32
}

// page is struct clock_page of verbs/c/clock.h.
type page struct {
	now   uint64 // virtual ns
	epoch uint64 // CLOCK_REALTIME at virtual time 0, in ns
	quiet uint64 // no program can notice anything before this virtual time, in ns, unless another program does it
	_     [5]uint64
	slots [Slots]slot
}

// owner holds what the fabric knows of a slot.
type owner struct {
	process int    // PID
	inner   string // the same in the PID namespace
	host    int    // orders threads with the same deadline
	calls   uint32 // last value of the slot's
	event   int    // eventfd that wakes it; -1: the slot is free
}

// Programs represents the programs on a fabric's nodes.
type Programs struct {
	threads *threads
	file    int
	page    *page
	owners  []owner // of the slots up to the last that was used
	touched bool    // a program may have started to run since AllWait was true
	polls   bool    // a thread polls its memory
}

// Open returns the programs of the PID namespace with this namespace init. It needs a kernel with
// /proc/PID/syscall and /proc/PID/schedstat.
func Open(initPID int) (*Programs, error) {
	t, err := newThreads(initPID)
	if err != nil {
		return nil, err
	}
	for _, file := range []string{"syscall", "schedstat"} {
		if _, err := os.Stat("/proc/self/" + file); err != nil {
			return nil, fmt.Errorf("lock step needs a kernel with /proc/PID/%s: %w", file, err)
		}
	}
	return newPrograms(t)
}

func newPrograms(t *threads) (*Programs, error) {
	const size = int(unsafe.Sizeof(page{}))
	fd, err := unix.MemfdCreate("pausenet-clock", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("share memory with the library of programs' clocks: %w", err)
	}
	var memory []byte
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("share memory with the library of programs' clocks: %w", err)
	}
	p := &Programs{threads: t, file: fd, page: (*page)(unsafe.Pointer(unsafe.SliceData(memory))), touched: true}
	p.page.epoch = uint64(time.Now().UnixNano())
	return p, nil
}

// Close frees the memory. Programs keep theirs.
func (p *Programs) Close() error {
	if p == nil {
		return nil
	}
	for i := range p.owners {
		p.Release(i)
	}
	p.threads.close()
	_ = unix.Close(p.file)
	return unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(p.page)), unsafe.Sizeof(page{})))
}

// Register gives a thread of a process a slot, and returns the shared memory's file, which the caller closes. event is
// an eventfd that wakes the thread; Programs closes it. It fails if there is no room.
func (p *Programs) Register(process, host, event int) (slot, file int, err error) {
	i := 0
	for i < len(p.owners) && p.owners[i].event >= 0 {
		i++
	}
	if i == Slots {
		return 0, -1, unix.ENOMEM
	}
	if file, err = unix.FcntlInt(uintptr(p.file), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return 0, -1, err
	}
	if i == len(p.owners) {
		p.owners = append(p.owners, owner{})
	}
	p.owners[i] = owner{process: process, inner: inner(process), host: host, event: event}
	p.reset(i)
	return i, file, nil
}

func (p *Programs) reset(i int) {
	s := &p.page.slots[i]
	atomic.StoreUint64(&s.deadline, 0)
	atomic.StoreUint32(&s.polls, 0)
	atomic.StoreUint32(&s.busy, 0)
	atomic.StoreUint32(&s.waits, 0)
}

// Release frees a slot.
func (p *Programs) Release(i int) {
	if p.owners[i].event >= 0 {
		_ = unix.Close(p.owners[i].event)
		p.owners[i].event = -1
		p.reset(i)
	}
	p.Touch()
}

// Touch notes that something happened that a program may notice.
func (p *Programs) Touch() { p.touched = true }

// Asked notes that a process has sent a request, so that its threads do not poll their memory.
func (p *Programs) Asked(process int) {
	p.Touch()
	for i := range p.owners {
		if o := &p.owners[i]; o.event >= 0 && o.process == process {
			p.threads.restart(o.inner)
		}
	}
}

// Wrote notes that a process's memory has changed. Threads that poll for data see that.
func (p *Programs) Wrote(process int) {
	if p.polls {
		p.Asked(process)
	}
	for i := range p.owners {
		s := &p.page.slots[i]
		if o := &p.owners[i]; o.event >= 0 && o.process == process && atomic.LoadUint32(&s.polls) != 0 &&
			atomic.LoadUint64(&s.deadline) != 0 {
			atomic.StoreUint64(&s.deadline, 1) // long past
		}
	}
}

// AllWait reports whether all programs wait. It looks only if anything has happened since it last returned true.
func (p *Programs) AllWait() bool {
	if !p.touched {
		return true
	}
	for i := range p.owners { // a thread that reads the clock does not poll its memory
		o, calls := &p.owners[i], atomic.LoadUint32(&p.page.slots[i].calls)
		if o.event >= 0 && o.calls != calls {
			o.calls = calls
			p.threads.restart(o.inner)
		}
	}
	allWait, polls := p.threads.allWait()
	allWait = allWait && !p.busy() // in this order: a thread may have sent a request before it slept
	if allWait {
		p.touched, p.polls = false, polls
	}
	return allWait
}

// busy reports whether a thread waits for the reply to a request.
func (p *Programs) busy() bool {
	for i := range p.owners {
		if p.owners[i].event >= 0 && atomic.LoadUint32(&p.page.slots[i].busy) != 0 {
			return true
		}
	}
	return false
}

// Next returns the earliest time, at least now, at which a thread is to be woken, and its slot; -1 if there is none. Of
// threads with the same time the first is that of the host with the lowest number, and then of the first slot.
func (p *Programs) Next(now vtime.Time) (at vtime.Time, first int) {
	at, first = vtime.Never, -1
	for i := range p.owners {
		d := atomic.LoadUint64(&p.page.slots[i].deadline)
		if p.owners[i].event < 0 || d == 0 || d > uint64(vtime.Never/vtime.Nanosecond) {
			continue
		}
		due := max(now, vtime.Time(d)*vtime.Nanosecond)
		if first < 0 || due < at || due == at && p.owners[i].host < p.owners[first].host {
			at, first = due, i
		}
	}
	return at, first
}

// Wake wakes the thread with a slot.
func (p *Programs) Wake(i int, now, event vtime.Time) {
	s := &p.page.slots[i]
	atomic.StoreUint64(&s.deadline, 0)
	p.Publish(now, event)
	if atomic.CompareAndSwapUint32(&s.waits, 1, 0) {
		_, _, _ = unix.Syscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.waits)), futexWake, 1)
	} else {
		_, _ = unix.Write(p.owners[i].event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
	p.Touch()
}

// Publish sets the programs' clock, and the time of the fabric's next event: until then a thread that only reads the
// clock need not wait for the fabric.
func (p *Programs) Publish(now, event vtime.Time) {
	at, _ := p.Next(now)
	atomic.StoreUint64(&p.page.quiet, uint64(min(at, event)/vtime.Nanosecond))
	atomic.StoreUint64(&p.page.now, uint64(now/vtime.Nanosecond))
}
