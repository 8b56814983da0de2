package scenario

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestHPCCFlows: flows between nodes by number, tagged by their ports, on the clock of the run.
func TestHPCCFlows(t *testing.T) {
	s := mustLoad(t, lab.HPCCFolder(t, lab.HPCCTopology, lab.HPCCFlows, lab.HPCCScenario))
	var got []string
	for i := range s.Flows {
		f := &s.Flows[i]
		got = append(got, fmt.Sprintf("%s %s %s %d %d", f.Tag, s.Topology.Nodes[f.Source].Name,
			s.Topology.Nodes[f.Destination].Name, f.Size, f.Start))
	}
	const want = "normal h0 h3 1500 0\nincast h4 h3 300000 1000000\nport4791 h1 h3 300000 1000000\nnormal h0 h4 1 10000500"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("flows\n%s\nwant\n%s", text, want)
	}
	tagged := mustLoad(t, lab.HPCCFolder(t, lab.HPCCTopology, lab.HPCCFlows,
		strings.Replace(lab.HPCCScenario, "{hpcc: {file: flow.txt, origin: 2s}}", "{tag: mine, hpcc: flow.txt}", 1)),
		"duration=3s")
	if f := tagged.Flows[1]; f.Tag != "mine" || f.Start != 2*vtime.Second+vtime.Microsecond {
		t.Errorf("%+v", f)
	}
}

func TestHPCCFlowProblems(t *testing.T) {
	for _, c := range []struct{ name, flows, want string }{
		{"empty", "", "flow.txt: the file is empty"},
		{"short", "2\n0 3 3 100 1500 2\n1 3 3\n", `flow.txt:3:5: the file ends before the destination port`},
		{"switch", "1 0 2 3 100 1500 2", "flow.txt:1:5: node 2 is the switch s2: flows run between hosts"},
		{"unknown", "1 0 7 3 100 1500 2", "flow.txt:1:5: destination of a flow 7 is outside 0..4"},
		{"group", "1 0 1 8 100 1500 2", "flow.txt:1:7: priority group 8 is outside 0..7"},
		{"early", "1 0 1 3 100 1500 1.9", "flow.txt:1:18: 1.9 s is before the origin, 2s"},
		{"late", "1 0 1 3 100 1500 2.001", "flow.txt:1:18: start 1ms must be before the end of the run (duration 1ms)"},
		{"itself", "1 0 0 3 100 1500 2", "flow.txt:1:3: h0 would send to itself: name another host as destination"},
		{"size", "1 0 1 3 100 0 2", "flow.txt:1:13: size in bytes 0 is outside 1..1099511627776"},
		{"time", "1 0 1 3 100 5 2us", "flow.txt:1:15: \"2us\" is not a time in seconds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := lab.HPCCFolder(t, lab.HPCCTopology, c.flows, lab.HPCCScenario)
			s, err := Load(path, nil)
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

// TestHPCCSwitches checks that an imported switch pauses a port where the simulator's does (GetPfcThreshold,
// GetSharedUsed and ConfigNPort of its switch-mmu.cc, third.cc's headroom, run.py's buffer in whole MiB), and that its
// hosts send ACKs when paused as run.py's ack_prio says.
func TestHPCCSwitches(t *testing.T) {
	for _, c := range []struct {
		hosts, gigabits int
		buffer          float64 // MiB
	}{{3, 40, 12}, {21, 100, 32}, {40, 25, 8}, {3, 2, 1}} {
		topology := fmt.Sprintf("%d 1 %d\n0\n", c.hosts+1, c.hosts)
		for i := range c.hosts {
			topology += fmt.Sprintf("%d 0 %dGbps 1000ns 0\n", i+1, c.gigabits)
		}
		path := lab.HPCCFolder(t, topology, "1\n1 2 3 100 1000 2\n", "")
		dir := filepath.Dir(path)
		for control, ack := range map[string]bool{
			"dcqcn": true, "dcqcn+win": false, "hpcc": false, "dctcp": false,
			"timely": true, "timely+win": true,
		} {
			text, err := HPCCImport{
				Topology: filepath.Join(dir, "topo.txt"), Flows: filepath.Join(dir, "flow.txt"),
				CC: control,
			}.Scenario(dir)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse(path, []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.Host.ACKsWhenPaused != ack {
				t.Errorf("%s: ack_when_paused %v", control, s.Host.ACKsWhenPaused)
			}
			if kmax := units.Bytes(30_000 * c.gigabits / 10); control == "dctcp" && s.Switch.ECN.KMax != kmax {
				t.Errorf("dctcp: kmax %v, there %v", s.Switch.ECN.KMax, kmax)
			}
			own := EverySwitch(s.Topology, &s.Switch)[0]
			buffer, ports := own.Resolve(fill.Cables(s.Topology, s.Topology.Switch[0], false))
			hosts, headroom := float64(c.hosts), float64(3*c.gigabits*1000/8)
			if float64(ports[0].Headroom) != headroom {
				t.Errorf("headroom %v, there %v", ports[0].Headroom, headroom)
			}
			for _, filling := range []float64{1, 2, hosts - 1} { // ports, alike
				got := (float64(buffer) - hosts*headroom) / (8 + filling)
				want := 4096 + (c.buffer*(1<<20)-hosts*headroom-hosts*4096)/(8+filling)
				if d := want - got; d < -1 || d > 4096 || filling == 1 && d > 1 {
					t.Errorf("%d hosts, %v fill: XOFF at %.0f, there %.0f", c.hosts, filling, got, want)
				}
			}
		}
	}
}

// TestHPCCPorts checks the flows that the simulator's scripts distinguish by port.
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

func FuzzHPCCFlows(f *testing.F) {
	for _, seed := range []string{
		lab.HPCCFlows, "", "1", "9999999999 0 1", "1 0 1 3 100 1 1e-6",
		"2\n0 1 3 100 5 2 1 0 3 100 5 -1", "1 0 1 3 100 5 2s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, flows string) {
		s, err := Load(lab.HPCCFolder(t, lab.HPCCTopology, flows, lab.HPCCScenario), nil)
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

// TestHPCCTimes checks that the time in which flows of a distribution arrive is valid for a scenario.
func TestHPCCTimes(t *testing.T) {
	for text, good := range map[string]bool{
		"1ps": true, "0s": false, "-1us": false, maxDuration.String(): true,
		(maxDuration + vtime.Nanosecond).String(): false,
	} {
		if err := new(HPCCImport).SetTime(text); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
