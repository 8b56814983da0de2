package experiments

import (
	"reflect"
	"testing"

	"github.com/pausenet/pausenet/orchestrator"
)

// TestMayIdle: what nothing congests has no effect, which is a warning each unless the scenario says that it may.
func TestMayIdle(t *testing.T) {
	warnings := map[string]string{
		"pfc":        "PFC was never reached: no switch sent a PAUSE",
		"ecn":        "ECN never marked a packet",
		"cnm":        "no switch sent a CNM",
		"controller": "the controller never reacted: no dcon flow changed its rate",
	}
	for _, c := range []struct {
		mayIdle string
		status  Status
		said    []string
	}{
		{"[]", Warn, []string{"pfc", "ecn", "cnm", "controller"}},
		{"[pfc, cnm]", Warn, []string{"ecn", "controller"}},
		{"[controller, cnm, ecn, pfc]", Pass, nil},
	} {
		s := mustLoad(t, "line-rate", "switch.pfc.priorities=[3]", "may_idle="+c.mayIdle)
		v := run(t, s, "dcon", Options{Plane: orchestrator.PlaneWasm}).Summary.Verdict
		want := Verdict{Status: c.status, Messages: []string{}}
		for _, knob := range c.said {
			want.Messages = append(want.Messages, warnings[knob])
		}
		if !reflect.DeepEqual(v, want) {
			t.Errorf("may_idle %s: %+v, want %+v", c.mayIdle, v, want)
		}
	}
}

// TestNothingToReact: none, with a window or without, has no rate to change.
func TestNothingToReact(t *testing.T) {
	s := mustLoad(t, "line-rate")
	for _, controller := range []string{"none", "none+win"} {
		if v := run(t, s, controller, Options{Plane: orchestrator.PlaneWasm}).Summary.Verdict; v.Status != Pass {
			t.Errorf("%s: %+v", controller, v)
		}
	}
}
