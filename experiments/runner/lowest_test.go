package runner

import (
	"context"
	"math"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestLowestGoodput checks that a flow alone gets its link's payload rate in each tenth of a run, and 0 in a tenth in
// which its link is down throughout. A tag whose flows end within a tenth has no value.
func TestLowestGoodput(t *testing.T) {
	for _, c := range []struct {
		name, faults string
		want         float64 // of the line's share
	}{
		{"alone", "", 1},
		{"half", "faults: [{at: 4250us, for: 500us, link: \"h0:s0\", down: true}]", 0.5},
		{"down", "faults: [{at: 3500us, for: 3ms, link: \"h0:s0\", down: true}]", 0},
	} {
		s, err := scenario.Parse("lowest.yaml", []byte(`
topology: {rate: 10Gbps, delay: 1us, star: {hosts: 4}}
controllers: [none]
flows: [{tag: long, from: h0, to: h1, size: unbounded}, {tag: short, from: h2, to: h3, size: 10KB, count: 20, interval: 400us}]
duration: 10ms
sample: {interval: 10us}
`+c.faults), nil)
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
		// Of 1082 bytes on the line (preamble, Ethernet, IPv4, UDP, BTH, ICRC, FCS and the gap of a packet) 1000 are
		// payload.
		const line = 10e9 * 1000 / 1082
		got := r.Summary.LowestGoodput
		if math.Abs(got["long"]-c.want*line) > 0.02*line {
			t.Errorf("%s: %v, want %.3g", c.name, got, c.want*line)
		}
		if _, found := got["short"]; found {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
