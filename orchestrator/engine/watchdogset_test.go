package engine

import (
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestSetWatchdog: a watchdog that is switched on during a storm detects it, because its queue has been paused for long
// enough. Switched off, it releases the queue, and the switch obeys PAUSE again.
func TestSetWatchdog(t *testing.T) {
	for _, forward := range []bool{false, true} {
		l := newFaultLab(t, chainFabric, storms(switchagent.Watchdog{}))
		to := l.send("h0", "h2", 2_000_000, 0, 20*units.Gbps)
		l.send("h1", "h3", 2_000_000, 0, 20*units.Gbps)
		dog := func(w switchagent.Watchdog) func() error {
			return func() error {
				s := *l.settings[2]
				s.PFC.Watchdog = w
				return l.SetSwitch(2, &s)
			}
		}
		p := l.port("s2", "h2")
		on := switchagent.Watchdog{Detect: 200 * vtime.Microsecond, Restore: 300 * vtime.Microsecond, Forward: forward}
		l.at(100*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 1<<3, 50*vtime.Microsecond) })
		l.at(250*vtime.Microsecond, dog(switchagent.Watchdog{Detect: 10 * vtime.Second, Restore: 1}))
		l.at(500*vtime.Microsecond, dog(on))
		var stormy, frees []bool
		poll := func(vtime.Time) {
			stormy = append(stormy, l.Stormy(p, 3))
			frees = append(frees, l.Switch(2).Ignores(p, 3))
		}
		l.Call(499*vtime.Microsecond, poll)
		l.Call(501*vtime.Microsecond, poll)
		l.at(800*vtime.Microsecond, dog(switchagent.Watchdog{}))
		l.Call(801*vtime.Microsecond, poll)
		l.at(1000*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 0, 0) })
		l.run(0)
		if at := l.eventAt(EventStorm, 0); at != 500*vtime.Microsecond || l.eventAt(EventStorm, 1) != vtime.Never {
			t.Errorf("forward %v: storm at %v", forward, at)
		}
		if at := l.eventAt(EventStormEnd, 0); at != 800*vtime.Microsecond {
			t.Errorf("forward %v: the storm ended at %v", forward, at)
		}
		if stormy[0] || !stormy[1] || stormy[2] || frees[0] || frees[1] != forward || frees[2] {
			t.Errorf("forward %v: stormy %v, sends in spite of PAUSE %v", forward, stormy, frees)
		}
		over := stormAt + 850*vtime.Microsecond + wire.PauseTime(wire.PauseMax, 40*units.Gbps)
		if end := l.Flows()[to].Finished; !forward && end < over {
			t.Errorf("the flow into the storm ended at %v, the last PAUSE at %v", end, over)
		}
	}
}
