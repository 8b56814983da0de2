package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

const workloadsFile = "testdata/workloads/all.yaml"

// TestWorkloads checks the resolved form of a scenario with workloads, for people and for programs.
func TestWorkloads(t *testing.T) {
	s := mustLoad(t, workloadsFile)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(s.View().Workloads); err != nil {
		t.Fatal(err)
	}
	testenv.Golden(t, "testdata/workloads/all.json", b.String())
	b.Reset()
	if err := s.Describe(&b); err != nil {
		t.Fatal(err)
	}
	testenv.Golden(t, "testdata/workloads/all.txt", b.String())
	if v := s.View(); len(v.Flows) != 1 || v.Flows[0].Tag != "long" {
		t.Errorf("listed flows: %+v", v.Flows)
	}
	racks := racks(s.Topology)
	counts := map[string]int{}
	for i := range s.Flows {
		f := &s.Flows[i]
		from, to := s.Topology.Nodes[f.Source].Index, s.Topology.Nodes[f.Destination].Index
		same := racks[from] == racks[to]
		counts[f.Tag]++
		switch f.Tag {
		case "search":
			if f.Start >= 200*vtime.Microsecond {
				t.Errorf("%+v", f)
			}
		case "poisson":
			if !same || from > 7 || f.Size < 1000 || f.Size > 9000 {
				t.Errorf("%+v", f)
			}
		case "fan":
			if same || to != 0 || f.Start%(100*vtime.Microsecond) != 0 {
				t.Errorf("%+v", f)
			}
		}
	}
	// Four periods of 5 senders; two events of 3; h0 and h1 to three hosts, h2 and h3 to two; two rounds of 12.
	delete(counts, "search") // as many as the seed says
	want := map[string]int{
		"long": 1, "poisson": 20, "fan": 20, "fans": 6, "all-to-all": 10, "permutation": 24,
		"traced": 1, "again": 1,
	}
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("flows %v, want %v", counts, want)
	}
	last := s.Flows[len(s.Flows)-1]
	if last.Tag != "again" || last.Start != 1500 || last.Size != 2500 || s.Topology.Nodes[last.Source].Name != "h3" {
		t.Errorf("last flow %+v", last)
	}
}

// TestSpecifiedLoads compares the workloads of DCON's section 6.2.1 and of the LSTM-PID thesis, section 4.4.2, with
// numbers computed independently.
func TestSpecifiedLoads(t *testing.T) {
	dcon := parse(t, `
topology: {rate: 40Gbps, delay: 5us, leafspine: {spines: 8, leaves: 10, hosts_per_leaf: 24}}
workloads:
  - {poisson: {sizes: datamining-ns2, load: 0.8, of: core, flows: 10}}
  - {tag: half, poisson: {sizes: websearch, load: 0.4, of: core, flows: 10}}
duration: 1ms
`)
	thesis := parse(t, `
topology:
  fattree: {pods: 5, edges: 4, aggregations: 4, cores: 16, hosts_per_edge: 16, host_rate: 100Gbps, fabric_rate: 400Gbps}
workloads:
  - {poisson: {sizes: fbhadoop, load: 0.3, of: hosts}}
  - {incast: {degree: 60, size: 500KB, load: 2%, of: hosts, arrivals: poisson}}
duration: 10ms
`)
	for _, c := range []struct {
		what      string
		v         WorkloadView
		perSecond float64
	}{
		{"data mining at 0.8", dcon.Workloads[0].View, 47_400},
		{"web search at 0.4", dcon.Workloads[1].View, 103_455},
		{"Hadoop at 0.3", thesis.Workloads[0].View, 9_965_059},
		{"incast at 2 %", thesis.Workloads[1].View, 2_666.67},
	} {
		if got := 1e9 / c.v.Interval; math.Abs(got/c.perSecond-1) > 1e-4 {
			t.Errorf("%s: %.1f a second, want %.1f", c.what, got, c.perSecond)
		}
	}
	if v := dcon.Workloads[0].View; v.Capacity != 3_200_000_000_000 || v.Flows != 10 {
		t.Errorf("%+v", v)
	}
	// Within 1 % here for what is many and short; the sizes' own tests take as many flows as it needs.
	if v := thesis.Workloads[0].View; math.Abs(float64(v.Flows)/99_651-1) > 0.01 ||
		math.Abs(float64(v.Bytes)/12e9-1) > 0.02 {
		t.Errorf("%d flows, %v", v.Flows, v.Bytes)
	}
}

// TestCount checks that counted flows are as many as drawn ones, for each kind of workload and each built-in, and that
// one flow of each workload is drawn.
func TestCount(t *testing.T) {
	for _, name := range append(BuiltinNames(), workloadsFile) {
		all := mustLoad(t, name)
		counted, err := Reading{Count: true}.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if all.FlowCount() != len(all.Flows) || counted.FlowCount() != len(all.Flows) {
			t.Errorf("%s: %d flows, %d by their count, %d counted alone", name, len(all.Flows), all.FlowCount(),
				counted.FlowCount())
		}
		most := len(counted.Listed())
		for i := range counted.Workloads {
			w := &counted.Workloads[i]
			if w.View.Flows != all.Workloads[i].View.Flows {
				t.Errorf("%s: workload %s has %d flows, counted %d", name, w.Tag, all.Workloads[i].View.Flows, w.View.Flows)
			}
			most += max(len(w.flows), 1)
		}
		if len(counted.Flows) > most {
			t.Errorf("%s: %d flows were made to count them", name, len(counted.Flows))
		}
	}
}

