package scenario

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// timeouts warns of a low timeout of selective repeat that has been set and takes the place of none.
func (w *warner) timeouts() {
	h := &w.s.Host
	low, high := h.Selective.LowTimeout, h.RetransmitTimeout
	if h.Recovery != hostagent.SelectiveRepeat || low == hostagent.Default().Selective.LowTimeout {
		return
	}
	switch {
	case high == 0:
		w.warn("host.selective.rto_low %v has no effect: there is no timeout; host.retransmit_timeout is what to set", low)
	case low >= high:
		w.warn("host.selective.rto_low %v has no effect: host.retransmit_timeout is %v, and it takes the place of a longer one", low, high)
	}
}

// reordering warns of a threshold of selective repeat below what packets on several paths overtake each other by.
func (w *warner) reordering() {
	h := HostSettings(w.s, w.needs)
	if h.Recovery != hostagent.SelectiveRepeat || w.s.Switch.Trim {
		return
	}
	if needed := tolerance(w.s, w.needs, h.Selective.Cap); h.Selective.Reorder < min(needed, 32) {
		w.warn("host.selective.reorder %d takes packets for lost that others overtake: a flow's packets take several paths here, on which the latest may be %d late; leave it out, or set %d",
			h.Selective.Reorder, needed, needed)
	}
}

// trimming warns of incasts whose trimmed packets alone can fill the port that they meet at, where nothing is left for
// data then.
func (w *warner) trimming() {
	s := w.s
	quantum := &s.Switch.Scheduler.Quantum
	data, control := s.Host.DataPriority, s.Host.ControlPriority
	if !s.Switch.Trim || quantum[data] > 0 && quantum[control] > 0 || quantum[data] == 0 &&
		(quantum[control] > 0 || data >= control) {
		return
	}
	op := wire.OpWriteMiddle
	if s.Host.Recovery == hostagent.SelectiveRepeat {
		op = wire.OpWriteOnly
	}
	line := s.Topology.Framing.LineBytes
	full, trimmed := line(s.Topology.IP.DataLen(op, s.Topology.MTU)), line(s.Topology.IP.TrimmedLen(op))
	senders, most, to := map[[2]topologies.NodeID]bool{}, map[topologies.NodeID]int64{}, topologies.NodeID(0)
	for i := range s.Flows {
		if f := &s.Flows[i]; !senders[[2]topologies.NodeID{f.Source, f.Destination}] {
			senders[[2]topologies.NodeID{f.Source, f.Destination}] = true
			if most[f.Destination]++; most[f.Destination] > most[to] {
				to = f.Destination
			}
		}
	}
	if n := most[to]; n*trimmed > full {
		w.warn("switch.trim: %d hosts send to %s, and %d of them at once fill its link with trimmed packets (%d bytes of %d), which go in priority %d: "+
			"that is strict, and leaves nothing for data, so that flows may never end. Weights leave each a share, such as NDP's 10 headers a packet "+
			"(section 3.1): switch.scheduler.dwrr: {%d: %dB, %d: %dB}",
			n, s.Topology.Nodes[to].Name, full/trimmed+1, trimmed, full, control, data, s.Topology.IP.DataLen(op,
				s.Topology.MTU), control, 10*s.Topology.IP.TrimmedLen(op))
	}
}

// buffers warns of switches whose buffer does not hold what PFC lets in.
func (w *warner) buffers() {
	plan, s := w.s.Topology, &w.s.Switch
	lossless := bits.OnesCount8(s.PFC.Priorities)
	if s.FlowControl != switchagent.FlowPFC || lossless == 0 {
		return
	}
	type kind struct {
		buffer, xoff, headroom units.Bytes
		ports                  int
	}
	var all []kind
	switches := map[kind][]string{}
	for i, own := range EverySwitch(plan, s) {
		if !w.isAbout(i) {
			continue
		}
		node := &plan.Nodes[plan.Switch[i]]
		buffer, ports := own.Resolve(fill.Cables(plan, node.ID, w.live))
		k := kind{buffer: buffer, ports: len(ports)}
		for i := range ports {
			k.xoff += ports[i].XOFF * units.Bytes(lossless)
			k.headroom += ports[i].Headroom * units.Bytes(lossless)
		}
		if switches[k] == nil {
			all = append(all, k)
		}
		switches[k] = append(switches[k], node.Name)
	}
	of := "every port"
	if lossless > 1 {
		of = fmt.Sprintf("every port and each of %d lossless priorities", lossless)
	}
	for _, k := range all {
		where := Few(switches[k])
		switch {
		case s.PFC.Alpha > 0 && k.headroom >= k.buffer:
			w.warn("%s: the headroom of %s is %v, and the shared buffer is %v: nothing is left of it to share, and XOFF is 0; "+
				"switch.buffer must be more, or switch.pfc.headroom less", where, of, k.headroom, k.buffer)
		case s.PFC.Alpha > 0:
		case s.PFC.XOFF != switchagent.Auto && s.PFC.XOFF > k.buffer:
			w.warn("%s: pfc.xoff %v is above the shared buffer, %v: it is full before a PAUSE is sent, and lossless frames are dropped; switch.pfc.xoff must be lower, or switch.buffer higher, or either auto",
				where, s.PFC.XOFF, k.buffer)
		case k.xoff+k.headroom > k.buffer:
			w.warn("%s: XOFF and headroom of %s (%d) are %v + %v = %v, and the shared buffer is %v: lossless frames may be dropped; "+
				"switch.buffer must be %v or more, or auto, or switch.pfc.xoff lower or auto",
				where, of, k.ports, k.xoff, k.headroom, k.xoff+k.headroom, k.buffer, k.xoff+k.headroom)
		}
	}
}

