package runner

import (
	"context"
	"fmt"
	"strings"
	"testing"

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
	if sum.Verdict.Status == "FAIL" {
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