// flowsOf returns a tag's flows, with the UDP source ports that a run gives them.
func flowsOf(t *testing.T, s *Scenario, tag string) (list []string) {
	t.Helper()
	for i := range s.Flows {
		f := &s.Flows[i]
		port, err := paths.Pin(s.Topology, f.Source, f.Destination, f.Extra().Via, paths.FirstPorts(s.salts(s.Seed)(i)))
		if err != nil {
			t.Fatal(err)
		}
		if f.Tag == tag {
			list = append(list, fmt.Sprint(f.Source, f.Destination, f.Size, f.Start, port))
		}
	}
	return list
}

// TestWorkloadsAreIndependent checks that a workload's flows, and their paths, do not depend on other workloads, and
// that another seed changes them.
func TestWorkloadsAreIndependent(t *testing.T) {
	const (
		base = "topology: {leafspine: {spines: 4, leaves: 4, hosts_per_leaf: 4}}\nduration: 1ms\n"
		a    = "  - {tag: a, poisson: {sizes: fbhadoop, load: 0.5, of: core}}\n"
		b    = "  - {tag: b, incast: {degree: 4, sizes: fbhadoop, interval: 20us, arrivals: poisson}}\n"
		c    = "  - {tag: c, permutation: {sizes: fbhadoop, rounds: 4, interval: 30us}}\n"
	)
	alone := map[string][]string{}
	for tag, item := range map[string]string{"a": a, "b": b, "c": c} {
		alone[tag] = flowsOf(t, parse(t, base+"workloads:\n"+item), tag)
		if len(alone[tag]) < 50 {
			t.Fatalf("%d flows of %s", len(alone[tag]), tag)
		}
	}
	for _, items := range []string{a + b, b + a, c + b + a} {
		s := parse(t, base+"flows: [{from: h0, to: h1, size: 1KB}]\nworkloads:\n"+items)
		for i := range s.Workloads {
			if tag := s.Workloads[i].Tag; !slices.Equal(flowsOf(t, s, tag), alone[tag]) {
				t.Errorf("in\n%sthe flows of %s are others than alone", items, tag)
			}
		}
	}
	twice := parse(t, base+"workloads:\n"+a+a)
	one, two := twice.Flows[:twice.Workloads[1].first], twice.Flows[twice.Workloads[1].first:]
	if one[0].Start == two[0].Start || one[0].Size == two[0].Size {
		t.Error("two workloads of one tag have the same flows")
	}
	s := parse(t, base+"workloads:\n"+a+b+c)
	again, err := s.WithSeed(2)
	if err != nil {
		t.Fatal(err)
	}
	set := parse(t, base+"workloads:\n"+a+b+c, "seed=2")
	back, err := again.WithSeed(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"a", "b", "c"} {
		if slices.Equal(flowsOf(t, again, tag), alone[tag]) {
			t.Errorf("seeds 1 and 2 give %s the same flows", tag)
		}
		if !slices.Equal(flowsOf(t, again, tag), flowsOf(t, set, tag)) || !slices.Equal(flowsOf(t, back, tag), alone[tag]) ||
			!slices.Equal(flowsOf(t, s, tag), alone[tag]) {
			t.Errorf("the flows of %s are not the seed's alone", tag)
		}
	}
}

