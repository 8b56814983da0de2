package diagnose

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/analysis/expect"
	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/topologies"
)

var (
	random    = flag.Int("random", 0, "number of random incidents to diagnose")
	step      = flag.Uint64("step", 1, "difference between the seeds of random incidents; 3: one fabric")
	worse     = flag.String("dumps", "", "how the dumps of random incidents are worse: noise, pfc, switch")
	firstSeed = flag.Uint64("seed", 3000, "seed of the first random incident")
	evaluate  = flag.Bool("evaluate", false, "diagnose all incidents of the pack, not only some")
)

const (
	pack  = "../../../examples/incidents"
	truth = "../../../examples/incidents-truth.txt"
	// The incidents were made with another seed than diagnose uses, so that nothing random is equal.
	incidentSeed = 7
)

// pod is the fabric of most incidents.
const pod = `# The fabric as its operator configured it. It carries the traffic of the tests whose outputs are here.
topology:
  delay: 1us
  leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 4, host_rate: 25Gbps, fabric_rate: 100Gbps}
switch: {buffer: 1MB, pfc: {xoff: 60KB, headroom: 40KB, xoff_to_xon: 30KB}, ecn: {kmin: 10KB, kmax: 50KB, pmax: 0.2}}
host: {retransmit_timeout: 200us, ack_every: 8}
controllers: [dcqcn]
duration: 800us # the counters were reset this long before the dumps
sample: {interval: 100us, flows: none}
`

// ring is a fabric whose routes allow a cycle of queues.
const ring = `# The fabric as its operator configured it: a ring of five switches.
topology:
  delay: 1us
  rate: 25Gbps
  nodes: [{name: s0..s4, kind: switch}, {name: h0..h4, kind: host}]
  links:
    - {from: h0, to: s0}
    - {from: h1, to: s1}
    - {from: h2, to: s2}
    - {from: h3, to: s3}
    - {from: h4, to: s4}
    - {from: s0, to: [s1, s4], rate: 50Gbps}
    - {from: s2, to: [s1, s3], rate: 50Gbps}
    - {from: s3, to: s4, rate: 50Gbps}
switch: {buffer: 1MB, pfc: {xoff: 60KB, headroom: 40KB, xoff_to_xon: 30KB}, ecn: {kmin: 10KB, kmax: 50KB, pmax: 0.2}}
host: {retransmit_timeout: 200us, ack_every: 8}
controllers: [dcqcn]
duration: 1500us # the counters were reset this long before the dumps
sample: {interval: 100us, flows: none}
`

var (
	podFlows = []traffic{
		{"h0", "h4", 0}, {"h1", "h4", 0}, {"h2", "h4", 0}, {"h3", "h6", 0}, {"h5", "h1", 0}, {"h6", "h2", 0}, {"h7", "h3", 0},
	}
	ringFlows = []traffic{{"h0", "h2", 0}, {"h1", "h3", 0}, {"h2", "h4", 0}, {"h3", "h0", 0}, {"h4", "h1", 0}}
)

// incident is one incident: a fault, and the fabric that it hits.
type incident struct {
	kind   resimulate.Kind
	place  string
	value  float64
	fabric string
	flows  []traffic
	ring   int64 // bytes of an all-reduce of all hosts, in place of flows; 0: none
}

// incidents lists the pack. Values are not those that diagnose tries.
var incidents = []incident{
	{resimulate.Storm, "h6", 70, pod, podFlows, 0},
	{resimulate.Priority, "h1", 0, pod, podFlows, 0},
	{resimulate.LongCable, "leaf0:spine0", 12, pod, podFlows, 0},
	{DeafNIC, "h2", 0, pod, podFlows, 0},
	{NoPFC, "leaf1:spine0", 0, pod, podFlows, 0},
	{NoECN, "leaf1", 0, pod, podFlows, 0},
	{resimulate.SlowNIC, "h1", 0.35, pod, podFlows, 0},
	{resimulate.SlowLink, "leaf0:h3", 0.4, pod, podFlows, 0},
	{BitErrors, "leaf1:h5", 4e-7, pod, podFlows, 0},
	{Watchdog, "spine0", 6, pod, podFlows, 0},
	{resimulate.SlowNIC, "h2", 0.09, ring, ringFlows, 0},
	{Healthy, "", 0, pod, podFlows, 0},
	{resimulate.SlowLink, "leaf1:h6", 0.3, pod, nil, 256 << 10},
	{resimulate.Storm, "h2", 45, pod, nil, 256 << 10},
}

