package measure

import (
	"math/bits"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// ACKFrame is the bytes of an ACK's frame without telemetry.
func ACKFrame(plan *topologies.Plan) int { return wire.AckLen + plan.IP.Extra() }

// FullSize is the size of a full data packet's frame in switches' buffers.
func FullSize(plan *topologies.Plan) int { return plan.Framing.Counted(FullFrame(plan)) }

// FullFrame is the bytes of a full data packet's frame without telemetry.
func FullFrame(plan *topologies.Plan) int { return plan.IP.DataLen(wire.OpWriteMiddle, plan.MTU) }

// FlowTimes are an ended flow's completion time, and what it is compared with: the time the flow would have taken
// alone, that by HPCC's simulator, and its bytes at the sender's line rate.
type FlowTimes struct{ FCT, Ideal, HPCC, Line vtime.Time }

// Slowdown is the time that the flow took over the time alone.
func (t FlowTimes) Slowdown() float64 { return float64(t.FCT) / float64(t.Ideal) }

// slowdownHPCC is never below 1, as in the simulator's fct_analysis.py.
func (t FlowTimes) slowdownHPCC() float64 { return max(1, float64(t.FCT)/float64(t.HPCC)) }

func (t FlowTimes) slowdownLine() float64 { return float64(t.FCT) / float64(t.Line) }

// TimesOf are the times of a flow of a size that took fct on a path, its ACKs on the way back.
func TimesOf(plan *topologies.Plan, path, back []topologies.PortID, size int64, fct vtime.Time) FlowTimes {
	first := &plan.Ports[path[0]]
	last := &plan.Ports[plan.Ports[path[len(path)-1]].Peer]
	pair := topologies.Pair{From: uint8(first.Number - 1), To: uint8(last.Number - 1)}
	return FlowTimes{
		FCT: fct, Ideal: IdealFCT(plan, path, back, size),
		HPCC: vtime.Time(HPCCAlone(plan, first.Node, last.Node, pair, size)) * vtime.Nanosecond,
		Line: LineTime(plan, first.ID, size),
	}
}

// LineTime is how long a flow's bytes take at the line rate of its sender's port.
func LineTime(plan *topologies.Plan, port topologies.PortID, size int64) vtime.Time {
	return plan.Ports[port].Rate.TimeFor(size)
}

// steady is how many packets of a flow are followed one by one; later ones leave as fast as the slowest link takes
// them, which the pipeline of links does from the first few on.
const steady = 64

// hop is one of a path's links, or, of packets that take several paths, the links as far from the source together.
type hop struct {
	rate  units.Rate // at which a frame is serialised
	all   units.Rate // of all links
	delay vtime.Time
}

func (h *hop) time(plan *topologies.Plan, frame int) vtime.Time {
	return h.rate.TimeFor(plan.Framing.LineBytes(frame))
}

func (h *hop) takes(plan *topologies.Plan, frame int) vtime.Time {
	return h.all.TimeFor(plan.Framing.LineBytes(frame))
}

// hopsOf are a path's links. Where load balancing moves packets they are at best as fast as the fastest of each
// distance, and at best all of them are busy: no flow takes less time than this allows.
func hopsOf(plan *topologies.Plan, path []topologies.PortID) []hop {
	hops := make([]hop, len(path))
	for i, id := range path {
		p := &plan.Ports[id]
		hops[i] = hop{p.Rate, p.Rate, p.Delay}
	}
	if !plan.Balancing.Moving {
		return hops
	}
	ways := plan.WaysBy(path[0], plan.Ports[path[len(path)-1]].Peer, plan.NextHops)
	for i := range hops {
		h := &hops[i]
		h.all = 0
		for _, id := range ways[i] {
			p := &plan.Ports[id]
			h.rate, h.all, h.delay = max(h.rate, p.Rate), h.all+p.Rate, min(h.delay, p.Delay)
		}
	}
	return hops
}

// QPPath is what a QP of a flow has of it, and its way and that of its ACKs.
type QPPath struct {
	Path, Back []topologies.PortID
	Size       int64
}

// IdealOfQPs is, likewise, the time that a flow of several QPs takes alone: no less than any QP needs alone on its
// path, nor than any link needs for what QPs have it carry together, before and after which a packet has the rest of
// its way.
func IdealOfQPs(plan *topologies.Plan, qps []QPPath) vtime.Time {
	ideal := vtime.Time(0)
	// by link: what it carries, and the time of a packet's whole way
	line, least := map[topologies.PortID]int64{}, map[topologies.PortID]vtime.Time{}
	for _, q := range qps {
		ideal = max(ideal, IdealFCT(plan, q.Path, q.Back, q.Size))
		_, _, bytes := FramesOf(plan, q.Size)
		one, path := IdealFCT(plan, q.Path, q.Back, 1), q.Path
		if plan.Balancing.Moving { // the rest of the way differs from packet to packet
			path = []topologies.PortID{path[0], path[len(path)-1]}
		}
		for _, id := range path {
			line[id] += bytes
			if rest := one - plan.Ports[id].Rate.TimeFor(plan.Framing.LineBytes(plan.IP.DataLen(wire.OpWriteOnly,
				1))); least[id] == 0 || rest < least[id] {
				least[id] = rest
			}
		}
	}
	for id, bytes := range line {
		ideal = max(ideal, plan.Ports[id].Rate.TimeFor(bytes)+least[id])
	}
	return ideal
}

// IdealFCT is the time a flow takes alone on its path: from the start of its first packet until the ACK of its last has
// arrived, every link storing and forwarding, no packet carrying telemetry. Where load balancing moves packets it is
// what their paths together allow.
func IdealFCT(plan *topologies.Plan, path, back []topologies.PortID, size int64) vtime.Time {
	mtu := int64(plan.MTU)
	packets := (size + mtu - 1) / mtu
	last := size - (packets-1)*mtu
	// free is when each link has serialised the packet before; the first link starts at 0.
	hops := hopsOf(plan, path)
	free := make([]vtime.Time, len(hops))
	send := func(frame int) (arrival vtime.Time) {
		at := vtime.Time(0)
		for i := range hops {
			h := &hops[i]
			start := max(free[i], at)
			free[i] = start + h.takes(plan, frame)
			at = start + h.time(plan, frame) + h.delay
		}
		return at
	}
	home := vtime.Time(0) // of the last ACK
	for _, h := range hopsOf(plan, back) {
		home += h.time(plan, ACKFrame(plan)) + h.delay
	}
	if packets == 1 {
		return send(plan.IP.DataLen(wire.OpWriteOnly, int(last))) + home
	}
	send(plan.IP.DataLen(wire.OpWriteFirst, plan.MTU))
	middle := packets - 2
	followed := min(middle, steady)
	for range followed {
		send(FullFrame(plan))
	}
	if middle > followed {
		var slowest vtime.Time
		for i := range hops {
			slowest = max(slowest, hops[i].takes(plan, FullFrame(plan)))
		}
		for i := range free {
			free[i] += slowest * vtime.Time(middle-followed)
		}
	}
	return send(plan.IP.DataLen(wire.OpWriteLast, int(last))) + home
}

// OneWay is the time a lone frame takes along a path.
func OneWay(plan *topologies.Plan, path []topologies.PortID, frame int) vtime.Time {
	var t vtime.Time
	for _, id := range path {
		p := &plan.Ports[id]
		t += p.Delay + p.Rate.TimeFor(plan.Framing.LineBytes(frame))
	}
	return t
}

// FramesOf are the frames, without telemetry, that a flow of a size makes: its first and last (the same, if it is one
// packet's), and how many bytes of line time all take.
func FramesOf(plan *topologies.Plan, size int64) (first, last int, line int64) {
	mtu := int64(plan.MTU)
	packets := (size + mtu - 1) / mtu
	rest := int(size - (packets-1)*mtu)
	if packets == 1 {
		only := plan.IP.DataLen(wire.OpWriteOnly, rest)
		return only, only, plan.Framing.LineBytes(only)
	}
	first, last = plan.IP.DataLen(wire.OpWriteFirst, plan.MTU), plan.IP.DataLen(wire.OpWriteLast, rest)
	line = plan.Framing.LineBytes(first) + (packets-2)*plan.Framing.LineBytes(FullFrame(plan)) +
		plan.Framing.LineBytes(last)
	return first, last, line
}

// What the simulator counts beside the payload of a packet, in bytes: PPP 14, IPv4 20, UDP 8, its sequence header 6.
const hpccHeader = 48

// HPCCAlone is the completion time of a flow alone as the simulator reckons it, in whole nanoseconds: the delays there
// and back, a full packet's serialisation on each link, and the flow's bytes with headers at the slowest link's rate.
func HPCCAlone(plan *topologies.Plan, source, destination topologies.NodeID, pair topologies.Pair, size int64) int64 {
	var delay, transmission int64
	mtu, slowest := int64(plan.MTU), int64(0)
	for _, id := range plan.PathOf(source, destination, pair) {
		p := &plan.Ports[id]
		rate := int64(p.Rate)
		delay += p.Delay.Nanoseconds()
		transmission += mtu * 8_000_000_000 / rate
		if slowest == 0 || rate < slowest {
			slowest = rate
		}
	}
	bytes := size + ((size-1)/mtu+1)*hpccHeader
	return 2*delay + transmission + wholeTime(bytes, slowest)
}

// wholeTime is the whole nanoseconds that bytes take at a rate, rounded down.
func wholeTime(bytes, rate int64) int64 {
	high, low := bits.Mul64(uint64(bytes), 8_000_000_000)
	t, _ := bits.Div64(high, low, uint64(rate))
	return int64(t)
}
