package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TableSizes are the sizes of the pipelines' tables for a plan with the given features.
func TableSizes(plan *topologies.Plan, features Features) ebpf.Sizes {
	n := ebpf.Sizes{Ports: len(plan.Ports), Switches: len(plan.Switch), Hosts: len(plan.Interfaces), Leaves: plan.Routes().Leaves, Features: features}
	for _, g := range plan.Routes().Groups {
		n.NextHops += len(g)
	}
	for _, s := range plan.Switch {
		k := len(plan.Nodes[s].Ports)
		n.Fanouts += k * k
	}
	if features.Reroute { // to each leaf there may be any of a switch's ports, as often as its weight asks for
		for _, s := range plan.Switch {
			for _, id := range plan.Nodes[s].Ports {
				n.NextHops += n.Leaves * plan.Links[plan.Ports[id].Link].Weight
			}
		}
	}
	return n
}

// FillTables writes a plan's ports and routes into the pipelines' tables.
func FillTables(plan *topologies.Plan, state *ebpf.State) {
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
		t.Ifindex = uint32(InnerIfindex(p))
		t.FirstPort = uint32(node.Ports[0])
		t.Ports = uint32(len(node.Ports))
		fillCable(t, p.Rate, p.Delay)
		t.LineOverhead = int32(plan.Framing.LineBytes(plan.MTU) - int64(plan.MTU)) // an MTU is far above line_min
		t.LineMin = uint32(plan.Framing.LineBytes(0))
		t.Uncounted = uint32(plan.Framing.Uncounted())
		t.Mac = p.MAC
		t.PeerMac = plan.Ports[p.Peer].MAC
	}
	for i, id := range plan.Interfaces {
		state.Hosts[i].Address = HPCCAddress(plan.Ports[id].Node)
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
	for i, g := range routes.Last {
		h := &state.Hosts[i]
		h.Leaf, h.Port = uint32(routes.Leaf[i]), ebpf.NoPort
		if ports := routes.Groups[g]; len(ports) > 0 {
			h.Port = uint32(ports[0])
		}
	}
	for i, g := range routes.ToLeaf {
		r := &state.Routes[i]
		if g == topologies.AtLeaf {
			*r = ebpf.Route{Count: ebpf.AtLeaf}
			continue
		}
		ports := routes.Groups[g]
		r.Count = uint32(len(ports))
		r.PortOrFirst = first[g]
		if len(ports) == 1 {
			r.PortOrFirst = uint32(ports[0])
		}
	}
	return nil
}

// firstIfindex is the index that a namespace's first interface after lo gets from us. Indexes are chosen, not asked
// for: that saves a dump of every namespace and gives the ring a port from an interface by subtraction.
const firstIfindex = 2

// InterfaceMTU is the largest MTU of the interfaces: a full RoCE packet with every header an algorithm may add fits
// any.
func InterfaceMTU(plan *topologies.Plan) int { return plan.InterfaceMTU }

// TCPShare is the share of a link's rate that is payload where the kernel's TCP sends full segments (IPv4, timestamps).
func TCPShare(plan *topologies.Plan) float64 {
	const headers = 20 + 20 + 12 // IPv4, TCP, timestamps
	mtu := InterfaceMTU(plan)
	return float64(mtu-headers) / float64(plan.Framing.LineBytes(mtu+14))
}

// OuterIfindex is the index in the hub namespace of port id's outer end.
func OuterIfindex(id topologies.PortID) int32 { return firstIfindex + int32(id) }

// InnerIfindex is the index in its device's namespace of a port's inner end.
func InnerIfindex(p *topologies.Port) int32 { return firstIfindex + int32(p.Number) - 1 }

// SetSwitch changes those settings of a switch that can be changed while it works (keys.Key.Live). Which priorities
// are lossless, the buffer, the scheduler, the detector and the kind of flow control stay as they were at time 0.
func (e *Engine) SetSwitch(index int, s *switchagent.Settings) error {
	own := e.settings[index]
	rows := settings.Switch(own)
	for _, row := range rows.Differ(settings.Switch(s)) {
		if !row.Live {
			why := ""
			if row.Name == "pfc.priorities" || row.Name == "cbfc.priorities" {
				why = ", as buffers and headroom are made for it and programs have chosen by it"
			}
			return fmt.Errorf("%s stays as it is while a fabric works%s: bring it up with --set switch.%[1]s=. What can be changed: %[3]s",
				row.Name, why, strings.Join(rows.Live(), ", "))
		}
	}
	if (s.PFC.Alpha > 0) != (own.PFC.Alpha > 0) {
		return errors.New("pfc.alpha stays 0, or above 0, while a fabric works: bring it up with --set switch.pfc.alpha=")
	}
	if err := errors.Join(settings.CheckSwitch(s), CheckFlowControl(e.plan, s), CheckThresholds(e.plan, s)); err != nil {
		return err
	}
	dog := own.PFC.Watchdog
	*own = *s
	e.fitSwitch(index)
	sw := e.switches[index]
	sw.FindDue()
	if err := e.freed(sw); err != nil || s.PFC.Watchdog == dog {
		return err
	}
	own.PFC.Watchdog = dog // what its storms were made by
	return e.setWatchdog(index, s.PFC.Watchdog)
}
