package runner

import (
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestConvergence checks the purpose of the convergence scenarios: just before the last flow to start leaves, the flows
// share the link about evenly and fill it. At the end the first flow has the link to itself again.
func TestConvergence(t *testing.T) {
	testenv.WholeScenario(t)
	for _, c := range []struct {
		flows  int
		before int64   // ns, when all the flows are there
		jain   float64 // at least
		full   float64 // of the payload that the link can carry, at least
	}{
		{2, 62e6, 0.98, 0.85},
		{8, 104e6, 0.95, 0.80},
	} {
		s := mustLoad(t, fmt.Sprintf("convergence-%d", c.flows))
		for _, controller := range s.Controllers {
			t.Run(fmt.Sprintf("%d/%s", c.flows, controller), func(t *testing.T) {
				t.Parallel()
				r := run(t, s, controller, Options{Plane: wasmplane.Open})
				if v := r.Summary.Verdict; v.Status != measure.Pass {
					t.Errorf("verdict %+v", v)
				}
				// Goodput over the last ten milliseconds of all flows' being there.
				var share []float64
				for _, points := range r.Panels[0] {
					sum, n := 0.0, 0.0
					for i, at := range points.Time {
						if at > c.before-10e6 && at <= c.before {
							sum, n = sum+points.Value[i], n+1
						}
					}
					share = append(share, sum/n)
				}
				var sum, squares float64
				for _, v := range share {
					sum, squares = sum+v, squares+v*v
				}
				const payload = 40e9 * 1000 / 1048
				if jain := sum * sum / (float64(len(share)) * squares); len(share) != c.flows || jain < c.jain ||
					sum < c.full*payload || sum > 1.001*payload {
					t.Errorf("Jain's index %.3f, %.2f Gbps: %.2e", jain, sum/1e9, share)
				}
				if r.Summary.Flows.Completed != 1 {
					t.Errorf("%d flows have ended", r.Summary.Flows.Completed)
				}
				first := r.Panels[0][0]
				if end := first.Value[len(first.Value)-1]; c.flows == 2 && end < 0.99*payload {
					t.Errorf("f0 has %.2f Gbps at the end", end/1e9)
				}
			})
		}
	}
}