// TestListedFlowsAreIndependent checks that a listed flow's ports, interfaces and jitter do not depend on flows of
// other tags or ends before it. Flows of one tag and pair differ from each other, and another seed changes them.
func TestListedFlowsAreIndependent(t *testing.T) {
	const base = "topology: {leafspine: {spines: 4, leaves: 4, hosts_per_leaf: 4, ports_per_host: 2}}\nduration: 1ms\nflows:\n"
	listed := []string{
		"  - {tag: a, from: h0..h3, to: h4, size: 1MB, count: 3, interval: 10us, jitter: 5us}\n",
		"  - {from: h1, to: [h9, h10, h11], size: 2MB, qps: 4}\n",
		"  - {from: h1, to: h9, size: 2MB, start: 4us}\n",
	}
	flows := func(text string, seed uint64) (all []string) {
		s, err := parse(t, base+text).WithSeed(seed)
		if err != nil {
			t.Fatal(err)
		}
		ports := s.QPPortsOf(seed)
		for i := range s.Flows {
			f := &s.Flows[i]
			if f.Size == 1000 { // what was put before
				continue
			}
			first, err := ports(i, 0)
			last, err2 := ports(i, 3)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			all = append(all, fmt.Sprint(f.Tag, f.Source, f.Destination, f.Size, f.Start, f.Pair, first, last))
		}
		return all
	}
	alone := flows(strings.Join(listed, ""), 1)
	distinct := map[string]bool{}
	for _, f := range alone {
		distinct[f[strings.LastIndex(f[:len(f)-1], "{{"):]] = true
	}
	if len(alone) != 16 || len(distinct) != 16 {
		t.Errorf("%d of %d flows have ports of their own", len(distinct), len(alone))
	}
	for _, before := range []string{
		"  - {tag: new, from: h1, to: h9, size: 1KB}\n", // the ends are those of listed flows
		"  - {from: h5, to: h9, size: 1KB}\n",           // and the tag
		"  - {tag: a, from: h5, to: h4, size: 1KB, jitter: 1us}\n",
	} {
		for place := range len(listed) + 1 {
			text := strings.Join(listed[:place], "") + before + strings.Join(listed[place:], "")
			if got := flows(text, 1); !slices.Equal(got, alone) {
				t.Errorf("%s at place %d changes other flows:\ngot  %v\nwant %v", before, place, got, alone)
			}
		}
	}
	if slices.Equal(flows(strings.Join(listed, ""), 2), alone) {
		t.Error("another seed has the same ports")
	}
}

// TestListedFlowsTakeInterfacesInTurn checks that flows of one sender, and one flow each of several senders, are spread
// over all interfaces evenly.
func TestListedFlowsTakeInterfacesInTurn(t *testing.T) {
	for _, flows := range []string{
		"{from: h0, to: h1, size: 1MB, count: 8, interval: 0s}", "{from: h0, to: h1..h8, size: 1MB}",
		"{from: h1..h8, to: h0, size: 1MB}",
	} {
		s := parse(t, "topology: {leafspine: {spines: 4, leaves: 4, hosts_per_leaf: 4, ports_per_host: 4}}\nduration: 1ms\nflows: ["+flows+"]\n")
		used := map[uint8]int{}
		for i := range s.Flows {
			used[s.Flows[i].Pair.From]++
		}
		if len(used) != 4 || used[0] != 2 || used[1] != 2 || used[2] != 2 {
			t.Errorf("%s: flows by interface %v, want 2 by each of four", flows, used)
		}
	}
}

// TestCore: the links between a rack and the rest, in any fabric.
func TestCore(t *testing.T) {
	s := parse(t, `
topology: {fattree: {k: 4, host_rate: 10Gbps, fabric_rate: 40Gbps}}
workloads: [{poisson: {size: 1KB, load: 1, of: core, flows: 1}}, {tag: two, poisson: {size: 1KB, load: 1, of: core, flows: 1, from: h0..h3}}]
duration: 1ms
`)
	// Eight edge switches with two uplinks each; h0 to h3 are at two of them.
	if a, b := s.Workloads[0].View.Capacity, s.Workloads[1].View.Capacity; a != 640e9 || b != 160e9 {
		t.Errorf("core %v, that of h0..h3 %v", a, b)
	}
	if n := s.Topology.NodeByName("h3").ID; s.Topology.Nodes[n].Kind != topologies.Host {
		t.Error("h3 is no host")
	}
}

// TestJitter checks that the seed delays the flows with a jitter, within it, and no others, and that another seed
// replaces the delay.
func TestJitter(t *testing.T) {
	s := parse(t, lab.Small, "flows.incast.jitter=1us", "flows.incast.start=5us")
	starts := func(s *Scenario, tag string) (all []vtime.Time) {
		for i := range s.Flows {
			if s.Flows[i].Tag == tag {
				all = append(all, s.Flows[i].Start)
			}
		}
		return all
	}
	other, err := s.WithSeed(9)
	if err != nil {
		t.Fatal(err)
	}
	again, err := other.WithSeed(1)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[vtime.Time]bool{}
	for i, start := range starts(s, "incast") {
		listed := vtime.Time(5+20*(i/6)) * vtime.Microsecond // six senders, two flows each, 20 us apart
		theirs := starts(other, "incast")[i]
		if start < listed || start >= listed+vtime.Microsecond || theirs < listed || theirs >= listed+vtime.Microsecond {
			t.Errorf("flow %d starts at %v and %v, listed at %v", i, start, theirs, listed)
		}
		if start != starts(again, "incast")[i] {
			t.Errorf("flow %d: seed 1 has %v, and again %v", i, start, starts(again, "incast")[i])
		}
		seen[start-listed], seen[theirs-listed] = true, true
	}
	if len(seen) != 24 {
		t.Errorf("%d delays of 24 flows", len(seen))
	}
	if o := starts(s, "other"); len(o) != 1 || o[0] != 0 {
		t.Errorf("a flow without jitter starts at %v", o)
	}
	if _, err := Parse("x.yaml", []byte(lab.Small), []string{"flows.incast.jitter=400us"}); err == nil ||
		!strings.Contains(err.Error(), "jitter 400us must be less than the run's duration") {
		t.Errorf("%v", err)
	}
}
