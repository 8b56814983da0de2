package fill

import (
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// LongestFrame returns the length of the longest frame that a NIC sends in a plan's fabric.
func LongestFrame(plan *topologies.Plan) int {
	const telemetry = ebpf.TelemetryBytes - 54 // bytes of telemetry in a data packet
	return plan.IP.DataLen(wire.OpWriteFirst, plan.MTU) + telemetry
}

// FullSize returns the size of a full data packet's frame in switches' buffers.
func FullSize(plan *topologies.Plan) int {
	return plan.Framing.Counted(plan.IP.DataLen(wire.OpWriteMiddle, plan.MTU))
}

// Cables returns the ports and cables of a switch, in the order of its ports. In a live fabric, programs on hosts send
// their own frames, which may be longer than those of flows.
func Cables(plan *topologies.Plan, node topologies.NodeID, live bool) []switchagent.Cable {
	longest := LongestFrame(plan)
	if live {
		longest = max(longest, plan.InterfaceMTU+wire.EthernetLen)
	}
	cables := make([]switchagent.Cable, len(plan.Nodes[node].Ports))
	for i, id := range plan.Nodes[node].Ports {
		cables[i] = CableAt(plan, id, longest)
	}
	return cables
}

// CableAt returns a port and its cable, as planned, where no frame is longer than longest.
func CableAt(plan *topologies.Plan, id topologies.PortID, longest int) switchagent.Cable {
	p := &plan.Ports[id]
	peer := &plan.Ports[p.Peer]
	ahead := longest
	if p.MTU > plan.UsualInterfaceMTU() { // stated: frames of other priorities may be so long
		ahead = max(ahead, p.MTU+wire.EthernetLen)
	}
	return switchagent.Cable{
		Rate: p.Rate, PeerRate: peer.Rate, Delay: p.Delay, PeerDelay: peer.Delay,
		Full: FullSize(plan), Longest: plan.Framing.Counted(longest),
		LongestLine: plan.Framing.LineBytes(longest), PFCLine: plan.Framing.LineBytes(wire.PFCLen),
		AheadLine: plan.Framing.LineBytes(ahead),
		ToHost:    plan.Nodes[peer.Node].Kind == topologies.Host,
	}
}

// CheckThresholds returns an error if a switch's settings do not suit the cables of its ports; nil without a
// topology. Settings of one switch are checked with the switch's own buffer.
func CheckThresholds(plan *topologies.Plan, s *switchagent.Settings) error {
	if plan == nil {
		return nil
	}
	for _, id := range plan.Switch {
		node := &plan.Nodes[id]
		own := ownSettings(node, s)
		_, ports := own.Resolve(Cables(plan, id, false))
		if n := len(profiles(own, ports)); n > ebpf.Profiles {
			problem := fmt.Errorf("%s has ports of %d kinds, by their rates and delays, and there can be thresholds for %d: "+
				"give pfc.xoff, cbfc.buffer, ecn.kmin, ecn.kmax, cnm.ecn_threshold and tcd.q_len, without per_rate",
				node.Name, n, ebpf.Profiles)
			switch {
			case s.ECN.PerRate > 0:
				return schema.Errorf("ecn.per_rate", "%v: %w", s.ECN.PerRate, problem)
			case s.PFC.PerRate > 0:
				return schema.Errorf("pfc.per_rate", "%v: %w", s.PFC.PerRate, problem)
			}
			return problem
		}
	}
	return nil
}

// ownSettings returns a switch's settings, given those of all switches: with the switch's own buffer.
func ownSettings(node *topologies.Node, s *switchagent.Settings) *switchagent.Settings {
	own := *s
	if node.Buffer > 0 {
		own.Buffer = node.Buffer
	}
	return &own
}

// profileOf returns a port's thresholds in the pipelines' form.
func profileOf(s *switchagent.Settings, t *switchagent.Thresholds) ebpf.Profile {
	p := ebpf.Profile{EcnKmin: uint64(t.KMin), EcnKmax: uint64(t.KMax), Q_ecn: uint64(t.QECN)}
	if t.Unmarked {
		p.EcnKmin, p.EcnKmax = math.MaxUint64, math.MaxUint64 // more than any queue
	}
	levelsOf(s).limit(&p, t)
	if s.Detector == switchagent.DetectorTCD {
		p.Q_len = uint64(t.QLen)
	}
	return p
}

// profiles returns the distinct profiles of a switch's ports, in the order of the ports.
func profiles(s *switchagent.Settings, ports []switchagent.Thresholds) []ebpf.Profile {
	var all []ebpf.Profile
	for i := range ports {
		if p := profileOf(s, &ports[i]); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// Switch writes a switch's settings, which resolve to this buffer and these thresholds of its ports. registers holds
// the registers of these ports. Switch changes only settings: not the pipelines' counters, nor values that a run sets.
func Switch(t *ebpf.SwitchState, registers []ebpf.Port, s *switchagent.Settings, buffer units.Bytes,
	ports []switchagent.Thresholds,
) {
	t.Buffer, t.XoffToXon = uint64(buffer), uint64(s.PFC.XOFFToXON)
	t.Buffer -= min(t.Buffer, levelsOf(s).setAside(s, ports))
	t.Lossless, t.Quanta = uint32(s.Lossless()), uint32(s.PFC.Quanta)
	t.EcnMode, t.EcnPriorities, t.EcnPmax = uint32(s.ECN.Mode), uint32(s.ECN.Priorities), uint64(s.ECN.PMax*(1<<32))
	t.EcnAtEnqueue = OneIf(s.ECN.AtEnqueue())
	t.Q_cnm, t.CnmWindow, t.CnmRepeat = uint64(s.CNM.QCNM), uint64(s.CNM.Window), uint64(s.CNM.Repeat)
	t.SharedBy, t.SharedAtOnset = uint32(s.CNM.SharedBy), OneIf(s.CNM.AtOnset)
	all := profiles(s, ports)
	clear(t.Profiles[copy(t.Profiles[:], all):])
	for i := range ports {
		registers[i].Profile = uint8(slices.Index(all, profileOf(s, &ports[i])))
	}
	if s.Detector != switchagent.DetectorTCD {
		return
	}
	t.EcnMode, t.EcnAtEnqueue = ebpf.ECNTCD, 0 // TCD marks packets on dequeue
	t.TrendSlack = uint32(s.TCD.TrendSlack)
	t.TcdRed = OneIf(s.TCD.RED)
}

// OneIf returns 1 if b is true, and otherwise 0.
func OneIf(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Undetermined writes T_max of a port with the profile k and this period of credits, if its switch's detector uses
// it.
func Undetermined(t *ebpf.PortExtra, k *ebpf.Profile, s *switchagent.Settings, period vtime.Time, rate units.Rate,
	delay vtime.Time, mtu int,
) {
	if s.Detector == switchagent.DetectorTCD {
		t.T_max = uint64(s.UndeterminedTime(units.Bytes(k.Xoff-k.Xon), period, rate, delay, mtu))
	}
}
