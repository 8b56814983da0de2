//go:build linux

package wallclock

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/vtime"
)

// Programs represents the programs on nodes. A Driver in lock step advances when all wait. See package lockstep.
type Programs interface {
	// AllWait reports whether all programs wait. It is cheap if nothing was touched since it returned true.
	AllWait() bool
	// Touch notes that something happened that a program may notice.
	Touch()
	// Next returns the earliest time, at least now, for which a thread waits, and its number; -1 if there is none.
	Next(now vtime.Time) (at vtime.Time, thread int)
	// Wake wakes a thread, after Publish.
	Wake(thread int, now, event vtime.Time)
	// Publish sets the clock that programs read, and the time of the next event.
	Publish(now, event vtime.Time)
}

const (
	// firstRest and longestRest limit how long the engine waits before it looks again whether programs still run.
	firstRest, longestRest = 20 * time.Microsecond, time.Millisecond
	// longGap sets the time without events from which virtual time passes no faster than the wall clock: while all
	// programs sleep for a second, somebody may start another.
	longGap = vtime.Millisecond
	// lookEvery sets after how many events the engine looks for programs that have started by themselves.
	lookEvery = 64
)

// lockstep holds the state of a Driver in lock step.
type lockstep struct {
	programs  Programs
	delivered func() uint64 // frames that have gone up hosts' network stacks
	seen      uint64        // last value of delivered
	rest      time.Duration
	gap       vtime.Time // end of a long gap without events; 0: none
	gapEnd    time.Time  // wall-clock time for it
	steps     int        // since the engine last looked
	frames    []programFrame
}

// programFrame holds a frame of a program, until all frames of the same time have come.
type programFrame struct {
	port  int
	whole bool
	data  []byte
}

// Lockstep makes virtual time stand still while any program runs, instead of following the wall clock. delivered counts
// the frames that have gone up hosts' network stacks. Call it before Run.
func (l *Driver) Lockstep(p Programs, delivered func() uint64) {
	l.locked = &lockstep{programs: p, delivered: delivered, rest: firstRest}
	c := newClock(time.Now(), 1)
	c.stopped = true
	l.clock.Store(c)
}

// turn does the next work of a Driver in lock step.
func (l *Driver) turn() error {
	s, e := l.locked, l.engine
	if l.asked.Load() {
		s.programs.Touch()
		s.rest = firstRest
		return l.answer()
	}
	if err := l.plane.Unasked(); err != nil {
		return err
	}
	if n := s.delivered(); n != s.seen || s.steps >= lookEvery {
		s.seen, s.steps = n, 0
		s.programs.Touch()
	}
	if !s.programs.AllWait() {
		l.idle(s.rest, false)
		s.rest = min(2*s.rest, longestRest)
		return nil
	}
	s.rest = firstRest
	if l.gather() {
		return nil
	}
	event := e.Next()
	at, thread := s.programs.Next(e.Now())
	if thread < 0 || event < at {
		at, thread = event, -1
	}
	if l.waits(at) {
		s.programs.Touch()
		return nil
	}
	s.steps++
	var err error
	if thread < 0 {
		s.programs.Publish(at, at) // a program that the event wakes may run before the step ends
		err = e.Step(at)
		l.reached(max(at, e.Now()))
		s.programs.Publish(e.Now(), e.Next())
	} else {
		e.Reach(at)
		l.reached(at)
		s.programs.Wake(thread, at, e.Next())
	}
	return err
}

// reached sets the clock.
func (l *Driver) reached(now vtime.Time) {
	c := newClock(l.started, 1)
	c.pieces[0].virtual, c.stopped = now, true
	l.clock.Store(c)
}

// waits lets a long gap until a virtual time pass by the wall clock. It reports whether the engine must look again.
func (l *Driver) waits(at vtime.Time) bool {
	s := l.locked
	switch {
	case at == vtime.Never:
		l.idle(sleepAtMost, true)
		return true
	case at-l.engine.Now() <= longGap:
		s.gap = 0
		return false
	case s.gap != at:
		s.gap, s.gapEnd = at, time.Now().Add(time.Duration((at - l.engine.Now()).Nanoseconds()))
	}
	left := time.Until(s.gapEnd)
	if left <= 0 {
		return false
	}
	l.idle(min(left, sleepAtMost), true)
	return true
}

// idle waits for a request, and for a program's frame, up to a timeout.
func (l *Driver) idle(most time.Duration, frames bool) {
	fds := []unix.PollFd{{Fd: int32(l.wake), Events: unix.POLLIN}, {Fd: int32(l.plane.Descriptor()), Events: unix.POLLIN}}
	if !frames {
		fds = fds[:1]
	}
	pollRaw(fds, most)
}

// gather sends the frames that programs have sent since they last waited, all at the engine's time, in the order of
// hosts' ports: which of two hosts sent first depends on the machine.
func (l *Driver) gather() bool {
	s := l.locked
	s.frames = s.frames[:0]
	for range kernel.ProgramSlots {
		f, ok := l.plane.Receive()
		if !ok {
			break
		}
		s.frames = append(s.frames, programFrame{f.Port, f.Whole, slices.Clone(f.Data)})
		l.plane.Release()
		_ = l.frames.RecordValue(0)
	}
	slices.SortStableFunc(s.frames, func(a, b programFrame) int { return a.port - b.port })
	for _, f := range s.frames {
		if !l.engine.Offer(f.port, f.data, f.whole, l.engine.Now()) {
			l.stray++
		}
	}
	return len(s.frames) > 0
}
