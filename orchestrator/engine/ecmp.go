package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/internal/wire"
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

// ecmpHash is c/ingress.h's ecmp_hash for a RoCE packet. A test compares the two.
func ecmpHash(seed uint32, source, destination [4]byte, sourcePort uint16) uint32 {
	h := seed ^ binary.BigEndian.Uint32(source[:])
	h = (h ^ h>>16) * 0x85ebca6b
	h ^= binary.BigEndian.Uint32(destination[:])
	h = (h ^ h>>13) * 0xc2b2ae35
	h ^= uint32(sourcePort)<<16 | wire.PortRoCE
	h = (h ^ h>>16) * 0x85ebca6b
	h ^= wire.ProtocolUDP
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// hpccHash is c/ingress.h's hpcc_hash: MurmurHash3 (x86, 32 bits) of the addresses and ports that a packet has in HPCC's simulator.
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
	return ownSeed(sw)
}

// ownSeed does not depend on the run's seed: a flow keeps its path from run to run.
func ownSeed(sw int) uint32 { return uint32(splitmix.At(uint64(sw)+1, 0) >> 32) }

// Path is the way that the pipelines will send a flow's packets: the ports they leave by, the source's own first.
func Path(plan *topologies.Plan, source, destination topologies.NodeID, ports Ports) []topologies.PortID {
	return path(plan, source, destination, ports, plan.NextHops)
}

// Way is the same of a flow that there is, as routes are now, after faults. It ends at a switch that has no route.
func (e *Engine) Way(flow int) []topologies.PortID {
	f := &e.flows[flow]
	return path(e.plan, f.Source, f.Destination, f.Ports, e.nextHops)
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
			h = ecmpHash(seed, plan.Address(from.ID).As4(), plan.Address(to.ID).As4(), ports.Source)
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
		if len(via) == 0 || passes(plan, Path(plan, source, destination, ports), via) {
			return ports, nil
		}
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
