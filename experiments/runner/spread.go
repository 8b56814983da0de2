package runner

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// spread follows PAUSE from switch to switch, from the PFC frames alone.
//
// When a switch B sends PAUSE from its port towards A, A's egress port towards B is *paused*, from the time at which
// the frame has crossed the link until RESUME has. If at the time of sending an egress port of B's own is paused for
// that priority, by which packets from A leave, B may fill up because it cannot send, and the new hold is one hop
// further from the root than that one; of several, than the farthest. Otherwise B fills up by itself, it is the root,
// and the hold is the first hop. So a hold's *depth* is the length of the longest chain of egress ports, each paused by
// the switch of the next, whose holds overlap as each began. Switches do not say for which egress port the bytes are
// that made them send PAUSE: where one has a root and a paused port at a time, depth is an upper bound. A chain passes
// no port twice.
type spread struct {
	plan    *topologies.Plan
	anyWay  bool         // routes are no longer the plan's: packets may go any way
	ways    map[way]bool // ports that packets may come in and leave by
	holds   []*lastHolds // by egress port; nil: it was never paused
	byDepth []int64      // holds of depth 1, 2, ...
	longest *Hold        // the first of the greatest depth
}

// Hold is one time that PFC paused an egress port.
type Hold struct {
	Port     topologies.PortID
	Priority uint8
	From, To vtime.Time // To: vtime.Never while it lasts
	Depth    int        // hops from the root; 1: the port's peer is the root
	By       *Hold      // of the switch that paused the port; nil: that switch is the root
}

// classes is how many priorities PFC has.
const classes = 8

// lastHolds are those of an egress port by priority.
type lastHolds [classes]*Hold

// way is through a switch: in by one port, out by another.
type way struct{ in, out topologies.PortID }

func newSpread(plan *topologies.Plan) *spread {
	return &spread{plan: plan, ways: map[way]bool{}, holds: make([]*lastHolds, len(plan.Ports))}
}

// hold is the last of an egress port and a priority; nil: there was none.
func (s *spread) hold(port topologies.PortID, priority uint8) *Hold {
	if h := s.holds[port]; h != nil {
		return h[priority]
	}
	return nil
}

// goes says whether packets may go a way: on the shortest paths to any host, from the switch or the host that is at the
// way's beginning.
func (s *spread) goes(w way) bool {
	goes, known := s.ways[w]
	if s.anyWay || known {
		return goes || s.anyWay
	}
	from, before := s.plan.Ports[w.in].Peer, s.plan.PeerNode(w.in)
	for to, id := range s.plan.Interfaces {
		if !slices.Contains(s.plan.NextHops(s.plan.Nodes[s.plan.Ports[w.in].Node].Index, to), w.out) {
			continue
		}
		if goes = s.plan.Ports[id].Node != before.ID; before.Kind == topologies.Switch {
			goes = slices.Contains(s.plan.NextHops(before.Index, to), from)
		}
		if goes {
			break
		}
	}
	s.ways[w] = goes
	return goes
}

// pause is told that a port has sent PAUSE to a peer that it had not paused, and returns the hold that begins.
func (s *spread) pause(now vtime.Time, sender topologies.PortID, priority uint8) *Hold {
	p := &s.plan.Ports[sender]
	h := &Hold{Port: p.Peer, Priority: priority, From: now + p.Delay, To: vtime.Never, Depth: 1}
	var others []topologies.PortID // a host's pass nothing on to each other
	if n := &s.plan.Nodes[p.Node]; n.Kind == topologies.Switch {
		others = n.Ports
	}
	for _, id := range others {
		c := s.hold(id, priority)
		if id == sender || c == nil || c.From > now || c.To <= now || c.Depth < h.Depth || c.passes(p.Peer) ||
			!s.goes(way{sender, id}) {
			continue
		}
		h.By, h.Depth = c, c.Depth+1
	}
	if s.holds[p.Peer] == nil {
		s.holds[p.Peer] = new(lastHolds)
	}
	s.holds[p.Peer][priority] = h
	for len(s.byDepth) < h.Depth {
		s.byDepth = append(s.byDepth, 0)
	}
	s.byDepth[h.Depth-1]++
	if s.longest == nil || h.Depth > s.longest.Depth {
		s.longest = h
	}
	return h
}

// resume is told that a port has sent RESUME, and returns the hold that ends, if one does.
func (s *spread) resume(now vtime.Time, sender topologies.PortID, priority uint8) *Hold {
	p := &s.plan.Ports[sender]
	if h := s.hold(p.Peer, priority); h != nil && h.To == vtime.Never {
		h.To = now + p.Delay
		return h
	}
	return nil
}

func (h *Hold) passes(port topologies.PortID) bool {
	for ; h != nil; h = h.By {
		if h.Port == port {
			return true
		}
	}
	return false
}

func (s *spread) summary() measure.SpreadSummary {
	sum := measure.SpreadSummary{Depth: len(s.byDepth), ByDepth: append([]int64{}, s.byDepth...)}
	if s.longest == nil {
		return sum
	}
	sum.Time = s.longest.From.RoundNanoseconds()
	var chain []topologies.PortID // the root's neighbour first
	for h := s.longest; h != nil; h = h.By {
		chain = append([]topologies.PortID{h.Port}, chain...)
	}
	sum.Chain = append(sum.Chain, s.plan.PeerNode(chain[0]).Name)
	for _, id := range chain {
		sum.Chain = append(sum.Chain, s.plan.Nodes[s.plan.Ports[id].Node].Name)
	}
	return sum
}
