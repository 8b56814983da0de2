package cc

import (
	"testing"

	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
)

// TestNeedsOfReceivers: a controller that does something on CNPs says that it needs them, and one that needs them does
// something: receivers send none to the others.
func TestNeedsOfReceivers(t *testing.T) {
	env := Env{LineRate: 40 * units.Gbps, BaseRTT: 10 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}
	// moves says whether a flow's rate is another for CNPs, at some time within 200 us.
	moves := func(spec *Spec) bool {
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
					f.OnCNP(&Sample{Now: now, CE: true, Received: 10, ReceivingRate: units.Gbps})
				}
			}
			if flows[0].Rate() != flows[1].Rate() {
				return true
			}
		}
		return false
	}
	for _, name := range Names() {
		spec, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := moves(spec), spec.Needs.CNP || spec.Needs.PCN; got != want {
			t.Errorf("%s: CNPs move the rate: %t; it needs them: %t", name, got, want)
		}
	}
}
