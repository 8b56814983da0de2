package experiments

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/topologies"
)

// What validate and run warn of, with the numbers; and nothing where nothing is off.
func TestWarnings(t *testing.T) {
	for set, want := range map[string]string{
		"seed=2": "",
		"switch={buffer: 1MB, pfc: {xoff: 320KB}}":                         "s0: XOFF and headroom of every port (5) are 1.6MB + 67.82KB = 1.66782MB, and the shared buffer is 1MB",
		"switch={buffer: 1MB, pfc: {xoff: 2MB}}":                           "s0: pfc.xoff 2MB is above the shared buffer, 1MB",
		"switch={pfc: {xoff: 100KB, headroom: 5KB}}":                       "s0:h0, s0:h1, s0:h2 and 2 others: pfc.headroom is 5KB, and 13.564KB can be in flight to a port of 40Gbps, 1us",
		"switch={pfc: {xoff: 100KB, priorities: [4]}}":                     "PFC is on priorities [4], which carry nothing: data has priority 3, ACK, NAK and CNP 6: data is lossy",
		"switch={pfc: {xoff: 100KB}, scheduler: {dwrr: {3: 3KB, 4: 1KB}}}": "scheduler.dwrr weighs priorities [3 4], which has no effect",
	} {
		s := mustLoad(t, "incast", set)
		got := strings.Join(Warnings(s, s.Controllers), "\n")
		if (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}

// ACKs that travel with data leave the control priority to CNPs, and to nothing where no CNP is sent.
func TestWarningsOfACKs(t *testing.T) {
	for _, c := range []struct {
		controller, pfc string
		want            string
	}{
		{"dcqcn", "host={}", ""},
		{"dcqcn", "host={ack_priority: data}", ""},
		{"hpcc", "host={}", ""},
		{"hpcc", "host={ack_priority: data}", "PFC is on priorities [6], which carry nothing: data, ACK and NAK have priority 3; switch.pfc.priorities"},
		{"dcqcn", "host={ack_priority: data, control_priority: 5}", "PFC is on priorities [6], which carry nothing: data, ACK and NAK have priority 3, CNP 5; "},
		{"pcn", "host={ack_priority: data}", ""},
	} {
		s := mustLoad(t, "incast", "switch={pfc: {xoff: 100KB, priorities: [3, 6]}, scheduler: {dwrr: {3: 3KB}}}", c.pfc)
		got := strings.Join(Warnings(s, []string{c.controller}), "\n")
		if pfc, _, _ := strings.Cut(got, "scheduler."); (c.want == "") != (pfc == "") || !strings.HasPrefix(pfc, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.controller, c.pfc, got, c.want)
		}
	}
	// Weights of data and control priority act while both carry packets.
	for controller, want := range map[string]string{
		"dcqcn": "",
		"hpcc": "scheduler.dwrr weighs priorities [3 6], which has no effect: of them only [3] carries packets, and so shares with nobody " +
			"(data, ACK and NAK have priority 3)",
	} {
		s := mustLoad(t, "incast", "switch.scheduler={dwrr: {3: 3KB, 6: 1KB}}", "host.ack_priority=data")
		if got := strings.Join(Warnings(s, []string{controller}), "\n"); got != want {
			t.Errorf("%s: %q, want %q", controller, got, want)
		}
	}
}

// TestNoFalseAlarm: what comes with the program is warned of nothing, in a run, in a sweep and in a live fabric.
func TestNoFalseAlarm(t *testing.T) {
	none := func(name string, warnings []string) {
		t.Helper()
		for _, text := range warnings {
			t.Errorf("%s: %s", name, text)
		}
	}
	live := func(name string, s *Scenario) {
		t.Helper()
		for _, controller := range s.Controllers {
			l, err := NewLive(s, controller)
			if err != nil {
				t.Fatalf("%s under %s: %v", name, controller, err)
			}
			none(name+", live under "+controller, l.Warnings())
		}
	}
	for _, name := range BuiltinNames() {
		for _, reading := range []Reading{{}, {Quick: true}, {Live: true}} {
			s, err := reading.Load(name)
			switch {
			case err != nil:
				t.Fatal(err)
			case reading.Live:
				live(name, s)
			default:
				none(name, Warnings(s, s.Controllers))
			}
		}
	}
	for _, name := range topologies.BuiltinNames() {
		s, err := Reading{Live: true}.Parse("", fmt.Appendf(nil, "topology: %s\n", name))
		if err != nil {
			t.Fatal(err)
		}
		live(name, s)
	}
	for _, name := range BuiltinSweepNames() {
		for _, quick := range []bool{false, true} {
			s, err := LoadSweep(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Quick = quick; len(s.Seeds) > 1 {
				s.Seeds = s.Seeds[:1] // which decide no setting
			}
			for _, c := range s.cells() { // without Check, which takes its time
				scenario, err := Reading{Quick: quick, Sets: c.sets}.Load(c.scenario)
				if err != nil {
					t.Fatal(err)
				}
				controllers := scenario.Controllers
				if len(s.Controllers) > 0 {
					if controllers, err = s.controllerNames(scenario); err != nil {
						t.Fatal(err)
					}
				}
				none(name+", "+c.folder, Warnings(scenario, controllers))
			}
		}
	}
}

// A sweep warns of what is off with its points once, and says which of them it is.
func TestSweepWarnings(t *testing.T) {
	for sets, want := range map[string]string{
		"switch.pfc.headroom=auto,20KB":             "",
		"switch.pfc.headroom=5KB":                   "s0:h0, s0:h1, s0:h2 and 2 others: pfc.headroom is 5KB, ",
		"switch.pfc.headroom=auto,5KB":              "2 of 4 points (headroom=5KB none, headroom=5KB dcqcn): s0:h0, s0:h1, s0:h2 and 2 others: pfc.headroom is 5KB, ",
		"switch.pfc.priorities=[3],[4],[5],[6],[7]": "2 of 10 points (priorities=_4_ none, priorities=_4_ dcqcn): PFC is on priorities [4], ",
	} {
		s := &Sweep{Name: "incast", Scenarios: []string{"incast"}, Controllers: []string{"none", "dcqcn"}}
		if err := s.Set([]string{sets}); err != nil {
			t.Fatal(err)
		}
		points, err := s.Points(1)
		if err != nil {
			t.Fatal(err)
		}
		got := SweepWarnings(points)
		if first := strings.Join(got, "\n"); (want == "") != (first == "") || !strings.HasPrefix(first, want) {
			t.Errorf("%s: %q, want %q", sets, got, want)
		}
		if strings.HasPrefix(sets, "switch.pfc.headroom") && len(got) > 1 {
			t.Errorf("%s: %q", sets, got)
		}
	}
}
