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
	"github.com/pausenet/pausenet/vtime"
)

// ended runs a scenario under its first controller, without writing anything, and shows the engine when it has ended.
func ended(t *testing.T, yaml string, look func(s *scenario.Scenario, e *engine.Engine)) {
	t.Helper()
	s, err := scenario.Parse("own.yaml", []byte(yaml), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Watch(context.Background(), s, s.Controllers[0], Watching{
		Plane: engine.PlaneWasm, Seed: s.Seed, Ended: func(e *engine.Engine) { look(s, e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Verdict.Status == measure.Fail {
		t.Errorf("%v", sum.Verdict)
	}
}

// TestOwnController: each flow is under its own congestion control, and carries what that needs, beside flows that carry nothing of it.
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

// TestTwoQPs: on two spines of half the host's rate, a flow that has one QP a spine has twice of what it has with one, and its FCT is the last QP's.
// Alone, it takes no longer than it needs: its slowdown is 1.
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
		result := run(t, s, "swift", Options{Plane: engine.PlaneWasm})
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
