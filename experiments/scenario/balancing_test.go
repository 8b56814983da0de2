package scenario

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/topologies"
)

// balanced describes flows between two leaves connected by two spines.
const balanced = `
name: balanced
topology: {leafspine: {leaves: 2, spines: 2, hosts_per_leaf: 2}}
duration: 1ms
controllers: [dcqcn, {name: sprayed, cc: dcqcn, switch: {load_balancing: {mode: spray}}}]
flows:
  - {from: h0, to: h2, size: 100KB}
  - {from: h1, to: h3, size: 100KB}
`

// A variant of its own load balancing has ways of its own: the others' flows keep their paths.
func TestBalancingOfAVariant(t *testing.T) {
	s, err := Parse("balanced.yaml", []byte(balanced), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, moving := range map[string]bool{"dcqcn": false, "sprayed": true} {
		u, err := NewSetup(s, name, 1)
		if err != nil {
			t.Fatal(err)
		}
		m := u.Resolution()
		if u.Scenario.Topology.Moving() != moving || (m.Paths[0].Path == nil) != moving ||
			(m.Paths[0].May != nil) != moving {
			t.Errorf("%s: %+v", name, m.Paths[0])
		}
		if moving && strings.Join(m.Paths[0].May, " ") != "h0 leaf0 spine0 spine1 leaf1 h2" {
			t.Errorf("%s: %v", name, m.Paths[0].May)
		}
	}
	if s.Topology.Moving() {
		t.Error("the scenario's own topology was changed")
	}
}

// What cannot be with load balancing is refused, with the remedy.
func TestBalancingRefused(t *testing.T) {
	for _, c := range []struct {
		sets       []string
		controller string
		want       string // "" if it can be
	}{
		{[]string{"switch.load_balancing.mode=spray"}, "dcqcn", ""},
		{[]string{"switch.load_balancing={mode: adaptive, by: flowlet, gap: 5us}"}, "hpcc", ""},
		{[]string{"switch.load_balancing.mode=flowlet"}, "dcon", ""},
		{[]string{"switch.load_balancing.mode=spray"}, "hpcc", "hpcc compares the telemetry"},
		{[]string{"switch.load_balancing.mode=adaptive"}, "hpcc", "hpcc compares the telemetry"},
		{[]string{"switch.load_balancing.mode=spray"}, "dcon", "dcon needs all packets of a flow in one queue"},
		{
			[]string{"switch.load_balancing.mode=spray", "routing.hash=hpcc"},
			"dcqcn",
			"load_balancing has no effect with routing.hash: hpcc",
		},
		{[]string{"switch.load_balancing.mode=spray", "flows.0.via=[spine1]"}, "dcqcn", "has via"},
		{[]string{"flows.0.via=[spine1]"}, "dcqcn", ""},
		{[]string{"switch.load_balancing.seed=own"}, "dcqcn", ""},
		{[]string{"switch.load_balancing.seed=-1"}, "dcqcn", "outside 0..4294967295"},
		{[]string{"switch.load_balancing.gap=0ns"}, "dcqcn", "write mode: spray"},
		{[]string{"switch.load_balancing.mode=sprya"}, "dcqcn", "did you mean \"spray\""},
	} {
		s, err := Parse("balanced.yaml", []byte(balanced), c.sets)
		if err == nil {
			err = Check(s, []string{c.controller})
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v under %s: %v, want %q", c.sets, c.controller, err, c.want)
		}
	}
}

// The words of a file come back out of show.
func TestBalancingIsShown(t *testing.T) {
	s, err := Parse("balanced.yaml", []byte(balanced),
		[]string{"switch.load_balancing={mode: adaptive, by: flowlet, gap: 5us}"})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := s.Describe(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "load_balancing: mode adaptive, seed own, fields 5-tuple, gap 5us, order random, by flowlet") {
		t.Errorf("%s", &text)
	}
	if b := s.Topology.Balancing; b.Mode != topologies.BalanceAdaptive || !b.ByFlowlet {
		t.Errorf("%+v", b)
	}
}

// TestEntropyOfHosts checks that hosts' entropy also spreads flows over several paths, although switches choose by
// hash.
func TestEntropyOfHosts(t *testing.T) {
	for _, c := range []struct {
		sets       []string
		controller string
		moving     bool
		refused    string
	}{
		{[]string{"host.entropy=reps"}, "dcqcn", true, ""},
		{[]string{"host.entropy=flow"}, "dcon", false, ""},
		{[]string{"host.entropy=reps"}, "dcon", true, "dcon needs all packets of a flow in one queue"},
		{[]string{"host.entropy=random"}, "hpcc", true, "hpcc compares the telemetry"},
		{
			[]string{"host.entropy=random", "routing.hash=hpcc", "controllers=[dcqcn]"},
			"dcqcn", true,
			"host.entropy changes source ports",
		},
		{[]string{"host.ip=ipv6"}, "hpcc", false, ""},
		{
			[]string{"host.ip=ipv6", "routing.hash=hpcc", "controllers=[dcqcn]"},
			"dcqcn", false,
			"packets carry as IPv4 identification, which host.ip: ipv6 does not have",
		},
		{[]string{"host.entropy=reps", "flows.0.via=[spine1]"}, "dcqcn", true, "has via"},
	} {
		s, err := Parse("balanced.yaml", []byte(balanced), c.sets)
		if err != nil {
			t.Fatalf("%v: %v", c.sets, err)
		}
		if s.Topology.Moving() != c.moving {
			t.Errorf("%v: moving %v", c.sets, !c.moving)
		}
		if err := Check(s, []string{c.controller}); (err == nil) != (c.refused == "") || err != nil &&
			!strings.Contains(err.Error(), c.refused) {
			t.Errorf("%v under %s: %v, want %q", c.sets, c.controller, err, c.refused)
		}
	}
}
