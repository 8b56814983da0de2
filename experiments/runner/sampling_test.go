package runner

import (
	"context"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestSamplingChangesNothing checks that an observer with other sample times sees the same run. The engine stops for
// each poll, with its partitions at one time, and must not then update state that it would otherwise update later.
func TestSamplingChangesNothing(t *testing.T) {
	testenv.WholeScenario(t)
	for name, text := range map[string]string{
		"several switches under PCN": `
topology: {rate: 40Gbps, delay: 5us, leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 4}}
switch: {pfc: {xoff: 60KB, headroom: 75KB}}
controllers: [pcn]
flows:
  - {tag: incast, from: h0..h7, to: h11, size: 64KB, count: 5, interval: 40us}
  - {tag: others, from: h0..h3, to: h8, size: 100KB, start: 33us}
`,
		"several switches with credits": `
topology: {rate: 40Gbps, delay: 12us, leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 4}}
switch: {flow_control: cbfc, cbfc: {period: 40us, buffer: 64KB}}
controllers: [none]
flows:
  - {tag: incast, from: h0..h3, to: h11, size: 30KB, count: 3, interval: 400us}
  - {tag: late, from: h4, to: h1, size: 100KB, start: 611us}
`,
		"one switch under PCN": `
topology: {rate: 40Gbps, delay: 9us, star: {hosts: 5}}
controllers: [pcn]
flows: [{tag: incast, from: h0..h3, to: h4, size: 90KB, count: 4, interval: 71us}]
`,
	} {
		t.Run(name, func(t *testing.T) {
			var first *Result
			for _, interval := range []string{"1us", "7us", "20us", "1ms"} {
				s, err := scenario.Parse("t.yaml", []byte(text+"duration: 3ms\ndrain: true\nsample: {interval: "+interval+"}\n"),
					nil)
				if err != nil {
					t.Fatal(err)
				}
				r, err := Run(context.Background(), s, Options{
					Controller: s.Controllers[0], Plane: wasmplane.Open, Seed: 1, Directory: t.TempDir(),
				})
				if err != nil {
					t.Fatal(err)
				}
				if r.Summary.Verdict.Status == measure.Fail {
					t.Error(r.Summary.Verdict.Messages)
				}
				if first == nil {
					first = r
					continue
				}
				a, b := &first.Summary, &r.Summary
				if a.Fingerprint != b.Fingerprint || a.CNPs != b.CNPs || a.Flows.FCT != b.Flows.FCT || a.VirtualNS != b.VirtualNS {
					t.Errorf("every %s: %s, %d CNPs, %+v, %d ns; every 1us: %s, %d, %+v, %d", interval,
						b.Fingerprint, b.CNPs, b.Flows.FCT, b.VirtualNS, a.Fingerprint, a.CNPs, a.Flows.FCT, a.VirtualNS)
				}
			}
		})
	}
}

// TestLateFlow checks that a flow is not reported as stuck if it starts after a long silence, just before the run's
// time is up, or if its next packet or retransmission is far in the future.
func TestLateFlow(t *testing.T) {
	for name, text := range map[string]string{
		"late": `
topology: {delay: 5us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1}}
flows: [{from: h0, to: h1, size: 20KB, start: 299999us}]
duration: 300ms
`,
		"slow": `
topology: {delay: 5us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1}}
flows: [{from: h0, to: h1, size: 3KB, constant_rate: 20Kbps}]
duration: 1ms
`,
		"slow credits": `
topology: {delay: 5us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1}}
switch: {flow_control: cbfc, cbfc: {period: 300ms, buffer: 8KB}}
flows: [{from: h0, to: h1, size: 30KB}]
duration: 1ms
`,
	} {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Parse("t.yaml", []byte(text+"controllers: [none]\ndrain: true\ndrain_limit: 100s\n"), nil)
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
			if r.Summary.Verdict.Status == measure.Fail || r.Summary.Flows.Completed != 1 {
				t.Errorf("%d flows ended: %v", r.Summary.Flows.Completed, r.Summary.Verdict.Messages)
			}
		})
	}
}
