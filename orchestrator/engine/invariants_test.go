package engine

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// TestInvariantsCatchWrongs injects one wrong at a time and wants the invariant it breaks named, with the place. Each
// is done to a run of its own, in the midst of it or as it ends.
func TestInvariantsCatchWrongs(t *testing.T) {
	const (
		conserved = "bytes are conserved"
		accounts  = "accounts are the queues"
		arrives   = "every frame sent arrives"
		agree     = "the plane's counts agree"
		once      = "flows arrive in order, exactly once"
	)
	for _, c := range []struct {
		name                string
		invariant, location string
		during              func(l *lab) // at 10 us; nil: nothing
		after               func(l *lab)
	}{
		{name: "nothing"},
		{
			name: "ingress account", invariant: accounts, location: "s0-eth1",
			after: func(l *lab) { l.state.Ports[l.port("s0", "h0")].Class[3].Buffered += 1058 },
		},
		{
			name: "ingress account of another priority", invariant: accounts, location: "s0-eth2",
			after: func(l *lab) { l.state.Ports[l.port("s0", "h1")].Class[6].Buffered++ },
		},
		{name: "shared buffer", invariant: accounts, location: "s0", after: func(l *lab) { l.state.Switches[0].Used++ }},
		{
			name: "queue register", invariant: accounts, location: "s0-eth3",
			after: func(l *lab) { l.state.Ports[l.port("s0", "h2")].Class[3].QueueBytes = 1 },
		},
		{
			name: "flow count of an empty switch", invariant: accounts, location: "s0-eth3",
			after: func(l *lab) { l.state.Extras[l.port("s0", "h2")].Flows = 1 },
		},
		{
			name: "frames received", invariant: arrives, location: "h2-eth1",
			after: func(l *lab) { l.state.Ports[l.port("h2", "s0")].RxFrames-- },
		},
		{
			name: "frames sent", invariant: arrives, location: "s0-eth1",
			after: func(l *lab) { l.ports[l.port("h0", "s0")].txFrames++ },
		},
		{
			name: "PAUSE sent", invariant: "every pause arrives", location: "s0-eth1",
			after: func(l *lab) { l.state.Extras[l.port("s0", "h0")].PausesSent++ },
		},
		{
			name: "RESUME received", invariant: "every pause arrives", location: "s0-eth2",
			after: func(l *lab) { l.state.Extras[l.port("h1", "s0")].ResumesReceived++ },
		},
		{
			name: "idle trigger", invariant: "pipelines and traffic managers agree", location: "s0-eth2",
			after: func(l *lab) { l.state.Extras[l.port("s0", "h1")].IdleTriggers++ },
		},
		{name: "made frames", invariant: conserved, location: "fabric", after: func(l *lab) { l.Created.Frames++ }},
		{name: "ended bytes", invariant: conserved, location: "fabric", after: func(l *lab) { l.Ended.Bytes-- }},
		{
			name: "bytes of a port", invariant: conserved, location: "s0-eth3",
			after: func(l *lab) { l.Switch(0).Port(l.port("s0", "h2")).TxBytes-- },
		},
		{name: "lost frame", invariant: "frames are conserved", location: "fabric", after: func(l *lab) { l.pool.Get(60) }},
		{name: "passes", invariant: agree, location: "plane", after: func(l *lab) { l.pass.Done++ }},
		{name: "egress pipelines", invariant: agree, location: "plane", after: func(l *lab) { l.pass.Marked-- }},
		{name: "delivered too much", invariant: once, location: "flow 0", after: func(l *lab) { l.Flows()[0].past.delivered++ }},
		{name: "delivered twice", invariant: once, location: "h2", after: func(l *lab) { l.NIC(2).Duplicates++ }},
		{name: "out of order", invariant: once, location: "h2", after: func(l *lab) { l.NIC(2).OutOfOrder++ }},
		{
			name: "a drop that nobody counted", invariant: "drops are counted by cause", location: "fabric",
			after: func(l *lab) { l.Dropped++ },
		},
		{name: "bit error", invariant: "frames arrive as they were sent", location: "h2", during: func(l *lab) {
			l.ports[l.port("h0", "s0")].wire.first().Data()[100] ^= 0x10
		}},
		{name: "route lost", invariant: "pipelines lose nothing", location: "s0-eth1", during: func(l *lab) {
			for i := range l.state.Routes {
				l.state.Routes[i].Count = 0
			}
		}},
		{name: "packet swallowed by a wire", invariant: arrives, location: "s0-eth1", during: func(l *lab) {
			f := l.ports[l.port("h0", "s0")].wire.pop(&l.freeChunks) // the next one takes its place
			l.Ended.add(len(f.Data()))
			l.pool.Put(f)
		}},
		{
			name: "data through a closed gate", invariant: "no data leaves a paused port", location: "s0-eth3",
			during: func(l *lab) {
				// A frame that the gate takes for a control frame.
				out := l.port("s0", "h2")
				f, _ := l.Switch(0).Dequeue(l.Now(), out)
				l.state.Ports[out].Class[3].PausedUntil = uint64(l.Now() + 5*vtime.Microsecond)
				f.Control = true
				l.Switch(0).Enqueue(out, f)
				f.Control = false
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}",
				labOptions{burst: true, sw: func(s *switchagent.Settings) {
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
			if c.invariant == "" {
				for _, v := range violations {
					t.Error(v)
				}
				return
			}
			for _, v := range violations {
				if v.Invariant == c.invariant && v.Location == c.location && v.Detail != "" && v.Time > 0 {
					if s := v.String(); !strings.HasPrefix(s, c.invariant+": "+c.location+" at ") {
						t.Errorf("%q", s)
					}
					return
				}
			}
			t.Errorf("want %q broken at %s; got %v", c.invariant, c.location, violations)
		})
	}
}
