//go:build linux

package wallclock

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

	"github.com/pausenet/pausenet/internal/blame"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/vtime"
)

// Driver drives a fabric by the wall clock: virtual time is the wall-clock time since the start, divided by the
// slow-down. Events happen at the same virtual times as in any run, once the wall clock has reached them. The
// machine's lateness only delays when programs see frames.
type Driver struct {
	engine  *engine.Engine
	plane   kernel.LivePlane
	clock   atomic.Pointer[Clock]
	stalled time.Duration // time for which virtual time stood still because the machine could not keep up
	first   float64       // slow-down
	pace    *pace         // nil if the slow-down is fixed
	locked  *lockstep     // nil unless in lock step
	raised  func(now vtime.Time, from, to float64, why string)
	emptied time.Time // last time at which the ring of programs' frames was empty
	wake    int       // eventfd
	thread  preferred

	steps    atomic.Int64
	asked    atomic.Bool // requests is not empty
	mutex    sync.Mutex
	requests []*request
	ended    bool
	stopped  error // reason why Run should end
	broken   bool  // the plane failed, which ended Run

	lateness *hdrhistogram.Histogram // virtual ns
	lateSum  int64                   // sum of lateness
	followed []vtime.Time            // due times of a step's events after its first
	frames   *hdrhistogram.Histogram // lateness of programs' frames, wall ns
	frameSum time.Duration           // sum of frames
	busy     time.Duration           // time not spent waiting
	started  time.Time
	stray    int64 // frames from switches' namespaces
	lost     int64 // frames dropped for lack of room in the ring
}

// request holds a function that runs between two events.
type request struct {
	do   func() error
	done chan error
}

// ErrEnded means that the fabric has ended.
var ErrEnded = errors.New("the fabric has ended")

const (
	// spinBelow sets the wait below which the engine spins: waking from a system call takes about that long. With 50 us
	// the engine would spin throughout a flow at line rate. The kernel would then stop it for a part of each second,
	// because a real-time thread may use only 95 % of a processor.
	spinBelow = 10 * time.Microsecond
	// MostLate limits how far the wall clock may run ahead: the minimum retransmission timeout of programs' TCP
	// (TCP_RTO_MIN). Beyond it, virtual time stands still until the machine has caught up.
	MostLate = 200 * time.Millisecond
	// mostFollowing limits the due events that a step executes after its first. They save reading the clock and looking
	// for other work, which cost as much as an event without a pass. Their lateness is measured at the step's end, so
	// it is too large by at most that many passes.
	mostFollowing = 7
	// mostLateness sets the largest lateness that a histogram distinguishes, in ns.
	mostLateness = int64(time.Hour)
)

// noPort stands for no port of a fabric.
const noPort = -1

// New returns a driver for an engine with plane.Features.Live, on its plane.
func New(e *engine.Engine, p kernel.LivePlane, slowdown float64) (*Driver, error) {
	if !p.Live() {
		return nil, errors.New("the plane was not opened for a live fabric")
	}
	if !(slowdown > 0) {
		return nil, fmt.Errorf("slow-down %v: expected a positive number", slowdown)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make an eventfd: %w", err)
	}
	l := &Driver{
		engine: e, plane: p, first: slowdown, wake: wake, lateness: hdrhistogram.New(1, mostLateness, 3),
		frames:   hdrhistogram.New(1, mostLateness, 3),
		followed: make([]vtime.Time, 0, mostFollowing),
	}
	l.clock.Store(newClock(time.Now(), slowdown))
	e.Replies(l.replies)
	return l, nil
}

// Engine returns the engine. While Run runs, only functions given to Do may use it.
func (l *Driver) Engine() *engine.Engine { return l.engine }

// Adapt raises the slow-down while more than 1 % of the events and programs' frames are later than tooLate of virtual
// time. It calls notify for each change, between two events. Call it before Run.
func (l *Driver) Adapt(tooLate vtime.Time, notify func(now vtime.Time, from, to float64, why string)) {
	l.pace, l.raised = &pace{tooLate: tooLate}, notify
}

