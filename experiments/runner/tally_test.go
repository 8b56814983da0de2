package runner

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/vtime"
)

// TestTally checks that at each moment of a run the sums equal those over all flows of the tag, whichever have started
// or ended.
func TestTally(t *testing.T) {
	s := parse(t, `
topology: star
switch: {pfc: {xoff: 10MB}} # nothing is written here
flows:
  - {tag: a, from: [h0, h1], to: h2, size: 20KB, count: 5, interval: 3us}
  - {tag: b, from: h3, to: h2, size: 1MB}
  - {tag: a, from: h4, to: h2, size: 5KB, start: 90us}
duration: 200us
drain: true
expect_unused: [pfc, ecn]
`)
	r, err := newRunner(s, Options{Controller: "dcqcn", Plane: wasmplane.Open, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.openPlane(); err != nil {
		t.Fatal(err)
	}
	defer r.plane.Close()
	if err := r.build(); err != nil {
		t.Fatal(err)
	}
	sum := &tally{waiting: starting{
		scenario: s, order: byStart(s.Flows),
		of: func(f *scenario.Flow) bool { return f.Tag == "a" },
	}}
	seen := map[string]bool{}
	var look func(now vtime.Time)
	look = func(now vtime.Time) {
		flows := r.engine.Flows()
		sum.look(now, r.flows())
		delivered, rate := int64(0), 0.0
		for i := range flows {
			if s.Flows[i].Tag != "a" {
				continue
			}
			delivered += flows[i].Delivered()
			if f := &flows[i]; f.Sender != nil && f.Finished == vtime.Never {
				rate += f.Sender.Rate()
			}
		}
		// Rates are whole numbers here or added up in the same order.
		if got := sum.delivered(r.flows()); got != delivered {
			t.Fatalf("%v: %d B delivered, want %d", now, got, delivered)
		}
		if got := sum.rate(r.flows()); got < rate*(1-1e-12) || got > rate*(1+1e-12) {
			t.Fatalf("%v: rates %g, want %g", now, got, rate)
		}
		seen["waiting"] = seen["waiting"] || sum.waiting.seen < len(s.Flows) && len(sum.active) == 0
		seen["active"] = seen["active"] || len(sum.active) > 1
		seen["ended"] = seen["ended"] || sum.ended == 205_000
		if now < 200*vtime.Microsecond {
			r.engine.Call(now+vtime.Microsecond, look)
		}
	}
	r.engine.Call(0, look)
	if err := r.engine.Run(s.Duration, vtime.Second, nil); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 3 || !seen["waiting"] || !seen["active"] || !seen["ended"] {
		t.Errorf("not all of it happened: %v", seen)
	}
}
