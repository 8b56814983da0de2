package deadlock

import (
	"github.com/pausenet/pausenet/experiments/analysis/deadlock/certificate"
	"github.com/pausenet/pausenet/topologies"
)

// Certificate returns the certificate of a proof that holds. Classes with traffic between all pairs of leaves name
// none.
func (p *Proof) Certificate() *certificate.Certificate {
	plan := p.Plan
	c := &certificate.Certificate{Version: certificate.Version, Topology: plan.Name, Failures: p.Failures}
	all := len(AllPairs(plan))
	for i := range p.Classes {
		class := certificate.Class{Priorities: p.Classes[i].Priorities}
		if pairs := p.Classes[i].Pairs; len(pairs) < all {
			class.Pairs = [][2]string{}
			for _, pair := range pairs {
				class.Pairs = append(class.Pairs, [2]string{p.LeafName(pair.From), p.LeafName(pair.To)})
			}
		}
		for _, order := range p.Orders[i] {
			names := []string{}
			for _, id := range order {
				names = append(names, plan.Ports[id].Name)
			}
			class.Orders = append(class.Orders, names)
		}
		at := 0
		eachCase(p.network.links, p.Failures, func(failed []int) bool {
			if order := p.Assigned[i][at]; order > 0 {
				of := certificate.Case{Failed: []string{}, Order: int(order)}
				for _, l := range failed {
					of.Failed = append(of.Failed, plan.Ports[plan.Links[l].A].Name)
				}
				class.Cases = append(class.Cases, of)
			}
			at++
			return true
		})
		c.Classes = append(c.Classes, class)
	}
	return c
}

// LeafName returns the name of a leaf's switch.
func (p *Proof) LeafName(leaf int32) string {
	return p.Plan.Nodes[p.Plan.Switch[p.network.switches[leaf]]].Name
}

// HostsOf returns the hosts at a leaf, in order.
func (p *Proof) HostsOf(leaf int32) (hosts []topologies.NodeID) {
	for i, id := range p.Plan.Interfaces {
		if p.Plan.Routes().Leaf[i] == leaf {
			hosts = append(hosts, p.Plan.Ports[id].Node)
		}
	}
	return hosts
}