// Clock returns the map from wall-clock to virtual time as it is now; a change of the slow-down replaces it. It is safe
// for concurrent use.
func (l *Driver) Clock() *Clock { return l.clock.Load() }

// Do runs f between two events, at the current virtual time, and waits for it. It returns f's error, or ErrEnded.
func (l *Driver) Do(f func() error) error {
	r := &request{do: f, done: make(chan error, 1)}
	l.mutex.Lock()
	if l.ended {
		l.mutex.Unlock()
		return ErrEnded
	}
	l.requests = append(l.requests, r)
	l.asked.Store(true)
	_, err := unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // under the lock, under which end closes it
	l.mutex.Unlock()
	if err != nil && err != unix.EAGAIN { // full of wake-ups
		return fmt.Errorf("wake the engine: %w", err)
	}
	return <-r.done
}

// Steps counts the steps of Run. If it stays the same while the fabric should end, a step of Run does not return.
func (l *Driver) Steps() int64 { return l.steps.Load() }

// Run drives the fabric until the context is cancelled, the plane fails, or a congestion controller panics. It
// returns the context's error, the plane's, or an engine.PanicError.
func (l *Driver) Run(ctx context.Context) (err error) {
	addProcessor(1)
	defer addProcessor(-1)
	defer l.thread.release()
	stop := context.AfterFunc(ctx, func() { _ = l.Do(func() error { l.stopped = ctx.Err(); return nil }) })
	defer stop()
	defer func() {
		if recovered := recover(); recovered != nil {
			value, stack, ofController := blame.Of(recovered)
			p := l.engine.Panicked(value, stack)
			if p == nil || !ofController {
				panic(recovered) // a bug of this program
			}
			err = p
		}
		l.end(err)
	}()
	l.engine.Start()
	l.started = time.Now()
	l.emptied = l.started
	for l.locked != nil {
		l.steps.Add(1)
		if err := l.turn(); err != nil {
			return err
		}
	}
	l.clock.Store(newClock(l.started, l.first))
	for now := l.started; ; {
		l.thread.follow(now)
		l.steps.Add(1)
		l.adapt(now)
		worked, err := l.step(now)
		if err != nil {
			return err
		}
		if !worked {
			l.thread.prefer(true)
			l.wait(now)
			now = time.Now()
			continue
		}
		then := now
		now = time.Now()
		l.busy += now.Sub(then)
		l.countLate(now)
	}
}

// step does the next due work. worked is false if there was none.
func (l *Driver) step(now time.Time) (worked bool, err error) {
	e := l.engine
	if l.intake(noPort, now) { // before virtual time moves, because frames are due when they arrive
		worked = true
	}
	if l.asked.Load() {
		if virtual := l.Clock().Virtual(now); e.Next() > virtual {
			e.Reach(virtual)
		}
		if err := l.answer(); err != nil {
			return true, err
		}
		worked = true
	}
	if err := l.plane.Unasked(); err != nil {
		return true, err
	}
	at := e.Next()
	virtual := l.Clock().Virtual(now)
	if at > virtual {
		return worked, nil
	}
	if late := -l.Clock().until(at, now); late > MostLate {
		l.clock.Store(l.Clock().stalled(late - MostLate))
		l.stalled += late - MostLate
		l.thread.prefer(false)
	}
	l.eventLate(virtual - at)
	for {
		if err := e.Step(at); err != nil {
			return true, err
		}
		if at = e.Next(); at > virtual || len(l.followed) == cap(l.followed) || l.plane.Waiting() || l.asked.Load() {
			return true, nil
		}
		l.followed = append(l.followed, at)
	}
}

// eventLate records an event's lateness.
func (l *Driver) eventLate(late vtime.Time) {
	nanoseconds := min(mostLateness, late.Nanoseconds())
	_ = l.lateness.RecordValue(nanoseconds)
	l.lateSum += nanoseconds
	if l.pace != nil {
		l.pace.saw(late)
	}
}

