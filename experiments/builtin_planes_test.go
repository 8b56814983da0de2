package experiments

import (
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/orchestrator"
)

// planesUntil is how much of a long scenario is compared on both planes; the kernel takes its time.
const planesUntil = 25 * vtime.Millisecond

// TestBuiltinsOnBothPlanes: every built-in scenario is the same run on both planes, under each of its controllers.
func TestBuiltinsOnBothPlanes(t *testing.T) {
	testenv.NeedRoot(t)
	for _, name := range BuiltinNames() {
		s, err := LoadScenario(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		long := s.Duration > 5*vtime.Millisecond
		if s.Duration > planesUntil {
			s.Duration, s.Drain = planesUntil, false
		}
		for _, controller := range s.Controllers {
			t.Run(name+"/"+controller, func(t *testing.T) {
				if testing.Short() && long {
					t.Skipf("%v take long in the kernel", s.Duration)
				}
				t.Parallel()
				kernel := run(t, s, controller, Options{Plane: orchestrator.PlaneKernel})
				wasm := run(t, s, controller, Options{Plane: orchestrator.PlaneWasm})
				if a, b := kernel.Summary.Fingerprint, wasm.Summary.Fingerprint; a != b || a == "" {
					t.Errorf("fingerprint %q on the kernel plane, %q on the wasm plane", a, b)
				}
			})
		}
	}
}
