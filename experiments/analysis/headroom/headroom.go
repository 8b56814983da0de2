// Package headroom proves by arithmetic that each port's headroom can hold the data in flight after a PAUSE, or
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

// Check holds the arithmetic for a scenario's switches.
type Check struct {
	Kinds    []Kind
	Switches []Switch
}

// Kind describes ports with equal cables and thresholds that all lead to hosts, or all to switches.
type Kind struct {
	Ports    []topologies.PortID
	Cable    switchagent.Cable
	InFlight switchagent.InFlight
	XOFF     units.Bytes // 0: dynamic, without an upper bound
	Headroom units.Bytes // of each lossless priority
	// Fault holds the index in the scenario of the fault that changes the cable; -1: the cable is unchanged.
	Fault int
	// Unpaused reports whether hosts at the other ends send ACK, NAK and CNP of a lossless priority even while it is
	// paused. No headroom is enough then.
	Unpaused bool
	// SONiC holds the headroom by the formula of SONiC's buffermgrd; 0: the switch has no cells, so the formula does
	// not apply.
	SONiC units.Bytes
}

// Needed returns the bytes that may arrive after XOFF, as buffers count them.
func (k *Kind) Needed() units.Bytes { return k.InFlight.Buffered }

// Margin returns the headroom minus the needed bytes; if it is negative, lossless frames may be dropped.
func (k *Kind) Margin() units.Bytes { return k.Headroom - k.Needed() }

// Holds reports whether the headroom can hold everything that may arrive.
func (k *Kind) Holds() bool { return k.Margin() >= 0 && !k.Unpaused }

// Switch describes switches with equal settings: the buffer that their ports may use, and the buffer that exists.
type Switch struct {
	Nodes    []topologies.NodeID
	Ports    int
	Buffer   units.Bytes
	XOFF     units.Bytes // of all ports and lossless priorities; 0 if it is dynamic and adapts to the free buffer
	Headroom units.Bytes // of all ports and lossless priorities
}

// Margin returns the buffer minus the bytes that lossless priorities may use.
func (s *Switch) Margin() units.Bytes { return s.Buffer - s.XOFF - s.Headroom }

// ErrNoPFC reports that no priority of the fabric is lossless by PFC.
var ErrNoPFC = errors.New("no priority is lossless by PFC, so there is no headroom to check: set switch.pfc.priorities")

// Of checks a scenario as returned by scenario.Scenario.Under.
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
		index, found := kinds[p]
		if !found {
			index = len(c.Kinds)
			kinds[p] = index
			c.Kinds = append(c.Kinds, Kind{
				Cable: p.cable, InFlight: p.cable.InFlight(&of.PFC),
				XOFF: p.xoff, Headroom: p.headroom, Fault: p.fault, Unpaused: p.to == topologies.Host && s.UnpausedACKs() != 0,
				SONiC: p.sonic,
			})
		}
		c.Kinds[index].Ports = append(c.Kinds[index].Ports, id)
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
		grown := slices.Clone(cables) // as changed by faults: this increases auto headroom, and with it an auto buffer
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
		index, found := switches[n]
		if !found {
			index = len(c.Switches)
			switches[n] = index
			c.Switches = append(c.Switches, Switch{Ports: n.ports, Buffer: n.buffer, XOFF: n.xoff, Headroom: n.headroom})
		}
		c.Switches[index].Nodes = append(c.Switches[index].Nodes, at.ID)
	}
	return c, nil
}
