package measure

import (
	"slices"

	"github.com/pausenet/pausenet/topologies"
)

// TierImbalance describes how unevenly the switches of a tier load equal-cost ports. A port's load is its bytes
// divided by its rate.
type TierImbalance struct {
	Tier int `json:"tier"` // as in topologies.Node: 1 for switches with hosts
	// Groups counts the sets of equal-cost ports that sent anything, over all switches of the tier. A set within
	// another does not count.
	Groups int `json:"groups"`
	// MaxOverMean holds the load of a group's busiest port over the mean: 1 if all loads are equal. Jain's index is the
	// square of the sum of loads over the number of ports times the sum of squares: 1 if all loads are equal, 1/n if
	// one of n ports has all. Both are means over the groups, weighted by bytes.
	MaxOverMean float64 `json:"max_over_mean"`
	Jain        float64 `json:"jain"`
	// Worst holds the group with the greatest MaxOverMean among those with at least half of the mean group's bytes.
	Worst GroupImbalance `json:"worst"`
}

// GroupImbalance describes how unevenly a switch loads the ports of a group.
type GroupImbalance struct {
	Node        string   `json:"node"`
	Ports       []string `json:"ports"`
	MaxOverMean float64  `json:"max_over_mean"`
	Jain        float64  `json:"jain"`

	bytes float64
}

// ImbalanceOf returns the imbalance of each tier that chooses among ports, in a fabric whose links are given by port.
func ImbalanceOf(plan *topologies.Plan, all []Link) []TierImbalance {
	var tiers []TierImbalance
	byTier := map[int][]GroupImbalance{}
	for sw, id := range plan.Switch {
		tier := plan.Nodes[id].Tier
		for _, ports := range choicesOf(plan, sw) {
			if g := imbalanceOf(plan, all, ports); g.bytes > 0 {
				byTier[tier] = append(byTier[tier], g)
			}
		}
	}
	for tier, groups := range byTier {
		t := TierImbalance{Tier: tier, Groups: len(groups)}
		var bytes float64
		for i := range groups {
			g := &groups[i]
			bytes += g.bytes
			t.MaxOverMean += float64(g.bytes * g.MaxOverMean)
			t.Jain += float64(g.bytes * g.Jain)
		}
		t.MaxOverMean, t.Jain = t.MaxOverMean/bytes, t.Jain/bytes
		for i := range groups {
			if g := &groups[i]; g.MaxOverMean > t.Worst.MaxOverMean && g.bytes >= bytes/float64(2*len(groups)) {
				t.Worst = *g
			}
		}
		tiers = append(tiers, t)
	}
	slices.SortFunc(tiers, func(a, b TierImbalance) int { return a.Tier - b.Tier })
	return tiers
}

// choicesOf returns the sets of equal-cost ports of the switch with an index, in ascending order, without sets that
// lie within others.
func choicesOf(plan *topologies.Plan, sw int) [][]topologies.PortID {
	routes := plan.Routes()
	var sets [][]topologies.PortID
	seen := map[int32]bool{}
	for _, g := range routes.ToLeaf[sw*routes.Leaves:][:routes.Leaves] {
		if g == topologies.AtLeaf || seen[g] {
			continue
		}
		seen[g] = true
		ports := slices.Clone(routes.Groups[g])
		slices.Sort(ports)
		if ports = slices.Compact(ports); len(ports) > 1 {
			sets = append(sets, ports)
		}
	}
	within := func(a, b []topologies.PortID) bool {
		return len(a) < len(b) && !slices.ContainsFunc(a, func(p topologies.PortID) bool { return !slices.Contains(b, p) })
	}
	return slices.DeleteFunc(slices.Clone(sets), func(a []topologies.PortID) bool {
		return slices.ContainsFunc(sets, func(b []topologies.PortID) bool { return within(a, b) })
	})
}

func imbalanceOf(plan *topologies.Plan, all []Link, ports []topologies.PortID) GroupImbalance {
	var g GroupImbalance
	var sum, squares, most float64
	for _, id := range ports {
		l := &all[id]
		g.Node, g.Ports = l.Node, append(g.Ports, l.Port)
		g.bytes += float64(l.TxBytes)
		x := float64(l.TxBytes) / float64(plan.Ports[id].Rate)
		sum += x
		squares += float64(x * x)
		most = max(most, x)
	}
	if n := float64(len(ports)); sum > 0 {
		g.MaxOverMean, g.Jain = most*n/sum, sum*sum/(n*squares)
	}
	return g
}
