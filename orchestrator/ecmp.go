package orchestrator

import (
	"encoding/binary"
	"fmt"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
)

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

// Path is the way that the pipelines will send a flow's packets: the ports they leave by, the source's own first.
func Path(plan *topologies.Plan, source, destination topologies.NodeID, sourcePort uint16) []topologies.PortID {
	from, to := &plan.Nodes[source], &plan.Nodes[destination]
	path := []topologies.PortID{from.Ports[0]}
	for n := plan.PeerNode(from.Ports[0]); n.Kind == topologies.Switch; {
		hops := plan.NextHops(n.Index, to.Index)
		h := ecmpHash(ECMPSeed(n.Index), from.Addr.As4(), to.Addr.As4(), sourcePort)
		next := hops[int(h%uint32(len(hops)))]
		path = append(path, next)
		n = plan.PeerNode(next)
	}
	return path
}

// PinPath finds a UDP source port with which a flow's path goes through all the switches of via: what a sender does in a
// real fabric to choose among equal-cost paths. The search begins at a port made from salt.
func PinPath(plan *topologies.Plan, source, destination topologies.NodeID, via []topologies.NodeID, salt uint64) (uint16, error) {
	const ports = 0x10000 - wire.MinEntropyPort
	first := splitmix(salt) % ports
	for i := range uint64(ports) {
		port := uint16(wire.MinEntropyPort + (first+i)%ports)
		if len(via) == 0 || passes(plan, Path(plan, source, destination, port), via) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no path from %s to %s goes through all of the switches asked for",
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
