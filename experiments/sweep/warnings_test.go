package sweep

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/scenario/lint"
	"github.com/pausenet/pausenet/topologies/spec"
)

// TestNoFalseAlarm checks that built-ins get no warnings, in a run, in a sweep and in a live fabric, except for those
// about deadlock.
func TestNoFalseAlarm(t *testing.T) {
	none := func(name string, warnings []string) {
		t.Helper()
		for _, text := range warnings {
			if strings.HasPrefix(name, "spray-reorder") && strings.Contains(text,
				"under spray-selective: host.selective.reorder 1 ") {
				continue
			}
			if strings.HasPrefix(name, "deadlock") && strings.Contains(text, "allow a cyclic buffer dependency") {
				continue
			}
			t.Errorf("%s: %s", name, text)
		}
	}
	live := func(name string, s *scenario.Scenario) {
		t.Helper()
		for _, controller := range s.Controllers {
			own, _, spec, err := s.Under(controller)
			if err != nil {
				t.Fatalf("%s under %s: %v", name, controller, err)
			}
			none(name+", live under "+controller, lint.LiveWarnings(own, spec))
		}
	}
	for _, name := range scenario.BuiltinNames() {
		for _, reading := range []scenario.Reading{{}, {Quick: true}, {Live: true}} {
			s, err := reading.Load(name)
			switch {
			case err != nil:
				t.Fatal(err)
			case reading.Live:
				live(name, s)
			default:
				none(name, lint.Warnings(s, s.Controllers))
			}
		}
	}
	for _, name := range spec.BuiltinNames() {
		s, err := scenario.Reading{Live: true}.Parse("", fmt.Appendf(nil, "topology: %s\n", name))
		if err != nil {
			t.Fatal(err)
		}
		live(name, s)
	}
	for _, name := range scenario.BuiltinSweepNames() {
		for _, quick := range []bool{false, true} {
			s, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Quick = quick; len(s.Seeds) > 1 {
				s.Seeds = s.Seeds[:1] // which decide no setting
			}
			for _, c := range s.cells() { // without Check, which takes its time
				loaded, err := scenario.Reading{Quick: quick, Sets: c.sets}.Load(c.scenario)
				if err != nil {
					t.Fatal(err)
				}
				controllers := loaded.Controllers
				if len(s.Controllers) > 0 {
					if controllers, err = s.controllerNames(loaded); err != nil {
						t.Fatal(err)
					}
				}
				none(name+", "+c.folder, lint.Warnings(loaded, controllers))
			}
		}
	}
}

// TestSweepWarnings checks that a sweep warns of a likely mistake in its points once, and names the points.
func TestSweepWarnings(t *testing.T) {
	for sets, want := range map[string]string{
		"switch.pfc.headroom=auto,20KB": "",
		"switch.pfc.headroom=5KB":       "s0:h0, s0:h1, s0:h2 and 2 others: pfc.headroom is 5KB, ",
		"switch.pfc.headroom=auto,5KB": "2 of 4 points (headroom=5KB none, headroom=5KB dcqcn): s0:h0, s0:h1, " +
			"s0:h2 and 2 others: pfc.headroom is 5KB, ",
		"switch.pfc.priorities=[3],[4],[5],[6],[7]": "2 of 10 points (priorities=_4_ none, priorities=_4_ dcqcn): " +
			"PFC is enabled on priorities [4], ",
	} {
		s := &Sweep{Name: "incast", Scenarios: []string{"incast"}, Controllers: []string{"none", "dcqcn"}}
		if err := s.Set([]string{sets}); err != nil {
			t.Fatal(err)
		}
		points, err := s.Points(1)
		if err != nil {
			t.Fatal(err)
		}
		got := Warnings(points)
		if first := strings.Join(got, "\n"); (want == "") != (first == "") || !strings.HasPrefix(first, want) {
			t.Errorf("%s: %q, want %q", sets, got, want)
		}
		if strings.HasPrefix(sets, "switch.pfc.headroom") && len(got) > 1 {
			t.Errorf("%s: %q", sets, got)
		}
	}
}
