package runner

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/vtime"
)

// ended runs a scenario under its first controller, without writing anything, and shows the engine when it has ended.
func ended(t *testing.T, yaml string, look func(s *scenario.Scenario, e *engine.Engine)) {
	t.Helper()
	s, err := scenario.Parse("own.yaml", []byte(yaml), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Watch(context.Background(), s, Options{Controller: s.Controllers[0], Seed: s.Seed},
		Watching{Ended: func(e *engine.Engine) { look(s, e) }})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Verdict.Status == measure.Fail {
		t.Errorf("%v", sum.Verdict)
	}
}

// TestOwnController runs each flow under its own congestion control. Packets carry the headers that this control needs,
// and other flows' packets do not.
func TestOwnController(t *testing.T) {
	ended(t, `
topology: {delay: 1us, star: {hosts: 4, rate: 40Gbps}}
duration: 500us
controllers: [dcqcn]
flows:
  - {tag: a, from: h0, to: h3, size: unbounded}
  - {tag: b, from: h1, to: h3, size: unbounded, cc: hpcc}
  - {tag: c, from: h2, to: h3, size: unbounded, cc: swift}
`, func(_ *scenario.Scenario, e *engine.Engine) {
		for i, want := range []string{"dcqcn", "hpcc", "swift"} {
			f := &e.Flows()[i]
			if got := fmt.Sprintf("%T", f.Sender.Controller()); !strings.HasSuffix(got, "."+want) {
				t.Errorf("flow %d has a %s, not a %s", i, got, want)
			}
			if f.Delivered() == 0 {
				t.Errorf("nothing of flow %d has arrived", i)
			}
			if (f.Hosts != nil && f.Hosts.INT) != (want == "hpcc") {
				t.Errorf("flow %d carries telemetry: %v", i, f.Hosts)
			}
			if f.Hosts != nil && f.Hosts.Notify != hostagent.NotifyNone {
				t.Errorf("flow %d's receiver tells of marks", i)
			}
		}
		if e.Now() != 500*vtime.Microsecond {
			t.Errorf("the run ended at %v", e.Now())
		}
	})
}

// TestTwoQPs runs flows over two spines with half the host's rate each. A flow with one QP per spine gets twice the
// rate of a flow with one QP, and its FCT is the last QP's. A flow alone has a slowdown of 1.
func TestTwoQPs(t *testing.T) {
	fct := map[string]float64{}
	for _, qps := range []string{"", ", qps: {count: 2, via: [spine0, spine1]}", ", qps: {count: 2, via: [spine0]}"} {
		s := parse(t, `
topology:
  mtu: 1000
  nodes: [{name: h0..h1, kind: host}, {name: leaf0..leaf1, kind: switch}, {name: spine0..spine1, kind: switch}]
  links:
    - {from: h0, to: leaf0, rate: 100Gbps, delay: 1us}
    - {from: h1, to: leaf1, rate: 100Gbps, delay: 1us}
    - {from: leaf0, to: [spine0, spine1], rate: 50Gbps, delay: 1us}
    - {from: leaf1, to: [spine0, spine1], rate: 50Gbps, delay: 1us}
duration: 1ms
drain: true
controllers: [swift]
flows: [{from: h0, to: h1, size: 5MB`+qps+`}]
`)
		result := run(t, s, "swift", Options{Plane: wasmplane.Open})
		if v := result.Summary.Verdict; v.Status == measure.Fail {
			t.Errorf("%q: %v", qps, v)
		}
		flows := &result.Summary.Flows
		if s := flows.Slowdown.Mean; s < 1 || s > 1.05 || flows.Completed != 1 {
			t.Errorf("%q: a slowdown of %g, %d completed", qps, s, flows.Completed)
		}
		fct[qps] = flows.FCT.Mean
	}
	one, two, both := fct[""], fct[", qps: {count: 2, via: [spine0, spine1]}"], fct[", qps: {count: 2, via: [spine0]}"]
	if gain := one / two; gain < 1.9 || gain > 2 {
		t.Errorf("one QP takes %g ns, two on paths of their own %g", one, two)
	}
	if by := both / one; by < 0.98 || by > 1.02 {
		t.Errorf("two QPs on one path take %g ns, and one %g", both, one)
	}
}

// TestWeight checks that two flows of one NIC share its line in proportion to their weights, 2 to 1, if nothing else
// limits them.
func TestWeight(t *testing.T) {
	ended(t, `
topology: {star: {hosts: 3}, rate: 40Gbps, delay: 1us}
duration: 500us
controllers: [none]
flows:
  - {from: h0, to: h1, size: unbounded, weight: 2}
  - {from: h0, to: h2, size: unbounded}
`, func(_ *scenario.Scenario, e *engine.Engine) {
		a, b := e.Flows()[0].Delivered(), e.Flows()[1].Delivered()
		if a-2*b > 3000 || a-2*b < -3000 {
			t.Errorf("%d and %d B were delivered: not as 2 to 1", a, b)
		}
	})
}

// TestPriorities checks that a switch's DWRR divides its port between two data priorities of one NIC, 3 to 1, and that
// PAUSE stops each separately.
func TestPriorities(t *testing.T) {
	ended(t, `
topology: {star: {hosts: 3}, rate: 40Gbps, delay: 1us}
switch: {scheduler: {dwrr: {3: 3KB, 4: 1KB}}}
duration: 1ms
controllers: [none]
flows:
  - {from: h0, to: h1, size: unbounded}
  - {from: h0, to: h1, size: unbounded, priority: 4}
  - {from: h2, to: h1, size: unbounded}
`, func(s *scenario.Scenario, e *engine.Engine) {
		if set := s.DataPriorities(); set != 1<<3|1<<4 || s.Switch.PFC.Priorities != set || s.Switch.ECN.Priorities != set {
			t.Errorf("data has %#x, PFC is on %#x, ECN on %#x", set, s.Switch.PFC.Priorities, s.Switch.ECN.Priorities)
		}
		low, high := e.Flows()[0].Delivered()+e.Flows()[2].Delivered(), e.Flows()[1].Delivered()
		if share := float64(low) / float64(high); share < 2.9 || share > 3.1 {
			t.Errorf("priorities 3 and 4 have %d and %d B", low, high)
		}
	})
}

// TestStop checks that a flow sends nothing after its stop, and ends when its data in flight is acknowledged. It has no
// completion time, and does not count as a failure.
func TestStop(t *testing.T) {
	const stop = 200 * vtime.Microsecond
	for _, size := range []string{"unbounded", "10MB"} {
		yaml := `
topology: {star: {hosts: 3}, rate: 40Gbps, delay: 1us}
host: {ack_every: 16}
duration: 1ms
drain: true
controllers: [dcqcn]
flows:
  - {from: h0, to: h1, size: ` + size + `, stop: 200us}
  - {from: h2, to: h1, size: 1MB, stop: 900us}
`
		ended(t, yaml, func(_ *scenario.Scenario, e *engine.Engine) {
			f := &e.Flows()[0]
			// The last packet leaves before the stop; its way and its ACK's take less than 20 us with the queue of two.
			if f.Finished < stop-20*vtime.Microsecond || f.Finished > stop+100*vtime.Microsecond || f.Delivered() != f.Size ||
				f.Size >= 10_000_000 || f.Size == 0 {
				t.Errorf("%s: ended at %v with %d of %d B", size, f.Finished, f.Delivered(), f.Size)
			}
		})
		s := parse(t, yaml)
		r := run(t, s, "dcqcn", Options{Plane: wasmplane.Open})
		if sum := r.Summary.Flows; sum.Completed != 1 || r.Summary.Verdict.Status != measure.Pass {
			t.Errorf("%s: %d completed, %v", size, sum.Completed, r.Summary.Verdict)
		}
	}
}

// TestOnOff: a flow that may send for 20 us of each 80 has a quarter of the line.
func TestOnOff(t *testing.T) {
	ended(t, `
topology: {star: {hosts: 2}, rate: 40Gbps, delay: 1us}
duration: 800us
controllers: [none]
flows: [{from: h0, to: h1, size: unbounded, on_off: {on: 20us, off: 60us}}]
`, func(s *scenario.Scenario, e *engine.Engine) {
		line := float64(40e9/8) * 800e-6 * 1000 / float64(s.Topology.Framing.LineBytes(measure.FullFrame(s.Topology)))
		if share := float64(e.Flows()[0].Delivered()) / line; share < 0.24 || share > 0.26 {
			t.Errorf("%.3f of the line", share)
		}
	})
}
