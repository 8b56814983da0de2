// Package paths computes which path the pipelines of a fabric's switches send a flow's packets, and finds ports that
// lead a flow along a given path.
package paths

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
)

// Ports holds a flow's ports, as far as they determine its path.
type Ports struct {
	// Pair holds the hosts' ports at which the packets leave and arrive; the zero value: the first of each host.
	topologies.Pair
	// Source holds the UDP source port of the flow's packets, and of its ACKs except under topologies.HashHPCC.
	Source uint16
	// Destination holds the flow's destination port in HPCC's simulator; RoCE's own is always 4791. Only
	// topologies.HashHPCC uses it; packets carry it as their IPv4 identification. An ACK's ports are the packet's,
	// swapped, as in that simulator.
	Destination uint16
}

// FirstPorts returns ports of a flow drawn from a salt.
func FirstPorts(salt uint64) Ports {
	return Ports{Source: uint16(wire.MinEntropyPort + splitmix.At(salt, 0)%entropyPorts)}
}

const entropyPorts = 0x10000 - wire.MinEntropyPort

// Back returns the ports of a flow's ACKs.
func (p Ports) Back(plan *topologies.Plan) Ports {
	p.Pair = p.Pair.Back()
	if plan.Hash == topologies.HashHPCC {
		p.Source, p.Destination = p.Destination, p.Source
	}
	return p
}

// Forward returns the path of a flow's packets: the ports by which they leave, the source's own first. If load
// balancing moves packets (topologies.Plan.Moving), it returns one of several paths.
func Forward(plan *topologies.Plan, source, destination topologies.NodeID, ports Ports) []topologies.PortID {
	return Follow(plan, source, destination, ports, plan.NextHops)
}

// Back returns the path of the ACKs of a flow from source to destination.
func Back(plan *topologies.Plan, source, destination topologies.NodeID, ports Ports) []topologies.PortID {
	return Forward(plan, destination, source, ports.Back(plan))
}

// Follow returns the path of a flow's packets where nextHops returns the ports from which a switch chooses, given the
// switch's index and the destination interface's. The path ends at a switch without a port for the destination.
func Follow(plan *topologies.Plan, source, destination topologies.NodeID, ports Ports,
	nextHops func(sw, to int) []topologies.PortID,
) []topologies.PortID {
	from, to := &plan.Ports[plan.Nodes[source].Ports[ports.From]], &plan.Ports[plan.Nodes[destination].Ports[ports.To]]
	path := []topologies.PortID{from.ID}
	for n := plan.PeerNode(from.ID); n.Kind == topologies.Switch && len(path) <= len(plan.Switch); {
		hops := nextHops(n.Index, to.Interface)
		if len(hops) == 0 {
			break
		}
		seed, h := Seed(plan, n.Index), uint32(0)
		if plan.Hash == topologies.HashHPCC {
			h = hpccHash(seed, HPCCAddress(source), HPCCAddress(destination), ports)
		} else {
			h = ecmpHash(seed, Fields(&plan.Balancing), plan.Address(from.ID).As4(), plan.Address(to.ID).As4(), ports.Source)
		}
		next := hops[int(h%uint32(len(hops)))]
		path = append(path, next)
		n = plan.PeerNode(next)
	}
	return path
}

// Pin returns ports with a UDP source port that leads a flow through all switches of via, as a sender in a real
// fabric chooses among equal-cost paths. The search starts at the given ports.
func Pin(plan *topologies.Plan, source, destination topologies.NodeID, via []topologies.NodeID,
	first Ports,
) (Ports, error) {
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
		if plan.Moving() {
			break
		}
		if passes(plan, Forward(plan, source, destination, ports), via) {
			return ports, nil
		}
	}
	if plan.Moving() {
		return Ports{}, errors.New("has via, and its packets take several paths by switch.load_balancing.mode or " +
			"host.entropy: leave one of them out")
	}
	return Ports{}, fmt.Errorf("no path from %s to %s goes through all of the switches asked for",
		plan.Nodes[source].Name, plan.Nodes[destination].Name)
}

// passes reports whether a path goes through all nodes of via.
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

// Seed returns the seed of a switch's choice among equal-cost ports. Under topologies.HashHPCC it is the switch's
// number in HPCC's simulator.
func Seed(plan *topologies.Plan, sw int) uint32 {
	if plan.Hash == topologies.HashHPCC {
		return uint32(plan.Switch[sw])
	}
	if b := &plan.Balancing; b.Uses("seed") && b.Seed != topologies.OwnSeed {
		return uint32(b.Seed)
	}
	return ownSeed(sw)
}

// ownSeed returns the seed of a switch by its index. It does not depend on the run's seed: a flow keeps its path from
// run to run.
func ownSeed(sw int) uint32 { return uint32(splitmix.At(uint64(sw)+1, 0) >> 32) }

// Fields returns the fields that switches hash, in the pipelines' form; 0: the whole 5-tuple.
func Fields(b *topologies.Balancing) uint32 {
	if !b.Uses("fields") {
		return 0
	}
	return hashFields[b.Fields]
}

var hashFields = []uint32{
	topologies.HashFiveTuple: 0, topologies.HashAddresses: ebpf.FieldSource | ebpf.FieldDestination,
	topologies.HashSource:      ebpf.FieldSource,
	topologies.HashDestination: ebpf.FieldDestination, topologies.HashPorts: ebpf.FieldPorts,
}

// ecmpHash returns c/hash.h's ecmp_hash of some fields of a RoCE packet, 0 for all. A test compares it with the
// pipeline.
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

// hpccHash returns c/hash.h's hpcc_hash: MurmurHash3 (x86, 32 bits) of the addresses and ports of a packet in HPCC's
// simulator.
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

// HPCCAddress returns the address of a node in HPCC's simulator: 11.a.b.1, with the node's number in a and b.
func HPCCAddress(id topologies.NodeID) uint32 {
	return 0x0b000001 + uint32(id)/256*0x00010000 + uint32(id)%256*0x00000100
}
