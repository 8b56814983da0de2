//go:build linux

package wallclock

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/orchestrator/pidns"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// liveFabric represents a live fabric that runs until the test ends; its invariants hold then.
type liveFabric struct {
	*Driver
	plan   *topologies.Plan
	fabric *kernel.Fabric
}

// onPlanes runs a test where the switches are the kernel's, and where they are this process'.
func onPlanes(t *testing.T, test func(t *testing.T, plane string)) {
	for _, planeName := range []string{plane.Kernel, plane.Wasm} {
		t.Run(planeName, func(t *testing.T) { test(t, planeName) })
	}
}

func newLiveFabric(t testing.TB, plan *topologies.Plan, slowdown float64, prepare ...func(*Driver)) *liveFabric {
	t.Helper()
	return newLiveFabricOn(t, plane.Kernel, plan, slowdown, prepare...)
}

func newLiveFabricOn(t testing.TB, planeName string, plan *topologies.Plan, slowdown float64,
	prepare ...func(*Driver),
) *liveFabric {
	t.Helper()
	testenv.NeedRoot(t)
	p, err := kernel.OpenLive(planeName, plan, kernel.FabricOptions{Features: plane.Features{Live: true}})
	if err != nil {
		t.Fatal(err)
	}
	sw, hosts := switchagent.Default(), hostagent.Default()
	settings := make([]*switchagent.Settings, len(plan.Switch))
	for i := range settings {
		settings[i] = &sw
	}
	e, err := engine.New(engine.Config{
		Plan: plan, Plane: p, Switches: settings, Hosts: &hosts,
		Features: plane.Features{Live: true}, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(e, p, slowdown)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range prepare {
		f(l)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the fabric ended: %v", err)
		}
		for _, v := range e.Check() {
			t.Error(v)
		}
		t.Logf("%+v", l.Status())
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return &liveFabric{l, plan, p.Fabric()}
}

// run runs a command on a node.
func (f *liveFabric) run(t testing.TB, node string, command ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	programs, err := pidns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer programs.End()
	nodes := kernel.NewNodes(f.fabric, programs, false, nil)
	defer nodes.Close()
	location, err := nodes.Location(f.plan.NodeByName(node).ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.RunIn(location, cmd, nil); err != nil {
		t.Fatalf("%s: %v: %v\n%s", node, command, err, &out)
	}
	return out.String()
}

func livePlan(t testing.TB, name string) *topologies.Plan {
	t.Helper()
	plan, err := spec.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestLivePing(t *testing.T) {
	onPlanes(t, func(t *testing.T, plane string) {
		f := newLiveFabricOn(t, plane, livePlan(t, "leafspine"), 1000)
		t.Log(f.run(t, "h0", "ping", "-c", "1", "-W", "180", "h15"))
	})
}

// TestLiveGivesWay: a fabric that the machine cannot follow does not take a processor from everything else, and is
// preferred again as it has caught up.
func TestLiveGivesWay(t *testing.T) {
	f := newLiveFabric(t, livePlan(t, "small"), 0.001)
	from, to := f.plan.NodeByName("h1").ID, f.plan.NodeByName("h5").ID
	look := func(least int) (policy uint32, open int) {
		t.Helper()
		if err := f.Do(func() error {
			e := f.Engine()
			for e.OpenFlows() < least {
				e.AddFlow(engine.FlowConfig{
					Source: from, Destination: to, Size: 1 << 20, Start: e.Now(),
					Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(e.AddedFlows()%1000)},
					NewController: func(int) (cc.Controller, error) { return cc.Constant(1e9), nil },
				})
			}
			own, err := unix.SchedGetAttr(0, 0)
			policy, open = own.Policy, e.OpenFlows()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return policy, open
	}
	if policy, _ := look(0); policy != unix.SCHED_RR {
		t.Skip("this machine prefers no thread")
	}
	wait := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(testenv.Hung); !is(); {
			if time.Now().After(deadline) {
				t.Fatalf("waited in vain until %s: %+v", what, f.Status())
			}
		}
	}
	wait("it gives way", func() bool { policy, _ := look(4); return policy == unix.SCHED_NORMAL })
	wait("it is preferred again", func() bool { policy, open := look(0); return policy == unix.SCHED_RR && open == 0 })
}
