package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/internal/workers"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// benchmark describes one workload of the benchmark.
type benchmark struct {
	name     string
	topology string
	senders  int // to one receiver; 0: a permutation, each host to the next rack's
	size     units.Bytes
}

// benchmarks lists the workloads: (a) an incast on one switch, (b) a burst across leaves and spines. Both use PFC, and
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

// scaling lists fabrics of growing size, to compare the cost of a hop. Each host sends to one a quarter of the fabric
// away. The more hosts, the less data each sends.
var scaling = append([]benchmark{
	{
		name: "16 hosts, k=4", topology: "{name: k4, rate: 100Gbps, delay: 1us, framing: ns3, fattree: {k: 4}}",
		size: 2 * units.MB,
	},
	{
		name: "128 hosts, k=8", topology: "{name: k8, rate: 100Gbps, delay: 1us, framing: ns3, fattree: {k: 8}}",
		size: 1 * units.MB,
	},
	{
		name: "1024 hosts, k=16", topology: "{name: k16, rate: 100Gbps, delay: 1us, framing: ns3, fattree: {k: 16}}",
		size: 200 * units.KB,
	},
}, large...)

// large lists fabrics that take too long for a Go benchmark.
var large = []benchmark{
	fabricOf("4096 hosts, fat-tree", fatTree4096, 100*units.KB),
	fabricOf("16384 hosts, fat-tree", fatTree16384, 50*units.KB),
	fabricOf("128 hosts, leaf-spine", "leafspine: {spines: 4, leaves: 8, hosts_per_leaf: 16}", 1*units.MB),
	fabricOf("1024 hosts, leaf-spine", leafSpine1024, 200*units.KB),
	fabricOf("4096 hosts, leaf-spine", leafSpine4096, 100*units.KB),
	fabricOf("16384 hosts, leaf-spine", leafSpine16384, 50*units.KB),
}

// Large fabrics: a leaf has 32 hosts and as many uplinks, an edge switch 16 or 32 hosts.
const (
	leafSpine1024  = "leafspine: {spines: 16, leaves: 32, hosts_per_leaf: 32}"
	leafSpine4096  = "leafspine: {spines: 32, leaves: 128, hosts_per_leaf: 32}"
	leafSpine16384 = "leafspine: {spines: 32, leaves: 512, hosts_per_leaf: 32}"
	fatTree1024    = "fattree: {k: 16}"
	fatTree4096    = "fattree: {pods: 16, edges: 16, aggregations: 16, cores: 256, hosts_per_edge: 16}"
	fatTree16384   = "fattree: {pods: 32, edges: 16, aggregations: 16, cores: 256, hosts_per_edge: 32}"
)

func topologyOf(fabric string) string {
	return "{rate: 100Gbps, delay: 1us, framing: ns3, " + fabric + "}"
}

func fabricOf(name, fabric string, size units.Bytes) benchmark {
	return benchmark{name: name, topology: topologyOf(fabric), size: size}
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

// cost holds the time and memory of one run of a workload.
type cost struct {
	hops      int64
	setUp     time.Duration // processor time of the set-up: the plan, the plane, the engine, the flows
	wall, cpu time.Duration
	mallocs   uint64
}

// run runs the workload on a plane, with so many processors.
func (b *benchmark) run(ctx context.Context, plane string, processors int) (c cost, err error) {
	began := machine.ProcessorTime()
	plan, err := spec.Parse(b.name, []byte(b.topology))
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
	members := workers.New(processors)
	defer members.Close()
	e, err := engine.New(engine.Config{Plan: plan, Plane: p, Switches: settings, Hosts: &host, Seed: 1, Workers: members})
	if err != nil {
		return c, err
	}
	if err := b.addFlows(e); err != nil {
		return c, err
	}
	c.setUp = time.Duration(machine.ProcessorTime() - began)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	c.mallocs = m.Mallocs
	start, cpu := time.Now(), machine.ProcessorTime()
	if err := e.Run(vtime.Millisecond, 60*vtime.Second,
		func(vtime.Time, *engine.Totals) error { return ctx.Err() }); err != nil {
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
			Source: f.Source, Destination: f.Destination, Size: int64(f.Size), Ports: paths.FirstPorts(uint64(i)),
			NewController: func(int) (cc.Controller, error) { return spec.New(env, constants) },
		})
	}
	return nil
}
