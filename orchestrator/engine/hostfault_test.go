package engine

import (
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestSlowReceiver: a NIC that takes frames at 10 Gb/s takes all of them, one after the other from the first on: PAUSE
// holds the rest back, and nothing is lost.
func TestSlowReceiver(t *testing.T) {
	l := newFaultLab(t, twoHosts, nil)
	flow := l.send("h0", "h1", 1_000_000, 0, 0)
	slow := hostagent.SlowReceiver{Rate: 10 * units.Gbps, Buffer: 200 * units.KB, XOFF: 100 * units.KB, XON: 50 * units.KB}
	l.at(0, func() error { return l.SetReceiver(1, &slow) })
	most := int64(0)
	for i := range vtime.Time(800) {
		l.Call(i*vtime.Microsecond, func(vtime.Time) { most = max(most, l.ports[l.hostPort(1).id].receiver().queue.Bytes) })
	}
	l.run(0)
	first, middle := wire.V4.DataLen(wire.OpWriteFirst, 1000), wire.V4.DataLen(wire.OpWriteMiddle, 1000)
	hop := func(n int) vtime.Time { return vtime.Time(int64(max(n, 60)+24)*200) + vtime.Microsecond }
	taken := 2*hop(first) + vtime.Time(int64(first+999*middle)*800) // 800 ps a byte
	if got, want := l.fct(flow), taken+2*hop(wire.AckLen); got != want {
		t.Errorf("FCT %v, want %v", got, want)
	}
	if l.pauses < 2 || l.Dropped != 0 {
		t.Errorf("%d PAUSEs from hosts, %d frames dropped", l.pauses, l.Dropped)
	}
	// What was on its way as the PAUSE left: 2 us and some frames at 5 bytes a nanosecond.
	if most < 100_000 || most > 100_000+15_000 {
		t.Errorf("%d bytes were buffered", most)
	}
}

// TestSlowReceiverOverruns: with a buffer that is full before PAUSE can tell, it drops; and a healthy NIC again takes
// what waits.
func TestSlowReceiverOverruns(t *testing.T) {
	l := newFaultLab(t, twoHosts, timeout(200*vtime.Microsecond))
	l.send("h0", "h1", 1_000_000, 0, 0)
	slow := hostagent.SlowReceiver{Rate: units.Gbps, Buffer: 12 * units.KB, XOFF: 12 * units.KB, XON: 6 * units.KB}
	l.at(20*vtime.Microsecond, func() error { return l.SetReceiver(1, &slow) })
	l.at(vtime.Millisecond, func() error { return l.SetReceiver(1, nil) })
	l.run(0)
	if l.lost(LossReceiver) == 0 {
		t.Error("nothing was lost")
	}
	if l.State().Ports[l.hostPort(1).id].Class[3].Buffered != 0 {
		t.Error("bytes are left on the account")
	}
}

// TestSlowReceiverGrantsLess: by credits a slow receiver holds its switch back too, and loses nothing.
func TestSlowReceiverGrantsLess(t *testing.T) {
	l := newFaultLab(t, twoHosts, func(s *switchagent.Settings, _ *hostagent.Settings) {
		s.FlowControl = switchagent.FlowCBFC
	})
	flow := l.send("h0", "h1", 2_000_000, 0, 0)
	slow := hostagent.SlowReceiver{Rate: 10 * units.Gbps, Buffer: 300 * units.KB, XOFF: 100 * units.KB}
	l.at(0, func() error { return l.SetReceiver(1, &slow) })
	l.run(0)
	if l.Dropped != 0 || l.fct(flow) < 1600*vtime.Microsecond { // 2 MB at 10 Gb/s
		t.Errorf("%d frames dropped, FCT %v", l.Dropped, l.fct(flow))
	}
}
