package engine

import (
	"slices"

	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
)

// Way returns the path of a flow under the present routes, after faults. The path ends at a switch without a route. If
// load balancing moves packets, it has the ports of all paths.
func (e *Engine) Way(flow int) []topologies.PortID {
	f := e.flow(flow)
	if e.plan.Moving() {
		return slices.Concat(e.plan.WaysBy(f.sourcePort(e.plan), f.destinationPort(e.plan), e.NextHops)...)
	}
	return paths.Follow(e.plan, f.Source, f.Destination, f.Ports, e.NextHops)
}

// CutOff describes the position at which a flow's packets, or its answers, cannot continue.
type CutOff struct {
	// Port is the first port of the path whose link is down. Without a route it is the port of the destination host.
	Port topologies.PortID
	// At is the node without a route to Port, if NoRoute.
	At      topologies.NodeID
	NoRoute bool
	Back    bool // the answers are cut off
}

// CutOff returns where a flow is cut off; false if it is not. Where load balancing moves packets, a flow is cut off
// only if no path is left.
func (e *Engine) CutOff(flow int) (CutOff, bool) {
	f := e.flow(flow)
	if c, found := e.cutOff(f.Source, f.Destination, f.Ports); found {
		return c, true
	}
	c, found := e.cutOff(f.Destination, f.Source, f.Ports.Back(e.plan))
	c.Back = true
	return c, found
}

func (e *Engine) cutOff(source, destination topologies.NodeID, ports paths.Ports) (CutOff, bool) {
	from, to := e.plan.Nodes[source].Ports[ports.From], e.plan.Nodes[destination].Ports[ports.To]
	switch {
	case !e.LinkUp(int(from)):
		return CutOff{Port: from}, true
	case !e.LinkUp(int(to)) && !e.rerouted:
		return CutOff{Port: e.plan.Ports[to].Peer}, true
	case e.plan.Moving():
		ways := e.plan.WaysBy(from, to, func(sw, to int) []topologies.PortID {
			return slices.DeleteFunc(e.NextHops(sw, to), func(id topologies.PortID) bool { return !e.LinkUp(int(id)) })
		})
		last := ways[len(ways)-1]
		if slices.ContainsFunc(last, func(id topologies.PortID) bool { return e.plan.PeerNode(id).ID == destination }) {
			return CutOff{}, false
		}
		return CutOff{Port: to, At: e.plan.PeerNode(last[0]).ID, NoRoute: true}, true
	}
	way := paths.Follow(e.plan, source, destination, ports, e.NextHops)
	for _, id := range way {
		if !e.LinkUp(int(id)) {
			return CutOff{Port: id}, true
		}
	}
	if end := e.plan.PeerNode(way[len(way)-1]).ID; end != destination {
		return CutOff{Port: to, At: end, NoRoute: true}, true
	}
	return CutOff{}, false
}

// NextHops returns the ports from which the pipelines of the switch with index sw choose for the interface with index
// to.
func (e *Engine) NextHops(sw, to int) (hops []topologies.PortID) {
	return fill.NextHops(e.state, e.plan.Routes().Leaves, sw, to)
}
