package engine

import "github.com/pausenet/pausenet/topologies"

// firstIfindex is the index that a namespace's first interface after lo gets from us. Indexes are chosen, not asked for:
// that saves a dump of every namespace and gives the ring a port from an interface by subtraction.
const firstIfindex = 2

// InterfaceMTU is the interfaces' MTU: a full RoCE packet with every header an algorithm may add fits.
func InterfaceMTU(plan *topologies.Plan) int { return max(1500, plan.MTU+160) }

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
