package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/cycle"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

const chainFabric = `
delay: 1us
rate: 40Gbps
nodes: [{name: s0..s2, kind: switch}, {name: h0..h3, kind: host}]
links: [{from: h0, to: s0}, {from: h1, to: s0}, {from: s0, to: s1}, {from: s1, to: s2}, {from: h2, to: s2}, {from: h3, to: s2}]`

// storms has switches with small thresholds and a watchdog.
func storms(dog switchagent.Watchdog) func(*switchagent.Settings, *hostagent.Settings) {
	return func(s *switchagent.Settings, h *hostagent.Settings) {
		s.PFC.XOFF, s.PFC.XON, s.PFC.Watchdog = 50*units.KB, 48*units.KB, dog
		h.RetransmitTimeout = 300 * vtime.Microsecond
	}
}

// stormAt returns when the switch notices an injected storm that starts at 100 us: at the arrival of its first PAUSE.
const stormAt = 100*vtime.Microsecond + (60+24)*200 + vtime.Microsecond

// TestInjectedStorm: a host's PAUSEs stop its own frames and, through its switches, frames for others. When the PAUSEs
// end, traffic continues after the last has expired.
func TestInjectedStorm(t *testing.T) {
	l := newFaultLab(t, chainFabric, storms(switchagent.Watchdog{}))
	to, victim := l.send("h0", "h2", 2_000_000, 0, 20*units.Gbps), l.send("h1", "h3", 2_000_000, 0, 20*units.Gbps)
	l.at(100*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 1<<3, 50*vtime.Microsecond) })
	l.at(1000*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 0, 0) })
	var delivered [2]int64
	l.Call(500*vtime.Microsecond, func(vtime.Time) { delivered[0] = l.Flows()[victim].Delivered() })
	l.Call(950*vtime.Microsecond, func(vtime.Time) { delivered[1] = l.Flows()[victim].Delivered() })
	l.run(0)
	if delivered[0] != delivered[1] || delivered[0] == 0 {
		t.Errorf("the victim got on from %d to %d bytes", delivered[0], delivered[1])
	}
	// 100, 150, ... 950 us; that of 1000 us comes after the end.
	if l.pauses != 18 {
		t.Errorf("%d PAUSEs", l.pauses)
	}
	over := stormAt + 850*vtime.Microsecond + wire.PauseTime(wire.PauseMax, 40*units.Gbps)
	for _, f := range []int{to, victim} {
		if end := l.Flows()[f].Finished; end < over {
			t.Errorf("flow %d ended at %v, the last PAUSE at %v", f, end, over)
		}
	}
	if len(l.Deadlocks()) != 0 {
		t.Errorf("a chain of pauses is taken for a deadlock: %+v", l.Deadlocks())
	}
	if l.Dropped != 0 {
		t.Errorf("%d frames dropped", l.Dropped)
	}
}

// TestWatchdog: a queue is in a storm when it has been paused for as long as it says, to the picosecond, and until none
// has for as long as it says.
func TestWatchdog(t *testing.T) {
	for _, forward := range []bool{false, true} {
		dog := switchagent.Watchdog{Detect: 200 * vtime.Microsecond, Restore: 300 * vtime.Microsecond, Forward: forward}
		l := newFaultLab(t, chainFabric, storms(dog))
		to, victim := l.send("h0", "h2", 2_000_000, 0, 20*units.Gbps), l.send("h1", "h3", 2_000_000, 0, 20*units.Gbps)
		l.at(100*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 1<<3, 50*vtime.Microsecond) })
		l.at(700*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 0, 0) })
		p := l.port("s2", "h2")
		var stormy []bool
		for _, at := range []vtime.Time{300, 302, 1500} {
			l.Call(at*vtime.Microsecond, func(vtime.Time) { stormy = append(stormy, l.Stormy(p, 3)) })
		}
		l.run(2500 * vtime.Microsecond)
		if at, want := l.eventAt(EventStorm, 0), stormAt+200*vtime.Microsecond; at != want {
			t.Errorf("forward %v: storm at %v, want %v", forward, at, want)
		}
		// The last PAUSE, of 650 us, runs out; then comes the time to restore.
		over := stormAt + 550*vtime.Microsecond + wire.PauseTime(wire.PauseMax, 40*units.Gbps) + 300*vtime.Microsecond
		if at := l.eventAt(EventStormEnd, 0); at != over {
			t.Errorf("forward %v: over at %v, want %v", forward, at, over)
		}
		if !slices.Equal(stormy, []bool{false, true, true}) || l.Stormy(p, 3) {
			t.Errorf("forward %v: stormy %v, at the end %v", forward, stormy, l.Stormy(p, 3))
		}
		if n := l.lost(LossWatchdog); (n == 0) != forward {
			t.Errorf("forward %v: %d frames lost", forward, n)
		}
		if forward == (l.Flows()[to].Finished > over) {
			t.Errorf("forward %v: the flow into the storm ended at %v", forward, l.Flows()[to].Finished)
		}
		// 800 us without the storm; it lasts for 200 us.
		if end := l.Flows()[victim].Finished; end > 1300*vtime.Microsecond {
			t.Errorf("forward %v: the victim ended at %v", forward, end)
		}
	}
}