// countLate records the lateness of the events after the first of a step, which have all happened by now.
func (l *Driver) countLate(now time.Time) {
	if len(l.followed) == 0 {
		return
	}
	virtual := l.Clock().Virtual(now)
	for _, at := range l.followed {
		l.eventLate(virtual - at)
	}
	l.followed = l.followed[:0]
}

// adapt slows virtual time down if the machine cannot keep up.
func (l *Driver) adapt(now time.Time) {
	if l.pace == nil {
		return
	}
	if raise, why := l.pace.poll(now); raise {
		from := l.Clock().Slowdown()
		if to := raised(from); to > from {
			l.clock.Store(l.Clock().slowed(now, to))
			l.raised(l.engine.Now(), from, to, why)
		}
	}
}

// intake sends the frames of programs into the fabric at their time of arrival, but frames of the given port at the
// engine's time.
func (l *Driver) intake(port int, now time.Time) (some bool) {
	for range kernel.ProgramSlots {
		f, ok := l.plane.Receive()
		if !ok {
			l.emptied = now
			return some
		}
		some = true
		late := l.frameLateness(f.Stamp, now)
		at := l.engine.Now()
		if f.Port != port {
			at = l.Clock().Virtual(now.Add(-late))
		}
		if !l.engine.Offer(f.Port, f.Data, f.Whole, at) {
			l.stray++
		}
		l.plane.Release()
	}
	return some
}

// frameLateness records how long a program's frame waited. The kernel's timestamps use a clock that may be set, so a
// frame cannot have waited longer than since the ring was last empty.
func (l *Driver) frameLateness(stamp int64, now time.Time) time.Duration {
	late := min(max(0, time.Duration(now.UnixNano()-stamp)), max(0, now.Sub(l.emptied)))
	if l.locked != nil {
		late = 0
	}
	_ = l.frames.RecordValue(min(mostLateness, late.Nanoseconds()))
	l.frameSum += late
	if l.pace != nil {
		l.pace.saw(vtime.Time(float64(late) / l.Clock().Slowdown() * float64(vtime.Nanosecond)))
	}
	return late
}

// replies reads the frames that a host's kernel sent in answer within the pass, and stamps them with the time of the
// pass, however late the machine is.
func (l *Driver) replies(port int) { l.intake(port, time.Now()) }

// answer runs the queued requests.
func (l *Driver) answer() error {
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
	return errors.Join(l.stopped, l.engine.NotifyObserver())
}

// wait waits for the next event, a program's frame or a request. now is the time when there was no work.
func (l *Driver) wait(now time.Time) {
	at := l.engine.Next()
	left := time.Duration(1 << 62)
	if at != vtime.Never {
		left = l.Clock().until(at, now)
	}
	if left > spinBelow {
		fds := [2]unix.PollFd{
			{Fd: int32(l.plane.Descriptor()), Events: unix.POLLIN},
			{Fd: int32(l.wake), Events: unix.POLLIN},
		}
		pollRaw(fds[:], left-spinBelow)
		return
	}
	for end := now.Add(left); !l.asked.Load(); {
		if l.plane.Waiting() || !time.Now().Before(end) {
			return
		}
	}
}

// end rejects all further requests.
func (l *Driver) end(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.ended = true
	for _, r := range l.requests {
		r.done <- ErrEnded
	}
	l.requests = nil
	_ = unix.Close(l.wake)
	var panicked *engine.PanicError
	switch {
	case errors.As(err, &panicked):
		l.broken = true
	case err != nil && l.stopped == nil:
		l.broken = true
		l.engine.PlaneFailed(err)
	}
}

// Check returns the final check of the invariants, once Run has ended; see Engine.Check. It checks nothing after a
// plane failed, or a congestion control panicked, in the middle of a frame.
func (l *Driver) Check() []engine.Violation {
	if l.broken {
		return l.engine.Broken()
	}
	return l.engine.Check()
}
