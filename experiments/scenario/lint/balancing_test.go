package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
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
		s := parse(t, balanced, "switch.load_balancing="+set)
		if got := strings.Join(Warnings(s, []string{"dcqcn"}), "\n"); got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}

// TestWarningsOfEntropy checks the warnings about source ports by which no switch chooses a path.
func TestWarningsOfEntropy(t *testing.T) {
	for sets, want := range map[string]string{
		"host.entropy=reps": "",
		"host.entropy=reps switch.load_balancing.mode=spray": "host.entropy reps has no effect: switches choose paths by " +
			"load_balancing.mode spray instead of a hash",
		"host.entropy=reps switch.load_balancing.fields=addresses": "host.entropy reps has no effect: switches hash only " +
			"addresses, not the source port",
	} {
		s := parse(t, balanced, strings.Fields(sets)...)
		if got := strings.Join(Warnings(s, []string{"dcqcn"}), "\n"); got != want {
			t.Errorf("%s: %q, want %q", sets, got, want)
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
			s := parse(t, flows, "switch.load_balancing={"+set+"}", fmt.Sprintf("seed=%d", seed+1))
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
		s := parse(t, flows+c.topology, c.set)
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
		s := parse(t, flows, "switch.load_balancing="+c.set)
		got := strings.Join(Warnings(s, []string{"dcqcn"}), "\n")
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.set, got, c.want)
		}
		if c.want != "" && !strings.Contains(got, "which use only 1 of them") {
			t.Errorf("%s: %q", c.set, got)
		}
	}
	s := parse(t, balanced, "switch.load_balancing.fields=addresses",
		"flows=[{from: h0, to: h2, size: 100KB, count: 40, interval: 0s}]")
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
