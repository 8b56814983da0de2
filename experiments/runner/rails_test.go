package runner

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestRails: over rails a ring's flows have their links to themselves, but for the ACKs of those that come in: 84 B of line time beside 1106 B of a full
// packet's (Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4 and 24 on the wire each; 1000 of payload, or an AETH of 4), which makes 1.076 times the time alone.
// On the plain leaf-spine two flows of some leaf have one link up, so that one of them at least takes twice that time.
func TestRails(t *testing.T) {
	most := func(name string) (most float64) {
		s, err := scenario.Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run(t, s, "dcqcn", Options{}).Summary.Flows.Slowdown.Max
	}
	if got := most("rails"); got < 1.07 || got > 1.08 {
		t.Errorf("over rails a flow takes %.3f times the time alone, want 1.076", got)
	}
	if got := most("rails-plain"); got < 1.9 {
		t.Errorf("over a plain leaf-spine no flow takes more than %.3f times the time alone, want 2 or more", got)
	}
}
