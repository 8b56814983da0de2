package observe

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/vtime"
)

// Durations at which the test ends long scenarios, because the kernel plane is slow.
const (
	planesUntil = 25 * vtime.Millisecond
	burstUntil  = 3 * vtime.Millisecond   // with a burst that starts at 0
	largeUntil  = 300 * vtime.Microsecond // with a quick form
	hugeUntil   = 60 * vtime.Microsecond  // with a quick form and more than hugeHosts hosts
	hugeHosts   = 249
)

// TestBuiltinsOnBothPlanes compares the runs of every built-in scenario on both planes, under each of its controllers.
func TestBuiltinsOnBothPlanes(t *testing.T) {
	testenv.NeedRoot(t)
	names := scenario.BuiltinNames()
	if testing.Short() { // for the race detector: code that concurrent runs share is the same in all of them
		names = []string{"incast", "line-rate"}
	}
	for _, name := range names {
		s, err := scenario.Reading{Quick: true}.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		until := planesUntil
		switch {
		case name == "dcon-qcnm" || name == "dcon-window": // dcon-websearch's variants
			until, s.Controllers = hugeUntil, s.Controllers[:1]
		case s.HasQuick && len(s.Topology.Hosts) > hugeHosts:
			until = hugeUntil
		case s.HasQuick:
			until = largeUntil
		case name == "dcon-interval" || name == "dcon-size":
			until = burstUntil
		}
		if s.Duration > until {
			s.Duration, s.Drain = until, false
		}
		for _, controller := range s.Controllers {
			t.Run(name+"/"+controller, func(t *testing.T) {
				t.Parallel()
				why := s.WhyFits() == nil
				var o runner.Options
				if why {
					o = observed(Why)
				}
				wasm := run(t, s, controller, o)
				o.Plane = opener(t, plane.Kernel)
				kernel := run(t, s, controller, o)
				if a, b := kernel.Summary.Fingerprint, wasm.Summary.Fingerprint; a != b || a == "" {
					t.Errorf("fingerprint %q on the kernel plane, %q on the wasm plane", a, b)
				}
				if a, b := timeless(t, kernel.dir)[rundir.Why.Name], timeless(t, wasm.dir)[rundir.Why.Name]; a != b || why &&
					a == "" {
					t.Errorf("where flows' time goes is another on the kernel plane than on the wasm plane: %d B and %d", len(a),
						len(b))
				}
			})
		}
	}
}
