package deadlock

import (
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// volume tells how much a scenario's flows can buffer.
type volume struct {
	pairs map[Pair]float64 // bytes of all flows of a pair of leaves, as buffers count them; infinite if one has no end
	xoff  []units.Bytes    // by egress port: XOFF of the account at the other end of its link
}

// volumesOf returns the volumes of a scenario's flows and their ACKs by priority; nil if XOFF is dynamic, or flow
// control is by credits.
func volumesOf(s *scenario.Scenario) *[8]volume {
	if s.Switch.PFC.Alpha > 0 || s.Switch.FlowControl != switchagent.FlowPFC {
		return nil
	}
	plan := s.Topology
	xoff := make([]units.Bytes, len(plan.Ports))
	for i, own := range scenario.EverySwitch(plan, &s.Switch) {
		node := &plan.Nodes[plan.Switch[i]]
		_, thresholds := own.Resolve(fill.Cables(plan, node.ID, false))
		for k, id := range node.Ports {
			xoff[plan.Ports[id].Peer] = thresholds[k].XOFF
		}
	}
	var all [8]volume
	for i := range all {
		all[i] = volume{map[Pair]float64{}, xoff}
	}
	leaf := plan.Routes().Leaf
	for f, times := range s.AlikeFlows() {
		pair := Pair{leaf[plan.Interface(f.Source, f.Pair.From)], leaf[plan.Interface(f.Destination, f.Pair.To)]}
		bytes := math.Inf(1)
		if f.Size > 0 {
			packets := math.Ceil(float64(f.Size)/float64(plan.MTU)) + float64(f.Extra().QPs.Count)
			bytes = packets * float64(fill.FullSize(plan)) * float64(times)
		}
		back := s.Host.ControlPriority
		if s.Host.ACKsWithData {
			back = s.PriorityOf(f)
		}
		all[s.PriorityOf(f)].pairs[pair] += bytes
		all[back].pairs[Pair{pair.To, pair.From}] += bytes // no more than one ACK for each packet, and shorter
	}
	return &all
}

// Harmless reports that flows are too small for the cycles of a component, and why: without the buffers that all flows
// which can cross them, together, cannot fill up to XOFF, no cycle is left. It holds as long as nothing is
// retransmitted.
func (p *Proof) Harmless(c *Cycle) (reason string, ok bool) {
	class := &p.Classes[c.Class]
	if class.volume == nil {
		return "", false
	}
	n := p.network
	r := n.routes(c.Failed)
	g := graph{}
	paused := func(port topologies.PortID) (float64, bool) {
		sum := 0.0
		for _, pair := range n.users(r, class.Pairs, port) {
			sum += class.volume.pairs[pair]
		}
		return sum, sum >= float64(class.volume.xoff[port])
	}
	known := map[topologies.PortID]bool{}
	n.turns(r, class.Pairs, func(t turn, _ int32) bool {
		for _, port := range []topologies.PortID{t.from, t.to} {
			if _, found := known[port]; !found {
				_, known[port] = paused(port)
			}
		}
		if known[t.from] && known[t.to] {
			g.add(t)
		}
		return true
	})
	for _, component := range g.components() {
		if slices.ContainsFunc(c.Ports, func(id topologies.PortID) bool { return slices.Contains(component, id) }) {
			return "", false
		}
	}
	for _, port := range c.Ports {
		if sum, can := paused(port); !can {
			return fmt.Sprintf("all flows that can cross %s have %v together, less than XOFF (%v), so nothing pauses it",
				scenario.PortLabel(p.Plan, port), units.Bytes(sum), class.volume.xoff[port]), true
		}
	}
	return "", false
}

// users returns the pairs of leaves with a path by a port.
func (n *network) users(r *topologies.Routes, pairs []Pair, port topologies.PortID) (some []Pair) {
	at := int32(n.plan.Nodes[n.plan.Ports[port].Node].Index)
	for _, pair := range pairs {
		if slices.Contains(group(r, at, pair.To), port) && n.lead(r, n.switches[pair.From], at, pair.To) != nil {
			some = append(some, pair)
		}
	}
	return some
}
