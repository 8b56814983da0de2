package cc

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestNeedsOfReceivers: a controller that does something on CNPs says that it needs them, and one that needs them does
// something: receivers send none to the others. The same holds for ACKs, which receivers may coalesce.
func TestNeedsOfReceivers(t *testing.T) {
	env := Env{LineRate: 40 * units.Gbps, BaseRTT: 10 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}
	cnp := func(f Controller, now vtime.Time) {
		f.OnCNP(&Sample{Now: now, CE: true, Received: 10, ReceivingRate: units.Gbps})
	}
	var sent int64
	ack := func(f Controller, now vtime.Time) {
		sent += 10_000
		f.OnAck(&Sample{
			Now: now, RTT: 20*vtime.Microsecond + now/2, AckedBytes: 10_000, AckSequence: sent, NextSend: sent + 5_000, CE: true,
			Hops: []wire.INTHop{{Rate: 40 * units.Gbps, Departed: now, TxBytes: 2 * sent, QueueBytes: 500_000}},
		})
	}
	for _, spec := range slices.Concat(registry, windowedSpecs) {
		// moves says whether a flow sends at another rate, or may have another number of bytes in flight, for being told.
		moves := func(tell func(Controller, vtime.Time)) bool {
			set, err := Resolve(spec.Name, nil, env)
			if err != nil {
				t.Fatal(err)
			}
			var flows [2]Controller
			for i := range flows {
				if flows[i], err = spec.New(env, set); err != nil {
					t.Fatal(err)
				}
			}
			for now := vtime.Time(0); now < 200*vtime.Microsecond; now += vtime.Microsecond {
				for i, f := range flows {
					if f.Deadline() <= now {
						f.OnTimer(now)
					}
					if i == 0 && now%(50*vtime.Microsecond) == vtime.Microsecond {
						tell(f, now)
					}
				}
				if flows[0].Rate() != flows[1].Rate() || flows[0].Window() != flows[1].Window() {
					return true
				}
			}
			return false
		}
		if got, want := moves(cnp), spec.Needs.CNP || spec.Needs.PCN; got != want {
			t.Errorf("%s: CNPs move it: %t; it needs them: %t", spec.Name, got, want)
		}
		// A window needs ACKs whatever it makes of what they say.
		if got, want := moves(ack) || spec.HasWindow, spec.Needs.ACK; got != want {
			t.Errorf("%s: works by ACKs: %t; it says so: %t", spec.Name, got, want)
		}
	}
}
