package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/topologies"
)

// TestHPCCExport checks fct.txt and pfc.txt against the simulator's formulas, computed by hand, and against our own
// files.
func TestHPCCExport(t *testing.T) {
	s := mustLoad(t, lab.HPCCFolder(t, lab.HPCCTopology, lab.HPCCFlows, lab.HPCCScenario))
	o := run(t, s, "none", Options{Plane: wasmplane.Open, Export: ExportHPCC})
	lines := func(name string) []string {
		data, err := os.ReadFile(filepath.Join(o.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
	// Alone: twice the delays, 200 ns a hop of 40 Gb/s for a full packet and 80 ns of 100 Gb/s, and the flow with 48 B
	// a packet at the slowest link's rate.
	fct := map[string]string{}
	for _, row := range o.table("flows.csv").Rows {
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
				end := testenv.Number(t, map[string]string{"v": fct[id]},
					"v") + int64(s.Flows[testenv.Number(t, map[string]string{"v": id}, "v")].Start/1000)
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
	rows := o.table("pfc.csv").Rows
	pfc := lines("pfc.txt")
	if len(rows) < 4 || len(pfc) != len(rows) {
		t.Fatalf("%d frames in pfc.csv, %d in pfc.txt", len(rows), len(pfc))
	}
	count := map[string]int{}
	for _, row := range rows {
		var arrival string
		switch at := testenv.Number(t, row, "time_ns") + 2_000_000_000; row["peer"] {
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

// TestImportNotifiesOfEachMark checks that in a run of an imported scenario receivers send a CNP for every marked
// packet, as the simulator's do; those of DCQCN's paper send at most one in 50 us.
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
	text, err := scenario.HPCCImport{Topology: topology, Flows: flows}.Scenario(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Parse(filepath.Join(dir, "scenario.yaml"), []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := run(t, s, "dcqcn", Options{Plane: wasmplane.Open}).Summary
	if sum.CNPs != sum.ECNMarks || sum.CNPs < 100 {
		t.Errorf("%d CNPs for %d marked packets", sum.CNPs, sum.ECNMarks)
	}
	s, err = scenario.Parse(filepath.Join(dir, "scenario.yaml"), []byte(text), []string{"cc.dcqcn.profile=a"})
	if err != nil {
		t.Fatal(err)
	}
	if sum := run(t, s, "dcqcn", Options{Plane: wasmplane.Open}).Summary; sum.CNPs >= sum.ECNMarks || sum.CNPs == 0 {
		t.Errorf("under the paper's profile %d CNPs for %d marked packets", sum.CNPs, sum.ECNMarks)
	}
}

// TestHPCCRouting checks that with the simulator's hash, flows have the simulator's ports: the source's in the order of
// starts, the destination's from the file whatever the tag. Otherwise the seed determines ports.
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
	s, err := scenario.Load(lab.HPCCFolder(t, topology, flows, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []paths.Ports{
		{Source: 10000, Destination: 100},
		{Source: 10000, Destination: 321},
		{Source: 10001},
		{Source: 10002, Destination: 200},
	}
	portsOf := s.PortsOf(99)
	for i := range s.Flows {
		if got, err := portsOf(i); err != nil || got != want[i] {
			t.Errorf("flow %d: ports %v (%v), want %v", i, got, err, want[i])
		}
	}
	for _, spine := range []string{"s6", "s7"} {
		via := s.Topology.NodeByName(spine).ID
		s.Flows[1].Extras = &scenario.FlowExtras{Via: []topologies.NodeID{via}}
		ports, err := portsOf(1)
		if err != nil || ports.Source < 10000 || ports.Destination != 321 ||
			s.Topology.Ports[paths.Forward(s.Topology, s.Flows[1].Source, s.Flows[1].Destination, ports)[2]].Node != via {
			t.Errorf("via %s: ports %v, %v", spine, ports, err)
		}
	}
	if got := run(t, s, "dcqcn", Options{Plane: wasmplane.Open, Export: ExportHPCC}); got.Summary.Flows.Completed != 4 {
		t.Errorf("%+v", got.Summary.Flows)
	}
	if s, err = scenario.Load(lab.HPCCFolder(t, topology, flows, text), []string{"routing.hash=own"}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.PortsOf(99)(0); err != nil || got.Source < 0xc000 || got.Destination != 0 {
		t.Errorf("ports %v (%v)", got, err)
	}
}
