package diagnose

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// small is a star with an incast of two, which takes no time to run.
const small = `
topology: {star: {hosts: 3}, rate: 10Gbps, delay: 1us}
switch: {buffer: 1MB, pfc: {xoff: 20KB, headroom: 20KB}}
controllers: [none]
duration: 100us
sample: {flows: none}
`

var smallFlows = []traffic{{"h0", "h2", 0}, {"h1", "h2", 0}}

// dumpsOf returns the dumps of the small fabric under a fault.
func dumpsOf(t *testing.T, x *incident) map[string][]byte {
	t.Helper()
	x.fabric, x.flows = small, smallFlows
	return x.files(t, incidentSeed)
}

// TestDistance computes the distance of a port by hand.
func TestDistance(t *testing.T) {
	plan := &topologies.Plan{Nodes: []topologies.Node{{Name: "s0", Kind: topologies.Switch}}}
	var d Dumps
	for name, text := range map[string]string{
		"s0.pfc.txt": "Port Rx PFC0 PFC1 PFC2 PFC3 PFC4 PFC5 PFC6 PFC7\ns0-eth1 0 0 0 29 0 0 0 0\n",
	} {
		if err := d.Read(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	given := d.Fabric.Node("s0").Ports[0]
	c := &Case{plan: plan, pairs: []pair{{given, &plan.Nodes[0], 0}}}
	run := func(rx, tx uint64) *counters.Fabric {
		p := &counters.Port{Name: "s0-eth1"}
		p.Class[3].RxPause, p.Class[3].TxPause = rx, tx
		return &counters.Fabric{Nodes: []*counters.Node{{Name: "s0", Ports: []*counters.Port{p}}}}
	}
	// The floor is 3: (29+3)/(13+3) is 2, and ln 2 / ln 8 is 1/3. The dump has no PAUSE sent.
	for _, x := range []struct {
		runs []*counters.Fabric
		want float64
	}{
		{[]*counters.Fabric{run(29, 1000)}, 0},
		{[]*counters.Fabric{run(13, 0)}, 1.0 / 3},
		{[]*counters.Fabric{run(0, 0)}, 1},
		{[]*counters.Fabric{run(3, 0), run(23, 0)}, 1.0 / 3},
	} {
		if _, got := c.compare(x.runs...); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("got %g, want %g", got, x.want)
		}
	}
	// Chance makes a difference of 1/3 too, between 5 and 13 and 5 (8 and 16).
	c.measureNoise([]*counters.Fabric{run(13, 0), run(5, 0)})
	if _, got := c.compare(run(13, 0)); got > 1e-6 {
		t.Errorf("with noise: got %g, want 0", got)
	}
	if _, got := c.compare(run(1, 0)); math.Abs(got-2.0/3) > 1e-9 {
		t.Errorf("with noise: got %g, want 2/3", got)
	}
}

// TestJobs checks that the diagnosis does not depend on the number of jobs, and that no fault runs twice.
func TestJobs(t *testing.T) {
	testenv.WholeScenario(t)
	files := dumpsOf(t, &incident{kind: NoECN, place: "s0"})
	var all []*Diagnosis
	for _, jobs := range []int{1, 3} {
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
		s := &search{c: c, o: Options{Jobs: jobs}, seen: map[string]bool{}}
		x := &Fault{}
		if err := s.try(t.Context(), []*Fault{x, x}); err != nil || s.runs != 1 {
			t.Errorf("a fault twice: %d runs, %v", s.runs, err)
		}
		runs := 0
		found, err := c.Diagnose(t.Context(), source, Options{Jobs: jobs, Progress: func(int, int) { runs++ }})
		if err != nil {
			t.Fatal(err)
		}
		if runs != found.Runs || source != FromTests {
			t.Errorf("%d runs, and %d of them counted; traffic from %s", runs, found.Runs, source)
		}
		all = append(all, found)
	}
	if !reflect.DeepEqual(all[0], all[1]) {
		t.Errorf("with 1 job\n%+v\nwith 3\n%+v", all[0], all[1])
	}
}

// TestPlaces finds ports by name, and by order if they have other names.
func TestPlaces(t *testing.T) {
	table := func(ports ...string) string {
		return "Port Rx PFC0 PFC1 PFC2 PFC3 PFC4 PFC5 PFC6 PFC7\n" + strings.Join(ports, " 1 1 1 1 1 1 1 1\n") + " 1 1 1 1 1 1 1 1\n"
	}
	for _, x := range []struct {
		file, text, want string
		index            int // of the last port
	}{
		{"s0.txt", table("Ethernet8", "Ethernet0", "Ethernet12"), "", 2},
		{"s0.txt", table("s0-eth3", "s0-eth2"), "", 2},
		{"s0.txt", table("Ethernet8"), "s0 has 1 ports in the dumps and 3 in the topology", 0},
		{"s0.txt", table("s0-eth1", "Ethernet8"), "s0 has a port Ethernet8 in the dumps", 0},
		{"s9.txt", table("Ethernet8"), "the dumps have a node s9", 0},
	} {
		var d Dumps
		if err := d.Read(x.file, []byte(x.text)); err != nil {
			t.Fatal(err)
		}
		c, _, err := NewCase("fabric.yaml", []byte(small+"flows: [{from: h0, to: h2, size: 1KB}]\n"), &d, 0)
		switch {
		case x.want == "" && err != nil, x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: got %v, want %q", x.text, err, x.want)
		case err == nil && c.pairs[len(c.pairs)-1].index != x.index:
			t.Errorf("%s: got port %d, want %d", x.text, c.pairs[len(c.pairs)-1].index, x.index)
		}
	}
}

// TestTraffic takes flows from the file, from perftest, or from bytes.
func TestTraffic(t *testing.T) {
	files := dumpsOf(t, &incident{kind: Healthy})
	read := func(tests bool) *Dumps {
		var d Dumps
		for name, data := range files {
			if name != "fabric.yaml" && (tests || !strings.Contains(name, "perftest")) {
				if err := d.Read(name, data); err != nil {
					t.Fatal(err)
				}
			}
		}
		return &d
	}
	c, source, err := NewCase("f.yaml", []byte(small), read(true), 0)
	if err != nil || source != FromTests || !reflect.DeepEqual(c.flows, smallFlows) {
		t.Errorf("perftest: got %v from %s, %v", c.flows, source, err)
	}
	c, source, err = NewCase("f.yaml", []byte(small), read(false), 0)
	if err != nil || source != FromBytes || len(c.flows) != len(smallFlows) {
		t.Fatalf("bytes: %v from %s, %v", c.flows, source, err)
	}
	sum := int64(0)
	for i, f := range c.flows {
		sum += f.bytes
		if f.from != smallFlows[i].from || f.to != smallFlows[i].to {
			t.Errorf("bytes: got %v", c.flows)
		}
	}
	if sum < 100_000 || sum > 125_000 { // 10 Gbit/s for 100 us are 125 KB
		t.Errorf("bytes: %d in %v", sum, c.flows)
	}
	own := []byte(small + "flows: [{from: h0, to: h2, size: 1KB}]\n")
	if _, source, err = NewCase("f.yaml", own, read(true), 0); err != nil || source != FromFile {
		t.Errorf("file: from %s, %v", source, err)
	}
	// A topology alone has no time.
	star := []byte("star: {hosts: 3}\nrate: 10Gbps\n")
	if _, _, err = NewCase("f.yaml", star, read(true), 0); err == nil || !strings.Contains(err.Error(), "(--window 10ms)") {
		t.Errorf("a topology: %v", err)
	}
	if c, _, err = NewCase("f.yaml", star, read(true), 100*vtime.Microsecond); err != nil || c.window != 100*vtime.Microsecond {
		t.Errorf("a topology and a window: %v", err)
	}
}

// TestFaults checks that faults that the language of scenarios does not have take effect.
func TestFaults(t *testing.T) {
	c, _ := newCase(t, small, smallFlows, &Dumps{})
	healthy, err := c.run(t.Context(), &Fault{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := healthy.fabric
	sent := func(f *counters.Fabric) uint64 { return f.Node("h0").Ports[0].Class[3].RxPause }
	if sent(h) == 0 {
		t.Fatal("the healthy fabric never pauses h0")
	}
	run := func(name string, at string, value float64) *counters.Fabric {
		for i := range kinds {
			if string(kinds[i].name) == name {
				r, err := c.run(t.Context(), c.fault(&kinds[i], at, value), 1)
				if err != nil {
					t.Fatal(err)
				}
				return r.fabric
			}
		}
		t.Fatalf("no kind %s", name)
		return nil
	}
	if f := run(string(NoPFC), "s0:h0", 0); sent(f) != 0 || f.Node("h1").Ports[0].Class[3].RxPause == 0 {
		t.Error("PFC off at s0:h0 did not stop the PAUSEs to h0 alone")
	}
	if f := run(string(WrongXOFF), "s0", 10); sent(f) != 0 {
		t.Error("an XOFF of ten times as much still pauses")
	}
	if f := run("priority", "h1", 0); f.Node("h1").Ports[0].Class[3].TxBytes != 0 || f.Node("h1").Ports[0].Class[0].TxBytes == 0 {
		t.Error("h1 sends its data in the lossless priority")
	}
}