// folder returns the name of the folder of incident i.
func folder(i int) string { return fmt.Sprintf("%02d", i+1) }

// files runs an incident and returns its files.
func (x *incident) files(t *testing.T, seed uint64) map[string][]byte {
	t.Helper()
	var d Dumps
	c := x.newCase(t, &d)
	f := &Fault{}
	for i := range kinds {
		if kinds[i].name == x.kind {
			f = c.fault(&kinds[i], x.place, x.value)
		}
	}
	r, err := c.run(t.Context(), f, seed)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{"fabric.yaml": []byte(x.fabric)}
	for _, n := range r.fabric.Nodes {
		for name, data := range n.Files() {
			all[name] = data
		}
	}
	address := func(host string) int {
		for i := range c.plan.Nodes {
			if c.plan.Nodes[i].Name == host {
				return i
			}
		}
		return -1
	}
	if x.ring > 0 {
		l := &expect.Log{Collective: "allreduce", Nodes: c.ranks, Operations: 42}
		if sum := &r.summary.Collectives[0]; sum.Completed > 0 {
			took, alg := sum.Time.Mean, float64(x.ring)/sum.Time.Mean
			l.Rows = []expect.Row{{Size: x.ring, Time: took / 1e3, Alg: alg, Bus: alg * sum.Bus / sum.Algorithmic}}
		} else { // the program has not printed the row yet
			l.Rows = []expect.Row{{Size: x.ring, Time: c.window.Seconds() * 1e6}}
		}
		var b bytes.Buffer
		if err := l.Write(&b); err != nil {
			t.Fatal(err)
		}
		all["h0.nccl.txt"] = b.Bytes()
	}
	const message = 65536
	for i, flow := range x.flows {
		p := counters.Perftest{
			Local: c.plan.Nodes[address(flow.from)].Addr, Remote: c.plan.Nodes[address(flow.to)].Addr, Bytes: message,
			Iterations: r.delivered[i] / message,
		}
		p.Gigabits = float64(p.Iterations*message) * 8 / 1e9 / c.window.Seconds()
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		all[flow.from+"."+flow.to+".perftest.txt"] = b.Bytes()
	}
	return all
}

