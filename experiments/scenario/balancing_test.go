package scenario

import (
	"fmt"
	"math"
	"slices"
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

// Keys that the mode has no use for are warned of.
func TestWarningsOfBalancing(t *testing.T) {
	for set, want := range map[string]string{
		"{}":                        "",
		"{mode: flowlet, gap: 9us}": "",
		"{mode: spray, gap: 9us, order: round-robin}": "switch.load_balancing.gap has no effect: it applies to mode " +
			"flowlet, or adaptive by flowlet, and the mode is spray",
		"{mode: adaptive, by: flowlet, gap: 3us}": "",
		"{by: flowlet}": "switch.load_balancing.by has no effect: it applies to mode adaptive, and the mode is ecmp",
		"{mode: spray, seed: 4, fields: addresses}": "switch.load_balancing.seed has no effect: it applies to mode " +
			"ecmp, and the mode is spray\nswitch.load_balancing.fields has no effect: it applies to mode ecmp, " +
			"and the mode is spray",
		"{mode: adaptive, order: round-robin, gap: 1s}": "switch.load_balancing.gap has no effect: it applies to mode " +
			"flowlet, or adaptive by flowlet, and the mode is adaptive\n" +
			"switch.load_balancing.order has no effect: it applies to mode spray, and the mode is adaptive",
	} {
		s, err := Parse("balanced.yaml", []byte(balanced), []string{"switch.load_balancing=" + set})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Warnings(s, []string{"dcqcn"}), "\n"); got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
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
		sets          []string
		controller    string
		moving        bool
		refused, warn string
	}{
		{[]string{"host.entropy=reps"}, "dcqcn", true, "", ""},
		{[]string{"host.entropy=flow"}, "dcon", false, "", ""},
		{[]string{"host.entropy=reps"}, "dcon", true, "dcon needs all packets of a flow in one queue", ""},
		{[]string{"host.entropy=random"}, "hpcc", true, "hpcc compares the telemetry", ""},
		{
			[]string{"host.entropy=random", "routing.hash=hpcc", "controllers=[dcqcn]"},
			"dcqcn", true,
			"host.entropy changes source ports", "",
		},
		{[]string{"host.ip=ipv6"}, "hpcc", false, "", ""},
		{
			[]string{"host.ip=ipv6", "routing.hash=hpcc", "controllers=[dcqcn]"},
			"dcqcn", false,
			"packets carry as IPv4 identification, which host.ip: ipv6 does not have", "",
		},
		{[]string{"host.entropy=reps", "flows.0.via=[spine1]"}, "dcqcn", true, "has via", ""},
		{
			[]string{"host.entropy=reps", "switch.load_balancing.mode=spray"},
			"dcqcn", true, "",
			"host.entropy reps has no effect: switches choose paths by load_balancing.mode spray instead of a hash",
		},
		{
			[]string{"host.entropy=reps", "switch.load_balancing.fields=addresses"},
			"dcqcn", true, "",
			"host.entropy reps has no effect: switches hash only addresses, not the source port",
		},
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
		if got := strings.Join(Warnings(s, []string{c.controller}), "\n"); c.refused == "" && got != c.warn {
			t.Errorf("%v: %q, want %q", c.sets, got, c.warn)
		}
	}
}

