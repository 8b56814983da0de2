package lint

import (
	"fmt"
	"math/bits"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// timeouts warns of a low timeout of selective repeat that is set but never used.
func (w *warner) timeouts() {
	h := &w.s.Host
	low, high := h.Selective.LowTimeout, h.RetransmitTimeout
	if h.Recovery != hostagent.SelectiveRepeat || low == hostagent.Default().Selective.LowTimeout {
		return
	}
	switch {
	case high == 0:
		w.warn("host.selective.rto_low %v has no effect without a timeout; set host.retransmit_timeout", low)
	case low >= high:
		w.warn("host.selective.rto_low %v has no effect: it must be below host.retransmit_timeout, %v", low, high)
	}
}

// reordering warns of a reorder threshold of selective repeat that is below the reordering that several paths can
// cause.
func (w *warner) reordering() {
	h := scenario.HostSettings(w.s, w.needs)
	if h.Recovery != hostagent.SelectiveRepeat || w.s.Switch.Trim {
		return
	}
	if needed := scenario.ReorderTolerance(w.s, w.needs, h.Selective.Cap); h.Selective.Reorder < min(needed, 32) {
		w.warn("host.selective.reorder %d mistakes reordered packets for lost ones: a flow's packets take several paths "+
			"here and can arrive up to %d late; remove it or set it to %d",
			h.Selective.Reorder, needed, needed)
	}
}

// trimming warns of incasts whose trimmed packets alone can fill the receiver's link, which leaves nothing for data.
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
	seen, senders, to := map[[2]topologies.NodeID]bool{}, map[topologies.NodeID]int64{}, topologies.NodeID(0)
	for i := range s.Flows {
		if f := &s.Flows[i]; !seen[[2]topologies.NodeID{f.Source, f.Destination}] {
			seen[[2]topologies.NodeID{f.Source, f.Destination}] = true
			if senders[f.Destination]++; senders[f.Destination] > senders[to] {
				to = f.Destination
			}
		}
	}
	if n := senders[to]; n*trimmed > full {
		w.warn("switch.trim: %d hosts send to %s, and the trimmed packets of %d of them (%d bytes for each packet of %d) "+
			"fill its link. Priority %d is strict and leaves nothing for data, so flows may never end. Give both priorities a "+
			"weight, such as 10 headers for each data packet (NDP, section 3.1): switch.scheduler.dwrr: {%d: %dB, %d: %dB}",
			n, s.Topology.Nodes[to].Name, full/trimmed+1, trimmed, full, control, data, s.Topology.IP.DataLen(op,
				s.Topology.MTU), control, 10*s.Topology.IP.TrimmedLen(op))
	}
}

// buffers warns of switches whose buffer cannot hold the frames that PFC admits.
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
	var switches groups[kind]
	for i, own := range scenario.EverySwitch(plan, s) {
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
		switches.add(k, node.Name)
	}
	of := "every port"
	if lossless > 1 {
		of = fmt.Sprintf("every port and each of %d lossless priorities", lossless)
	}
	for _, k := range switches.keys {
		where := lists.Few(switches.names[k])
		switch {
		case s.PFC.Alpha > 0 && k.headroom >= k.buffer:
			w.warn("%s: the headroom of %s is %v, which takes up the shared buffer of %v, so XOFF is 0; raise switch.buffer "+
				"or lower switch.pfc.headroom", where, of, k.headroom, k.buffer)
		case s.PFC.Alpha > 0:
		case s.PFC.XOFF != switchagent.Auto && s.PFC.XOFF > k.buffer:
			w.warn("%s: pfc.xoff %v is above the shared buffer, %v, which fills before a PAUSE is sent and drops lossless "+
				"frames; lower switch.pfc.xoff, raise switch.buffer, or set either to auto",
				where, s.PFC.XOFF, k.buffer)
		case k.xoff+k.headroom > k.buffer:
			w.warn("%s: XOFF and headroom of %s (%d ports) need %v + %v = %v, but the shared buffer is %v: "+
				"lossless frames may be dropped; raise switch.buffer to at least %v, lower switch.pfc.xoff, or set either to auto",
				where, of, k.ports, k.xoff, k.headroom, k.xoff+k.headroom, k.buffer, k.xoff+k.headroom)
		}
	}
}

// headrooms warns of ports whose headroom is smaller than the data in flight on their cable, including cables that a
// fault changes.
func (w *warner) headrooms() {
	plan, s := w.s.Topology, &w.s.Switch
	lossless := bits.OnesCount8(s.PFC.Priorities)
	if set := w.s.UnpausedACKs(); set != 0 {
		w.warn("host.ack_when_paused: hosts keep sending ACK, NAK and CNP of priorities %v while these are paused, "+
			"and no headroom can hold them: lossless frames may be dropped", keys.PriorityList(set))
	}
	if s.FlowControl != switchagent.FlowPFC || lossless == 0 || s.PFC.Headroom == switchagent.Auto {
		return
	}
	type kind struct {
		cable    switchagent.Cable
		headroom units.Bytes
	}
	var ports groups[kind]
	note := func(id topologies.PortID, c switchagent.Cable, headroom units.Bytes) {
		if f := c.InFlight(&s.PFC); f.Buffered > headroom {
			ports.add(kind{c, headroom}, scenario.PortLabel(plan, id))
		}
	}
	for i, own := range scenario.EverySwitch(plan, s) {
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
	for _, k := range ports.keys {
		f := k.cable.InFlight(&s.PFC)
		w.warn("%s: pfc.headroom is %v, but %v can be in flight to a port with rate %v and cable delay %v (%v): "+
			"lossless frames may be dropped; raise it to at least %v, or set it to auto",
			lists.Few(ports.names[k]), k.headroom, f.Sum(), k.cable.Rate, k.cable.Delay, &f, f.Sum())
	}
}
