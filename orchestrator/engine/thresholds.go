package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Cables are the ports and cables of a switch, in the order of its ports. In a live fabric programs on hosts send frames of their
// own, which may be longer than those of flows.
func Cables(plan *topologies.Plan, node topologies.NodeID, live bool) []switchagent.Cable {
	longest := longestFrame(plan)
	if live {
		longest = max(longest, InterfaceMTU(plan)+wire.EthernetLen)
	}
	cables := make([]switchagent.Cable, len(plan.Nodes[node].Ports))
	for i, id := range plan.Nodes[node].Ports {
		cables[i] = cableAt(plan, id, longest)
	}
	return cables
}

// cableAt is a port and its cable, as planned, where no frame is longer than longest.
func cableAt(plan *topologies.Plan, id topologies.PortID, longest int) switchagent.Cable {
	p := &plan.Ports[id]
	peer := &plan.Ports[p.Peer]
	ahead := longest
	if p.MTU > plan.UsualInterfaceMTU() { // stated: frames of other priorities may be so long
		ahead = max(ahead, p.MTU+wire.EthernetLen)
	}
	return switchagent.Cable{
		Rate: p.Rate, PeerRate: peer.Rate, Delay: p.Delay, PeerDelay: peer.Delay,
		Full: fullSize(plan), Longest: plan.Framing.Counted(longest),
		LongestLine: plan.Framing.LineBytes(longest), PFCLine: plan.Framing.LineBytes(wire.PFCLen), AheadLine: plan.Framing.LineBytes(ahead),
		ToHost: plan.Nodes[peer.Node].Kind == topologies.Host,
	}
}

// CheckThresholds says what of a switch's settings does not go with the cables of its ports; nil without a topology. Settings of
// one switch are checked with the buffer that it has of its own.
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
				"give pfc.xoff, cbfc.buffer, ecn.kmin, ecn.kmax, cnm.ecn_threshold and tcd.q_len, without per_rate", node.Name, n, ebpf.Profiles)
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

// ownSettings are a switch's of settings that all switches have: with the buffer that it has of its own.
func ownSettings(node *topologies.Node, s *switchagent.Settings) *switchagent.Settings {
	own := *s
	if node.Buffer > 0 {
		own.Buffer = node.Buffer
	}
	return &own
}

// profileOf is what the pipelines know of a port's thresholds.
func profileOf(s *switchagent.Settings, t *switchagent.Thresholds) profile {
	p := profile{EcnKmin: uint64(t.KMin), EcnKmax: uint64(t.KMax), Q_ecn: uint64(t.QECN)}
	if t.Unmarked {
		p.EcnKmin, p.EcnKmax = math.MaxUint64, math.MaxUint64 // more than any queue
	}
	levelsOf(s).limit(&p, t)
	if s.Detector == switchagent.DetectorTCD {
		p.Q_len = uint64(t.QLen)
	}
	return p
}

// profile is the pipelines'.
type profile = ebpf.Profile

