// Package fill fills the tables of the pipelines from a plan and the settings of its switches.
package fill

import (
	"fmt"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Sizes returns the sizes of the pipelines' tables for a plan with the given features.
func Sizes(plan *topologies.Plan, features ebpf.Features) ebpf.Sizes {
	n := ebpf.Sizes{
		Ports: len(plan.Ports), Switches: len(plan.Switch), Hosts: len(plan.Interfaces), Leaves: plan.Routes().Leaves,
		Features: features,
	}
	for _, g := range plan.Routes().Groups {
		n.NextHops += len(g)
	}
	for _, s := range plan.Switch {
		k := len(plan.Nodes[s].Ports)
		n.Fanouts += k * k
	}
	if features.Reroute { // to each leaf there may be any of a switch's ports, as often as its weight requires
		for _, s := range plan.Switch {
			for _, id := range plan.Nodes[s].Ports {
				n.NextHops += n.Leaves * plan.Links[plan.Ports[id].Link].Weight
			}
		}
	}
	return n
}

// Plan writes a plan's ports and routes.
func Plan(plan *topologies.Plan, state *ebpf.State) {
	row := uint32(0)
	for i := range plan.Ports {
		p := &plan.Ports[i]
		node := &plan.Nodes[p.Node]
		t := &state.Ports[i]
		t.Kind = ebpf.KindHost
		if node.Kind == topologies.Switch {
			t.Kind = ebpf.KindSwitch
			if x := &state.Extras[i]; state.Features.BurstDetection {
				x.FanoutRow, x.Edge = row, OneIf(plan.Nodes[plan.Ports[p.Peer].Node].Kind != topologies.Switch)
			}
			row += uint32(len(node.Ports))
		}
		t.Node = uint32(node.Index)
		t.FirstPort = uint32(node.Ports[0])
		Cable(state, topologies.PortID(i), p.Rate, p.Delay)
		t.Mac = p.MAC
		t.PeerMac = plan.Ports[p.Peer].MAC
	}
	for i, id := range plan.Interfaces {
		state.Hosts[i].Address = paths.HPCCAddress(plan.Ports[id].Node)
	}
	if err := Routes(plan.Routes(), state); err != nil {
		panic(err) // the tables have the plan's sizes
	}
}

// Cable writes the rate and delay of a port's cable.
func Cable(state *ebpf.State, port topologies.PortID, rate units.Rate, delay vtime.Time) {
	t := &state.Ports[port]
	t.Quantum = uint32(rate.TimeFor(512 / 8))
	t.RateMbps = uint32(rate / units.Mbps)
	t.RateCode, _ = wire.INTRateCode(rate)
	if state.Features.BurstDetection {
		state.Extras[port].ThreeD_c = uint64(rate.BytesIn(3 * delay))
	}
}

// Routes writes routes. They may avoid links that earlier ones used.
func Routes(routes *topologies.Routes, state *ebpf.State) error {
	first := make([]uint32, len(routes.Groups))
	next := 0
	for g, ports := range routes.Groups {
		first[g] = uint32(next)
		if len(ports) < 2 {
			continue
		}
		if next+len(ports) > len(state.NextHops) {
			return fmt.Errorf("the routes have more than the %d next hops that there is room for", len(state.NextHops))
		}
		for _, p := range ports {
			state.NextHops[next] = uint64(p)
			next++
		}
	}
	for i, g := range routes.Last {
		h := &state.Hosts[i]
		h.Leaf, h.Port = uint32(routes.Leaf[i]), ebpf.NoPort
		if ports := routes.Groups[g]; len(ports) > 0 {
			h.Port = uint32(ports[0])
		}
	}
	for i, g := range routes.ToLeaf {
		r := &state.Routes[i]
		if g == topologies.AtLeaf {
			*r = ebpf.Route{Count: ebpf.AtLeaf}
			continue
		}
		ports := routes.Groups[g]
		r.Count = uint32(len(ports))
		r.PortOrFirst = first[g]
		if len(ports) == 1 {
			r.PortOrFirst = uint32(ports[0])
		}
	}
	return nil
}

// NextHops returns the ports from which the pipelines of the switch with index sw choose for the interface with index
// to, where leaves is the number of leaves in the routes.
func NextHops(state *ebpf.State, leaves, sw, to int) (hops []topologies.PortID) {
	h := &state.Hosts[to]
	r := &state.Routes[sw*leaves+int(h.Leaf)]
	switch {
	case r.Count == 1:
		return []topologies.PortID{topologies.PortID(r.PortOrFirst)}
	case r.Count != ebpf.AtLeaf:
		for _, port := range state.NextHops[r.PortOrFirst:][:r.Count] {
			hops = append(hops, topologies.PortID(port))
		}
	case h.Port != ebpf.NoPort:
		return []topologies.PortID{topologies.PortID(h.Port)}
	}
	return hops
}

// OuterIfindex returns the index in the hub namespace of a port's outer end. Package fill chooses indexes, instead of
// requesting them from the kernel. That saves a dump of every namespace, and the ring gets a port from an interface by
// subtraction.
func OuterIfindex(id topologies.PortID) int32 { return ebpf.FirstOuter + int32(id) }

// InnerIfindex returns the index in its node's namespace of a port's inner end.
func InnerIfindex(p *topologies.Port) int32 { return ebpf.FirstInner + int32(p.Number) - 1 }
