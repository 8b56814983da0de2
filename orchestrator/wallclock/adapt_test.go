//go:build linux

package wallclock

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestLiveAdapts: where the machine cannot follow, as none can at line rate in real time, the slow-down rises until it
// can; virtual time goes on from where it was.
func TestLiveAdapts(t *testing.T) {
	type step struct {
		now      vtime.Time
		from, to float64
		why      string
	}
	steps := make(chan step, 100)
	f := newLiveFabric(t, livePlan(t, "small"), 1, func(l *Driver) {
		l.Adapt(4*vtime.Microsecond, func(now vtime.Time, from, to float64, why string) { steps <- step{now, from, to, why} })
	})
	line := float64(10 * units.Gbps)
	err := f.Do(func() error {
		for i, from := range []string{"h0", "h1", "h2", "h3"} {
			f.Engine().AddFlow(engine.FlowConfig{
				Source: f.plan.NodeByName(from).ID, Destination: f.plan.NodeByName("h" + strconv.Itoa(4+i)).ID, Size: 0,
				Start:         f.Engine().Now(),
				Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(i)},
				NewController: func(int) (cc.Controller, error) { return cc.Constant(line), nil },
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	last := step{to: 1}
	for last.to < 5 { // and on, as far as this machine needs it
		next := <-steps
		if next.from != last.to || next.to <= next.from || next.now < last.now ||
			!strings.Contains(next.why, "the machine is busy") {
			t.Fatalf("%+v after %+v", next, last)
		}
		last = next
	}
	if err := f.Do(func() error {
		if now, clock := f.Engine().Now(), f.Clock(); now < last.now || clock.Slowdown() < last.to ||
			clock.Virtual(time.Now()) < now {
			t.Errorf("virtual time %v, slow-down %v, after %+v", now, clock.Slowdown(), last)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestOnePreferredThread: of this process's threads the engine's has a real-time policy, and no other, however often
// its goroutine is preempted or waits, and none once it has ended.
func TestOnePreferredThread(t *testing.T) {
	realTime := func() (n int) {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			tid, _ := strconv.Atoi(thread.Name())
			if a, err := unix.SchedGetAttr(tid, 0); err == nil && a.Policy == unix.SCHED_RR {
				n++
			}
		}
		return n
	}
	t.Run("works", func(t *testing.T) {
		f := newLiveFabric(t, livePlan(t, "small"), 100)
		for range 20 {
			// where another thread may take the goroutine up
			if err := f.Do(func() error { time.Sleep(time.Millisecond); return nil }); err != nil {
				t.Fatal(err)
			}
			if n := realTime(); n > 1 {
				t.Fatalf("%d threads have a real-time policy", n)
			}
		}
	})
	if n := realTime(); n != 0 {
		t.Errorf("%d threads have a real-time policy after the fabric's end", n)
	}
}
