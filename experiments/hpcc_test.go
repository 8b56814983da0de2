package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// imported is a star of HPCC's simulator with a switch in the midst of the hosts, and flows of its kinds.
const (
	hpccTopology = "5 1 4\n2\n0 2 40Gbps 1000ns 0\n1 2 40Gbps 1000ns 0\n3 2 40Gbps 0.000002 0\n4 2 100Gbps 1us 0\n"
	hpccFlowFile = "4\n0 3 3 100 1500 2\n4 3 3 200 300000 2.000001\n1 3 3 4791 300000 2.000001\n0 4 3 100 1 2.0000100005\n\nFirst line: # of flows\n"
	hpccScenario = `
topology: {name: star, framing: ns3, hpcc: topo.txt}
switch: {pfc: {xoff: 50KB}}
controllers: [none]
workloads:
  - {hpcc: {file: flow.txt, origin: 2s}}
duration: 1ms
drain: true
`
)

// hpccFolder is a folder with the simulator's files, and a scenario beside them.
func hpccFolder(t testing.TB, topology, flows, scenario string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"topo.txt": topology, "flow.txt": flows, "scenario.yaml": scenario} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "scenario.yaml")
}

// TestHPCCFlows: flows between nodes by number, tagged by their ports, on the clock of the run.
func TestHPCCFlows(t *testing.T) {
	s := mustLoad(t, hpccFolder(t, hpccTopology, hpccFlowFile, hpccScenario))
	var got []string
	for i := range s.Flows {
		f := &s.Flows[i]
		got = append(got, fmt.Sprintf("%s %s %s %d %d", f.Tag, s.Topology.Nodes[f.Source].Name, s.Topology.Nodes[f.Destination].Name, f.Size, f.Start))
	}
	const want = "normal h0 h3 1500 0\nincast h4 h3 300000 1000000\nport4791 h1 h3 300000 1000000\nnormal h0 h4 1 10000500"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("flows\n%s\nwant\n%s", text, want)
	}
	tagged := mustLoad(t, hpccFolder(t, hpccTopology, hpccFlowFile, strings.Replace(hpccScenario, "{hpcc: {file: flow.txt, origin: 2s}}", "{tag: mine, hpcc: flow.txt}", 1)),
		"duration=3s")
	if f := tagged.Flows[1]; f.Tag != "mine" || f.Start != 2*vtime.Second+vtime.Microsecond {
		t.Errorf("%+v", f)
	}
}

