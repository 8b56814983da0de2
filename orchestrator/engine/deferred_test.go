package engine

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// timed is a controller whose rate changes with timers. Each packet sets the first, which sets the second.
type timed struct {
	cc.Controller
	rate          float64
	first, second vtime.Time // how long they run; second 0: there is none
	due           vtime.Time
	ran           bool // the first has expired
}

func (c *timed) Rate() float64                { return c.rate }
func (c *timed) Retimes() bool                { return true }
func (c *timed) OnSent(now vtime.Time, _ int) { c.due = min(c.due, now+c.first) }
func (c *timed) Deadline() vtime.Time         { return c.due }

func (c *timed) OnTimer(now vtime.Time) {
	c.due = vtime.Never
	if c.ran = !c.ran && c.second > 0; c.ran {
		c.due = now + c.second
		return
	}
	c.rate = 50e9 - c.rate
}

// TestDeferredEventsChangeNothing: a run that defers events equals one that does not, although many events have the
// same time. There are PAUSEs, losses, a link that goes down, and timers that expire before the next arrival.
func TestDeferredEventsChangeNothing(t *testing.T) {
	const topology = "rate: 25Gbps\ndelay: 1us\nleafspine: {spines: 2, leaves: 3, hosts_per_leaf: 4}"
	const packet = 346_240 // ps that a full one takes
	run := func(t *testing.T, first, second vtime.Time, defers bool) (results []any, deferred int) {
		l := newFaultLab(t, topology, func(sw *switchagent.Settings, h *hostagent.Settings) {
			sw.PFC.XOFF, sw.PFC.XON = 20*units.KB, 18*units.KB
			h.RetransmitTimeout = 100 * vtime.Microsecond
		})
		for i := range 11 {
			for k := range 3 {
				to := (i + 1 + k*k) % 12
				if k == 0 && i > 0 {
					to = 0
				}
				l.sendUnder(fmt.Sprint("h", i), fmt.Sprint("h", to), int64(20_000+10_000*k), vtime.Time(k)*vtime.Microsecond,
					func() (cc.Controller, error) {
						return &timed{cc.Constant(0), 12.5e9, first, second, vtime.Never, false}, nil
					})
			}
		}
		l.send("h11", "h0", 30_000, 0, 3*units.Gbps)
		l.at(15*vtime.Microsecond, func() error { return l.SetLoss(l.port("h3", "leaf0"), 0.1) })
		l.at(20*vtime.Microsecond, func() error { return l.SetLink(l.port("h5", "leaf1"), false) })
		l.at(31*vtime.Microsecond, func() error { return l.SetLink(l.port("h5", "leaf1"), true) })
		for at := vtime.Microsecond; at < 40*vtime.Microsecond; at += 777 * vtime.Nanosecond {
			l.Call(at, func(vtime.Time) {
				results = append(results, l.Totals, l.Fingerprint())
				for i := range l.ports {
					results = append(results, l.ports[i].txFrames)
					if l.ports[i].deferred.At != vtime.Never {
						deferred++
					}
				}
			})
		}
		l.Start()
		p := &l.ports[l.port("h0", "leaf0")]
		if got := p.serialise(l.plan.Framing.LineBytes(l.plan.MTU + 58)); got != packet {
			t.Errorf("a packet takes %d ps, want %d", got, packet)
		}
		l.defers = l.defers && defers
		l.run(0)
		results = append(results, l.Now(), l.Totals, l.Fingerprint(), slices.Clone(l.state.Ports), l.pfc)
		for _, n := range l.nics {
			results = append(results, n.Counters)
		}
		for _, f := range l.Flows() {
			results = append(results, f.Finished)
		}
		return results, deferred
	}
	for _, c := range [][2]vtime.Time{
		{7 * vtime.Nanosecond},
		{packet},
		{packet + packet/2, packet / 2},
		{packet / 2, packet / 2},
		{10 * vtime.Microsecond},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			want, none := run(t, c[0], c[1], false)
			got, some := run(t, c[0], c[1], true)
			if none != 0 || some < 100 {
				t.Errorf("%d and %d events were deferred", none, some)
			}
			if len(got) != len(want) {
				t.Fatalf("%d results, want %d", len(got), len(want))
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("result %d of %d: got %v, want %v", i, len(got), got[i], want[i])
				}
			}
		})
	}
}
