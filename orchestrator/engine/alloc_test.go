package engine

import (
	"runtime"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// In the steady state nothing allocates: not a frame, not an event, not a pass. A run of unbounded flows with PFC, ECN
// and CNPs going on is warmed up until every pool and queue has its size; from then on the heap's count must stand.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	t.Run("pfc", func(t *testing.T) { steadyState(t, nil) })
	t.Run("cbfc", func(t *testing.T) {
		steadyState(t, func(sw *switchagent.Settings, _ *hostagent.Settings) { sw.FlowControl = switchagent.FlowCBFC })
	})
	lossy := func(sw *switchagent.Settings, host *hostagent.Settings) {
		sw.PFC.Priorities, sw.LossyLimit, sw.CNM.QECN = 0, 25_000, 20_000
		host.Recovery, host.RetransmitTimeout, host.Selective.Cap = hostagent.SelectiveRepeat, 320*vtime.Microsecond, 100_000
	}
	t.Run("selective repeat", func(t *testing.T) {
		e := steadyState(t, lossy)
		retransmitted := int64(0)
		for i := range e.Flows() {
			retransmitted += e.Flows()[i].Retransmitted()
		}
		if e.Dropped < 1000 || retransmitted < 1_000_000 || e.NIC(0).OutOfOrder < 1000 {
			t.Errorf("%d frames dropped, %d bytes sent again, %d packets out of order: too few to tell", e.Dropped, retransmitted,
				e.NIC(0).OutOfOrder)
		}
	})
	t.Run("trimming", func(t *testing.T) {
		e := steadyState(t, func(sw *switchagent.Settings, host *hostagent.Settings) {
			lossy(sw, host)
			sw.Trim = true
			sw.Scheduler.Quantum[host.DataPriority], sw.Scheduler.Quantum[host.ControlPriority] = 1074, 740
		})
		if n := e.NIC(0).Trimmed; n < 1000 {
			t.Errorf("%d packets came trimmed: too few to tell", n)
		}
	})
}

// steady returns a star of unbounded flows into one host, under DCON, with other settings if set makes some; run drives it
// until a time.
func steady(
	t testing.TB, set func(*switchagent.Settings, *hostagent.Settings),
) (e *Engine, run func(until vtime.Time)) {
	t.Helper()
	plan, err := spec.Builtin("star")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := wasmplane.Open(plan, plane.Features{BurstDetection: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	sw, host := switchagent.Default(), hostagent.Default()
	sw.PFC.XOFF, sw.PFC.XON = 40_000, 38_000
	if set != nil {
		set(&sw, &host)
	}
	e = newEngine(t, Config{
		Plan: plan, Plane: opened, Switches: []*switchagent.Settings{&sw}, Hosts: &host,
		Features: plane.Features{BurstDetection: true}, Seed: 1,
	})
	env := cc.Env{
		LineRate: plan.Ports[plan.Nodes[plan.Hosts[0]].Ports[0]].Rate, BaseRTT: 10 * vtime.Microsecond, MTU: plan.MTU,
		LineMTU: plan.Framing.LineBytes(plan.MTU + 58),
	}
	settings, err := cc.Resolve("dcon", nil, env)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := cc.Lookup("dcon")
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(plan.Hosts); i++ {
		e.AddFlow(FlowConfig{
			Source: plan.Hosts[i], Destination: plan.Hosts[0], Ports: paths.Ports{Source: 0xc000},
			NewController: func(int) (cc.Controller, error) { return spec.New(env, settings) },
		})
	}
	return e, func(until vtime.Time) {
		if err := e.Run(until, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func steadyState(t *testing.T, set func(*switchagent.Settings, *hostagent.Settings)) *Engine {
	t.Helper()
	e, run := steady(t, set)
	run(20 * vtime.Millisecond)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	passes := e.Passes
	run(30 * vtime.Millisecond)
	runtime.ReadMemStats(&after)
	if passes = e.Passes - passes; passes < 100_000 {
		t.Fatalf("only %d passes", passes)
	}
	// The runtime's own background work may allocate a little.
	if n := after.Mallocs - before.Mallocs; n > 20 {
		t.Errorf("%d allocations in %d passes", n, passes)
	}
	return e
}

// BenchmarkHop measures the cost of a frame through one link and both pipelines, on the wasm plane. An operation is 10
// us of virtual time.
func BenchmarkHop(b *testing.B) {
	e, run := steady(b, nil)
	now := 20 * vtime.Millisecond
	run(now)
	before := e.Passes
	b.ReportAllocs()
	for b.Loop() {
		now += 10 * vtime.Microsecond
		run(now)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(e.Passes-before), "ns/hop")
}
