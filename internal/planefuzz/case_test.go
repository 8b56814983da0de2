package planefuzz_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/traffic/collective"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// testCase describes one scenario, controller and seed. What runs is its YAML: a failure's file is the failure.
type testCase struct {
	Fabric     fabric
	Hash       topologies.Hash
	Switch     switchagent.Settings
	Balancing  topologies.Balancing
	Host       hostagent.Settings
	Controller string
	Constants  []constant
	Flows      []flow
	Job        job
	Faults     []fault
	Duration   vtime.Time
	Seed       uint64

	// What follows is not part of the scenario. Hops is how long the case may get; Finish has it run on until its flows
	// have ended, if that is not far away. Tap has what is on the wires compared too, Wazero the wasm plane with its
	// reference.
	Hops   int64
	Finish bool
	Tap    bool
	Wazero bool
}

// fabric describes a topology. Hosts are called h0, h1, ..., switches s0, s1, ...
type fabric struct {
	Shape   string // how it was made
	MTU     int
	NS3     bool
	Buffers []units.Bytes // by switch; 0: the scenario's
	Hosts   []hostLink
	Trunks  []trunk
}

type cable struct {
	Rate  units.Rate
	Delay vtime.Time
}

type hostLink struct {
	Switch int
	More   []int // the switches of further ports, whose cables are like the first
	cable
}

type trunk struct {
	A, B, Count int
	Weight      int
	cable
}

type constant struct{ Name, Value string }

type flow struct {
	From, To     int
	FromPort     int // the port's number, which the scenario names; 0, or one that the host has not: none
	ToPort       int
	Size         units.Bytes // 0: unbounded
	Start        vtime.Time
	StartRate    units.Rate
	ConstantRate units.Rate
	CC           string // its own congestion control; empty: the case's
	QPs          int    // 0: one
	Message      units.Bytes
	Priority     int // 1 + its own; 0: the hosts'
	Weight       int // 0: 1
	Stop         vtime.Time
	On, Off      vtime.Time
}

// job describes a workload of flows that wait for each other, among the first hosts.
type job struct {
	Ranks      int // 0: there is none
	Iterations int
	Compute    vtime.Time
	Jitter     vtime.Time
	Collective collective.Spec
	Overlap    bool
	Barrier    bool
	Pair       bool // the first two ranks have a collective of their own
	Placement  string
	QPs        int
}

// fits reports whether the job's collective supports this many ranks.
func (j *job) fits() bool { return j.Ranks == 0 || j.Collective.Check(j.Ranks) == nil }

// write writes the workload.
func (j *job) write(w func(format string, args ...any)) {
	group := ""
	if j.Collective.Algorithm == collective.Hierarchical {
		group = fmt.Sprintf(", group: %d", j.Collective.Group)
	}
	w("workloads:")
	w("  - tag: job")
	w("    qps: %d", max(j.QPs, 1))
	w("    job:")
	w("      ranks: h0..h%d", j.Ranks-1)
	w("      iterations: %d", j.Iterations)
	w("      placement: %s", j.Placement)
	w("      steps:")
	w("        - compute: {time: %dps, jitter: %dps}", j.Compute, j.Jitter)
	w("        - collective: {kind: %s, algorithm: %s, size: %dB, chunks: %d, overlap: %t%s}", j.Collective.Kind,
		j.Collective.Algorithm, j.Collective.Size, j.Collective.Chunks, j.Overlap, group)
	w("        - compute: %dps", j.Compute)
	if j.Pair {
		w("        - collective: {kind: allgather, size: 5000B, ranks: [h1, h0]}")
	}
	if j.Barrier {
		w("        - barrier: true")
	}
}

func (c *testCase) clone() *testCase {
	d := *c
	d.Constants, d.Flows, d.Faults = slices.Clone(c.Constants), slices.Clone(c.Flows), slices.Clone(c.Faults)
	d.Fabric.Buffers, d.Fabric.Hosts, d.Fabric.Trunks =
		slices.Clone(c.Fabric.Buffers), slices.Clone(c.Fabric.Hosts), slices.Clone(c.Fabric.Trunks)
	return &d
}

// scenario returns the case as a scenario, which all runs use.
func (c *testCase) scenario() (*scenario.Scenario, error) {
	s, err := scenario.Parse("case.yaml", []byte(c.yaml()), nil)
	if err != nil {
		return nil, fmt.Errorf("the generator made a scenario that is none: %w\n%s", err, c.yaml())
	}
	return s, nil
}

