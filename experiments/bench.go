package experiments

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// benchmark is one workload of the benchmark.
type benchmark struct {
	name     string
	topology string
	flows    func(plan *topologies.Plan) []Flow
	duration vtime.Time
}

// benchmarks are the workloads: (a) an incast on one switch, (b) a burst across leaves and spines. PFC works in both,
// every data packet is acknowledged.
var benchmarks = []benchmark{
	{
		name: "20-to-1 incast on one switch", topology: "{name: incast, rate: 100Gbps, delay: 1us, framing: ns3, star: {hosts: 21}}",
		flows:    func(plan *topologies.Plan) []Flow { return incast(plan, 20, 200_000) },
		duration: 2 * vtime.Millisecond,
	},
	{
		name: "burst over 3 leaves and 2 spines", topology: "{name: burst, rate: 40Gbps, delay: 5us, framing: ns3, leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 6}}",
		flows:    func(plan *topologies.Plan) []Flow { return incast(plan, 17, 200_000) },
		duration: 2 * vtime.Millisecond,
	},
}

// incast is a flow from each of the last n hosts to the first.
func incast(plan *topologies.Plan, n int, size int64) []Flow {
	var flows []Flow
	for i := range n {
		flows = append(flows, Flow{Source: plan.Hosts[len(plan.Hosts)-1-i], Destination: plan.Hosts[0], Size: units.Bytes(size)})
	}
	return flows
}

// Bench measures what a packet-hop costs, against a bare crossing of the kernel measured in turn with it, and how long
// fabrics take to come up. It prints as it goes.
func Bench(ctx context.Context, w io.Writer, rounds int) error {
	fmt.Fprintf(w, "%s, %s, %d processors\n\n", kernelRelease(), runtime.Version(), runtime.NumCPU())
	for i := range benchmarks {
		if err := benchmarks[i].run(ctx, w, rounds); err != nil {
			return err
		}
	}
	return benchBringUp(w)
}

func (b *benchmark) run(ctx context.Context, w io.Writer, rounds int) error {
	plan, err := topologies.Parse(b.name, []byte(b.topology))
	if err != nil {
		return err
	}
	frames, err := bareFrames(plan)
	if err != nil {
		return err
	}
	bare, err := orchestrator.NewBareCrossing(plan, frames)
	if err != nil {
		return err
	}
	defer bare.Close()
	const crossings = 100_000
	var ratios, hop, base []float64
	var hopsPerSecond, allocated float64
	for range rounds {
		before, err := bare.Measure(crossings)
		if err != nil {
			return err
		}
		hops, wall, mallocs, err := b.once(ctx, plan)
		if err != nil {
			return err
		}
		after, err := bare.Measure(crossings)
		if err != nil {
			return err
		}
		crossing := float64((before + after).Nanoseconds()) / (2 * crossings)
		cost := float64(wall.Nanoseconds()) / float64(hops)
		hop, base, ratios = append(hop, cost), append(base, crossing), append(ratios, cost/crossing)
		hopsPerSecond, allocated = max(hopsPerSecond, 1e9/cost), float64(mallocs)/float64(hops)
	}
	fmt.Fprintf(w, "%s\n", b.name)
	fmt.Fprintf(w, "  packet-hops per second  %9.0f (best of %d)\n", hopsPerSecond, rounds)
	fmt.Fprintf(w, "  ns per packet-hop       %9.0f (median; ticks, timers and sampling of nothing included)\n", quantiles(hop).P50)
	fmt.Fprintf(w, "  ns per bare crossing    %9.0f (median, in turn with the above)\n", quantiles(base).P50)
	fmt.Fprintf(w, "  ratio                   %9.2f (median; %.2f to %.2f)\n", quantiles(ratios).P50, ratios[0], ratios[len(ratios)-1])
	fmt.Fprintf(w, "  allocations per hop     %9.4f\n\n", allocated)
	return nil
}

