package runner

import (
	"context"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestDetectorSeries checks that a detector's state and its marks over time can be plotted: a port stopped by the PAUSE
// of an incast is undetermined, and the port that all its flows share is congested.
func TestDetectorSeries(t *testing.T) {
	s, err := scenario.Parse("t.yaml", []byte(`
topology: {rate: 40Gbps, delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 3}}
duration: 500us
switch:
  pfc: {xoff: 60KB}
  detector: tcd
flows:
  - {tag: in, from: [h0, h1, h2], to: h3, size: unbounded}
  - {tag: local, from: h4, to: h3, size: unbounded}
controllers: [none]
sample: {interval: 1us}
report:
  - title: spine
    series: [{state: "spine0:leaf1"}, {ce: "spine0:leaf1"}, {ue: "spine0:leaf1"}]
  - title: sink
    series: [{state: "leaf1:h3"}, {ce: "leaf1:h3"}]
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), s, Options{
		Controller: "none", Plane: wasmplane.Open, Seed: 1,
		Directory: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	spine, sink := r.Panels[0], r.Panels[1]
	if slices.Max(spine[0].Value) < 1 {
		t.Error("the spine's port was never undetermined")
	}
	if got := sink[0].Value[len(sink[0].Value)-1]; got != 2 {
		t.Errorf("the sink's port ends in state %g", got)
	}
	marks := 0.0
	for _, v := range append(slices.Clone(spine[1].Value), sink[1].Value...) {
		marks += v * s.Sample.Interval.Seconds()
	}
	if int64(marks+0.5) > r.Summary.ECNMarks || marks == 0 {
		t.Errorf("%g CE marks plotted, %d counted", marks, r.Summary.ECNMarks)
	}
	if r.Summary.Verdict.Status == measure.Fail {
		t.Error(r.Summary.Verdict.Messages)
	}
}

// A scenario's flow control is a setting away: the same incast by credits loses nothing and sends no PAUSE, and says
// so.
func TestFlowControlSetting(t *testing.T) {
	const loaded = `
topology: {rate: 40Gbps, delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 3}}
duration: 1ms
drain: true
switch: {pfc: {xoff: 60KB}}
flows:
  - {tag: in, from: [h0, h1, h2, h4], to: h3, size: 300KB}
controllers: [none]
`
	for _, sets := range [][]string{
		nil,
		{"switch.flow_control=cbfc"},
		{"switch.flow_control=cbfc", "switch.cbfc.buffer=64KB", "switch.cbfc.block=256B"},
	} {
		s, err := scenario.Parse("t.yaml", []byte(loaded), sets)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(context.Background(), s, Options{
			Controller: "none", Plane: wasmplane.Open, Seed: 1,
			Directory: t.TempDir(),
		})
		if err != nil {
			t.Fatal(err)
		}
		sum, credits := &r.Summary, len(sets) > 0
		if sum.Verdict.Status != measure.Pass || sum.Flows.Completed != 4 || sum.Drops.Frames != 0 {
			t.Errorf("%v: %+v, %d flows ended, %d frames lost", sets, sum.Verdict, sum.Flows.Completed, sum.Drops.Frames)
		}
		if (sum.PFC.Pauses == 0) != credits || (sum.Credits != nil) != credits {
			t.Errorf("%v: %d PAUSEs, credits %+v", sets, sum.PFC.Pauses, sum.Credits)
		}
		if credits && (sum.Credits.Messages == 0 || sum.Credits.Stalls == 0 ||
			sum.Credits.SwitchStalls > sum.Credits.Stalls) {
			t.Errorf("%v: credits %+v", sets, sum.Credits)
		}
	}
}
