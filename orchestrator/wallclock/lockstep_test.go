//go:build linux

package wallclock

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/vtime"
)

// fakePrograms are threads that wait for times. A woken thread runs for some looks of the engine. Only the engine's
// goroutine uses it.
type fakePrograms struct {
	running   int // looks
	deadlines []vtime.Time
	log       []string
	done      chan struct{} // closed when the last thread was woken
	published vtime.Time
	ran       map[vtime.Time]int // times at which a program ran
	now       func() vtime.Time
}

func (p *fakePrograms) Touch() {}

func (p *fakePrograms) AllWait() bool {
	if p.running == 0 {
		return true
	}
	p.running--
	p.ran[p.now()]++
	return false
}

func (p *fakePrograms) Next(now vtime.Time) (at vtime.Time, thread int) {
	at, thread = vtime.Never, -1
	for i, d := range p.deadlines {
		if d != 0 && d < at {
			at, thread = max(d, now), i
		}
	}
	return at, thread
}

func (p *fakePrograms) Wake(thread int, now, event vtime.Time) {
	p.log = append(p.log, fmt.Sprintf("thread %d at %v, next event %v", thread, now, event))
	p.deadlines[thread] = 0
	p.running = 3
	if slices.Max(p.deadlines) == 0 {
		close(p.done)
	}
}

func (p *fakePrograms) Publish(now, _ vtime.Time) { p.published = now }

// TestLockstep checks that virtual time stands still while a program runs, and that threads and events alternate in
// the order of their times. A program that an event wakes must see that event's time.
func TestLockstep(t *testing.T) {
	const us = vtime.Microsecond
	p := &fakePrograms{running: 1 << 62, done: make(chan struct{}), ran: map[vtime.Time]int{}}
	f := newLiveFabricOn(t, plane.Wasm, livePlan(t, "small"), 1, func(l *Driver) {
		p.now = l.engine.Now
		l.Lockstep(p, func() uint64 { return 0 })
	})
	do := func(f2 func()) {
		t.Helper()
		if err := f.Do(func() error { f2(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	do(func() {
		p.deadlines = []vtime.Time{9 * us, 3 * us, 5 * us}
		for _, at := range []vtime.Time{4 * us, 5 * us} {
			f.Engine().Call(at, func(vtime.Time) {
				p.log = append(p.log, fmt.Sprintf("event at %v, programs' clock %v", at, p.published))
			})
		}
	})
	for range 50 {
		do(func() {
			if now := f.Engine().Now(); now != 0 {
				t.Errorf("a program runs, but it is %v", now)
			}
		})
	}
	do(func() { p.running = 0 })
	<-p.done
	do(func() {
		want := []string{
			"thread 1 at 3us, next event 4us", "event at 4us, programs' clock 4us",
			"thread 2 at 5us, next event 5us", "event at 5us, programs' clock 5us",
			"thread 0 at 9us, next event never",
		}
		if !slices.Equal(p.log, want) {
			t.Errorf("order\n%q\nwant\n%q", p.log, want)
		}
		if p.ran[3*us] != 3 || p.ran[5*us] != 3 || p.ran[4*us] != 0 || p.published != 5*us {
			t.Errorf("programs ran at %v, published %v", p.ran, p.published)
		}
		if got := f.Clock().Virtual(f.started); got != 9*us {
			t.Errorf("the clock shows %v", got)
		}
	})
}
