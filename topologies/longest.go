package topologies

import (
	"sync"

	"github.com/pausenet/pausenet/vtime"
)

// longestRTTs caches LongestRTT by the lengths of data and ACK. Plans with the same links and routes share it.
type longestRTTs struct {
	sync.Mutex
	known map[[2]int]vtime.Time
}

func newLongestRTTs() *longestRTTs { return &longestRTTs{known: map[[2]int]vtime.Time{}} }

// LongestRTT returns the greatest BaseRTT between any two hosts of the fabric, or 0 if switches connect none.
func (p *Plan) LongestRTT(dataBytes, ackBytes int) vtime.Time {
	p.longest.Lock()
	defer p.longest.Unlock()
	key := [2]int{dataBytes, ackBytes}
	t, ok := p.longest.known[key]
	if !ok {
		t = p.longestRTT(dataBytes, ackBytes)
		p.longest.known[key] = t
	}
	return t
}

// longestRTT computes for each leaf the time from every other. All interfaces at a leaf share the path to it.
func (p *Plan) longestRTT(dataBytes, ackBytes int) (longest vtime.Time) {
	data, ack := p.Framing.LineBytes(dataBytes), p.Framing.LineBytes(ackBytes)
	roundTrip := func(id PortID) vtime.Time { // over the link of a port
		port := &p.Ports[id]
		return 2*port.Delay + port.Rate.TimeFor(data) + port.Rate.TimeFor(ack)
	}
	ends := make([]leafEnds, p.routes.Leaves)
	for i, id := range p.Interfaces {
		port := &p.Ports[id]
		e := &ends[p.routes.Leaf[i]]
		e.sw, e.to = p.PeerNode(id).Index, i
		e.out.take(port.Node, roundTrip(id))
		e.in.take(port.Node, roundTrip(port.Peer))
	}
	const unknown, nowhere = -1, -2
	times := make([]vtime.Time, len(p.Switch)) // from each switch to the leaf
	var way []int
	for to := range ends {
		for i := range times {
			times[i] = unknown
		}
		times[ends[to].sw] = 0
		for from := range ends {
			way = way[:0]
			at := ends[from].sw
			for times[at] == unknown {
				next := p.NextHops(at, ends[to].to)
				if len(next) == 0 {
					times[at] = nowhere
					break
				}
				way = append(way, at)
				at = p.PeerNode(next[0]).Index
			}
			for t := times[at]; len(way) > 0; way = way[:len(way)-1] {
				at = way[len(way)-1]
				if t != nowhere {
					t += roundTrip(p.NextHops(at, ends[to].to)[0])
				}
				times[at] = t
			}
			if t, pair := times[ends[from].sw], slowestPair(&ends[from].out, &ends[to].in); t != nowhere && pair > 0 {
				longest = max(longest, t+pair)
			}
		}
	}
	return longest
}

// leafEnds describes the links between a leaf and its hosts.
type leafEnds struct {
	sw, to  int // indexes of the leaf among the switches, and of one interface of its hosts
	out, in slowest
}

// slowest holds the host with the slowest link, and the longest time among the other hosts.
type slowest struct {
	node        NodeID
	first, next vtime.Time // next: 0 while there is only one host
}

func (s *slowest) take(node NodeID, t vtime.Time) {
	switch {
	case s.first == 0 || node == s.node:
		s.node, s.first = node, max(s.first, t)
	case t > s.first:
		s.node, s.first, s.next = node, t, s.first
	default:
		s.next = max(s.next, t)
	}
}

// slowestPair returns the longest time of two different hosts' links together, or 0 if there is one host.
func slowestPair(out, in *slowest) (sum vtime.Time) {
	if out.node != in.node {
		return out.first + in.first
	}
	if in.next > 0 {
		sum = out.first + in.next
	}
	if out.next > 0 {
		sum = max(sum, out.next+in.first)
	}
	return sum
}

// Oversubscription returns the ratio of the rates into switches from below to the rates of their links upwards. It is
// the product over the tiers of each tier's worst switch, or 1 if that is less. Links between switches of one tier
// count as upward. It is 1 if no switch has such links.
func (p *Plan) Oversubscription() float64 { return p.oversubscription }

func (p *Plan) setOversubscription() {
	var worst []float64 // by tier
	for _, id := range p.Switch {
		n := &p.Nodes[id]
		var up, down float64
		for _, port := range n.Ports {
			if p.PeerNode(port).Tier < n.Tier {
				down += float64(p.Ports[port].Rate)
			} else {
				up += float64(p.Ports[port].Rate)
			}
		}
		for len(worst) <= n.Tier {
			worst = append(worst, 1)
		}
		if up > 0 {
			worst[n.Tier] = max(worst[n.Tier], down/up)
		}
	}
	p.oversubscription = 1
	for _, w := range worst {
		p.oversubscription *= w
	}
}