// bareFrames are a full data packet and an ACK. They are addressed to nobody, so that the kernel's own stack drops them
// at once, as it does with the fabric's.
func bareFrames(plan *topologies.Plan) (frames [2][]byte, err error) {
	from, to := plan.Nodes[plan.Hosts[0]].Addr.As4(), plan.Nodes[plan.Hosts[1]].Addr.As4()
	h, err := wire.NewFlowHeader(wire.FlowParams{
		SrcMAC: wire.MAC{2, 0xee, 1}, DstMAC: wire.MAC{2, 0xee, 2}, Src: from, Dst: to, SrcPort: wire.MinEntropyPort, DestQP: 1,
		TOS: wire.DataTOS(3, wire.ECT0), MTU: plan.MTU,
	})
	if err != nil {
		return frames, err
	}
	frames[0], frames[1] = make([]byte, fullFrame(plan)), make([]byte, ackFrame)
	wire.PutData(frames[0], h, wire.OpWriteMiddle, 0, plan.MTU, true, true)
	wire.PutAck(frames[1], h, wire.SyndromeAck, 0, 0)
	return frames, nil
}

// once runs the workload and returns the hops it took, the wall time and the number of allocations.
func (b *benchmark) once(ctx context.Context, plan *topologies.Plan) (hops int64, wall time.Duration, mallocs uint64, err error) {
	plane, err := orchestrator.OpenKernelPlane(plan, orchestrator.FabricOptions{Hooks: orchestrator.HooksClsact})
	if err != nil {
		return 0, 0, 0, err
	}
	defer plane.Close()
	sw, host := switchagent.Default(), hostagent.Default()
	settings := make([]*switchagent.Settings, len(plan.Switch))
	for i := range settings {
		settings[i] = &sw
	}
	e := orchestrator.NewEngine(orchestrator.EngineConfig{Plan: plan, Plane: plane, Switches: settings, Hosts: &host, Seed: 1})
	s := &Scenario{Topology: plan}
	for i, f := range b.flows(plan) {
		env := environment(s, &f)
		constants, err := cc.Resolve("dcqcn", nil, env)
		if err != nil {
			return 0, 0, 0, err
		}
		spec, err := cc.Lookup("dcqcn")
		if err != nil {
			return 0, 0, 0, err
		}
		port, err := orchestrator.PinPath(plan, f.Source, f.Destination, nil, uint64(i))
		if err != nil {
			return 0, 0, 0, err
		}
		e.AddFlow(orchestrator.FlowConfig{
			Source: f.Source, Destination: f.Destination, Size: int64(f.Size), SourcePort: port,
			NewController: func() (cc.Controller, error) { return spec.New(env, constants) },
		})
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	mallocs = m.Mallocs
	start := time.Now()
	if err := e.Run(ctx, b.duration, true, nil); err != nil {
		return 0, 0, 0, err
	}
	wall = time.Since(start)
	runtime.ReadMemStats(&m)
	for _, v := range e.Check() {
		return 0, 0, 0, fmt.Errorf("%v", v)
	}
	return e.Hops, wall, m.Mallocs - mallocs, nil
}

func benchBringUp(w io.Writer) error {
	fmt.Fprintln(w, "bring-up: namespaces, veth pairs, addresses, programs attached")
	for _, spec := range []string{
		"{name: h18, leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 6}}",
		"{name: h240, leafspine: {spines: 8, leaves: 10, hosts_per_leaf: 24}}",
		"{name: h1024, fattree: {k: 16}}",
	} {
		plan, err := topologies.Parse("bench", []byte(spec))
		if err != nil {
			return err
		}
		var up, down []float64
		for range 3 {
			start := time.Now()
			plane, err := orchestrator.OpenKernelPlane(plan, orchestrator.FabricOptions{})
			if err != nil {
				return err
			}
			up = append(up, time.Since(start).Seconds())
			start = time.Now()
			if err := plane.Close(); err != nil {
				return err
			}
			down = append(down, time.Since(start).Seconds())
		}
		fmt.Fprintf(w, "  %4d hosts, %3d switches, %4d ports: up in %.2f s, down in %.2f s (medians of 3)\n",
			len(plan.Hosts), len(plan.Switch), len(plan.Ports), quantiles(up).P50, quantiles(down).P50)
	}
	fmt.Fprintf(w, "\nmemory: %d MB peak resident\n", peakResident()>>20)
	return nil
}
