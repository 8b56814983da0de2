package scenario

import (
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Environment returns the properties of a flow's path that its controller may use, given the controller's needs of
// switches.
func Environment(plan *topologies.Plan, f *Flow, needs cc.SwitchNeeds) cc.Env {
	op, ack := wire.OpWriteMiddle, wire.AckLen
	switch {
	case needs.INT:
		op, ack = op.WithINT(), wire.AckINTLen
	case needs.Timestamps:
		op, ack = op.WithTimestamp(), wire.AckTimestampLen
	case needs.Grants:
		op = op.WithDemand()
	}
	data, ack := plan.IP.DataLen(op, plan.MTU), ack+plan.IP.Extra()
	return cc.Env{
		LineRate: plan.Ports[plan.Nodes[f.Source].Ports[f.Pair.From]].Rate,
		BaseRTT:  plan.BaseRTT(f.Source, f.Destination, f.Pair, data, ack),
		MTU:      plan.MTU,
		LineMTU:  plan.Framing.LineBytes(data),

		NetworkRTT:       plan.LongestRTT(data, ack),
		Oversubscription: plan.Oversubscription(),
	}
}

// Features returns the features that a fabric must have for a controller and the plan's load balancing.
func Features(plan *topologies.Plan, needs cc.SwitchNeeds) plane.Features {
	return plane.Features{BurstDetection: needs.CNM, Telemetry: needs.INT, Flowlets: plan.Balancing.Remembers()}
}

// HostSettings returns the hosts' settings: the scenario's, with the controller's needs of hosts applied. If switches
// mark undetermined packets, hosts recognise these under every controller.
func HostSettings(s *Scenario, needs cc.SwitchNeeds) *hostagent.Settings {
	own := s.Host
	if own.CoalesceACKs > 0 && !needs.ACK {
		own.AckEvery = own.CoalesceACKs
	}
	// without credits a host must not send
	own.ACKsWhenPaused = own.ACKsWhenPaused && s.Switch.FlowControl == switchagent.FlowPFC
	if own.Recovery == hostagent.SelectiveRepeat && own.Selective.Cap == hostagent.AutoCap {
		own.Selective.Cap = longestBDP(s.Topology, needs)
	}
	if own.Recovery == hostagent.SelectiveRepeat && own.Selective.Reorder == hostagent.AutoReorder {
		own.Selective.Reorder = ReorderTolerance(s, needs, own.Selective.Cap)
	}
	own.Quantum = s.Switch.Scheduler.Quantum
	own.Timestamps, own.Grants = needs.Timestamps, needs.Grants
	own.INT, own.Ternary = needs.INT, Ternary(s, needs)
	switch {
	case needs.PCN:
		own.Notify = hostagent.NotifyPCN
	case !needs.CNP:
		own.Notify = hostagent.NotifyNone
	}
	return &own
}

// Ternary reports whether switches mark undetermined packets under controllers with these needs.
func Ternary(s *Scenario, needs cc.SwitchNeeds) bool {
	return needs.TCD || s.Switch.Detector == switchagent.DetectorTCD && !needs.PCN
}

// flowControllers holds the congestion controls of a run's flows.
type flowControllers struct {
	s     *Scenario  // as returned by Under
	specs []*cc.Spec // the run's own comes first
	needs cc.SwitchNeeds
}

// flowControllers returns the congestion controls of the flows of a run under a congestion control.
func (s *Scenario) flowControllers(run *cc.Spec) (*flowControllers, error) {
	all := &flowControllers{s: s, specs: []*cc.Spec{run}, needs: run.Needs}
	seen := map[string]bool{"": true, run.Name: true}
	for i := range s.Flows {
		name := s.Flows[i].own().CC
		if seen[name] {
			continue
		}
		seen[name] = true
		spec, err := s.Lookup(name)
		if err != nil {
			return nil, err
		}
		if err := all.add(spec); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// FlowNeeds returns what the congestion controls of all flows of a run need of switches and hosts. run is that of flows
// that do not choose one. It fails if the needs conflict.
func (s *Scenario) FlowNeeds(run *cc.Spec) (cc.SwitchNeeds, error) {
	all, err := s.flowControllers(run)
	if err != nil {
		return cc.SwitchNeeds{}, err
	}
	return all.needs, nil
}

// add adds the congestion control of some flows. It fails if that needs other switches than the earlier ones.
func (c *flowControllers) add(spec *cc.Spec) error {
	for _, other := range c.specs {
		if a, b := marking(other.Needs), marking(spec.Needs); a != "" && b != "" && a != b {
			return fmt.Errorf("flows under %s and under %s cannot share switches, which mark packets in one way: %s needs %s, "+
				"and %s needs %s; give the flows other congestion controls (cc), or choose another with --cc",
				other.Name, spec.Name, other.Name, a, spec.Name, b)
		}
	}
	c.specs = append(c.specs, spec)
	n, m := &c.needs, spec.Needs
	n.ECNInside = (n.ECNInside || !n.ECN) && (m.ECNInside || !m.ECN)
	n.ECN, n.ECNStep, n.CNP, n.ACK = n.ECN || m.ECN, n.ECNStep || m.ECNStep, n.CNP || m.CNP, n.ACK || m.ACK
	n.Timestamps, n.CNM, n.INT = n.Timestamps || m.Timestamps, n.CNM || m.CNM, n.INT || m.INT
	n.Grants = n.Grants || m.Grants
	n.TCD, n.PCN = n.TCD || m.TCD, n.PCN || m.PCN
	return nil
}

// of returns the congestion control of a name; empty: the run's.
func (c *flowControllers) of(name string) *cc.Spec {
	for _, spec := range c.specs {
		if spec.Name == name {
			return spec
		}
	}
	return c.specs[0]
}

// hosts returns the host settings for flows with settings of their own; nil: the settings of all hosts.
func (c *flowControllers) hosts(own *Own) *hostagent.Settings {
	spec := c.of(own.CC)
	if spec == c.specs[0] && own.Priority == 0 && own.Stop == 0 {
		return nil
	}
	as := *c.s
	if own.Priority > 0 {
		as.Host.DataPriority = own.Priority - 1
	}
	if c.s.CNPAuto {
		as.Host.CNPInterval = settings.CNPAuto
	}
	as.Host = withCNPInterval(as.Host, spec, spec.Constants(as.ControllerSettings))
	hosts := HostSettings(&as, spec.Needs)
	hosts.Ternary = Ternary(c.s, c.needs)
	if own.Stop > 0 {
		hosts.AckEvery = 1 // acknowledges what it has sent when it stops
	}
	return hosts
}

// marking returns how switches must mark packets for a controller; "" if it does not use marks.
func marking(n cc.SwitchNeeds) string {
	switch {
	case n.PCN:
		return "PCN's rule"
	case n.TCD:
		return "ternary congestion detection"
	case n.ECN && n.ECNStep:
		return "ECN with a step"
	case n.ECN:
		return "ECN"
	}
	return ""
}

// longestBDP returns the payload in flight, in whole packets, that fills the longest path of a topology (IRN, section
// 3.2).
func longestBDP(plan *topologies.Plan, needs cc.SwitchNeeds) units.Bytes {
	// Interfaces of a leaf with equal links have equal paths.
	type kind struct {
		leaf  int32
		rate  units.Rate
		delay vtime.Time
	}
	seen, some := map[kind]int{}, []int{}
	for i, id := range plan.Interfaces {
		k := kind{plan.Routes().Leaf[i], plan.Ports[id].Rate, plan.Ports[id].Delay}
		if seen[k]++; seen[k] <= 2 {
			some = append(some, i)
		}
	}
	position := func(port *topologies.Port) uint8 {
		return uint8(slices.Index(plan.Nodes[port.Node].Ports, port.ID))
	}
	packets := int64(1)
	for _, a := range some {
		for _, b := range some {
			from, to := &plan.Ports[plan.Interfaces[a]], &plan.Ports[plan.Interfaces[b]]
			if from.Node == to.Node || !plan.Joined(a, b) {
				continue
			}
			env := Environment(plan, &Flow{
				Source: from.Node, Destination: to.Node,
				Pair: topologies.Pair{From: position(from), To: position(to)},
			}, needs)
			packets = max(packets, env.LineRate.BytesIn(env.BaseRTT)/env.LineMTU+1)
		}
	}
	return units.Bytes(packets * int64(plan.MTU))
}

// ReorderTolerance returns the value of selective.reorder: auto, in packets, for a cap.
//
// On a single path packets keep their order, and a gap is a loss. If trimmed packets report losses, gaps mean nothing,
// as in Ultra Ethernet's reference simulator. Otherwise it is the number of packets that a flow sends at line rate
// while one packet waits in the longest queues that other packets bypass. At each port that load balancing chooses,
// such a queue is the limit of a lossy priority, or a bandwidth-delay product for a lossless one.
//
// If packets can be lost, it is at most three quarters of the cap, because the cap limits the packets sent after a
// gap.
func ReorderTolerance(s *Scenario, needs cc.SwitchNeeds, limit units.Bytes) int {
	plan := s.Topology
	if !plan.Moving() {
		return 1
	}
	if s.Switch.Trim && s.Host.RetransmitTimeout > 0 {
		return hostagent.NeverReorder
	}
	bdp := longestBDP(plan, needs)
	queue, lossless := bdp, s.Switch.Lossless()>>s.Host.DataPriority&1 != 0
	if !lossless {
		queue = s.Switch.LossyLimit
	}
	ahead := bdp + units.Bytes(plan.Choices())*queue
	if !lossless && limit > 0 {
		ahead = min(ahead, 3*limit/4)
	}
	return int(max(1, min(ahead/units.Bytes(plan.MTU), hostagent.NeverReorder)))
}

// SwitchSettings returns each switch's settings, by index: the scenario's, with a switch's own buffer, and without
// marking that the controller ignores. A detector that the scenario sets works under every controller that does not
// bring its own, so that its marks can be observed.
func SwitchSettings(s *Scenario, needs cc.SwitchNeeds) []*switchagent.Settings {
	settings := EverySwitch(s.Topology, &s.Switch)
	for i, id := range s.Topology.Switch {
		own := settings[i]
		if needs.TCD && own.Detector != switchagent.DetectorTCD {
			// As TCD's authors do: where the threshold detector would use RED, so does this one.
			own.Detector, own.TCD.RED = switchagent.DetectorTCD, own.ECN.Mode == switchagent.ECNRED
		}
		if needs.ECNInside && own.ECN.Ports == switchagent.ECNPortsAuto {
			own.ECN.Ports = switchagent.ECNPortsToSwitches
		}
		switch {
		case needs.PCN && own.ECN.Mode != switchagent.ECNOff:
			own.ECN.Mode, own.Detector = switchagent.ECNPCN, switchagent.DetectorThreshold
		case !needs.ECN:
			own.ECN.Mode = switchagent.ECNOff
		case needs.CNM && own.ECN.Mode == switchagent.ECNRED && !own.CNM.RED:
			own.ECN.Mode = switchagent.ECNStep
			own.ECN.KMax = own.CNM.QECN
			own.ECN.KMin = own.ECN.KMax
		case needs.ECNStep && own.ECN.Mode == switchagent.ECNRED:
			own.ECN.Mode = switchagent.ECNStep
			if own.ECN.KMin == switchagent.Auto && own.ECN.KMax == switchagent.Auto {
				own.ECN.PerRate = 10 * units.Gbps // relative to each port's rate, like auto
			}
			own.ECN.KMax = stepThreshold(s.Topology, id, own.ECN.PerRate)
			own.ECN.KMin = own.ECN.KMax
		}
	}
	return settings
}

// stepThreshold returns DCTCP's K for a scenario that does not set a step: 30 KB for each 10 Gb/s (HPCC simulator,
// run.py) of the switch's slowest port. If thresholds scale with each port's rate, it is the threshold of a port of
// rate per.
func stepThreshold(plan *topologies.Plan, node topologies.NodeID, per units.Rate) units.Bytes {
	if per == 0 {
		per = plan.Ports[plan.Nodes[node].Ports[0]].Rate
		for _, p := range plan.Nodes[node].Ports {
			per = min(per, plan.Ports[p].Rate)
		}
	}
	return units.Bytes(int64(per) / int64(10*units.Gbps/(30*1000)))
}

// Thresholds holds the resolved buffers and thresholds of switches on a topology.
type Thresholds struct {
	Buffers []units.Bytes            // by switch index
	Ports   []switchagent.Thresholds // by port; zero for hosts' ports
}

// ResolveThresholds resolves the settings of switches, given by index, on a topology.
func ResolveThresholds(plan *topologies.Plan, settings []*switchagent.Settings) *Thresholds {
	r := &Thresholds{
		Buffers: make([]units.Bytes, len(plan.Switch)),
		Ports:   make([]switchagent.Thresholds, len(plan.Ports)),
	}
	for i, id := range plan.Switch {
		buffer, ports := settings[i].Resolve(fill.Cables(plan, id, false))
		r.Buffers[i] = buffer
		copy(r.Ports[plan.Nodes[id].Ports[0]:], ports)
	}
	return r
}

// EverySwitch returns the settings of each switch by index: the given ones, with the switch's own buffer if it has one.
func EverySwitch(plan *topologies.Plan, s *switchagent.Settings) []*switchagent.Settings {
	all := make([]*switchagent.Settings, len(plan.Switch))
	for i, id := range plan.Switch {
		own := *s
		if b := plan.Nodes[id].Buffer; b > 0 {
			own.Buffer = b
		}
		all[i] = &own
	}
	return all
}

// UnpausedACKs returns the lossless priorities in which hosts send ACK, NAK and CNP even while PFC pauses them.
func (s *Scenario) UnpausedACKs() uint8 {
	if !s.Host.ACKsWhenPaused || s.Switch.FlowControl != switchagent.FlowPFC {
		return 0
	}
	set := uint8(1) << s.Host.ControlPriority // CNPs always use it
	if s.Host.ACKsWithData {
		set |= s.DataPriorities()
	}
	return set & s.Switch.PFC.Priorities
}
