package runner

import (
	"context"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/vtime"
)

// TestDeadlock runs flows around a ring of five switches. Each crosses two links, so that every queue waits for the
// next, and the last for the first. The fabric then stands still for good while flow control's messages continue. The
// run ends and reports a deadlock.
func TestDeadlock(t *testing.T) {
	testenv.WholeScenario(t)
	const around = "s0-eth2 (to s1) waits for s1-eth3 (to s2) waits for s2-eth3 (to s3) waits for s3-eth3 " +
		"(to s4) waits for s4-eth3 (to s0) waits for s0-eth2 (to s1), priority 3"
	for name, flowControl := range map[string]string{
		"PFC":     "pfc: {xoff: 20KB, xoff_to_xon: 2KB, headroom: 50KB}",
		"credits": "flow_control: cbfc, cbfc: {period: 10us, buffer: 64KB}",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Parse("ring.yaml", []byte(`
topology:
  rate: 40Gbps
  delay: 1us
  nodes: [{name: s0..s4, kind: switch}, {name: h0..h4, kind: host}]
  links:
    - {from: h0, to: s0}
    - {from: h1, to: s1}
    - {from: h2, to: s2}
    - {from: h3, to: s3}
    - {from: h4, to: s4}
    - {from: s0, to: s1}
    - {from: s1, to: s2}
    - {from: s2, to: s3}
    - {from: s3, to: s4}
    - {from: s4, to: s0}
switch: {`+flowControl+`}
controllers: [none]
flows:
  - {from: h0, to: h2, size: 10MB}
  - {from: h1, to: h3, size: 10MB}
  - {from: h2, to: h4, size: 10MB}
  - {from: h3, to: h0, size: 10MB}
  - {from: h4, to: h1, size: 10MB}
duration: 5ms
drain: true
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
			if r.Summary.Flows.Completed != 0 || r.Summary.VirtualNS > int64(vtime.Second/vtime.Nanosecond) {
				t.Errorf("%d flows ended, at %d ns", r.Summary.Flows.Completed, r.Summary.VirtualNS)
			}
			if v := r.Summary.Verdict; v.Status != measure.Fail || len(v.Messages) != 2 ||
				!strings.Contains(v.Messages[0], around) ||
				!strings.Contains(v.Messages[1], "stopped for good") {
				t.Errorf("%s: %q", v.Status, v.Messages)
			}
		})
	}
}
