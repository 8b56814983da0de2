package experiments

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/topologies"
)

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
			own, _, spec, err := s.under(controller)
			if err != nil {
				t.Fatalf("%s under %s: %v", name, controller, err)
			}
			none(name+", live under "+controller, own.liveWarnings(spec))
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