func TestHPCCFlowProblems(t *testing.T) {
	for _, c := range []struct{ name, flows, want string }{
		{"empty", "", "flow.txt: the file is empty"},
		{"short", "2\n0 3 3 100 1500 2\n1 3 3\n", `flow.txt:3:5: the file ends here, and a destination port is missing`},
		{"switch", "1 0 2 3 100 1500 2", "flow.txt:1:5: node 2 is the switch s2: flows run between hosts"},
		{"unknown", "1 0 7 3 100 1500 2", "flow.txt:1:5: destination of a flow 7 is outside 0..4"},
		{"group", "1 0 1 2 100 1500 2", "flow.txt:1:7: priority group 2: every flow here is of host.data_priority, 3"},
		{"early", "1 0 1 3 100 1500 1.9", "flow.txt:1:18: 1.9 s is before the origin, 2s"},
		{"late", "1 0 1 3 100 1500 2.001", "flow.txt:1:18: start 1ms is not before the run's end (duration 1ms)"},
		{"itself", "1 0 0 3 100 1500 2", "flow.txt:1:3: h0 would send to itself"},
		{"size", "1 0 1 3 100 0 2", "flow.txt:1:13: size in bytes 0 is outside 1..1099511627776"},
		{"time", "1 0 1 3 100 5 2us", "flow.txt:1:15: \"2us\" is not a time in seconds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := hpccFolder(t, hpccTopology, c.flows, hpccScenario)
			s, err := LoadScenario(path, nil)
			if err == nil || s != nil {
				t.Fatal("accepted")
			}
			first, _, _ := strings.Cut(err.Error(), "\n")
			if got := strings.TrimPrefix(first, filepath.Dir(path)+"/"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestHPCCExport holds fct.txt and pfc.txt against what the simulator's formulas give by hand, and against our own files.
func TestHPCCExport(t *testing.T) {
	s := mustLoad(t, hpccFolder(t, hpccTopology, hpccFlowFile, hpccScenario))
	o := run(t, s, "none", Options{Plane: orchestrator.PlaneWasm, Export: ExportHPCC})
	lines := func(name string) []string {
		data, err := os.ReadFile(filepath.Join(o.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
	// Alone: twice the delays, 200 ns a hop of 40 Gb/s for a full packet and 80 ns of 100 Gb/s, and the flow with 48 B a
	// packet at the slowest link's rate.
	fct := map[string]string{}
	for _, row := range o.table("flows.csv").rows {
		fct[row["flow"]] = row["fct_ns"]
	}
	want := map[string]string{
		"0": "0b000001 0b000301 10000 100 1500 2000000000 " + fct["0"] + " 6719",    // 2*3000+400+1596*8/40
		"1": "0b000401 0b000301 10000 200 300000 2000001000 " + fct["1"] + " 69160", // 2*3000+280+300*1048*8/40 = 62880
		"2": "0b000101 0b000301 10000 4791 300000 2000001000 " + fct["2"] + " 69280",
		"3": "0b000001 0b000401 10001 100 1 2000010001 " + fct["3"] + " 4289", // 2*2000+280+49*8/40 = 9.8
	}
	got := lines("fct.txt")
	if len(got) != 4 {
		t.Fatalf("%q", got)
	}
	last := int64(0)
	for _, line := range got {
		known := false
		for id, w := range want {
			if w == line {
				known = true
				end := number(t, map[string]string{"v": fct[id]}, "v") + int64(s.Flows[number(t, map[string]string{"v": id}, "v")].Start/1000)
				if end < last {
					t.Errorf("%s comes after a flow that ended later", line)
				}
				last = end
			}
		}
		if !known {
			t.Errorf("%s\nis none of %q", line, want)
		}
	}
	// A PFC frame of 60 B (12 ns at 40 Gb/s, 4.8 at 100) and 1 us arrives at the host that pfc.csv names as the peer.
	rows := o.table("pfc.csv").rows
	pfc := lines("pfc.txt")
	if len(rows) < 4 || len(pfc) != len(rows) {
		t.Fatalf("%d frames in pfc.csv, %d in pfc.txt", len(rows), len(pfc))
	}
	count := map[string]int{}
	for _, row := range rows {
		var arrival string
		switch at := number(t, row, "time_ns") + 2_000_000_000; row["peer"] {
		case "h4":
			arrival = fmt.Sprintf("%d 4 0 1", at+1005)
		case "h1":
			arrival = fmt.Sprintf("%d 1 0 1", at+1012)
		default:
			t.Errorf("%v", row)
		}
		count[arrival+map[string]string{"pause": " 1", "resume": " 0"}[row["event"]]]++
	}
	before := ""
	for _, line := range pfc {
		near := false
		for _, off := range []int{0, -1, 1} { // both round to whole nanoseconds
			var at int
			var rest string
			fmt.Sscanf(line, "%d", &at)
			_, rest, _ = strings.Cut(line, " ")
			key := fmt.Sprintf("%d %s", at+off, rest)
			if count[key] > 0 {
				count[key]--
				near = true
				break
			}
		}
		if !near || line < before {
			t.Errorf("%s after %s is no frame of pfc.csv", line, before)
		}
		before = line
	}
}

// TestImportTellsOfEachMark: in an imported scenario's run receivers tell of every marked packet, as the simulator's do; those of
// DCQCN's paper at most once in 50 us.
func TestImportTellsOfEachMark(t *testing.T) {
	dir := t.TempDir()
	topology, flows := filepath.Join(dir, "topo.txt"), filepath.Join(dir, "flow.txt")
	for path, text := range map[string]string{
		topology: "4 1 3\n3\n0 3 40Gbps 1000ns 0\n1 3 40Gbps 1000ns 0\n2 3 40Gbps 1000ns 0\n",
		flows:    "2\n0 2 3 100 4000000 2\n1 2 3 100 4000000 2\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := HPCCImport{Topology: topology, Flows: flows}.Scenario(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseScenario(filepath.Join(dir, "scenario.yaml"), []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := run(t, s, "dcqcn", Options{Plane: orchestrator.PlaneWasm}).Summary
	if sum.CNPs != sum.ECNMarks || sum.CNPs < 100 {
		t.Errorf("%d CNPs for %d marked packets", sum.CNPs, sum.ECNMarks)
	}
	s, err = ParseScenario(filepath.Join(dir, "scenario.yaml"), []byte(text), []string{"cc.dcqcn.profile=a"})
	if err != nil {
		t.Fatal(err)
	}
	if sum := run(t, s, "dcqcn", Options{Plane: orchestrator.PlaneWasm}).Summary; sum.CNPs >= sum.ECNMarks || sum.CNPs == 0 {
		t.Errorf("under the paper's profile %d CNPs for %d marked packets", sum.CNPs, sum.ECNMarks)
	}
}

// TestHPCCPorts: what the simulator's scripts tell apart by port.
func TestHPCCPorts(t *testing.T) {
	s := parse(t, `
topology: star
flows: [{from: h0, to: h1, size: 1KB}]
workloads:
  - {tag: fan, incast: {degree: 2, size: 1KB, interval: 10us, events: 1}}
  - {tag: port7, all-to-all: {size: 1KB, from: h0, to: h1}}
duration: 20us
`)
	var got []int
	for i := range s.Flows {
		got = append(got, s.hpccPort(i))
	}
	if fmt.Sprint(got) != "[100 200 200 7]" {
		t.Errorf("%v", got)
	}
}

// TestHPCCRouting: with the simulator's hash, flows have the ports that they have there: the source's in the order of starts, the
// destination's from the file whatever the tag. Without, ports are the seed's.
func TestHPCCRouting(t *testing.T) {
	const topology = "8 4 8\n4 5 6 7\n0 4 40Gbps 1us 0\n1 4 40Gbps 1us 0\n2 5 40Gbps 1us 0\n3 5 40Gbps 1us 0\n" +
		"4 6 40Gbps 1us 0\n4 7 40Gbps 1us 0\n5 6 40Gbps 1us 0\n5 7 40Gbps 1us 0\n"
	const flows = "4\n0 2 3 100 1000 2\n1 3 3 321 1000 2\n0 3 3 0 1000 2.00001\n0 2 3 200 1000 2.00002\n"
	text := `
name: spines
topology: {name: spines, framing: ns3, hpcc: topo.txt}
routing: {hash: hpcc}
workloads: [{tag: all, hpcc: {file: flow.txt, origin: 2s}}]
duration: 1ms
drain: true
`
	s, err := LoadScenario(hpccFolder(t, topology, flows, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []orchestrator.Ports{{Source: 10000, Destination: 100}, {Source: 10000, Destination: 321}, {Source: 10001}, {Source: 10002, Destination: 200}}
	portsOf := s.portsOf(99)
	for i := range s.Flows {
		if got, err := portsOf(i); err != nil || got != want[i] {
			t.Errorf("flow %d: ports %v (%v), want %v", i, got, err, want[i])
		}
	}
	for _, spine := range []string{"s6", "s7"} {
		via := s.Topology.NodeByName(spine).ID
		s.Flows[1].Via = []topologies.NodeID{via}
		ports, err := portsOf(1)
		if err != nil || ports.Source < 10000 || ports.Destination != 321 ||
			s.Topology.Ports[orchestrator.Path(s.Topology, s.Flows[1].Source, s.Flows[1].Destination, ports)[2]].Node != via {
			t.Errorf("via %s: ports %v, %v", spine, ports, err)
		}
	}
	if got := run(t, s, "dcqcn", Options{Plane: orchestrator.PlaneWasm, Export: ExportHPCC}); got.Summary.Flows.Completed != 4 {
		t.Errorf("%+v", got.Summary.Flows)
	}
	if s, err = LoadScenario(hpccFolder(t, topology, flows, text), []string{"routing.hash=own"}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.portsOf(99)(0); err != nil || got.Source < 0xc000 || got.Destination != 0 {
		t.Errorf("ports %v (%v)", got, err)
	}
}

func FuzzHPCCFlows(f *testing.F) {
	for _, seed := range []string{hpccFlowFile, "", "1", "9999999999 0 1", "1 0 1 3 100 1 1e-6", "2\n0 1 3 100 5 2 1 0 3 100 5 -1", "1 0 1 3 100 5 2s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, flows string) {
		s, err := LoadScenario(hpccFolder(t, hpccTopology, flows, hpccScenario), nil)
		if (s == nil) == (err == nil) {
			t.Fatalf("scenario %v, error %v", s, err)
		}
		if s == nil {
			return
		}
		for i := range s.Flows {
			if f := &s.Flows[i]; f.Size < 1 || f.Start < 0 || f.Start >= s.Duration || f.Source == f.Destination {
				t.Errorf("%+v", f)
			}
		}
	})
}
