//go:build linux

package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/vtime"
)

// Live drives a fabric by the wall clock: virtual time is the wall's since the start, divided by the slow-down. Events happen at
// the virtual times that they would have in any run, once the wall has got there; what the machine is late by shifts when a program
// sees a frame and nothing else.
type Live struct {
	engine   *Engine
	plane    *KernelPlane
	slowdown float64
	origin   time.Time     // when virtual time was 0
	held     time.Duration // by which origin was moved, as the machine could not follow
	wake     int           // eventfd
	thread   preferred

	steps    atomic.Int64
	asked    atomic.Bool // requests is not empty
	mutex    sync.Mutex
	requests []*request
	ended    bool
	stopped  error // why Run is to end
	broken   bool  // the plane, which ended Run

	lateness *hdrhistogram.Histogram // virtual ns
	lateSum  int64                   // of those
	busy     time.Duration           // not waiting
	started  time.Time
	stray    int64 // frames that came out of switches
	lost     int64 // frames that the ring had no room for
}

// request is a function that runs between two events.
type request struct {
	do   func() error
	done chan error
}

// ErrEnded says that the fabric has ended.
var ErrEnded = errors.New("the fabric has ended")

const (
	// spinBelow is the wait under which the engine spins: waking from a system call takes about that long. With 50 us it spun through
	// all of a flow at line rate, and the kernel, which leaves a real-time thread 95 % of a processor, held it for 30 ms of each second.
	spinBelow = 10 * time.Microsecond
	// mostLate is how far the wall may get ahead. Beyond it virtual time stands still until the machine has caught up.
	mostLate = 200 * time.Millisecond
	// mostLateness is the greatest lateness that the histogram tells apart, in virtual ns.
	mostLateness = int64(time.Hour)
)

// NewLive drives an engine that was made with EngineConfig.Live, on its plane.
func NewLive(e *Engine, p *KernelPlane, slowdown float64) (*Live, error) {
	if p.live == nil {
		return nil, errors.New("the plane was not opened for a live fabric")
	}
	if !(slowdown > 0) {
		return nil, fmt.Errorf("slow-down %v: a positive number", slowdown)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make an eventfd: %w", err)
	}
	l := &Live{engine: e, plane: p, slowdown: slowdown, wake: wake, lateness: hdrhistogram.New(1, mostLateness, 3)}
	e.replies = l.replies
	return l, nil
}

// Engine is what is driven. Only functions given to Do may touch it while Run runs.
func (l *Live) Engine() *Engine { return l.engine }

// Slowdown is how many seconds of the wall one of virtual time takes.
func (l *Live) Slowdown() float64 { return l.slowdown }

// Do has f run between two events, at the present virtual time, and waits for it. It returns f's error, or ErrEnded.
func (l *Live) Do(f func() error) error {
	r := &request{do: f, done: make(chan error, 1)}
	l.mutex.Lock()
	if l.ended {
		l.mutex.Unlock()
		return ErrEnded
	}
	l.requests = append(l.requests, r)
	l.asked.Store(true)
	_, err := unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // under the lock: it is closed under it
	l.mutex.Unlock()
	if err != nil && err != unix.EAGAIN { // full of wake-ups
		return fmt.Errorf("wake the engine: %w", err)
	}
	return <-r.done
}

// virtual is the virtual time of a moment of the wall clock.
func (l *Live) virtual(t time.Time) vtime.Time {
	return vtime.Time(float64(t.Sub(l.origin)) / l.slowdown * float64(vtime.Nanosecond))
}

// wall is how long virtual time t is away.
func (l *Live) wall(t vtime.Time, now time.Time) time.Duration {
	d := float64(t) / float64(vtime.Nanosecond) * l.slowdown
	if d > float64(1<<62) {
		return 1 << 62
	}
	return time.Duration(d) - now.Sub(l.origin)
}

// Steps counts what Run does. While the fabric is to end and it stays the same, Run is in something that does not come back.
func (l *Live) Steps() int64 { return l.steps.Load() }

