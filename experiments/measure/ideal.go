package measure

import (
	"math/bits"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// ACKFrame returns the bytes of an ACK frame without telemetry.
func ACKFrame(plan *topologies.Plan) int { return wire.AckLen + plan.IP.Extra() }

// FullSize returns the size of a full data packet's frame in switch buffers.
func FullSize(plan *topologies.Plan) int { return plan.Framing.Counted(FullFrame(plan)) }

// FullFrame returns the bytes of a full data packet's frame without telemetry.
func FullFrame(plan *topologies.Plan) int { return plan.IP.DataLen(wire.OpWriteMiddle, plan.MTU) }

// FlowTimes holds an ended flow's completion time, and the times to compare it with: the ideal FCT, the ideal FCT of
// HPCC's simulator, and the time of its bytes at the sender's line rate.
type FlowTimes struct{ FCT, Ideal, HPCC, Line vtime.Time }

// Slowdown returns the flow's FCT over its ideal FCT.
func (t FlowTimes) Slowdown() float64 { return float64(t.FCT) / float64(t.Ideal) }

// slowdownHPCC returns the slowdown as the simulator's fct_analysis.py computes it, at least 1.
func (t FlowTimes) slowdownHPCC() float64 { return max(1, float64(t.FCT)/float64(t.HPCC)) }

func (t FlowTimes) slowdownLine() float64 { return float64(t.FCT) / float64(t.Line) }

// TimesOf returns the times of a flow of a size that took fct on a path, with its ACKs on the path back.
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

// LineTime returns how long a flow's bytes take at the line rate of its sender's port.
func LineTime(plan *topologies.Plan, port topologies.PortID, size int64) vtime.Time {
	return plan.Ports[port].Rate.TimeFor(size)
}

// mostFollowed limits the middle packets of a flow that IdealFCT follows one by one. After them, the links are in a
// steady state: packets leave at the rate of the slowest link.
const mostFollowed = 64

// hop represents one link of a path, or, if packets take several paths, all links at the same distance from the source.
type hop struct {
	rate  units.Rate // rate of serialisation of one frame
	all   units.Rate // sum of the rates of all links
	delay vtime.Time
}

// serialisation returns how long a frame takes on one of the links.
func (h *hop) serialisation(plan *topologies.Plan, frame int) vtime.Time {
	return h.rate.TimeFor(plan.Framing.LineBytes(frame))
}

// spacing returns the time from one frame to the next if all links send.
func (h *hop) spacing(plan *topologies.Plan, frame int) vtime.Time {
	return h.all.TimeFor(plan.Framing.LineBytes(frame))
}

// hopsOf returns a path's hops. If load balancing moves packets, a hop serialises a frame at the rate of its fastest
// link, and a flow at the sum of its links' rates. So no flow can take less time.
func hopsOf(plan *topologies.Plan, path []topologies.PortID) []hop {
	hops := make([]hop, len(path))
	for i, id := range path {
		p := &plan.Ports[id]
		hops[i] = hop{p.Rate, p.Rate, p.Delay}
	}
	if !plan.Moving() {
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

// QPPath holds a QP's bytes, its path, and the path of its ACKs.
type QPPath struct {
	Path, Back []topologies.PortID
	Size       int64
}

// IdealOfQPs returns the ideal FCT of a flow of several QPs. It is the longest of two kinds of time: what each QP needs
// alone on its path, and what each link needs for the bytes of all its QPs, plus the rest of the path for one packet.
func IdealOfQPs(plan *topologies.Plan, qps []QPPath) vtime.Time {
	ideal := vtime.Time(0)
	// for each link: the bytes over it, and the least time for the rest of the path: a one-byte packet and its ACK
	line, least := map[topologies.PortID]int64{}, map[topologies.PortID]vtime.Time{}
	for _, q := range qps {
		ideal = max(ideal, IdealFCT(plan, q.Path, q.Back, q.Size))
		_, _, bytes := FramesOf(plan, q.Size)
		one, path := IdealFCT(plan, q.Path, q.Back, 1), q.Path
		if plan.Moving() { // the rest of the path differs between packets
			path = []topologies.PortID{path[0], path[len(path)-1]}
		}
		for _, id := range path {
			line[id] += bytes
			own := plan.Ports[id].Rate.TimeFor(plan.Framing.LineBytes(plan.IP.DataLen(wire.OpWriteOnly, 1)))
			if rest := one - own; least[id] == 0 || rest < least[id] {
				least[id] = rest
			}
		}
	}
	for id, bytes := range line {
		ideal = max(ideal, plan.Ports[id].Rate.TimeFor(bytes)+least[id])
	}
	return ideal
}

// IdealFCT returns the FCT of a flow that is alone on its path, from the start of its first packet to the arrival of
// the ACK of its last. Every link stores and forwards, and no packet carries telemetry. If load balancing moves
// packets, it uses the capacity of all paths.
func IdealFCT(plan *topologies.Plan, path, back []topologies.PortID, size int64) vtime.Time {
	mtu := int64(plan.MTU)
	packets := (size + mtu - 1) / mtu
	last := size - (packets-1)*mtu
	// free is the time at which each link has serialised the previous packet; the first link starts at 0.
	hops := hopsOf(plan, path)
	free := make([]vtime.Time, len(hops))
	send := func(frame int) (arrival vtime.Time) {
		at := vtime.Time(0)
		for i := range hops {
			h := &hops[i]
			start := max(free[i], at)
			free[i] = start + h.spacing(plan, frame)
			at = start + h.serialisation(plan, frame) + h.delay
		}
		return at
	}
	home := vtime.Time(0) // arrival of the last ACK
	for _, h := range hopsOf(plan, back) {
		home += h.serialisation(plan, ACKFrame(plan)) + h.delay
	}
	if packets == 1 {
		return send(plan.IP.DataLen(wire.OpWriteOnly, int(last))) + home
	}
	send(plan.IP.DataLen(wire.OpWriteFirst, plan.MTU))
	middle := packets - 2
	followed := min(middle, mostFollowed)
	for range followed {
		send(FullFrame(plan))
	}
	if middle > followed {
		var slowest vtime.Time
		for i := range hops {
			slowest = max(slowest, hops[i].spacing(plan, FullFrame(plan)))
		}
		for i := range free {
			free[i] += slowest * vtime.Time(middle-followed)
		}
	}
	return send(plan.IP.DataLen(wire.OpWriteLast, int(last))) + home
}

// OneWay returns the time of a single frame along a path.
func OneWay(plan *topologies.Plan, path []topologies.PortID, frame int) vtime.Time {
	var t vtime.Time
	for _, id := range path {
		p := &plan.Ports[id]
		t += p.Delay + p.Rate.TimeFor(plan.Framing.LineBytes(frame))
	}
	return t
}

// FramesOf returns the bytes of a flow's first and last frame, without telemetry, and the bytes that all its frames
// take on a link. A flow of one packet has equal first and last.
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

// Bytes that the simulator counts beside the payload of a packet: PPP 14, IPv4 20, UDP 8, its sequence header 6.
const hpccHeader = 48

// HPCCAlone returns the ideal FCT as HPCC's simulator computes it, in whole nanoseconds: the delays both ways, a full
// packet's serialisation on each link, and the flow's bytes with headers at the slowest link's rate.
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

// wholeTime returns the whole nanoseconds that bytes take at a rate, rounded down.
func wholeTime(bytes, rate int64) int64 {
	high, low := bits.Mul64(uint64(bytes), 8_000_000_000)
	t, _ := bits.Div64(high, low, uint64(rate))
	return int64(t)
}