// profiles are those of a switch's ports, each once, in the order of the ports.
func profiles(s *switchagent.Settings, ports []switchagent.Thresholds) []profile {
	var all []profile
	for i := range ports {
		if p := profileOf(s, &ports[i]); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// fillSwitch writes a switch's settings, which resolve to this buffer and these thresholds of its ports, into the pipelines' tables.
// registers are the ports'. What of the tables is no setting stays as it is: what the pipelines count, and what a run gives them.
func fillSwitch(t *ebpf.SwitchState, registers []ebpf.Port, s *switchagent.Settings, buffer units.Bytes, ports []switchagent.Thresholds) {
	t.Buffer, t.XoffToXon = uint64(buffer), uint64(s.PFC.XOFFToXON)
	t.Buffer -= min(t.Buffer, levelsOf(s).setAside(s, ports))
	t.Lossless, t.Quanta = uint32(s.Lossless()), uint32(s.PFC.Quanta)
	t.EcnMode, t.EcnPriorities, t.EcnPmax = uint32(s.ECN.Mode), uint32(s.ECN.Priorities), uint64(s.ECN.PMax*(1<<32))
	t.EcnAtEnqueue = oneIf(s.ECN.AtEnqueue())
	t.Q_cnm, t.CnmWindow, t.CnmRepeat = uint64(s.CNM.QCNM), uint64(s.CNM.Window), uint64(s.CNM.Repeat)
	t.SharedBy, t.SharedAtOnset = uint32(s.CNM.SharedBy), oneIf(s.CNM.AtOnset)
	all := profiles(s, ports)
	clear(t.Profiles[copy(t.Profiles[:], all):])
	for i := range ports {
		registers[i].Profile = uint8(slices.Index(all, profileOf(s, &ports[i])))
	}
	fillDetector(t, s)
}

func oneIf(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// fitSwitch resolves a switch's settings for its cables as they are, and has its pipelines and traffic manager go by them. What
// does not change while a switch works stays.
func (e *Engine) fitSwitch(index int) {
	s, node := e.settings[index], &e.plan.Nodes[e.plan.Switch[index]]
	buffer, ports := s.Resolve(e.cables[index])
	registers := e.state.Ports[node.Ports[0]:][:len(node.Ports)]
	fillSwitch(&e.state.Switches[index], registers, s, buffer, ports)
	for _, id := range node.Ports {
		e.describeDetector(&e.ports[id])
	}
	e.switches[index].Fit(buffer, ports)
}

// fitHeadroom has a switch's port hold what its cable, which has changed, can have in flight. It never becomes less: what a longer
// cable holds arrives all the same.
func (e *Engine) fitHeadroom(p *port) {
	if !p.isSwitch || e.settings[p.index].PFC.Headroom != switchagent.Auto {
		return
	}
	s := &e.settings[p.index].PFC
	planned, now := e.cableOf(p)
	before, needed := planned.InFlight(s), now.InFlight(s)
	if n := needed.Sum(); n > max(before.Sum(), planned.Grown) {
		planned.Grown = n
		e.fitSwitch(int(p.index))
	}
}

// cableOf is the cable of a switch's port as planned, and as it is.
func (l *lane) cableOf(p *port) (planned *switchagent.Cable, now switchagent.Cable) {
	peer := &l.ports[p.peer]
	planned = &l.cables[p.index][topologies.PortID(p.id)-l.plan.Nodes[l.plan.Switch[p.index]].Ports[0]]
	now = *planned
	now.Rate, now.PeerRate, now.Delay, now.PeerDelay = p.rate, peer.rate, p.delay, peer.delay
	return planned, now
}

// overrun is frames of one lossless priority that were dropped in one place for one reason.
type overrun struct {
	port     int32
	priority uint8
	why      switchagent.Drop
}

// failLossless notes a frame that was dropped at port p though its priority is lossless: once a place, with the remedy, however many
// follow.
func (l *lane) failLossless(p *port, f *frame.Frame, why switchagent.Drop) {
	at := overrun{p.id, f.Priority, why}
	if why == switchagent.DropHeadroom { // an account of the port that it came by
		at.port = f.InPort
	}
	r := l.regions[p.region]
	if v, seen := r.overruns[at]; seen {
		v.Times++
		return
	}
	if r.overruns == nil {
		r.overruns = map[overrun]*Violation{}
	}
	missing := ""
	if why == switchagent.DropHeadroom {
		missing = l.lacksHeadroom(&l.ports[at.port], f.Priority)
	} else {
		missing = levelsOf(l.settings[p.index]).lacksBuffer(l.settings[p.index], l.cables[p.index])
	}
	r.overruns[at] = l.fail(NothingDropped, l.plan.Ports[at.port].Name, "priority %d: %v: %s", f.Priority, why, missing)
}

// lacksHeadroom is why more of a priority came in by a switch's port after XOFF than its headroom holds, and what to do.
func (l *lane) lacksHeadroom(p *port, priority uint8) string {
	_, cable := l.cableOf(p)
	needed := cable.InFlight(&l.settings[p.index].PFC)
	headroom := units.Bytes(l.switches[p.index].Headroom(int(p.id)))
	answers := l.answersPaused(&l.ports[p.peer], priority)
	switch {
	case answers && headroom >= needed.Sum():
		return fmt.Sprintf("%s sends ACK, NAK and CNP of this priority although it is paused (host.ack_when_paused), without end, and the %v of headroom "+
			"hold what is in flight and no more: host.ack_when_paused must be false, or switch.pfc.headroom much more",
			l.plan.PeerNode(topologies.PortID(p.id)).Name, headroom)
	case headroom >= needed.Sum():
		return fmt.Sprintf("the %v of headroom hold what can be in flight to this port, so PAUSE came late or ran out: "+
			"more switch.pfc.quanta, or thresholds that do not change in a run", headroom)
	}
	text := fmt.Sprintf("%v can be in flight to this port (%v) and its headroom is %v: switch.pfc.headroom must be %v or more here, or auto",
		needed.Sum(), &needed, headroom, needed.Sum())
	if answers {
		text += fmt.Sprintf("; and %s sends ACK, NAK and CNP of this priority although it is paused (host.ack_when_paused), which comes on top",
			l.plan.PeerNode(topologies.PortID(p.id)).Name)
	}
	return text
}

// answersPaused says whether a port is that of a host whose answers have a priority, and are sent although it is paused.
func (l *lane) answersPaused(p *port, priority uint8) bool {
	return !p.isSwitch && l.hosts.ACKsWhenPaused &&
		(priority == l.hosts.ACKPriority() || priority == l.hosts.ControlPriority || l.hosts.ACKsWithData && l.data>>priority&1 != 0)
}

// fillDetector writes what a switch's congestion detector goes by into the pipelines' tables.
func fillDetector(t *ebpf.SwitchState, s *switchagent.Settings) {
	if s.Detector != switchagent.DetectorTCD {
		return
	}
	t.EcnMode, t.EcnAtEnqueue = ebpf.ECNTCD, 0 // what leaves tells
	t.TrendSlack = uint32(s.TCD.TrendSlack)
	t.TcdRed = oneIf(s.TCD.RED)
}

// fillUndetermined writes T_max of a port with the profile k and this period of credits, if its switch's detector goes by it.
func fillUndetermined(t *ebpf.Port, k *ebpf.Profile, s *switchagent.Settings, period vtime.Time, rate units.Rate, delay vtime.Time, mtu int) {
	if s.Detector == switchagent.DetectorTCD {
		t.T_max = uint64(s.UndeterminedTime(units.Bytes(k.Xoff-k.Xon), period, rate, delay, mtu))
	}
}