// TestWatchdogSparesShortPauses: queues that are paused often, and never for long, are in no storm.
func TestWatchdogSparesShortPauses(t *testing.T) {
	l := newFaultLab(t, chainFabric, storms(switchagent.Watchdog{
		Detect:  100 * vtime.Microsecond,
		Restore: 100 * vtime.Microsecond,
	}))
	for _, from := range []string{"h0", "h1", "h3"} {
		l.send(from, "h2", 2_000_000, 0, 0)
	}
	l.run(0)
	pauses := uint64(0)
	for i := range l.State().Ports {
		pauses += l.State().Extras[i].PausesSent
	}
	if pauses < 10 || l.Dropped != 0 || len(l.events) != 0 {
		t.Errorf("%d PAUSEs, %d frames dropped, %+v", pauses, l.Dropped, l.events)
	}
}

const ringFabric = `
rate: 40Gbps
delay: 1us
nodes: [{name: s0..s4, kind: switch}, {name: h0..h4, kind: host}]
links:
  - {from: h0, to: s0}
  - {from: h1, to: s1}
  - {from: h2, to: s2}
  - {from: h3, to: s3}
  - {from: h4, to: s4}
  - {from: s0, to: s1}
  - {from: s1, to: s2}
  - {from: s2, to: s3}
  - {from: s3, to: s4}
  - {from: s4, to: s0}`

// TestCycle: flows that go two links on around a ring come to stop each other. It is found, named, timed; and over when
// the watchdog has emptied one of the queues.
func TestCycle(t *testing.T) {
	dog := switchagent.Watchdog{Detect: 2 * vtime.Millisecond, Restore: vtime.Millisecond}
	l := newFaultLab(t, ringFabric, storms(dog))
	for _, pair := range [][2]string{{"h0", "h2"}, {"h1", "h3"}, {"h2", "h4"}, {"h3", "h0"}, {"h4", "h1"}} {
		l.send(pair[0], pair[1], 1_000_000, 0, 0)
	}
	l.run(0)
	if len(l.Deadlocks()) == 0 {
		t.Fatal("none found")
	}
	d := &l.Deadlocks()[0]
	if d.Seen-d.Since < 0 || d.Seen-d.Since > deadlockPoll || d.Seen%deadlockPoll != 0 {
		t.Errorf("since %v, seen at %v", d.Since, d.Seen)
	}
	if len(d.Cycle) != 5 || d.Ended == (1<<63-1) || l.Deadlocked() != nil {
		t.Errorf("%+v, deadlocked %v", d, l.Deadlocked())
	}
	for i, h := range d.Cycle { // each waits at the switch that the one before sends to
		next := d.Cycle[(i+1)%len(d.Cycle)]
		if l.plan.PeerNode(l.plan.Ports[h.Port].ID).ID != l.plan.Ports[next.Port].Node || h.Priority != 3 {
			t.Errorf("%v does not wait for %v", h, next)
		}
	}
	if words := l.DescribeCycle(d); strings.Count(words, " waits for ") != 5 || !strings.HasSuffix(words, ", priority 3") {
		t.Errorf("%q", words)
	}
	if first := l.eventAt(EventStorm, 0); d.Ended < first || d.Ended > first+deadlockPoll {
		t.Errorf("ended at %v, the watchdog first acted on a queue at %v", d.Ended, first)
	}
	if l.eventAt(EventDeadlock, 0) != d.Seen || l.eventAt(EventDeadlockEnd, 0) != d.Ended {
		t.Errorf("events %+v", l.events)
	}
}

// TestCycleEndsWithTheRun: a deadlock that is broken just before the last frame of a drained run, between two searches,
// is over when the run is.
func TestCycleEndsWithTheRun(t *testing.T) {
	l := newFaultLab(t, ringFabric, func(s *switchagent.Settings, h *hostagent.Settings) {
		storms(switchagent.Watchdog{Detect: 2 * vtime.Millisecond, Restore: vtime.Millisecond, Forward: true})(s, h)
		s.PFC.XOFF, s.PFC.XON = 20*units.KB, 18*units.KB
	})
	for _, pair := range [][2]string{{"h0", "h2"}, {"h1", "h3"}, {"h2", "h4"}, {"h3", "h0"}, {"h4", "h1"}} {
		l.send(pair[0], pair[1], 100_000, 0, 0)
	}
	l.run(0)
	if len(l.Deadlocks()) != 1 {
		t.Fatalf("%d deadlocks, want 1", len(l.Deadlocks()))
	}
	if storm := l.eventAt(EventStorm, 0); l.Now()-storm >= deadlockPoll || storm/deadlockPoll != l.Now()/deadlockPoll {
		t.Errorf("a search fell between the storm at %v and the end at %v: the test tests nothing", storm, l.Now())
	}
	if d := l.Deadlocked(); d != nil {
		t.Errorf("deadlocked for good since %v, and all flows have ended", d.Since)
	}
	if at := l.eventAt(EventDeadlockEnd, 0); at != l.Now() || l.Deadlocks()[0].Ended != at {
		t.Errorf("its end is told for %v, noted for %v, the run ended at %v", at, l.Deadlocks()[0].Ended, l.Now())
	}
}

