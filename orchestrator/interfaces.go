package orchestrator

import "github.com/pausenet/pausenet/topologies"

// firstIfindex is the index that a namespace's first interface after lo gets from us. Indexes are chosen, not asked for:
// that saves a dump of every namespace and gives the ring a port from an interface by subtraction.
const firstIfindex = 2

// mtuOf is the interfaces' MTU: a full RoCE packet with every header an algorithm may add fits.
func mtuOf(plan *topologies.Plan) int { return max(1500, plan.MTU+160) }

// outerIfindex is the index in the backplane of port id's outer end.
func outerIfindex(id topologies.PortID) int32 { return firstIfindex + int32(id) }

// innerIfindex is the index in its device's namespace of a port's inner end.
func innerIfindex(p *topologies.Port) int32 { return firstIfindex + int32(p.Number) - 1 }