// yaml returns the case as a scenario file. Quantities are in their smallest units, so that nothing is rounded.
func (c *testCase) yaml() string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w("name: case")
	w("topology:")
	c.Fabric.write(w)
	if c.Hash != topologies.HashOwn {
		w("routing: {hash: %v}", c.Hash)
	}
	w("duration: %dps", c.Duration)
	w("seed: %d", c.Seed)
	w("controllers: [%s]", c.Controller)
	if len(c.Constants) > 0 {
		w("cc:")
		w("  %s:", c.Controller)
		for _, k := range c.Constants {
			w("    %s: %q", k.Name, k.Value)
		}
	}
	w("host: %s", settings.Host(&c.Host).Flow())
	w("switch: %s", settings.Switch(&c.Switch, &c.Balancing).Flow())
	w("flows:")
	for _, f := range c.Flows {
		size, rest := scenario.Unbounded, ""
		if f.Size > 0 {
			size = fmt.Sprintf("%dB", f.Size)
		}
		if f.StartRate > 0 {
			rest = fmt.Sprintf(", start_rate: %dbps", f.StartRate)
		}
		if f.ConstantRate > 0 {
			rest = fmt.Sprintf(", constant_rate: %dbps", f.ConstantRate)
		}
		if f.CC != "" {
			rest += ", cc: " + f.CC
		}
		switch {
		case f.QPs > 1 && f.Message > 0:
			rest += fmt.Sprintf(", qps: {count: %d, message: %dB}", f.QPs, f.Message)
		case f.QPs > 1:
			rest += fmt.Sprintf(", qps: %d", f.QPs)
		}
		if f.Priority > 0 {
			rest += fmt.Sprintf(", priority: %d", f.Priority-1)
		}
		if f.Weight > 0 {
			rest += fmt.Sprintf(", weight: %d", f.Weight)
		}
		if f.Stop > 0 {
			rest += fmt.Sprintf(", stop: %dps", f.Stop)
		}
		if f.Off > 0 {
			rest += fmt.Sprintf(", on_off: {on: %dps, off: %dps}", f.On, f.Off)
		}
		w("  - {from: %s, to: %s, size: %s, start: %dps%s}", c.Fabric.end(f.From, f.FromPort), c.Fabric.end(f.To, f.ToPort),
			size, f.Start, rest)
	}
	if c.Job.Ranks > 0 {
		c.Job.write(w)
	}
	if len(c.Faults) > 0 {
		w("faults:")
		for i := range c.Faults {
			c.Faults[i].write(w)
		}
	}
	return b.String()
}

// end returns a flow's end in the scenario's notation.
func (f *fabric) end(host, port int) string {
	if port == 0 || port > 1+len(f.Hosts[host].More) {
		return fmt.Sprintf("h%d", host)
	}
	return fmt.Sprintf("h%d.%d", host, port)
}

func (f *fabric) write(w func(format string, args ...any)) {
	framing := "ethernet"
	if f.NS3 {
		framing = "ns3"
	}
	w("  mtu: %d", f.MTU)
	w("  framing: %s", framing)
	w("  nodes:")
	w("    - {name: h0..h%d, kind: host}", len(f.Hosts)-1)
	for i, b := range f.Buffers {
		buffer := ""
		if b > 0 {
			buffer = fmt.Sprintf(", buffer: %dB", b)
		}
		w("    - {name: s%d, kind: switch%s}", i, buffer)
	}
	w("  links:")
	for i, l := range f.Hosts {
		ports := append([]int{l.Switch}, l.More...)
		for k, sw := range ports {
			if slices.Contains(ports[:k], sw) {
				continue
			}
			count := 0
			for _, other := range ports {
				if other == sw {
					count++
				}
			}
			w("    - {from: h%d, to: s%d, rate: %dbps, delay: %dps, count: %d}", i, sw, l.Rate, l.Delay, count)
		}
	}
	for _, l := range f.Trunks {
		w("    - {from: s%d, to: s%d, rate: %dbps, delay: %dps, count: %d, weight: %d}", l.A, l.B, l.Rate, l.Delay, l.Count,
			max(l.Weight, 1))
	}
}
