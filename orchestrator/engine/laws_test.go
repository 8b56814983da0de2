package engine

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// TestLawsCatchWrongs injects one wrong at a time and wants the law it breaks named, with the place. Each is done to a run
// of its own, in the midst of it or as it ends.
func TestLawsCatchWrongs(t *testing.T) {
	const (
		conserved = "bytes are conserved"
		accounts  = "accounts are the queues"
		arrives   = "every frame sent arrives"
		agree     = "the plane's counts agree"
		once      = "flows arrive in order, exactly once"
	)
	for _, c := range []struct {
		name       string
		law, place string
		during     func(l *lab) // at 10 us; nil: nothing
		after      func(l *lab)
	}{
		{name: "nothing"},
		{name: "ingress account", law: accounts, place: "s0-eth1", after: func(l *lab) { l.state.Ports[l.port("s0", "h0")].Class[3].Buffered += 1058 }},
		{name: "ingress account of another priority", law: accounts, place: "s0-eth2", after: func(l *lab) { l.state.Ports[l.port("s0", "h1")].Class[6].Buffered++ }},
		{name: "shared buffer", law: accounts, place: "s0", after: func(l *lab) { l.state.Switches[0].Used++ }},
		{name: "queue register", law: accounts, place: "s0-eth3", after: func(l *lab) { l.state.Ports[l.port("s0", "h2")].Class[3].QueueBytes = 1 }},
		{name: "flow count of an empty switch", law: accounts, place: "s0-eth3", after: func(l *lab) { l.state.Ports[l.port("s0", "h2")].Flows = 1 }},
		{name: "frames received", law: arrives, place: "h2-eth1", after: func(l *lab) { l.state.Ports[l.port("h2", "s0")].RxFrames-- }},
		{name: "frames sent", law: arrives, place: "s0-eth1", after: func(l *lab) { l.ports[l.port("h0", "s0")].txFrames++ }},
		{name: "PAUSE sent", law: "every pause arrives", place: "s0-eth1", after: func(l *lab) { l.state.Ports[l.port("s0", "h0")].PausesSent++ }},
		{name: "RESUME received", law: "every pause arrives", place: "s0-eth2", after: func(l *lab) { l.state.Ports[l.port("h1", "s0")].ResumesReceived++ }},
		{name: "idle trigger", law: "pipelines and traffic managers agree", place: "s0-eth2", after: func(l *lab) { l.state.Ports[l.port("s0", "h1")].IdleTriggers++ }},
		{name: "made frames", law: conserved, place: "fabric", after: func(l *lab) { l.Created.Frames++ }},
		{name: "ended bytes", law: conserved, place: "fabric", after: func(l *lab) { l.Ended.Bytes-- }},
		{name: "bytes of a port", law: conserved, place: "s0-eth3", after: func(l *lab) { l.Switch(0).Port(l.port("s0", "h2")).TxBytes-- }},
		{name: "lost frame", law: "frames are conserved", place: "fabric", after: func(l *lab) { l.pool.Get(60) }},
		{name: "passes", law: agree, place: "plane", after: func(l *lab) { l.pass.Done++ }},
		{name: "egress pipelines", law: agree, place: "plane", after: func(l *lab) { l.pass.Marked-- }},
		{name: "delivered too much", law: once, place: "flow 0", after: func(l *lab) { l.Flows()[0].Receiver.Delivered++ }},
		{name: "delivered twice", law: once, place: "h2", after: func(l *lab) { l.NIC(2).Duplicates++ }},
		{name: "out of order", law: once, place: "h2", after: func(l *lab) { l.NIC(2).OutOfOrder++ }},
		{name: "bit error", law: "frames arrive as they were sent", place: "h2", during: func(l *lab) {
			l.ports[l.port("h0", "s0")].wire.ring[l.ports[l.port("h0", "s0")].wire.head].frame.Data()[100] ^= 0x10
		}},
		{name: "route lost", law: "pipelines lose nothing", place: "s0-eth1", during: func(l *lab) {
			for i := range l.state.Routes {
				l.state.Routes[i].Count = 0
			}
		}},
		{name: "packet swallowed by a wire", law: arrives, place: "s0-eth1", during: func(l *lab) {
			f := l.ports[l.port("h0", "s0")].wire.pop() // the next one takes its place
			l.Ended.add(len(f.Data()))
			l.pool.Put(f)
		}},
		{name: "data through a closed gate", law: "no data leaves a paused port", place: "s0-eth3", during: func(l *lab) {
			// A frame that the gate takes for a control frame.
			out := l.port("s0", "h2")
			f, _ := l.Switch(0).Dequeue(l.Now(), out)
			l.state.Ports[out].Class[3].PausedUntil = uint64(l.Now() + 5*vtime.Microsecond)
			f.Control = true
			l.Switch(0).Enqueue(out, f)
			f.Control = false
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", labOptions{burst: true, sw: func(s *switchagent.Settings) {
				s.PFC.XOFF, s.PFC.XON = 50_000, 40_000
			}})
			l.send("h0", "h2", 200_000, 0, 0)
			l.send("h1", "h2", 200_000, 0, 0)
			l.watch(l.port("h2", "s0")) // so that frames are whole, and have an ICRC
			if c.during != nil {
				l.Call(10*vtime.Microsecond, func(vtime.Time) { c.during(l) })
			}
			l.drive(vtime.Millisecond)
			if c.during == nil && (l.OpenFlows() > 0 || l.Totals.Triggers == 0) {
				t.Fatalf("%d flows are open, %d triggers", l.OpenFlows(), l.Totals.Triggers)
			}
			if c.after != nil {
				c.after(l)
			}
			violations := l.Check()
			if c.law == "" {
				for _, v := range violations {
					t.Error(v)
				}
				return
			}
			for _, v := range violations {
				if v.Law == c.law && v.Place == c.place && v.Detail != "" && v.Time > 0 {
					if s := v.String(); !strings.HasPrefix(s, c.law+": "+c.place+" at ") {
						t.Errorf("%q", s)
					}
					return
				}
			}
			t.Errorf("want %q broken at %s; got %v", c.law, c.place, violations)
		})
	}
}
