package runner

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// The incast of the thesis' section 4.1.2 (the first 20 lines of HPCC's simulator's mix/flow.txt): 635 MB, an empty
// fabric's RTT of 4.16 us but for the ACK's own bytes.
func TestLSTMIncast(t *testing.T) {
	s := mustLoad(t, "lstm-incast")
	var sizes units.Bytes
	perSender := map[any]int{}
	for _, f := range s.Flows {
		sizes += f.Size
		perSender[f.Source]++
		if f.Start != 0 || f.Extras != nil {
			t.Errorf("flow %+v", f)
		}
	}
	if len(s.Flows) != 20 || len(perSender) != 20 || sizes != 635*units.MB {
		t.Errorf("%d flows of %d hosts, %v", len(s.Flows), len(perSender), sizes)
	}
	if rtt := scenario.Environment(s.Topology, &s.Flows[0], cc.SwitchNeeds{}).BaseRTT; rtt < 4160*vtime.Nanosecond ||
		rtt > 4200*vtime.Nanosecond {
		t.Errorf("RTT %v", rtt)
	}
}

// unexplained lists the thesis' figures that differ from ours by more than a quarter; docs/results/lstm-pid.md
// discusses them.
var unexplained = map[[2]string]bool{
	{"timely", "rtt_sampled_max"}:       true,
	{"lstm-pid-7us", "rtt_sampled_max"}: true,
}

// TestLSTMFigures checks that every figure of the thesis in the scenario is within a quarter of our result, except for
// the known ones. Those must still differ, so that an improvement does not go unnoticed.
func TestLSTMFigures(t *testing.T) {
	testenv.WholeScenario(t)
	s := mustLoad(t, "lstm-incast")
	for _, controller := range s.Controllers {
		t.Run(controller, func(t *testing.T) {
			t.Parallel()
			r := run(t, s, controller, Options{Plane: wasmplane.Open})
			if v := r.Summary.Verdict; v.Status != measure.Pass {
				t.Errorf("verdict %+v", v)
			}
			if len(r.Summary.Published) == 0 {
				t.Error("no published figures")
			}
			for _, c := range r.Summary.Published {
				near := c.Measured != nil && *c.Measured > 0.75*c.Published && *c.Measured < 1.25*c.Published
				if near == unexplained[[2]string{controller, c.Metric}] {
					t.Errorf("%s: measured %v, published %g: within a quarter is %t", c.Metric, *c.Measured, c.Published, near)
				}
			}
		})
	}
}

// TestDynamicThresholdLosesNothing pauses and resumes twenty ports without congestion control, against a threshold that
// each of them moves. Headroom for the bytes in flight, here three times rate times delay, is enough.
func TestDynamicThresholdLosesNothing(t *testing.T) {
	testenv.WholeScenario(t)
	r := run(t, mustLoad(t, "lstm-incast", "duration=3ms", "drain=false"), "none", Options{Plane: wasmplane.Open})
	if r.Summary.Verdict.Status == measure.Fail || r.Summary.Drops.Frames > 0 || r.Summary.PFC.Pauses < 100 {
		t.Errorf("%d PAUSEs, verdict %+v", r.Summary.PFC.Pauses, r.Summary.Verdict)
	}
}
