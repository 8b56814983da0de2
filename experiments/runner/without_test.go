package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestSettingsWithoutEffect checks that a user's setting is named if the run without it has the same fingerprint,
// whatever its section. A setting that changes the run is not named, even if it only keeps a threshold from being
// reached.
func TestSettingsWithoutEffect(t *testing.T) {
	for _, c := range []struct {
		controller, set, why string // why: empty if the setting has an effect
	}{
		{"hpcc", "switch.ecn.kmin=100KB", "the run is the same without it"},
		{"dcqcn", "cc.dctcp.g=1/4", "no flow uses dctcp"},
		{"rccc", "cc.rccc.increase=0.02", "frame by frame: marks lower a receiver's rate only if the fabric is " +
			"oversubscribed, which this one is not"},
		{"dcqcn", "host.retransmit_timeout=90ms", "the run is the same without it"},
		{"dcqcn", "host.nak_interval=90us", "the run is the same without it"},
		{"dcqcn", "switch.lossy_limit=2MB", "the run is the same without it"},
		{"dcqcn", "host.cnp_interval=50us", ""}, // as it is
		{"dcqcn", "cc.dcqcn.g=1/256", ""},
		{"dcqcn", "switch.ecn.kmin=10KB", ""},
		{"dcqcn", "switch.pfc.xoff=1MB", ""},
		{"dcqcn", "cc.dcqcn.g=1/4", ""},
		{"dcqcn", "host.ack_every=4", ""},
	} {
		s, err := scenario.Reading{Sets: []string{c.set}}.Load("incast")
		if err != nil {
			t.Fatal(err)
		}
		v := run(t, s, c.controller, Options{Plane: wasmplane.Open, Sets: []string{c.set}, CheckSets: true}).Summary.Verdict
		all := strings.Join(v.Messages, "\n")
		if named := strings.Contains(all, "--set "+c.set+" had no effect: ") &&
			strings.Contains(all, c.why); named != (c.why != "") || named && v.Status != measure.Warn {
			t.Errorf("%s under %s: %+v", c.set, c.controller, v)
		}
		as := c.set == "host.cnp_interval=50us" || c.set == "cc.dcqcn.g=1/256"
		if note := "--set " + c.set + " changes nothing: the scenario already has this value"; slices.Contains(v.Notes,
			note) != as {
			t.Errorf("%s: notes %q", c.set, v.Notes)
		}
	}
}
