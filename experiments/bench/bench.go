// Package bench measures what a packet-hop costs on both planes, and how fabrics come up.
package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// benchmark is one workload of the benchmark.
type benchmark struct {
	name     string
	topology string
	senders  int // to one receiver; 0: a permutation, each host to the next rack's
	size     units.Bytes
}

// benchmarks are the workloads: (a) an incast on one switch, (b) a burst across leaves and spines. PFC works in both,
// every data packet is acknowledged.
var benchmarks = []benchmark{
	{
		name:     "(a) 20-to-1 incast on one switch",
		topology: "{name: a, rate: 100Gbps, delay: 1us, framing: ns3, star: {hosts: 21}}", senders: 20, size: 5 * units.MB,
	},
	{
		name:     "(b) burst over 3 leaves and 2 spines",
		topology: "{name: b, rate: 40Gbps, delay: 5us, framing: ns3, leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 6}}",
		senders:  17, size: 5 * units.MB,
	},
}

// scaling are the fabrics on which the cost of a hop is compared from small to large: the same load on each host.
var scaling = []benchmark{
	{name: "16 hosts, k=4", topology: "{name: k4, rate: 100Gbps, delay: 1us, framing: ns3, fattree: {k: 4}}", size: 2 * units.MB},
	{name: "128 hosts, k=8", topology: "{name: k8, rate: 100Gbps, delay: 1us, framing: ns3, fattree: {k: 8}}", size: 1 * units.MB},
	{name: "1024 hosts, k=16", topology: "{name: k16, rate: 100Gbps, delay: 1us, framing: ns3, fattree: {k: 16}}", size: 200 * units.KB},
}

func (b *benchmark) flows(plan *topologies.Plan) []scenario.Flow {
	var flows []scenario.Flow
	n := len(plan.Hosts)
	if b.senders > 0 {
		for i := range b.senders {
			flows = append(flows, scenario.Flow{Source: plan.Hosts[n-1-i], Destination: plan.Hosts[0], Size: b.size})
		}
		return flows
	}
	for i := range n {
		flows = append(flows, scenario.Flow{Source: plan.Hosts[i], Destination: plan.Hosts[(i+n/4)%n], Size: b.size})
	}
	return flows
}

// cost is what one run of a workload took.
type cost struct {
	hops      int64
	wall, cpu time.Duration
	mallocs   uint64
}

// run runs the workload on a plane.
func (b *benchmark) run(ctx context.Context, plane string) (c cost, err error) {
	plan, err := topologies.Parse(b.name, []byte(b.topology))
	if err != nil {
		return c, err
	}
	p, err := kernel.OpenPlane(plane, plan, kernel.FabricOptions{})
	if err != nil {
		return c, err
	}
	defer p.Close()
	sw, host := switchagent.Default(), hostagent.Default()
	settings := make([]*switchagent.Settings, len(plan.Switch))
	for i := range settings {
		settings[i] = &sw
	}
	e, err := engine.New(engine.Config{Plan: plan, Plane: p, Switches: settings, Hosts: &host, Seed: 1})
	if err != nil {
		return c, err
	}
	if err := b.addFlows(e); err != nil {
		return c, err
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	c.mallocs = m.Mallocs
	start, cpu := time.Now(), machine.ProcessorTime()
	if err := e.Run(vtime.Millisecond, 60*vtime.Second, func(vtime.Time, *engine.Totals) error { return ctx.Err() }); err != nil {
		return c, err
	}
	c.wall, c.cpu = time.Since(start), time.Duration(machine.ProcessorTime()-cpu)
	runtime.ReadMemStats(&m)
	c.mallocs = m.Mallocs - c.mallocs
	c.hops = e.Hops
	for _, v := range e.Check() {
		return c, fmt.Errorf("%s: %v", b.name, v)
	}
	return c, nil
}

func (b *benchmark) addFlows(e *engine.Engine) error {
	spec, err := cc.Lookup("dcqcn")
	if err != nil {
		return err
	}
	for i, f := range b.flows(e.Plan()) {
		env := scenario.Environment(e.Plan(), &f, spec.Needs)
		constants, err := cc.Resolve(spec.Name, nil, env)
		if err != nil {
			return err
		}
		e.AddFlow(engine.FlowConfig{
			Source: f.Source, Destination: f.Destination, Size: int64(f.Size), Ports: engine.FirstPorts(uint64(i)),
			NewController: func() (cc.Controller, error) { return spec.New(env, constants) },
		})
	}
	return nil
}

// Run measures what a packet-hop costs on both planes, and how fabrics come up. It prints as it goes. Figures are
// medians over the rounds; on a shared machine trust the ratios, which are taken within a round.
func Run(ctx context.Context, w io.Writer, rounds int) error {
	fmt.Fprintf(w, "%s, %s, %d processors\n\n", machine.Release(), runtime.Version(), runtime.NumCPU())
	fmt.Fprintln(w, "wasm plane: data and ACK hops, an ACK a packet")
	for i := range benchmarks {
		if _, err := benchWasm(ctx, w, &benchmarks[i], rounds); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "\nwasm plane, by size of the fabric: every host sends across the pods")
	var first float64
	for i := range scaling {
		perHop, err := benchWasm(ctx, w, &scaling[i], min(rounds, 3))
		if err != nil {
			return err
		}
		if i == 0 {
			first = perHop
		} else {
			fmt.Fprintf(w, "  %-40s %6.2f times the smallest's cost a hop\n", "", perHop/first)
		}
	}
	fmt.Fprintf(w, "\nmemory so far: %d MB peak resident\n", machine.PeakResident()>>20)
	return benchKernel(ctx, w, rounds)
}

// benchWasm prints a workload's speed and returns its median processor time a hop, in ns.
func benchWasm(ctx context.Context, w io.Writer, b *benchmark, rounds int) (float64, error) {
	var perHop, wall, allocated []float64
	var hops int64
	for range rounds {
		c, err := b.run(ctx, engine.PlaneWasm)
		if err != nil {
			return 0, err
		}
		hops = c.hops
		perHop = append(perHop, float64(c.cpu.Nanoseconds())/float64(c.hops))
		wall = append(wall, float64(c.wall.Nanoseconds())/float64(c.hops))
		allocated = append(allocated, float64(c.mallocs)/float64(c.hops))
	}
	cpu := measure.QuantilesOf(perHop)
	fmt.Fprintf(w, "  %-40s %6.2f million packet-hops a CPU-second (%.0f ns; %.0f ns of wall-clock time; %.4f allocations; %d hops)\n",
		b.name, 1e3/cpu.P50, cpu.P50, measure.QuantilesOf(wall).P50, measure.QuantilesOf(allocated).P50, hops)
	return cpu.P50, nil
}
