package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// overrun identifies drops of one lossless priority at one port for one reason.
type overrun struct {
	port     int32
	priority uint8
	why      switchagent.Drop
}

// failLossless records a frame that was dropped at port p although its priority is lossless. It records each port,
// priority and reason once, with the remedy, and counts the rest.
func (w *worker) failLossless(p *port, f *frame.Frame, why switchagent.Drop) {
	at := overrun{p.id, f.Priority, why}
	if why == switchagent.DropHeadroom { // of the ingress port
		at.port = f.InPort
	}
	r := w.partitions[p.partition]
	if v, seen := r.overruns[at]; seen {
		v.Times++
		return
	}
	if r.overruns == nil {
		r.overruns = map[overrun]*Violation{}
	}
	missing := ""
	if why == switchagent.DropHeadroom {
		missing = w.lacksHeadroom(&w.ports[at.port], f.Priority)
	} else {
		missing = fill.LacksBuffer(w.settings[p.index], w.cables[p.index])
	}
	r.overruns[at] = w.fail(NothingDropped, w.plan.Ports[at.port].Name, "priority %d: %v: %s", f.Priority, why, missing)
}

// lacksHeadroom explains why more of a priority arrived at a switch's port after XOFF than its headroom holds. It
// includes the remedy.
func (w *worker) lacksHeadroom(p *port, priority uint8) string {
	_, cable := w.cableOf(p)
	needed := cable.InFlight(&w.settings[p.index].PFC)
	headroom := units.Bytes(w.switches[p.index].Headroom(int(p.id)))
	answers := w.answersPaused(&w.ports[p.peer], priority)
	switch {
	case answers && headroom >= needed.Sum():
		return fmt.Sprintf("%s sends ACK, NAK and CNP of this priority although it is paused (host.ack_when_paused), "+
			"without end, and the %v of headroom "+
			"hold what is in flight and no more: host.ack_when_paused must be false, or switch.pfc.headroom much more",
			w.plan.PeerNode(topologies.PortID(p.id)).Name, headroom)
	case headroom >= needed.Sum():
		return fmt.Sprintf("the %v of headroom hold what can be in flight to this port, so PAUSE came late or ran out: "+
			"more switch.pfc.quanta, or thresholds that do not change in a run", headroom)
	}
	text := fmt.Sprintf("%v can be in flight to this port (%v) and its headroom is %v: switch.pfc.headroom must be %v "+
		"or more here, or auto",
		needed.Sum(), &needed, headroom, needed.Sum())
	if answers {
		text += fmt.Sprintf("; and %s sends ACK, NAK and CNP of this priority although it is paused "+
			"(host.ack_when_paused), which comes on top",
			w.plan.PeerNode(topologies.PortID(p.id)).Name)
	}
	return text
}

// answersPaused reports whether a port belongs to a host that sends answers of this priority although it is paused.
func (w *worker) answersPaused(p *port, priority uint8) bool {
	return !p.isSwitch && w.hosts.ACKsWhenPaused &&
		(priority == w.hosts.ACKPriority() || priority == w.hosts.ControlPriority || w.hosts.ACKsWithData &&
			w.data>>priority&1 != 0)
}
