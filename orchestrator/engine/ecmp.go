package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// Ports are a flow's ports, as far as they decide its path.
type Ports struct {
	// Pair are the hosts' ports that the packets leave by and come to; the zero value: the first of each host.
	topologies.Pair
	// Source is the UDP source port of the flow's packets, and of its ACKs but under topologies.HashHPCC.
	Source uint16
	// Destination is what the flow's destination port is in HPCC's simulator: RoCE's own is always 4791. Only
	// topologies.HashHPCC has a use for it; packets carry it as their IPv4 identification. An ACK's ports are the packet's the other
	// way round, as they are there.
	Destination uint16
}

// FirstPorts are ports of a flow made from a salt.
func FirstPorts(salt uint64) Ports {
	return Ports{Source: uint16(wire.MinEntropyPort + splitmix.At(salt, 0)%entropyPorts)}
}

const entropyPorts = 0x10000 - wire.MinEntropyPort

// ecmpHash is c/hash.h's ecmp_hash of some fields of a RoCE packet, by default of all. A test compares the two.
func ecmpHash(seed, fields uint32, source, destination [4]byte, sourcePort uint16) uint32 {
	of := func(field, value uint32) uint32 {
		if fields != 0 && fields&field == 0 {
			return 0
		}
		return value
	}
	h := seed ^ of(ebpf.FieldSource, binary.BigEndian.Uint32(source[:]))
	h = (h ^ h>>16) * 0x85ebca6b
	h ^= of(ebpf.FieldDestination, binary.BigEndian.Uint32(destination[:]))
	h = (h ^ h>>13) * 0xc2b2ae35
	h ^= of(ebpf.FieldPorts, uint32(sourcePort)<<16|wire.PortRoCE)
	h = (h ^ h>>16) * 0x85ebca6b
	h ^= of(ebpf.FieldProtocol, wire.ProtocolUDP)
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// hpccHash is c/hash.h's hpcc_hash: MurmurHash3 (x86, 32 bits) of the addresses and ports that a packet has in HPCC's simulator.
func hpccHash(seed, source, destination uint32, ports Ports) uint32 {
	h := seed
	for _, k := range [...]uint32{source, destination, uint32(ports.Source) | uint32(ports.Destination)<<16} {
		k *= 0xcc9e2d51
		k = k<<15 | k>>17
		h ^= k * 0x1b873593
		h = h<<13 | h>>19
		h = h*5 + 0xe6546b64
	}
	h ^= 12
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// HPCCAddress is the address of a node in HPCC's simulator: 11.a.b.1, with the node's number in a and b.
func HPCCAddress(id topologies.NodeID) uint32 {
	return 0x0b000001 + uint32(id)/256*0x00010000 + uint32(id)%256*0x00000100
}

// ecmpSeed is the seed of a switch's choice among equal-cost ports: its number in HPCC's simulator.
func ecmpSeed(plan *topologies.Plan, sw int) uint32 {
	if plan.Hash == topologies.HashHPCC {
		return uint32(plan.Switch[sw])
	}
	if plan.Balancing.OneSeed {
		return plan.Balancing.Seed
	}
	return ownSeed(sw)
}

// Balancing is what the settings of switches and hosts mean for the ways of flows.
func Balancing(s *switchagent.LoadBalancing, hosts *hostagent.Settings) topologies.Balancing {
	if s.Mode != switchagent.BalanceECMP {
		return topologies.Balancing{Moving: true}
	}
	b := topologies.Balancing{Moving: hosts.Entropy != hostagent.EntropyFlow, Fields: hashFields[s.Fields]}
	if s.Seed != switchagent.OwnSeed {
		b.OneSeed, b.Seed = true, uint32(s.Seed)
	}
	return b
}

// hashFields are the fields as the pipelines have them.
var hashFields = []uint32{
	switchagent.HashFiveTuple: 0, switchagent.HashAddresses: ebpf.FieldSource | ebpf.FieldDestination, switchagent.HashSource: ebpf.FieldSource,
	switchagent.HashDestination: ebpf.FieldDestination, switchagent.HashPorts: ebpf.FieldPorts,
}

// fillChoice writes how the switch with an index chooses among equal-cost ports into the pipelines' tables.
func fillChoice(t *ebpf.SwitchState, plan *topologies.Plan, s *switchagent.LoadBalancing, hosts *hostagent.Settings, index int) error {
	if b := Balancing(s, hosts); b != plan.Balancing {
		return fmt.Errorf("%s balances load by %v, and the plan has the ways of %+v: make the plan with WithBalancing", plan.Nodes[plan.Switch[index]].Name, s.Mode, plan.Balancing)
	}
	t.EcmpSeed, t.FlowletGap, t.HashFields = ecmpSeed(plan, index), uint64(s.Gap), hashFields[s.Fields]
	t.Choice = ebpf.ChoiceHash
	switch {
	case s.Mode == switchagent.BalanceECMP && plan.Hash == topologies.HashHPCC:
		t.Choice = ebpf.ChoiceHPCC
	case s.Mode == switchagent.BalanceECMP && t.HashFields != 0:
		t.Choice = ebpf.ChoiceFields
	case s.Mode == switchagent.BalanceFlowlet:
		t.Choice = ebpf.ChoiceFlowlet
	case s.Mode == switchagent.BalanceSpray && s.RoundRobin:
		t.Choice = ebpf.ChoiceRoundRobin
	case s.Mode == switchagent.BalanceSpray:
		t.Choice = ebpf.ChoiceRandom
	case s.Mode == switchagent.BalanceAdaptive && s.ByFlowlet:
		t.Choice = ebpf.ChoiceAdaptiveFlowlet
	case s.Mode == switchagent.BalanceAdaptive:
		t.Choice = ebpf.ChoiceAdaptive
	}
	return nil
}

// CheckBalancing says what of a switch's load balancing does not go with the topology; nil without one.
func CheckBalancing(plan *topologies.Plan, s *switchagent.Settings) error {
	b := &s.Balancing
	if plan == nil || b.Mode == switchagent.BalanceECMP && b.Seed == switchagent.OwnSeed && b.Fields == switchagent.HashFiveTuple {
		return nil
	}
	if plan.Hash == topologies.HashHPCC {
		return schema.Errorf("load_balancing", "has no say where routing.hash is hpcc: leave one of them out")
	}
	for _, group := range plan.Routes().Groups {
		if b.Mode == switchagent.BalanceAdaptive && len(group) > ebpf.MostCompared {
			return schema.Errorf("load_balancing.mode", "adaptive compares %d queues at most, and %s has %d equal-cost ports: take spray", ebpf.MostCompared,
				plan.Nodes[plan.Ports[group[0]].Node].Name, len(group))
		}
	}
	return nil
}

// ownSeed does not depend on the run's seed: a flow keeps its path from run to run.
func ownSeed(sw int) uint32 { return uint32(splitmix.At(uint64(sw)+1, 0) >> 32) }

// Path is the way that the pipelines will send a flow's packets: the ports they leave by, the source's own first. Where load balancing moves
// packets (topologies.Balancing) it is one of several.
func Path(plan *topologies.Plan, source, destination topologies.NodeID, ports Ports) []topologies.PortID {
	return path(plan, source, destination, ports, plan.NextHops)
}

// Way is the same of a flow that there is, as routes are now, after faults. It ends at a switch that has no route. Where load balancing moves
// packets it is the ports of all their ways.
func (e *Engine) Way(flow int) []topologies.PortID {
	f := &e.flows[flow]
	if e.plan.Balancing.Moving {
		return slices.Concat(e.plan.WaysBy(e.plan.Nodes[f.Source].Ports[f.Ports.From], e.plan.Nodes[f.Destination].Ports[f.Ports.To], e.nextHops)...)
	}
	return path(e.plan, f.Source, f.Destination, f.Ports, e.nextHops)
}

// CutOff is where a flow's packets, or its answers, cannot get on as routes and links are now.
type CutOff struct {
	// Port is the first of their way whose link is down; where there is no route, that of the host that they are for.
	Port topologies.PortID
	// At is the node from which no route leads there, if NoRoute.
	At      topologies.NodeID
	NoRoute bool
	Back    bool // it is the answers that cannot get on
}

// CutOff says where a flow is cut off; false if it is not. Where load balancing moves packets it is so only if no way is left.
func (e *Engine) CutOff(flow int) (CutOff, bool) {
	f := &e.flows[flow]
	if c, found := e.cutOff(f.Source, f.Destination, f.Ports); found {
		return c, true
	}
	c, found := e.cutOff(f.Destination, f.Source, f.Ports.back(e.plan))
	c.Back = true
	return c, found
}

func (e *Engine) cutOff(source, destination topologies.NodeID, ports Ports) (CutOff, bool) {
	from, to := e.plan.Nodes[source].Ports[ports.From], e.plan.Nodes[destination].Ports[ports.To]
	switch {
	case !e.LinkUp(int(from)):
		return CutOff{Port: from}, true
	case !e.LinkUp(int(to)) && !e.rerouted:
		return CutOff{Port: e.plan.Ports[to].Peer}, true
	case e.plan.Balancing.Moving:
		ways := e.plan.WaysBy(from, to, func(sw, to int) []topologies.PortID {
			return slices.DeleteFunc(e.nextHops(sw, to), func(id topologies.PortID) bool { return !e.LinkUp(int(id)) })
		})
		last := ways[len(ways)-1]
		if slices.ContainsFunc(last, func(id topologies.PortID) bool { return e.plan.PeerNode(id).ID == destination }) {
			return CutOff{}, false
		}
		return CutOff{Port: to, At: e.plan.PeerNode(last[0]).ID, NoRoute: true}, true
	}
	way := path(e.plan, source, destination, ports, e.nextHops)
	for _, id := range way {
		if !e.LinkUp(int(id)) {
			return CutOff{Port: id}, true
		}
	}
	if end := e.plan.PeerNode(way[len(way)-1]).ID; end != destination {
		return CutOff{Port: to, At: end, NoRoute: true}, true
	}
	return CutOff{}, false
}

// nextHops are the ports of the switch with index sw that the pipelines choose from for the interface with index to.
func (e *Engine) nextHops(sw, to int) (hops []topologies.PortID) {
	h := &e.state.Hosts[to]
	r := &e.state.Routes[sw*e.plan.Routes().Leaves+int(h.Leaf)]
	switch {
	case r.Count == 1:
		return []topologies.PortID{topologies.PortID(r.PortOrFirst)}
	case r.Count != ebpf.AtLeaf:
		for _, port := range e.state.NextHops[r.PortOrFirst:][:r.Count] {
			hops = append(hops, topologies.PortID(port))
		}
	case h.Port != ebpf.NoPort:
		return []topologies.PortID{topologies.PortID(h.Port)}
	}
	return hops
}

// path follows a flow's packets from switch to switch, each of which says what ports it chooses from.
func path(plan *topologies.Plan, source, destination topologies.NodeID, ports Ports, nextHops func(sw, to int) []topologies.PortID) []topologies.PortID {
	from, to := &plan.Ports[plan.Nodes[source].Ports[ports.From]], &plan.Ports[plan.Nodes[destination].Ports[ports.To]]
	path := []topologies.PortID{from.ID}
	for n := plan.PeerNode(from.ID); n.Kind == topologies.Switch && len(path) <= len(plan.Switch); {
		hops := nextHops(n.Index, to.Interface)
		if len(hops) == 0 {
			break
		}
		seed, h := ecmpSeed(plan, n.Index), uint32(0)
		if plan.Hash == topologies.HashHPCC {
			h = hpccHash(seed, HPCCAddress(source), HPCCAddress(destination), ports)
		} else {
			h = ecmpHash(seed, plan.Balancing.Fields, plan.Address(from.ID).As4(), plan.Address(to.ID).As4(), ports.Source)
		}
		next := hops[int(h%uint32(len(hops)))]
		path = append(path, next)
		n = plan.PeerNode(next)
	}
	return path
}

// WayBack is the way of the ACKs of a flow from source to destination.
func WayBack(plan *topologies.Plan, source, destination topologies.NodeID, ports Ports) []topologies.PortID {
	return Path(plan, destination, source, ports.back(plan))
}

// back are the ports of a flow's ACKs.
func (p Ports) back(plan *topologies.Plan) Ports {
	p.Pair = p.Back()
	if plan.Hash == topologies.HashHPCC {
		p.Source, p.Destination = p.Destination, p.Source
	}
	return p
}

// PinPath finds a UDP source port with which a flow's path goes through all the switches of via: what a sender does in a
// real fabric to choose among equal-cost paths. The search begins at the given ports.
func PinPath(plan *topologies.Plan, source, destination topologies.NodeID, via []topologies.NodeID, first Ports) (Ports, error) {
	least, n := 0, 0x10000
	if plan.Hash != topologies.HashHPCC {
		least, n = wire.MinEntropyPort, entropyPorts
	}
	for i := range n {
		ports := first
		ports.Source = uint16(least + (int(first.Source)-least+i)%n)
		if len(via) == 0 {
			return ports, nil
		}
		if plan.Balancing.Moving {
			break
		}
		if passes(plan, Path(plan, source, destination, ports), via) {
			return ports, nil
		}
	}
	if plan.Balancing.Moving {
		return Ports{}, errors.New("has via, and its packets take several paths by switch.load_balancing.mode or host.entropy: leave one of them out")
	}
	return Ports{}, fmt.Errorf("no path from %s to %s goes through all of the switches asked for",
		plan.Nodes[source].Name, plan.Nodes[destination].Name)
}

func passes(plan *topologies.Plan, path []topologies.PortID, via []topologies.NodeID) bool {
	for _, v := range via {
		found := false
		for _, p := range path {
			found = found || plan.Ports[p].Node == v
		}
		if !found {
			return false
		}
	}
	return true
}
