package bound

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/vtime"
)

func findBound(t *testing.T, s *scenario.Scenario) *Bound {
	t.Helper()
	b, err := Find(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFluidPaths checks that each link of a run carries, in each direction, exactly the frames of the flows whose
// fluids use it, and the ACKs of the flows whose ACKs return over it.
func TestFluidPaths(t *testing.T) {
	testenv.WholeScenario(t)
	for _, c := range []struct{ topology, flows string }{
		{
			"{delay: 1us, leafspine: {spines: 4, leaves: 3, hosts_per_leaf: 3, host_rate: 10Gbps, fabric_rate: 40Gbps}}",
			"  - {tag: pinned, from: h0, to: h8, size: 30KB, via: [spine2], count: 3, interval: 200us}\n",
		},
		{"{rate: 25Gbps, delay: 1us, fattree: {k: 4}}", ""},
	} {
		for _, seed := range []uint64{1, 7} {
			s, err := parse(t, `
name: paths
topology: `+c.topology+`
flows:
`+c.flows+`
  - {from: h0..h2, to: h3..h7, size: 2500, count: 3, interval: 150us}
  - {from: h7, to: h0, size: 100KB, start: 1ms}
workloads:
  - {tag: drawn, poisson: {size: 5KB, load: 0.05, of: hosts, flows: 60}}
duration: 20ms
drain: true
`).WithSeed(seed)
			if err != nil {
				t.Fatal(err)
			}
			// links.csv counts bytes of frames: on Ethernet 24 fewer than they take of the line.
			frames, sent := make([]int64, len(s.Topology.Ports)), make([]int64, len(s.Topology.Ports))
			used := map[string]bool{}
			portsOf := s.QPPortsOf(s.Seed)
			for i := range s.Flows {
				var f fluidFlow
				if err := f.trace(s, portsOf, i); err != nil {
					t.Fatal(err)
				}
				ports, err := portsOf(i, 0)
				if err != nil {
					t.Fatal(err)
				}
				used[fmt.Sprint(s.Flows[i].Source, s.Flows[i].Destination, f.path)] = true
				packets := (int64(s.Flows[i].Size) + int64(s.Topology.MTU) - 1) / int64(s.Topology.MTU)
				for _, id := range f.path {
					frames[id] += packets
					sent[id] += f.line - packets*24
				}
				for _, id := range paths.Forward(s.Topology, s.Flows[i].Destination, s.Flows[i].Source, ports) {
					frames[id] += packets
					sent[id] += packets * wire.AckLen
				}
			}
			if len(used) < 20 {
				t.Errorf("%d paths", len(used))
			}
			sum, dir := run(t, s, "none")
			if sum.PFC.Pauses > 0 || sum.CNPs > 0 {
				t.Fatalf("frames beside data and ACKs: %+v", sum.PFC)
			}
			rows := testenv.ReadTable(t, filepath.Join(dir, "links.csv")).Rows
			if len(rows) != len(frames) {
				t.Fatalf("%d rows for %d ports", len(rows), len(frames))
			}
			for _, row := range rows {
				id := topologyPort(t, s, row["node"], row["port"])
				if got := testenv.Number(t, row, "tx_frames"); got != frames[id] {
					t.Errorf("seed %d: %s %s sent %d frames, by the fluids' paths %d", seed, row["node"], row["port"], got, frames[id])
				}
				if got := testenv.Number(t, row, "tx_bytes"); got != sent[id] {
					t.Errorf("seed %d: %s %s sent %d bytes, by the fluids' paths %d", seed, row["node"], row["port"], got, sent[id])
				}
			}
		}
	}
}

func topologyPort(t *testing.T, s *scenario.Scenario, node, port string) int {
	t.Helper()
	for i := range s.Topology.Ports {
		if p := &s.Topology.Ports[i]; p.Name == port && s.Topology.Nodes[p.Node].Name == node {
			return i
		}
	}
	t.Fatalf("no port %s of %s", port, node)
	return 0
}

// TestBoundByHand checks flows on a star under two disciplines, computed from the frames' sizes and the links' rates.
func TestBoundByHand(t *testing.T) {
	const delay = vtime.Microsecond
	s := parse(t, `
name: hand
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
flows:
  - {from: h0, to: h3, size: 100KB}
  - {from: h1, to: h3, size: 200KB}
  - {tag: alone, from: h2, to: h1, size: 10001, start: 3us}
  - {tag: constant, from: h2, to: h0, size: 1MB, start: 1ms, constant_rate: 10Gbps}
  - {tag: on, from: h3, to: h2, size: unbounded, start: 2ms}
duration: 10ms
`)
	alone := func(size int64) vtime.Time { return lab.ByHand("ethernet", 1000, size, []int64{40, 40}, delay) }
	// On Ethernet a packet of 1000 B takes 1082 B, the first one 16 more: 200 ps a byte at 40 Gb/s.
	short, long := vtime.Time(100*1082+16)*200, vtime.Time(200*1082+16)*200
	constant := vtime.Time(999*1082+16) * 200 // until its last packet begins
	want := map[string][]vtime.Time{
		// Halves until the short one is done; in all they take the link for short+long.
		"max-min": {alone(100_000) + short, alone(200_000) + short, alone(10_001), alone(1_000_000) + 3*constant},
		// The long one waits for the short one.
		"shortest-first": {alone(100_000), alone(200_000) + short, alone(10_001), alone(1_000_000) + 3*constant},
	}
	b := findBound(t, s)
	for _, d := range b.Disciplines {
		for i, fct := range want[d.Name] {
			if got := d.flows[i].Times; got.FCT != fct || got.Ideal != alone(int64(s.Flows[i].Size)) {
				t.Errorf("%s, flow %d: %v, ideal %v; by hand %v", d.Name, i, got.FCT, got.Ideal, fct)
			}
		}
		if d.Count != 5 || d.Completed != 4 {
			t.Errorf("%s: %d of %d flows", d.Name, d.Completed, d.Count)
		}
	}
	// The proof knows nothing of constant rates, and finds the order of the two on the link to h3. The first frame gets
	// there in its time on h0's link and a delay.
	got := b.MeanFCT
	least := float64(alone(100_000)+alone(200_000)+short+alone(10_001)+alone(1_000_000)) / 4 / float64(vtime.Nanosecond)
	if got > least+0.001 || got < least-100 || long < short {
		t.Errorf("no mean FCT below %v ns; by hand %v", got, least)
	}

	// A run that is cut off, and one that goes on until all have ended.
	for _, c := range []struct {
		sets      []string
		completed int
	}{{[]string{"duration=1100us"}, 3}, {[]string{"duration=1100us", "drain=true"}, 4}} {
		cut := parse(t, `
name: cut
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
flows:
  - {from: h0, to: h3, size: 100KB}
  - {from: h1, to: h3, size: 200KB}
  - {from: h2, to: h1, size: 10001, start: 3us}
  - {from: h2, to: h0, size: 1MB, start: 1ms}
duration: 2ms
`, c.sets...)
		if d := findBound(t, cut).Disciplines[0]; d.Completed != c.completed {
			t.Errorf("%v: %d flows ended, not %d", c.sets, d.Completed, c.completed)
		}
	}
}

// TestConstantRateAlone checks that a single flow of a constant rate takes the same time as a fluid and in a run, if
// its packets are of one size.
func TestConstantRateAlone(t *testing.T) {
	s := parse(t, `
name: constant
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 3}}
flows:
  - {from: h0, to: h2, size: 1KB, constant_rate: 1Mbps}
  - {from: h0, to: h1, size: 2KB, constant_rate: 10Gbps, start: 1ms}
  - {from: h0, to: h1, size: 100KB, constant_rate: 10Gbps, start: 2ms}
  - {from: h0, to: h2, size: 100KB, constant_rate: 40Gbps, start: 3ms}
  - {from: h0, to: h2, size: 1KB, start: 4ms}
duration: 4500us
`)
	_, dir := run(t, s, "none")
	for _, d := range findBound(t, s).Disciplines {
		for i, row := range testenv.ReadTable(t, filepath.Join(dir, "flows.csv")).Rows {
			took, want := float64(d.flows[i].Times.FCT)/float64(vtime.Nanosecond), float64(testenv.Number(t, row, "fct_ns"))
			if math.Abs(took-want) > 14 { // the first packet's 16 B more at 10Gbps are 13 ns
				t.Errorf("%s: flow %d takes %v ns, in a run %v", d.Name, i, took, want)
			}
		}
	}
}

// TestBoundHolds checks that no mean FCT of a run or a discipline is below the proven bound, and that no flow is faster
// than alone.
func TestBoundHolds(t *testing.T) {
	testenv.WholeScenario(t)
	for _, c := range []struct{ name, controller, set string }{
		{"incast", "none", "duration=5ms"},
		{"dcon-interval", "dcqcn", "flows.long.size=2MB"},
		{"dcon-websearch", "dcon", "workloads.websearch.poisson.flows=100"},
		{"dcon-datamining", "swift", "workloads.datamining.poisson.flows=100"},
	} {
		s, err := scenario.Load(c.name, []string{c.set, "drain=true"})
		if err != nil {
			t.Fatal(err)
		}
		b := findBound(t, s)
		for _, d := range b.Disciplines {
			if d.FCT.Mean < b.MeanFCT {
				t.Errorf("%s: a mean of %v ns by %s, none below %v", c.name, d.FCT.Mean, d.Name, b.MeanFCT)
			}
			for i := range d.flows {
				if d.flows[i].Times.FCT < d.flows[i].Times.Ideal {
					t.Errorf("%s, %s: flow %d takes %v, alone %v", c.name, d.Name, i, d.flows[i].Times.FCT, d.flows[i].Times.Ideal)
				}
			}
		}
		if sum, _ := run(t, s, c.controller); sum.Flows.FCT.Mean < b.MeanFCT || b.MeanFCT == 0 {
			t.Errorf("%s: a mean of %v ns in a run, none below %v", c.name, sum.Flows.FCT.Mean, b.MeanFCT)
		}
	}
}

// TestBoundFiles checks that the files have the form of a run's, are equal each time, and differ for another seed.
func TestBoundFiles(t *testing.T) {
	s, err := scenario.Reading{Quick: true}.Load("dcon-datamining")
	if err != nil {
		t.Fatal(err)
	}
	written := func(s *scenario.Scenario) (content string) {
		b, dir := findBound(t, s), t.TempDir()
		paths, err := b.Write(dir, false)
		if err != nil || len(paths) != 2 {
			t.Fatal(paths, err)
		}
		for i, d := range b.Disciplines {
			if want := filepath.Join(dir, s.Name, d.Name, "flows.csv"); paths[i] != want {
				t.Errorf("%s, not %s", paths[i], want)
			}
			data, err := os.ReadFile(paths[i])
			if err != nil {
				t.Fatal(err)
			}
			head, rows, _ := strings.Cut(string(data), "\n")
			if head != rundir.Flows.Header() || strings.Count(rows, "\n") != len(s.Flows) {
				t.Errorf("%s: %d rows below %s", paths[i], strings.Count(rows, "\n"), head)
			}
			content += rows
		}
		summary, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		return content + string(summary)
	}
	once := written(s)
	if written(s) != once {
		t.Error("the same scenario, other times")
	}
	other, err := s.WithSeed(2)
	if err != nil {
		t.Fatal(err)
	}
	if written(other) == once {
		t.Error("another seed, the same times")
	}
}

// TestBoundWithoutFaults checks the note that faults are left out.
func TestBoundWithoutFaults(t *testing.T) {
	s, err := scenario.Load("link-failure", nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := findBound(t, s); len(b.Notes) != 1 || !strings.Contains(b.Notes[0], "without faults") {
		t.Errorf("notes: %q", b.Notes)
	}
}

// TestBoundOverIPv6 checks that a bound of packets over IPv6 is above that over IPv4, and names the scenario's variants
// that it does not cover.
func TestBoundOverIPv6(t *testing.T) {
	const text = "topology: {star: {hosts: 2}, rate: 40Gbps, delay: 1us}\nhost: {ip: ipv6}\n" +
		"flows: [{from: h0, to: h1, size: 1MB}]\nduration: 1ms\n" +
		"controllers: [none, {name: four, cc: none, host: {ip: ipv4}}, {name: other, cc: none, host: {ack_every: 2}}]\n"
	over6, over4 := findBound(t, parse(t, text)), findBound(t,
		parse(t, strings.Replace(text, "host: {ip: ipv6}", "host: {ip: ipv4}", 1)))
	if len(over6.Notes) != 1 || !strings.Contains(over6.Notes[0], "as in four, they are shorter") ||
		len(over4.Notes) != 0 {
		t.Errorf("over IPv6 %q, over IPv4 %q", over6.Notes, over4.Notes)
	}
	if over6.MeanFCT <= over4.MeanFCT {
		t.Errorf("over IPv6 %v ns, over IPv4 %v", over6.MeanFCT, over4.MeanFCT)
	}
}

// TestBoundOfQPs checks two flows of two QPs each over two spines. Each spine's links carry half of a flow's line bytes
// L; a flow alone takes L/2 at their rate, and its ideal FCT in total. Together, each QP shares its links with a QP of
// the other flow: L at the rate, L/2 later. With the shortest first, one of them is served as if it were alone.
func TestBoundOfQPs(t *testing.T) {
	const fabric = "topology: {delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2, host_rate: 100Gbps, " +
		"fabric_rate: 25Gbps}}\ncontrollers: [none]\nduration: 20ms\ndrain: true\nflows:\n"
	const flow = "  - {from: h0, to: h2, size: 1MB, qps: {count: 2, via: [spine0, spine1]}}\n"
	const other = "  - {from: h1, to: h3, size: 1MB, qps: {count: 2, via: [spine0, spine1]}}\n"
	single := findBound(t, parse(t, fabric+flow))
	for _, d := range single.Disciplines {
		if d.Slowdown.Mean != 1 {
			t.Errorf("%s: alone a slowdown of %v", d.Name, d.Slowdown.Mean)
		}
	}
	one := single.Disciplines[0].FCT.Mean
	// ns: 500 packets of 1000 B of payload, 58 of headers and ICRC, 24 of FCS, preamble and gap, at 25 Gb/s
	const half = 500 * 1082 * 8 / 25.0
	if one < half || one > half+20_000 {
		t.Errorf("alone it takes %v ns, and its halves %v", one, half)
	}
	both := findBound(t, parse(t, fabric+flow+other))
	for i, want := range []float64{one + half, one + half/2} {
		if got := both.Disciplines[i].FCT.Mean; math.Abs(got-want) > half/1000 {
			t.Errorf("%s: a mean of %v ns, want %v", both.Disciplines[i].Name, got, want)
		}
	}
	if both.MeanFCT <= 0 || both.MeanFCT > both.Disciplines[1].FCT.Mean {
		t.Errorf("least mean %v ns, and one that is reached %v", both.MeanFCT, both.Disciplines[1].FCT.Mean)
	}
	same := findBound(t, parse(t, fabric+strings.ReplaceAll(flow+other, "}}\n", "}, weight: 3, priority: 4}\n")))
	if same.MeanFCT != both.MeanFCT || len(same.Notes) != 1 ||
		!strings.Contains(same.Notes[0], "ignore flows' weights and priorities") {
		t.Errorf("least mean %v ns with weights and priorities, %v without; notes %q", same.MeanFCT, both.MeanFCT, same.Notes)
	}
	// At a constant rate of 2 Gb/s each of two QPs sends 500 packets at 1 Gb/s, the last of which goes as fast as any;
	// one byte is one packet of one QP.
	paced := findBound(t, parse(t, fabric+strings.Replace(flow, "}}", "}, constant_rate: 2Gbps}", 1)))
	if got := paced.Disciplines[0].FCT.Mean; math.Abs(got-499*1082*8) > 20_000 {
		t.Errorf("paced it takes %v ns", got)
	}
	tiny := findBound(t, parse(t, fabric+strings.Replace(strings.Replace(flow, "}}", "}, constant_rate: 2Gbps}", 1), "1MB",
		"1B", 1)))
	if got := tiny.Disciplines[0].Slowdown.Mean; math.Abs(got-1) > 0.001 {
		t.Errorf("one byte has a slowdown of %v", got)
	}
	waits := findBound(t, parse(t, strings.Replace(fabric, "flows:\n", "", 1)+
		"workloads: [{qps: 2, collective: {kind: allreduce, algorithm: ring, size: 100KB}}]\n"))
	if len(waits.Collectives) != 1 || waits.Collectives[0].Time <= 0 {
		t.Errorf("%+v", waits.Collectives)
	}
}
