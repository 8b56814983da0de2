package runner

import (
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// FaultEvent implements engine.Observer.
func (r *recorder) FaultEvent(ev engine.FaultEvent) {
	r.events[ev.Kind]++
	plan := r.scenario.Topology
	r.spread.anyWay = r.spread.anyWay || ev.Kind == engine.EventReroute
	node, port, peer := "", "", ""
	if ev.Port >= 0 {
		p := &plan.Ports[ev.Port]
		node, port, peer = plan.Nodes[p.Node].Name, p.Name, plan.PeerNode(topologies.PortID(ev.Port)).Name
		if ev.Kind == engine.EventLinkDown { // neither end is paused any longer
			for priority := range uint8(8) {
				r.endPause(ev.At, p.ID, priority)
				r.endPause(ev.At, p.Peer, priority)
			}
			r.congestion.linkDown(ev.At, p.ID)
			r.congestion.linkDown(ev.At, p.Peer)
		}
	}
	r.observers.fault(&ev)
	r.keep(r.out.Events.Write(&rundir.EventRow{
		Time: ev.At.RoundNanoseconds(), Node: node, Port: port, Peer: peer, Event: ev.Kind, Detail: ev.Detail,
	}))
}