// headrooms warns of ports whose headroom is less than what their cable can have in flight, as faults make it.
func (w *warner) headrooms() {
	plan, s := w.s.Topology, &w.s.Switch
	lossless := bits.OnesCount8(s.PFC.Priorities)
	if set := w.s.UnpausedACKs(); set != 0 {
		w.warn("host.ack_when_paused: hosts send ACK, NAK and CNP of priorities %v although these are paused, without end, and no headroom is enough for that: "+
			"lossless frames may be dropped", keys.PriorityList(set))
	}
	if s.FlowControl != switchagent.FlowPFC || lossless == 0 || s.PFC.Headroom == switchagent.Auto {
		return
	}
	type kind struct {
		cable    switchagent.Cable
		headroom units.Bytes
	}
	var all []kind
	ports := map[kind][]string{}
	note := func(id topologies.PortID, c switchagent.Cable, headroom units.Bytes) {
		if f := c.InFlight(&s.PFC); f.Buffered > headroom {
			k := kind{c, headroom}
			if ports[k] == nil {
				all = append(all, k)
			}
			ports[k] = append(ports[k], PortLabel(plan, id))
		}
	}
	for i, own := range EverySwitch(plan, s) {
		if !w.isAbout(i) {
			continue
		}
		node := &plan.Nodes[plan.Switch[i]]
		cables := fill.Cables(plan, node.ID, w.live)
		_, thresholds := own.Resolve(cables)
		for k, id := range node.Ports {
			note(id, cables[k], thresholds[k].Headroom)
			for _, c := range w.s.ChangedCables(id, cables[k]) {
				note(id, c.Cable, thresholds[k].Headroom)
			}
		}
	}
	for _, k := range all {
		f := k.cable.InFlight(&s.PFC)
		w.warn("%s: pfc.headroom is %v, and %v can be in flight to a port of %v, %v (%v): lossless frames may be dropped; it must be %v or more, or auto",
			Few(ports[k]), k.headroom, f.Sum(), k.cable.Rate, k.cable.Delay, &f, f.Sum())
	}
}

// UnpausedACKs are the lossless priorities of which hosts send ACK, NAK and CNP while PFC pauses them.
func (s *Scenario) UnpausedACKs() uint8 {
	if !s.Host.ACKsWhenPaused || s.Switch.FlowControl != switchagent.FlowPFC {
		return 0
	}
	set := uint8(1) << s.Host.ControlPriority // of CNP in any case
	if s.Host.ACKsWithData {
		set |= s.DataPriorities()
	}
	return set & s.Switch.PFC.Priorities
}

// ChangedCable is a cable as a fault makes it, and the fault's index.
type ChangedCable struct {
	Cable switchagent.Cable
	Fault int
}

// ChangedCables are the cable c of a switch's port as each fault by itself makes it that gives it another delay or
// rate.
func (s *Scenario) ChangedCables(id topologies.PortID, c switchagent.Cable) (cables []ChangedCable) {
	peer := s.Topology.Ports[id].Peer
	for i := range s.Faults {
		f := &s.Faults[i]
		if f.Kind != settings.FaultDelay && f.Kind != settings.FaultRate {
			continue
		}
		out := slices.Contains(f.Ports, id) || !f.OneWay && slices.Contains(f.Ports, peer)
		in := slices.Contains(f.Ports, peer) || !f.OneWay && slices.Contains(f.Ports, id)
		now := c
		if out && f.Kind == settings.FaultDelay {
			now.Delay = f.Delay
		}
		if in && f.Kind == settings.FaultDelay {
			now.PeerDelay = f.Delay
		}
		if out && f.Kind == settings.FaultRate {
			now.Rate = f.Rate
		}
		if in && f.Kind == settings.FaultRate {
			now.PeerRate = f.Rate
		}
		if now != c {
			cables = append(cables, ChangedCable{now, i})
		}
	}
	return cables
}