// newCase returns the case of a fabric with flows.
func newCase(t *testing.T, fabric string, flows []traffic, d *Dumps) (*Case, Source) {
	t.Helper()
	text := fabric + "flows:\n"
	for _, f := range flows {
		text += fmt.Sprintf("  - {tag: %s-%s, from: %s, to: %s, size: unbounded, expect_unfinished: true}\n", f.from, f.to, f.from, f.to)
	}
	c, source, err := NewCase("fabric.yaml", []byte(text), d, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c, source
}

// newCase returns the case of an incident's fabric with its traffic.
func (x *incident) newCase(t *testing.T, d *Dumps) *Case {
	t.Helper()
	if x.ring == 0 {
		c, _ := newCase(t, x.fabric, x.flows, d)
		return c
	}
	text := x.fabric + fmt.Sprintf("workloads: [{tag: nccl0, expect_unfinished: true, job: {iterations: 100, "+
		"steps: [{collective: {kind: allreduce, size: %dB}}]}}]\n", x.ring)
	c, _, err := NewCase("fabric.yaml", []byte(text), d, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.ranks = c.hosts()
	return c
}

// diagnosed diagnoses files, and returns the rank of the truth; 0: not among the explanations.
func (x *incident) diagnosed(t *testing.T, files map[string][]byte) (*Diagnosis, int) {
	t.Helper()
	var d Dumps
	for name, data := range files {
		if name != "fabric.yaml" {
			if err := d.Read(name, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, source, err := NewCase("fabric.yaml", files["fabric.yaml"], &d, 0)
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.Diagnose(t.Context(), source, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return found, 1 + slices.IndexFunc(found.Explanations, func(e Explanation) bool { return e.Kind == x.kind && e.Place == x.place })
}

// TestPack checks that each incident has the dumps of its own fabric and traffic, and no others.
func TestPack(t *testing.T) {
	for i := range incidents {
		x := &incidents[i]
		want := []string{"fabric.yaml"}
		for _, n := range x.newCase(t, &Dumps{}).plan.Nodes {
			if n.Kind == topologies.Host {
				want = append(want, n.Name+".ethtool.txt")
			} else {
				want = append(want, n.Name+".counters_db.json", n.Name+".pfc.txt")
			}
		}
		for _, f := range x.flows {
			want = append(want, f.from+"."+f.to+".perftest.txt")
		}
		if x.ring > 0 {
			want = append(want, "h0.nccl.txt")
		}
		entries, err := os.ReadDir(filepath.Join(pack, folder(i)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, entry := range entries {
			got = append(got, entry.Name())
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s has the files %q, want %q", folder(i), got, want)
		}
	}
}

// TestIncidents holds the files of the pack to what the generator makes, and diagnoses some or, with -evaluate, all.
func TestIncidents(t *testing.T) {
	testenv.WholeScenario(t)
	var all strings.Builder
	all.WriteString("incident  kind             place         value\n")
	first, third := 0, 0
	for i := range incidents {
		x := &incidents[i]
		value := "-"
		if x.value != 0 {
			value = fmt.Sprint(x.value)
		}
		fmt.Fprintf(&all, "%-8s  %-15s  %-12s  %s\n", folder(i), x.kind, cmp.Or(x.place, "-"), value)
		some := i == 0 || i == 4
		if !some && !*evaluate && !*testenv.Update {
			continue
		}
		files := x.files(t, incidentSeed)
		if *testenv.Update {
			if err := os.RemoveAll(filepath.Join(pack, folder(i))); err != nil {
				t.Fatal(err)
			}
		}
		for name, data := range files {
			path := filepath.Join(pack, folder(i), name)
			if *testenv.Update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if old, err := os.ReadFile(path); err != nil || !bytes.Equal(old, data) {
				t.Errorf("%s differs from what the generator makes: %v (-update writes it)", path, err)
			}
		}
		if !some && !*evaluate {
			continue
		}
		d, rank := x.diagnosed(t, files)
		t.Logf("%s %s %s: rank %d of %d runs; healthy %.3f, first: %s %.3f", folder(i), x.kind, x.place, rank, d.Runs, d.Healthy,
			d.Explanations[0].Text, d.Explanations[0].Distance)
		for _, e := range d.Explanations[:min(3, len(d.Explanations))] {
			t.Logf("   %s: %.3f %.2f", e.Text, e.Distance, e.Likelihood)
		}
		if rank > 0 {
			e := d.Explanations[rank-1]
			t.Logf("   truth: %s: %.3f", e.Text, e.Distance)
		}
		if rank == 1 {
			first++
		} else if some {
			t.Errorf("%s: got %q first, want %s at %s", folder(i), d.Explanations[0].Text, x.kind, x.place)
		}
		if rank > 0 && rank <= 3 {
			third++
		}
	}
	t.Logf("top-1 %d, top-3 %d", first, third)
	if *testenv.Update {
		if err := os.WriteFile(truth, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old, err := os.ReadFile(truth); err != nil || string(old) != all.String() {
		t.Errorf("%s differs from the list of incidents (-update writes it)", truth)
	}
}