// Run drives the fabric until the context is cancelled, whose error it then returns, or a plane fails.
func (l *Live) Run(ctx context.Context) (err error) {
	addProcessor(1)
	defer addProcessor(-1)
	defer l.thread.release()
	stop := context.AfterFunc(ctx, func() { _ = l.Do(func() error { l.stopped = ctx.Err(); return nil }) })
	defer stop()
	defer func() { l.end(err) }()
	l.engine.start()
	l.started = time.Now()
	l.origin = l.started
	for {
		now := time.Now()
		l.thread.follow(now)
		l.steps.Add(1)
		worked, err := l.step(now)
		if err != nil {
			return err
		}
		if !worked {
			l.thread.prefer(true)
			l.wait(now)
		} else {
			l.busy += time.Since(now)
		}
	}
}

// step does what is due, a little at a time; false if there is nothing.
func (l *Live) step(now time.Time) (worked bool, err error) {
	e := l.engine
	virtual := l.virtual(now)
	if l.asked.Load() {
		if e.earliest() > virtual {
			e.now = max(e.now, virtual)
		}
		if err := l.answer(); err != nil {
			return true, err
		}
		worked = true
	}
	if l.intake(nil, virtual) {
		worked = true
	}
	if err := l.plane.unasked(); err != nil {
		return true, err
	}
	at := e.earliest()
	if at > virtual {
		return worked, nil
	}
	if late := now.Sub(l.origin) - time.Duration(float64(at/vtime.Nanosecond)*l.slowdown); late > mostLate {
		l.origin = l.origin.Add(late - mostLate)
		l.held += late - mostLate
		l.thread.prefer(false)
	}
	nanoseconds := min(mostLateness, (virtual - at).Nanoseconds())
	_ = l.lateness.RecordValue(nanoseconds)
	l.lateSum += nanoseconds
	return true, e.step(at)
}

// intake takes the frames that programs have sent, as of the given virtual time; those of host at the engine's.
func (l *Live) intake(host *port, virtual vtime.Time) (some bool) {
	e, r := l.engine, l.plane.live.outside
	for range outsideSlots {
		data, ifindex, ok := r.receive()
		if !ok {
			return some
		}
		some = true
		switch id := int(ifindex - outerIfindex(0)); {
		case id < 0 || id >= len(e.ports) || e.ports[id].ordinary == nil:
			l.stray++
		case &e.ports[id] == host:
			e.offer(host, data, r.whole(), e.now)
		default:
			e.offer(&e.ports[id], data, r.whole(), virtual)
		}
		r.release()
	}
	return some
}

// replies takes what a host's kernel answered within the crossing: at the time of the crossing, whatever the machine is late by.
func (l *Live) replies(host *port) { l.intake(host, l.virtual(time.Now())) }

// answer runs what was asked for.
func (l *Live) answer() error {
	l.mutex.Lock()
	requests := l.requests
	l.requests = nil
	l.asked.Store(false)
	l.mutex.Unlock()
	var buffer [8]byte
	unix.RawSyscall(unix.SYS_READ, uintptr(l.wake), uintptr(unsafe.Pointer(&buffer)), uintptr(len(buffer)))
	for _, r := range requests {
		r.done <- r.do()
	}
	l.engine.tell()
	return errors.Join(l.stopped, l.engine.failed)
}

// wait waits for the next event, a program's frame or a request. now is when there was nothing to do.
func (l *Live) wait(now time.Time) {
	at := l.engine.earliest()
	left := time.Duration(1 << 62)
	if at != vtime.Never {
		left = l.wall(at, now)
	}
	if left > spinBelow {
		fds := [3]unix.PollFd{
			{Fd: int32(l.plane.live.outside.rx), Events: unix.POLLIN},
			{Fd: int32(l.plane.ring.rx), Events: unix.POLLIN}, // what should not come
			{Fd: int32(l.wake), Events: unix.POLLIN},
		}
		pollRaw(fds[:], left-spinBelow)
		return
	}
	for end := now.Add(left); !l.asked.Load(); {
		if _, _, ok := l.plane.live.outside.receive(); ok || !time.Now().Before(end) {
			return
		}
	}
}

// end refuses all further requests.
func (l *Live) end(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.ended = true
	for _, r := range l.requests {
		r.done <- ErrEnded
	}
	l.requests = nil
	_ = unix.Close(l.wake)
	if err != nil && l.stopped == nil {
		l.broken = true
		l.engine.fail("the plane works", "plane", "%v", err)
	}
}

// Check closes the books, once Run has ended; see Engine.Check. A plane that failed left a frame halfway: they cannot be closed then.
func (l *Live) Check() []Violation {
	if l.broken {
		return l.engine.broken
	}
	return l.engine.Check()
}
