//go:build linux

package kernel

import (
	"errors"
	"slices"
	"testing"

	"github.com/cilium/ebpf/link"
	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig represents a fabric in the kernel with an engine on it.
type rig struct {
	testing.TB
	*engine.Engine
	plan  *topologies.Plan
	plane *Plane
}

// rigOptions holds the settings that a test changes.
type rigOptions struct {
	sw    func(*switchagent.Settings)
	host  func(*hostagent.Settings)
	hooks Hooks // HooksAuto: clsact, the quicker one to build
	seed  uint64
	burst bool

	withoutEntry bool
}

// newRig builds the fabric of a topology's YAML, without ECN unless o says otherwise.
func newRig(t testing.TB, topology string, o rigOptions) *rig {
	t.Helper()
	plan := rootPlan(t, topology)
	if o.hooks == HooksAuto {
		o.hooks = HooksClsact
	}
	features := plane.Features{BurstDetection: o.burst}
	plane, err := Open(plan, FabricOptions{Features: features, Hooks: o.hooks, withoutEntry: o.withoutEntry})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Error(err)
		}
	})
	sw, host := switchagent.Default(), hostagent.Default()
	sw.ECN.Mode = switchagent.ECNOff
	if o.sw != nil {
		o.sw(&sw)
	}
	if o.host != nil {
		o.host(&host)
	}
	for _, err := range []error{sw.Validate(), host.Validate()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	e, err := engine.New(engine.Config{
		Plan: plan, Plane: plane, Switches: slices.Repeat([]*switchagent.Settings{&sw}, len(plan.Switch)), Hosts: &host,
		Features: features, Seed: o.seed, Observer: unobserved{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t, e, plan, plane}
}

// rootPlan returns a topology's plan; it skips the test without root.
func rootPlan(t testing.TB, topology string) *topologies.Plan {
	t.Helper()
	testenv.NeedRoot(t)
	plan, err := spec.Parse("plan.yaml", []byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// unobserved implements an Observer that ignores all events.
type unobserved struct{}

func (unobserved) FlowDone(vtime.Time, int)         {}
func (unobserved) PFC(vtime.Time, int, uint8, bool) {}
func (unobserved) PFCReceived(engine.PFCArrival)    {}

// port returns the port of node a that leads to b.
func (r *rig) port(a, b string) int {
	r.Helper()
	ports := r.plan.PortsBetween(r.plan.NodeByName(a).ID, r.plan.NodeByName(b).ID)
	if len(ports) != 1 {
		r.Fatalf("%d ports from %s to %s", len(ports), a, b)
	}
	return int(ports[0])
}

// send adds a flow at its source's line rate.
func (r *rig) send(from, to string, size int64, start vtime.Time) {
	r.Helper()
	source := r.plan.NodeByName(from)
	rate := float64(r.plan.Ports[source.Ports[0]].Rate)
	r.AddFlow(engine.FlowConfig{
		Source: source.ID, Destination: r.plan.NodeByName(to).ID, Size: size, Start: start,
		Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(len(r.Flows()))},
		NewController: func(int) (cc.Controller, error) { return cc.Constant(rate), nil },
	})
}

// run runs until nothing moves any more; no invariant may break.
func (r *rig) run() {
	r.Helper()
	if err := r.Run(vtime.Second, 10*vtime.Second, nil); err != nil {
		r.Fatal(err)
	}
	if n := r.OpenFlows(); n > 0 {
		r.Fatalf("%d flows have not ended", n)
	}
	for _, v := range r.Check() {
		r.Error(v)
	}
}

// needTCX skips a test of TCX where the kernel has none (before Linux 6.6): test/kernels runs there too.
func needTCX(t testing.TB) {
	t.Helper()
	f, err := NewFabric(rootPlan(t, "star: {hosts: 2}"), FabricOptions{Hooks: HooksTCX})
	if errors.Is(err, link.ErrNotSupported) {
		t.Skip("this kernel has no TCX")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
