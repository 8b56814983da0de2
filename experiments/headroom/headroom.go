// Package headroom proves by arithmetic that the headroom of each port takes what is in flight when PAUSE is sent, or
// refutes it by a run that drops frames.
package headroom

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// Check is the arithmetic of a scenario's switches.
type Check struct {
	Kinds    []Kind
	Switches []Switch
}

// Kind is ports that are alike: they have equal cables and thresholds, and lead to hosts, or to switches.
type Kind struct {
	Ports    []topologies.PortID
	Cable    switchagent.Cable
	InFlight switchagent.InFlight
	XOFF     units.Bytes // 0: it is dynamic, without a bound
	Headroom units.Bytes // of each lossless priority
	// Fault is the one that makes the cable so, as an index of the scenario's; -1: none, the cable is so from the start.
	Fault int
	// Unpaused says that hosts beyond the cables send ACK, NAK and CNP of a lossless priority although it is paused, so
	// that no headroom is enough.
	Unpaused bool
	// SONiC is the headroom by the formula of SONiC's buffermgrd; 0: the switch has no cells, and so none.
	SONiC units.Bytes
}

// Needed returns what may come after XOFF, as buffers count it.
func (k *Kind) Needed() units.Bytes { return k.InFlight.Buffered }

// Margin is how much more the headroom is than what is needed; negative: it is less, and lossless frames may be
// dropped.
func (k *Kind) Margin() units.Bytes { return k.Headroom - k.Needed() }

// Holds says whether the headroom takes all that may come.
func (k *Kind) Holds() bool { return k.Margin() >= 0 && !k.Unpaused }

// Switch is switches that are alike: what their ports may take up, and what there is.
type Switch struct {
	Nodes    []topologies.NodeID
	Ports    int
	Buffer   units.Bytes
	XOFF     units.Bytes // of all ports and lossless priorities; 0 where it is dynamic and so takes what is free
	Headroom units.Bytes // of all ports and lossless priorities
}

// Margin is how much more the buffer is than what lossless priorities may take up.
func (s *Switch) Margin() units.Bytes { return s.Buffer - s.XOFF - s.Headroom }

// Holds says whether nothing of a lossless priority can be dropped for want of room.
func (c *Check) Holds() bool {
	for i := range c.Kinds {
		if !c.Kinds[i].Holds() {
			return false
		}
	}
	for i := range c.Switches {
		if c.Switches[i].Margin() < 0 {
			return false
		}
	}
	return true
}

// ErrNoPFC is that no priority of the fabric is lossless by PFC.
var ErrNoPFC = errors.New("no priority is lossless by PFC: there is no headroom to check")

// Of checks a scenario as a run of a controller meets it (scenario.Scenario.Under).
func Of(s *scenario.Scenario) (*Check, error) {
	plan, of := s.Topology, &s.Switch
	lossless := bits.OnesCount8(of.PFC.Priorities)
	if of.FlowControl != switchagent.FlowPFC || lossless == 0 {
		return nil, ErrNoPFC
	}
	c := &Check{}
	type port struct {
		cable          switchagent.Cable
		xoff, headroom units.Bytes
		to             topologies.Kind
		fault          int
		sonic          units.Bytes
	}
	kinds := map[port]int{}
	add := func(id topologies.PortID, p port) {
		place, found := kinds[p]
		if !found {
			place = len(c.Kinds)
			kinds[p] = place
			c.Kinds = append(c.Kinds, Kind{
				Cable: p.cable, InFlight: p.cable.InFlight(&of.PFC),
				XOFF: p.xoff, Headroom: p.headroom, Fault: p.fault, Unpaused: p.to == topologies.Host && s.UnpausedACKs() != 0,
				SONiC: p.sonic,
			})
		}
		c.Kinds[place].Ports = append(c.Kinds[place].Ports, id)
	}
	type node struct {
		ports                  int
		buffer, xoff, headroom units.Bytes
	}
	switches := map[node]int{}
	for i, own := range scenario.EverySwitch(plan, of) {
		at := &plan.Nodes[plan.Switch[i]]
		cables := fill.Cables(plan, at.ID, false)
		_, thresholds := own.Resolve(cables)
		changed := make([][]scenario.ChangedCable, len(cables))
		grown := slices.Clone(cables) // as faults make them: auto headroom, and with it an auto buffer, becomes more
		for k, id := range at.Ports {
			formula := func(c *switchagent.Cable) units.Bytes { return sonicXOFF(c, &of.PFC, plan.MTU, plan.Ports[id].MTU) }
			add(id, port{cables[k], thresholds[k].XOFF, thresholds[k].Headroom, plan.PeerNode(id).Kind, -1, formula(&cables[k])})
			before := cables[k].InFlight(&of.PFC)
			for _, f := range s.ChangedCables(id, cables[k]) {
				if after := f.Cable.InFlight(&of.PFC); after.Sum() > before.Sum() {
					changed[k] = append(changed[k], f)
					grown[k].Grown = max(grown[k].Grown, after.Sum())
				}
			}
		}
		buffer, thresholds := own.Resolve(grown)
		n := node{ports: len(cables), buffer: buffer}
		for k, id := range at.Ports {
			n.headroom += thresholds[k].Headroom * units.Bytes(lossless)
			if of.PFC.Alpha == 0 {
				n.xoff += thresholds[k].XOFF * units.Bytes(lossless)
			}
			for _, f := range changed[k] {
				formula := sonicXOFF(&f.Cable, &of.PFC, plan.MTU, plan.Ports[id].MTU)
				add(id, port{f.Cable, thresholds[k].XOFF, thresholds[k].Headroom, plan.PeerNode(id).Kind, f.Fault, formula})
			}
		}
		place, found := switches[n]
		if !found {
			place = len(c.Switches)
			switches[n] = place
			c.Switches = append(c.Switches, Switch{Ports: n.ports, Buffer: n.buffer, XOFF: n.xoff, Headroom: n.headroom})
		}
		c.Switches[place].Nodes = append(c.Switches[place].Nodes, at.ID)
	}
	return c, nil
}
