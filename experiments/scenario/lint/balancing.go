package lint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/topologies"
)

// balancing warns of load balancing settings that the mode or the topology ignores.
func (w *warner) balancing() {
	b, usual := &w.s.Topology.Balancing, topologies.DefaultBalancing()
	if several, uneven := w.choices(); !several {
		if *b != usual {
			w.warn("switch.load_balancing has no effect: no switch has several equal-cost ports")
		}
		if w.s.Host.Spreads() {
			w.warn("host.entropy %v has no effect: no switch has several equal-cost ports", w.s.Host.Entropy)
		}
		if w.s.Topology.Weighted() {
			w.warn("the topology's weights of links have no effect: no switch has several equal-cost ports")
		}
		return
	} else if w.s.Topology.Weighted() && !uneven {
		w.warn("the topology's weights of links have no effect: links of equal cost have equal weights")
	}
	if w.s.Host.Spreads() {
		switch {
		case !b.KeepsPath():
			w.warn("host.entropy %v has no effect: switches choose paths by load_balancing.mode %v instead of a hash",
				w.s.Host.Entropy, b.Mode)
		case b.Fields != topologies.HashFiveTuple && b.Fields != topologies.HashPorts:
			w.warn("host.entropy %v has no effect: switches hash only %v, not the source port", w.s.Host.Entropy, b.Fields)
		}
	}
	const group = "load_balancing"
	s := &w.s.Switch
	for _, row := range settings.Switch(s, b).Within(group).Differ(settings.Switch(s, &usual).Within(group)) {
		key := strings.TrimPrefix(row.Name, group+".")
		if modes := topologies.BalancingUsers(key); modes != nil && !b.Uses(key) {
			w.warn("switch.%s has no effect: it applies to mode %s, and the mode is %v", row.Name,
				strings.ReplaceAll(strings.Join(modes, ", or "), "`", ""), b.Mode)
		}
	}
}

// choices reports whether any switch has several equal-cost ports, and whether weights of links prefer some of these.
func (w *warner) choices() (several, uneven bool) {
	for _, ports := range w.s.Topology.Routes().Groups {
		distinct := len(slices.Compact(slices.Sorted(slices.Values(ports))))
		several = several || distinct > 1
		uneven = uneven || distinct > 1 && distinct < len(ports)
	}
	return several, uneven
}

// mostPolarised limits the flows whose paths polarisation examines.
const mostPolarised = 20_000

// polarisation warns of switches that use far fewer of their equal-cost ports than a hash of their flows should. The
// cause is that earlier switches chose these flows by the same hash, or that the hashed fields of all flows are equal.
func (w *warner) polarisation() {
	plan := w.s.Topology
	b := &plan.Balancing
	if plan.Moving() || b.Seed == topologies.OwnSeed && b.Fields == topologies.HashFiveTuple {
		return
	}
	type choice struct{ sw, group int32 }
	type taken struct {
		flows int
		again bool // an earlier switch chose among ports for these flows by the same hash
		ports map[topologies.PortID]bool
	}
	routes, portsOf := plan.Routes(), w.s.PortsOf(w.s.Seed)
	choices := map[choice]*taken{}
	for i := range w.s.Flows[:min(len(w.s.Flows), mostPolarised)] {
		f := &w.s.Flows[i]
		ports, err := portsOf(i)
		if err != nil {
			return // Check reports it
		}
		leaf := int(routes.Leaf[plan.Ports[plan.Nodes[f.Destination].Ports[f.Pair.To]].Interface])
		chosen := false
		for _, id := range paths.Forward(plan, f.Source, f.Destination, ports)[1:] {
			sw := plan.Nodes[plan.Ports[id].Node].Index
			group := routes.ToLeaf[sw*routes.Leaves+leaf]
			if group == topologies.AtLeaf || len(routes.Groups[group]) < 2 {
				continue
			}
			c := choices[choice{int32(sw), group}]
			if c == nil {
				c = &taken{ports: map[topologies.PortID]bool{}}
				choices[choice{int32(sw), group}] = c
			}
			c.flows++
			c.ports[id] = true
			c.again, chosen = c.again || chosen && b.Seed != topologies.OwnSeed, true
		}
	}
	keys := slices.SortedFunc(maps.Keys(choices), func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.sw, b.sw), cmp.Compare(a.group, b.group))
	})
	byTier := map[int][]choice{}
	for _, key := range keys {
		tier := plan.Nodes[plan.Switch[key.sw]].Tier
		byTier[tier] = append(byTier[tier], key)
	}
	var names []string
	var example string
	for _, tier := range slices.Sorted(maps.Keys(byTier)) {
		var all, several []float64
		// one: every switch uses a single port for flows that the same hash has already spread. product: the
		// logarithm of the probability that this happens by chance.
		one, product := true, 0.0
		for _, key := range byTier[tier] {
			c := choices[key]
			all = append(all, chance(len(routes.Groups[key.group]), len(c.ports), c.flows))
			if c.flows > 1 {
				several = append(several, all[len(all)-1])
				one = one && c.again && len(c.ports) == 1
				product += all[len(all)-1]
			}
		}
		if together(several) >= 1e-9 && !(one && product < math.Log(1e-3)) {
			continue
		}
		worst := slices.Index(all, slices.Min(all))
		if names == nil {
			key := byTier[tier][worst]
			c := choices[key]
			example = fmt.Sprintf("%s has %d equal-cost ports for %d flows, which use only %d of them",
				plan.Nodes[plan.Switch[key.sw]].Name, len(routes.Groups[key.group]), c.flows, len(c.ports))
		}
		for i, key := range byTier[tier] {
			if name := plan.Nodes[plan.Switch[key.sw]].Name; all[i] < 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return
	}
	why, remedy := fmt.Sprintf("they hash %v only", b.Fields), "load_balancing.fields: 5-tuple"
	if b.Seed != topologies.OwnSeed {
		why, remedy = "the switches before them chose these flows by the same hash, with the same seed",
			"load_balancing.seed: own"
	}
	w.warn("hashes are polarised at %s: %s; %s; set switch.%s", lists.Few(names), example, why, remedy)
}

// chance returns an upper bound, as a logarithm, of the probability that this many flows use at most used of n ports
// if each chooses one at random.
func chance(n, used, flows int) float64 {
	ways := 0.0 // of choosing the ports, as a logarithm
	for i := range used {
		ways += math.Log(float64(n-i) / float64(i+1))
	}
	return min(0, ways+float64(flows)*math.Log(float64(used)/float64(n)))
}

// together returns the probability that independent events with these logarithms of probabilities, or rarer ones,
// occur together (Fisher's method). The logarithm of a uniform probability has an exponential distribution, so the sum
// has an Erlang distribution.
func together(logarithms []float64) float64 {
	sum := 0.0
	for _, x := range logarithms {
		sum -= x
	}
	if sum == 0 {
		return 1
	}
	p := 0.0
	for i := range logarithms {
		of, _ := math.Lgamma(float64(i + 1))
		p += math.Exp(float64(i)*math.Log(sum) - sum - of)
	}
	return p
}