// Of a few flows, too, that one switch has chosen and the next by the same hash; not of those that each chooses by its
// own, nor on the first choice.
func TestWarningsOfFewFlows(t *testing.T) {
	const flows = "name: few\ntopology: {fattree: {k: 4}}\nduration: 1ms\ncontrollers: [dcqcn]\n" +
		"workloads: [{permutation: {size: 100KB, rounds: 2, interval: 10us}}]\n"
	reported := map[string]int{}
	for _, set := range []string{"seed: 7", "seed: own", "fields: addresses"} {
		for seed := range 20 {
			s, err := Parse("few.yaml", []byte(flows), []string{
				"switch.load_balancing={" + set + "}",
				fmt.Sprintf("seed=%d", seed+1),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range Warnings(s, []string{"dcqcn"}) {
				if strings.HasPrefix(text, "hashes are polarised at agg") {
					reported[set]++
				} else {
					t.Error(text)
				}
			}
		}
	}
	if reported["seed: 7"] < 15 || reported["seed: own"]+reported["fields: addresses"] > 0 {
		t.Errorf("%v of 20 seeds each", reported)
	}
}

// TestWarningsOfNoChoice checks the warnings about a choice that no switch has, and about weights that prefer no port.
func TestWarningsOfNoChoice(t *testing.T) {
	const flows = "name: plain\nduration: 1ms\ncontrollers: [dcqcn]\nflows: [{from: h0..h1, to: h3, size: 100KB}]\n"
	const fabric = "topology: {leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2}, change_links: "
	const link = "{from: leaf0..leaf1, to: spine0, weight: 2}"
	const none = "no switch has several equal-cost ports"
	for _, c := range []struct{ topology, set, want string }{
		{"topology: star\n", "seed=2", ""},
		{"topology: star\n", "switch.load_balancing={mode: spray}", "switch.load_balancing has no effect: " + none},
		{"topology: star\n", "switch.load_balancing={seed: 3}", "switch.load_balancing has no effect: " + none},
		{"topology: star\n", "host.entropy=reps", "host.entropy reps has no effect: " + none},
		{fabric + "[" + link + "]}\n", "seed=2", ""},
		{
			fabric + "[" + link + ", {from: leaf0..leaf1, to: spine1, weight: 2}]}\n", "seed=2",
			"the topology's weights of links have no effect: links of equal cost have equal weights",
		},
		{
			strings.Replace(fabric, "spines: 2", "spines: 1", 1) + "[" + link + "]}\n", "seed=2",
			"the topology's weights of links have no effect: " + none,
		},
	} {
		s, err := Parse("plain.yaml", []byte(flows+c.topology), []string{c.set})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Warnings(s, []string{"dcqcn"}), "\n"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.topology, c.set, got, c.want)
		}
	}
}

// TestWarningsOfPolarisation checks that one seed for all switches polarises a fat-tree's second choice, that a hash of
// addresses alone polarises flows between one pair, and that separate hashes do not.
func TestWarningsOfPolarisation(t *testing.T) {
	const flows = `
name: polarised
topology: {fattree: {k: 8}}
duration: 1ms
controllers: [dcqcn]
workloads:
  - permutation: {size: 100KB}
`
	for _, c := range []struct{ set, want string }{
		{"{}", ""},
		{"{seed: own}", ""},
		{"{seed: 1}", "hashes are polarised at "},
		{"{seed: 77}", "hashes are polarised at "},
		{"{fields: ports}", ""},
		{"{mode: spray}", ""},
	} {
		s, err := Parse("polarised.yaml", []byte(flows), []string{"switch.load_balancing=" + c.set})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(Warnings(s, []string{"dcqcn"}), "\n")
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.set, got, c.want)
		}
		if c.want != "" && !strings.Contains(got, "which use only 1 of them") {
			t.Errorf("%s: %q", c.set, got)
		}
	}
	s, err := Parse("balanced.yaml", []byte(balanced),
		[]string{
			"switch.load_balancing.fields=addresses",
			"flows=[{from: h0, to: h2, size: 100KB, count: 40, interval: 0s}]",
		})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(Warnings(s, []string{"dcqcn"}), "\n"); !strings.HasPrefix(got,
		"hashes are polarised at leaf0: leaf0 has 2 equal-cost ports for 40 flows, which use only 1 of them; they hash addresses only") {
		t.Errorf("%q", got)
	}
}

// The logarithm of a probability that can be worked out by hand: of 10 flows over 4 ports, all take one of 4 with
// 4*(1/4)^10.
func TestChance(t *testing.T) {
	once := math.Log(0.05)
	for n, want := range map[int]float64{1: 0.05, 2: 0.05 * 0.05 * (1 - 2*once)} { // the sum of two is Erlang's
		if got := together(slices.Repeat([]float64{once}, n)); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d at once: %v, want %v", n, got, want)
		}
	}
	if got := together(slices.Repeat([]float64{-1}, 5000)); got < 0.4 || got > 0.6 { // what is to be expected
		t.Errorf("%v, want about a half", got)
	}
	if together(nil) != 1 && together(nil) != 0 {
		t.Errorf("of nothing %v", together(nil))
	}
	if got, want := chance(4, 1, 10), math.Log(4)+10*math.Log(0.25); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
}
