package runner

import (
	"context"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestFairWithItself starts four flows under one congestion control together. They share their common port evenly in
// each of forty windows, and fill most of it. (Whether a later flow gets its share too is measured in
// docs/controllers.md.)
func TestFairWithItself(t *testing.T) {
	testenv.WholeScenario(t)
	s, err := scenario.Parse("fair.yaml", []byte(`
topology: {rate: 40Gbps, delay: 10us, framing: ns3, star: {hosts: 5}}
switch: {pfc: {headroom: 120KB}}
flows: [{tag: same, from: h0..h3, to: h4, size: unbounded}]
duration: 40ms
sample: {interval: 1ms}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cc.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Run(context.Background(), s, Options{
				Controller: name, Plane: wasmplane.Open, Seed: 1,
				Directory: t.TempDir(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if jain := r.Summary.Fairness.ByTag["same"]; jain.Windows < 39 || jain.Mean < 0.97 || jain.Least < 0.9 {
				t.Errorf("Jain's index over %d windows is %.3f, at least %.3f", jain.Windows, jain.Mean, jain.Least)
			}
			if goodput := r.Summary.ByTag["same"].Goodput; goodput < 0.65*40e9 {
				t.Errorf("%.1f Gbps get through", goodput/1e9)
			}
		})
	}
}
