//go:build linux

package wallclock

import (
	"slices"
	"testing"
	"time"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/switchagent"
)

// TestPassCost checks that the measurement leaves all registers of a fabric with credits as they were.
func TestPassCost(t *testing.T) {
	testenv.NeedRoot(t)
	plan, features := livePlan(t, "small"), plane.Features{Live: true}
	p, err := kernel.OpenLive(plane.Kernel, plan, kernel.FabricOptions{Features: features})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	sw, hosts := switchagent.Default(), hostagent.Default()
	sw.FlowControl = switchagent.FlowCBFC
	config := engine.Config{
		Plan: plan, Plane: p, Switches: slices.Repeat([]*switchagent.Settings{&sw}, len(plan.Switch)), Hosts: &hosts,
		Features: features, Seed: 1,
	}
	if _, err := engine.New(config); err != nil {
		t.Fatal(err)
	}
	s := p.State()
	ports, extras, switches := slices.Clone(s.Ports), slices.Clone(s.Extras), slices.Clone(s.Switches)
	if cost, err := PassCost(config); err != nil || cost <= 0 {
		t.Fatalf("a pass takes %v, %v", cost, err)
	}
	if !slices.Equal(s.Ports, ports) || !slices.Equal(s.Extras, extras) || !slices.Equal(s.Switches, switches) {
		t.Error("the measurement has changed registers")
	}
}

// BenchmarkLiveHop measures the processor time of a hop of a live fabric that the machine cannot follow, so that it never
// waits.
func BenchmarkLiveHop(b *testing.B) {
	for _, name := range []string{"small", "leafspine", "dcon-testbed", "dcon-large"} {
		for _, planeName := range []string{plane.Kernel, plane.Wasm} {
			b.Run(name+"/"+planeName, func(b *testing.B) { liveHop(b, name, planeName) })
		}
	}
}

func liveHop(b *testing.B, name, plane string) {
	const packets = 20_000 // of all hosts that send
	plan := livePlan(b, name)
	f := newLiveFabricOn(b, plane, plan, 1)
	var hops int64
	for b.Loop() {
		var before int64
		used := machine.ProcessorTime()
		err := f.Do(func() error {
			e, hosts := f.Engine(), plan.Hosts
			before = e.Hops
			for i := 0; i < len(hosts); i += 4 {
				line := float64(plan.Ports[plan.Nodes[hosts[i]].Ports[0]].Rate)
				e.AddFlow(engine.FlowConfig{
					Source: hosts[i], Destination: hosts[(i+len(hosts)/2)%len(hosts)],
					Size: int64(packets * 4 / len(hosts) * plan.MTU), Start: e.Now(),
					Ports:         paths.Ports{Source: wire.MinEntropyPort},
					NewController: func(int) (cc.Controller, error) { return cc.Constant(line), nil },
				})
			}
			return nil
		})
		for open := 1; open > 0 && err == nil; time.Sleep(5 * time.Millisecond) {
			err = f.Do(func() error { open, hops = f.Engine().OpenFlows(), f.Engine().Hops-before; return nil })
		}
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(machine.ProcessorTime()-used)/float64(hops), "cpu-ns/hop")
	}
}
