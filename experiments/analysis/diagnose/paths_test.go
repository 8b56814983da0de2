package diagnose

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
)

// forked is a fabric with two spines, whose flows may take two paths each way.
const forked = `
topology: {leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4, host_rate: 25Gbps, fabric_rate: 100Gbps}, delay: 1us}
switch: {buffer: 1MB, pfc: {xoff: 60KB, headroom: 40KB}, ecn: {kmin: 10KB, kmax: 50KB, pmax: 0.2}}
host: {ack_every: 8}
controllers: [dcqcn]
duration: 200us
sample: {flows: none}
`

// caseOf returns the case of an incident's files, with the flows in the fabric's file, and the setup that made them.
func caseOf(t *testing.T, x *incident, seed uint64) (c *Case, made *result) {
	t.Helper()
	var d Dumps
	for name, data := range x.files(t, seed) {
		if name != "fabric.yaml" {
			if err := d.Read(name, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	c = x.newCase(t, &d)
	own := x.newCase(t, &Dumps{})
	f := &Fault{}
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == x.kind }); i >= 0 {
		f = own.fault(&kinds[i], x.place, x.value)
	}
	made, err := own.run(t.Context(), f, seed)
	if err != nil {
		t.Fatal(err)
	}
	return c, made
}

// located returns the case with its paths fitted by runs with other paths.
func located(t *testing.T, c *Case) *Case {
	t.Helper()
	var runs []*result
	for seed := range uint64(2) {
		r, err := c.run(t.Context(), &Fault{}, 50+seed)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	c.locate(runs)
	return c
}

// TestFitPaths finds the paths that a run with another seed took, from its counters: those of flows that send different
// amounts, and of the messages of an all-reduce, with and without a fault.
func TestFitPaths(t *testing.T) {
	flows := []traffic{{"h0", "h4", 0}, {"h1", "h4", 0}, {"h2", "h5", 0}, {"h5", "h1", 0}, {"h6", "h7", 0}}
	wrong, all := 0, 0
	for seed, x := range []*incident{
		{fabric: forked, flows: flows},
		{fabric: forked, flows: flows, kind: resimulate.SlowNIC, place: "h5", value: 0.3},
		{fabric: forked, ring: 100_000},
		{fabric: forked, ring: 100_000, kind: resimulate.SlowLink, place: "leaf0:h2", value: 0.3},
	} {
		c, made := caseOf(t, x, uint64(seed))
		located(t, c)
		for i := range made.setup.Flows {
			k, _ := connectionOf(made.setup.Scenario, i)
			ports := made.setup.Flows[i].Ports
			w := &c.fit.senders[c.fit.at[k]].ways[c.fit.chosen[0][c.fit.at[k]]]
			there := paths.Forward(c.plan, k.source, k.end, ports)
			if all++; !slices.Equal(w.along[payload], there) {
				wrong++
			}
		}
	}
	// h0 and h1 send the same amount to h4, so either may take the other's path.
	if all < 100 || wrong > 2 {
		t.Errorf("the paths of %d of %d flows are wrong", wrong, all)
	}
}

// TestFitAround checks that flows keep their paths in runs with a link down, which changes the choices of the hash: the
// bytes of each port are those of a run without the fault.
func TestFitAround(t *testing.T) {
	x := &incident{fabric: forked, flows: []traffic{{"h0", "h4", 0}, {"h2", "h5", 0}, {"h5", "h1", 0}}}
	for seed := range uint64(8) {
		c, _ := caseOf(t, x, seed)
		located(t, c)
		if len(c.idle) == 0 {
			continue
		}
		at := slices.MinFunc(c.trunks(), func(a, b string) int { // the first without frames
			return cmp.Compare(c.idle[b], c.idle[a])
		})
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == LinkDown })
		down, err := c.run(t.Context(), c.fault(&kinds[i], at, 0), 1)
		if err != nil {
			t.Fatal(err)
		}
		sound, err := c.run(t.Context(), &Fault{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for n, node := range sound.fabric.Nodes {
			for p, port := range node.Ports {
				was, is := float64(port.Class[3].TxBytes), float64(down.fabric.Nodes[n].Ports[p].Class[3].TxBytes)
				if math.Abs(was-is) > 20_000+was/10 {
					t.Errorf("seed %d, %s down: %s sends %.0f B, and %.0f without the fault", seed, at, port.Name, is, was)
				}
			}
		}
		return
	}
	t.Error("no seed leaves a link without frames")
}

// TestIdleByChance computes the probability that two connections avoid a link of two spines: each takes it with 1/2 in
// each direction.
func TestIdleByChance(t *testing.T) {
	c, _ := newCase(t, forked, []traffic{{"h0", "h4", 0}, {"h5", "h1", 0}, {"h6", "h7", 0}}, &Dumps{})
	f := &fit{}
	for _, ends := range [][2]string{{"h0", "h4"}, {"h5", "h1"}, {"h6", "h7"}} {
		k := connection{0, c.plan.NodeByName(ends[0]).ID, c.plan.NodeByName(ends[1]).ID}
		f.senders = append(f.senders, sender{connection: k, bytes: [byteKinds]float64{1e6, 1e4}, ways: waysOf(c.plan, k, paths.Ports{})})
	}
	port, err := portAt(c.plan, "leaf0:spine1")
	if err != nil {
		t.Fatal(err)
	}
	link := c.plan.Ports[port].Link
	if p := f.idleByChance(c.plan, link); math.Abs(p-1./16) > 0.02 {
		t.Errorf("got %g, want 1/16", p)
	}
	f.senders[0].bytes[payload] = 10
	if p := f.idleByChance(c.plan, link); math.Abs(p-1./4) > 0.05 {
		t.Errorf("without the first: got %g, want 1/4", p)
	}
	c.idle = map[string]float64{"leaf0:spine1": rare / 10}
	want := 2 * spread * spread * math.Log(10)
	down, other := &Fault{}, &Fault{}
	down.Kind, down.Place, other.Kind, other.Place = LinkDown, "leaf0:spine1", LinkDown, "leaf0:spine0"
	if got := [2]float64{c.surprise(down), c.surprise(other)}; got[0] != 0 || math.Abs(got[1]-want) > 1e-12 {
		t.Errorf("got %v, want 0 and %g", got, want)
	}
}

// TestRuledOut checks that counters exclude the faults that contradict them, and never the true one.
func TestRuledOut(t *testing.T) {
	testenv.WholeScenario(t)
	out := func(c *Case, name resimulate.Kind, at string) bool {
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
		return c.ruledOut(c.fault(&kinds[i], at, kinds[i].values[0]))
	}
	x := &incident{fabric: forked, flows: []traffic{{"h0", "h4", 0}, {"h1", "h4", 0}, {"h2", "h4", 0}}}
	c, _ := caseOf(t, x, 1)
	var carrying []string
	for _, name := range c.trunks() {
		port, _ := portAt(c.plan, name)
		bytes, known := c.carried(port)
		if !known {
			t.Errorf("%s: not all bytes are known", name)
		}
		if bytes > 0 {
			carrying = append(carrying, name)
		}
		if out(c, LinkDown, name) != (bytes > floors[traffics]) || out(c, resimulate.LongCable, name) != (bytes == 0) {
			t.Errorf("%s carried %.0f B", name, bytes)
		}
	}
	if len(carrying) == 0 {
		t.Error("no link carries frames")
	}
	for _, want := range []struct {
		kind resimulate.Kind
		at   string
		out  bool
	}{
		{BitErrors, "leaf1:h4", true},
		{resimulate.Storm, "h0", true},
		{resimulate.SlowNIC, "h4", false},
		{NoECN, "leaf1", true},
		{NoECN, "leaf0", false},
		{Watchdog, "leaf0", true},
		{DeafNIC, "h0", false},
		{DeafNIC, "h4", true},
		{resimulate.Priority, "h0", true},
		{WrongXOFF, "leaf1", false},
		{resimulate.LongCable, "leaf1:h4", false},
		{resimulate.LongCable, "leaf1:h5", true},
		{NoPFC, "leaf1:h4", false},
		{NoPFC, "leaf1:h5", true},
	} {
		if got := out(c, want.kind, want.at); got != want.out {
			t.Errorf("%s at %s: ruled out %v, want %v", want.kind, want.at, got, want.out)
		}
	}
	for i := range kinds {
		at := map[resimulate.Kind]string{
			resimulate.Storm: "h4", resimulate.SlowNIC: "h4", resimulate.Priority: "h0", DeafNIC: "h0", NoPFC: "leaf0:h0", NoECN: "leaf1",
			WrongXOFF: "leaf1", Watchdog: "leaf0", resimulate.SlowLink: "leaf0:h0", BitErrors: "leaf1:h4", resimulate.LongCable: "leaf0:h0",
			LinkDown: "leaf0:spine0",
		}[kinds[i].name]
		x.kind, x.place, x.value = kinds[i].name, at, kinds[i].values[len(kinds[i].values)-1]
		if kinds[i].name == Watchdog {
			x.value = 4
		}
		c, _ := caseOf(t, x, 1)
		if out(c, x.kind, x.place) {
			t.Errorf("%s at %s is ruled out by its own counters", x.kind, x.place)
		}
	}
}