// TestNoCycle: pauses that go all the way round a ring's switches, but end at a host that takes frames, are none.
func TestNoCycle(t *testing.T) {
	l := newFaultLab(t, ringFabric, storms(switchagent.Watchdog{}))
	for _, from := range []string{"h0", "h1", "h2"} {
		for range 8 {
			l.send(from, "h3", 400_000, 0, 0)
		}
	}
	paused := 0
	for i := range vtime.Time(60) {
		l.Call(i*50*vtime.Microsecond, func(vtime.Time) {
			for p := range l.ports {
				if l.ports[p].isSwitch && l.ports[l.ports[p].peer].isSwitch && l.State().Paused(p, 3, l.Now()) {
					paused++
				}
			}
			l.findPaused()
			if waits := new(cycle.Searcher).Search(l.deadlocks.paused, dependencies{l.Engine}); waits != nil {
				t.Fatalf("at %v: %v", l.Now(), waits)
			}
		})
	}
	l.run(0)
	if paused < 10 || len(l.Deadlocks()) != 0 {
		t.Errorf("ports were found paused %d times, %d deadlocks", paused, len(l.Deadlocks()))
	}
}

// TestInjectedStormBeforeRun: an injected storm that starts before the fabric first runs equals one that starts at time
// 0.
func TestInjectedStormBeforeRun(t *testing.T) {
	begin := func(before bool) *lab {
		l := newFaultLab(t, chainFabric, storms(switchagent.Watchdog{}))
		l.send("h0", "h2", 1_000_000, 0, 20*units.Gbps)
		storm := func() error { return l.InjectPFCStorm(2, 1<<3, 50*vtime.Microsecond) }
		if !before {
			l.at(0, storm)
		} else if err := errors.Join(storm(), storm()); err != nil { // the second takes the first's place
			t.Fatal(err)
		}
		l.at(470*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 0, 0) })
		l.run(0)
		return l
	}
	before, at := begin(true), begin(false)
	if before.pauses != 10 || before.Fingerprint() != at.Fingerprint() {
		t.Errorf("%d PAUSEs before, %d in the run; fingerprints %v, %v", before.pauses, at.pauses, before.Fingerprint(),
			at.Fingerprint())
	}
}

// TestNothingAfterTheEnd: a drained run ends with its last frame. Later actions of the watchdog have not happened, even
// if some partitions have been driven beyond that time.
func TestNothingAfterTheEnd(t *testing.T) {
	run := func(restore vtime.Time, one bool) *lab {
		l := newFaultLab(t, chainFabric, storms(switchagent.Watchdog{
			Detect: 100 * vtime.Microsecond, Restore: restore,
			Forward: true,
		}))
		if one {
			unite(l.Engine)
		}
		// The storm's end falls about the end of the flow, whose frames it does not hold up. The sender takes its ACKs
		// slowly.
		l.send("h0", "h2", 6_000_000, 0, 20*units.Gbps)
		l.at(0, func() error {
			return l.SetReceiver(0, &hostagent.SlowReceiver{Rate: units.Gbps, Buffer: units.MB, XOFF: 900 * units.KB, XON: 100 * units.KB})
		})
		l.at(0, func() error { return l.InjectPFCStorm(2, 1<<3, 50*vtime.Microsecond) })
		l.at(1240*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 0, 0) })
		l.run(0)
		return l
	}
	over := 0
	for restore := 1024 * vtime.Microsecond; restore < 1064*vtime.Microsecond; restore += 2 * vtime.Microsecond {
		one, several := run(restore, true), run(restore, false)
		if one.Now() != several.Now() || !slices.Equal(one.events, several.events) {
			t.Errorf("restore %v: ended at %v, %v with several partitions; events %+v, %+v", restore, one.Now(), several.Now(),
				one.events, several.events)
		}
		for _, l := range []*lab{one, several} {
			last := l.Flows()[0].Finished
			for _, ev := range l.events {
				last = max(last, ev.At)
			}
			if last > l.Now() {
				t.Errorf("restore %v: ended at %v, but something was at %v: %+v", restore, l.Now(), last, l.events)
			}
		}
		if one.eventAt(EventStormEnd, 0) != vtime.Never {
			over++
		}
	}
	if over == 0 || over == 20 {
		t.Errorf("the storm was over before the end in %d of 20 runs", over)
	}
}
