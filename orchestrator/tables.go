package orchestrator

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// tableSizes are the sizes of the pipelines' tables for a plan.
func tableSizes(plan *topologies.Plan, flows, reroute bool) ebpf.Sizes {
	n := ebpf.Sizes{Ports: len(plan.Ports), Switches: len(plan.Switch), Hosts: len(plan.Hosts), Flows: flows}
	for _, g := range plan.Routes().Groups {
		n.NextHops += len(g)
	}
	leaves := 0 // hosts of one switch share their routes
	for _, s := range plan.Switch {
		k := len(plan.Nodes[s].Ports)
		n.Fanouts += k * k
		if plan.Nodes[s].Tier == 1 {
			leaves++
		}
	}
	if reroute { // to each leaf there may be any of a switch's ports
		for _, s := range plan.Switch {
			n.NextHops += leaves * len(plan.Nodes[s].Ports)
		}
	}
	return n
}

// fillTables writes a plan's ports and routes into the pipelines' tables.
func fillTables(plan *topologies.Plan, state *ebpf.State) {
	row := uint32(0)
	for i := range plan.Ports {
		p := &plan.Ports[i]
		node := &plan.Nodes[p.Node]
		t := &state.Ports[i]
		t.Kind = ebpf.KindHost
		if node.Kind == topologies.Switch {
			t.Kind = ebpf.KindSwitch
			t.FanoutRow = row
			if plan.Nodes[plan.Ports[p.Peer].Node].Kind != topologies.Switch {
				t.Edge = 1
			}
			row += uint32(len(node.Ports))
		}
		t.Node = uint32(node.Index)
		t.Ifindex = uint32(innerIfindex(p))
		t.FirstPort = uint32(node.Ports[0])
		t.Ports = uint32(len(node.Ports))
		fillCable(t, p.Rate, p.Delay)
		t.RateClass = uint8(min(slices.Index(portRates(plan, p.Node), p.Rate), ebpf.RateClasses-1))
		t.LineOverhead = int32(plan.Framing.LineBytes(plan.MTU) - int64(plan.MTU)) // an MTU is far above line_min
		t.LineMin = uint32(plan.Framing.LineBytes(0))
		t.Mac = p.MAC
		t.PeerMac = plan.Ports[p.Peer].MAC
	}
	if err := fillRoutes(plan.Routes(), state); err != nil {
		panic(err) // the tables are the plan's
	}
}

// fillCable writes what the pipelines know of a port's cable.
func fillCable(t *ebpf.Port, rate units.Rate, delay vtime.Time) {
	t.Quantum = uint64(rate.TimeFor(512 / 8))
	t.ThreeD_c = uint64(rate.BytesIn(3 * delay))
	t.RateMbps = uint32(rate / units.Mbps)
	code, _ := wire.INTRateCode(rate)
	t.RateCode = uint32(code)
}

// fillRoutes writes routes into the pipelines' tables. They may be of other links than those before.
func fillRoutes(routes *topologies.Routes, state *ebpf.State) error {
	first := make([]uint32, len(routes.Groups))
	next := 0
	for g, ports := range routes.Groups {
		first[g] = uint32(next)
		if len(ports) < 2 {
			continue
		}
		if next+len(ports) > len(state.NextHops) {
			return fmt.Errorf("the routes have more than the %d next hops that there is room for", len(state.NextHops))
		}
		for _, p := range ports {
			state.NextHops[next] = uint64(p)
			next++
		}
	}
	for i, g := range routes.Group {
		ports := routes.Groups[g]
		r := &state.Routes[i]
		r.Count = uint32(len(ports))
		r.PortOrFirst = first[g]
		if len(ports) == 1 {
			r.PortOrFirst = uint32(ports[0])
		}
	}
	return nil
}

// portRates are the rates of a node's ports, each once, in the order of the ports: their places are the rate classes.
func portRates(plan *topologies.Plan, node topologies.NodeID) []units.Rate {
	var rates []units.Rate
	for _, id := range plan.Nodes[node].Ports {
		if r := plan.Ports[id].Rate; !slices.Contains(rates, r) {
			rates = append(rates, r)
		}
	}
	return rates
}

// CheckRates says which switch has ports of more rates than there can be settings for; nil without a topology.
func CheckRates(plan *topologies.Plan, s *switchagent.Settings) error {
	if plan == nil || s.ECN.PerRate == 0 && s.PFC.PerRate == 0 {
		return nil
	}
	key := "ecn.per_rate"
	if s.ECN.PerRate == 0 {
		key = "pfc.per_rate"
	}
	for _, id := range plan.Switch {
		if n := len(portRates(plan, id)); n > ebpf.RateClasses {
			return fmt.Errorf("%s: %s has ports of %d different rates, and settings by rate are possible for %d of them",
				key, plan.Nodes[id].Name, n, ebpf.RateClasses)
		}
	}
	return nil
}

// plannedRates are the rates of a node's ports as the plan has them: a switch's thresholds are by these.
func plannedRates(plan *topologies.Plan, n *topologies.Node) []units.Rate {
	rates := make([]units.Rate, len(n.Ports))
	for i, id := range n.Ports {
		rates[i] = plan.Ports[id].Rate
	}
	return rates
}

// fillSwitch writes a switch's settings into the pipelines' tables. ports are the rates of its ports.
func fillSwitch(t *ebpf.SwitchState, s *switchagent.Settings, ports []units.Rate, burstDetection bool, seed uint64, ecmpSeed uint32) {
	*t = ebpf.SwitchState{
		Buffer: uint64(s.Buffer), Xoff: uint64(s.PFC.XOFF), Xon: uint64(s.PFC.XON),
		XoffToXon: uint64(s.PFC.XOFFToXON),
		Lossless:  uint32(s.PFC.Priorities), Quanta: uint32(s.PFC.Quanta),
		EcnMode: uint32(s.ECN.Mode), EcnPriorities: uint32(s.ECN.Priorities),
		EcnPmax: uint64(s.ECN.PMax * (1 << 32)),
		Q_ecn:   uint64(s.CNM.QECN), Q_cnm: uint64(s.CNM.QCNM),
		CnmWindow: uint64(s.CNM.Window), CnmRepeat: uint64(s.CNM.Repeat), SharedBy: uint32(s.CNM.SharedBy),
		Seed: seed, EcmpSeed: ecmpSeed,
	}
	if burstDetection {
		t.Cnm = 1
	}
	if s.CNM.AtOnset {
		t.SharedAtOnset = 1
	}
	reserved, class := uint64(0), 0
	for i, rate := range ports {
		kmin, kmax := s.ECN.At(rate)
		alpha, headroom := s.PFC.At(rate)
		reserved += uint64(headroom) * uint64(bits.OnesCount8(s.PFC.Priorities))
		if class < ebpf.RateClasses && !slices.Contains(ports[:i], rate) {
			at := &t.AtRate[class]
			at.EcnKmin, at.EcnKmax, at.Alpha, at.Headroom = uint64(kmin), uint64(kmax), uint64(alpha*65536), uint64(headroom)
			class++
		}
	}
	if s.PFC.Alpha > 0 {
		// The dynamic threshold shares out what is not set aside as headroom.
		t.Buffer -= min(t.Buffer, reserved)
	}
}

// ECMPSeed is the seed of a switch's choice among equal-cost ports. It does not depend on the run's seed: a flow keeps
// its path from run to run.
func ECMPSeed(sw int) uint32 { return uint32(splitmix(uint64(sw)+1) >> 32) }

// splitmix is the finaliser of SplitMix64.
func splitmix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
