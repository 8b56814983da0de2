package runner

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// spread tracks how PAUSE spreads from switch to switch, from the PFC frames alone.
//
// When a switch B sends PAUSE from its port towards A, A's egress port towards B is *paused*, from the time at which
// the frame has crossed the link until RESUME has. Suppose that an egress port of B by which packets from A leave is
// paused for that priority when B sends PAUSE. Then B may fill up because it cannot send, and the new hold is one hop
// further from the root than that port's; with several, than the farthest. Otherwise B fills up by itself: it is the
// root, and the hold is the first hop.
//
// So a hold's *depth* is the length of the longest chain of egress ports, each paused by the switch of the next, whose
// holds overlap at each start. Switches do not report the egress port of the bytes that made them send PAUSE. If a
// switch is a root and has a paused port at the same time, depth is an upper bound. A chain contains no port twice.
type spread struct {
	plan    *topologies.Plan
	anyWay  bool         // routes differ from the plan's: packets may take any path
	ways    map[way]bool // pairs of ingress and egress ports that packets may use
	holds   []*lastHolds // by egress port; nil: never paused
	byDepth []int64      // number of holds of depth 1, 2, ...
	longest *Hold        // the first of maximum depth
}

// Hold represents an interval during which PFC paused an egress port.
type Hold struct {
	Port     topologies.PortID
	Priority uint8
	From, To vtime.Time // To: vtime.Never until it ends
	Depth    int        // number of hops from the root; 1: the port's peer is the root
	By       *Hold      // at the switch that paused the port; nil: that switch is the root
}

// classes counts the priorities of PFC.
const classes = 8

// lastHolds holds the last hold of an egress port for each priority.
type lastHolds [classes]*Hold

// way represents a path through a switch, by its ingress and egress port.
type way struct{ in, out topologies.PortID }

func newSpread(plan *topologies.Plan) *spread {
	return &spread{plan: plan, ways: map[way]bool{}, holds: make([]*lastHolds, len(plan.Ports))}
}

// hold returns the last hold of an egress port and a priority; nil: there was none.
func (s *spread) hold(port topologies.PortID, priority uint8) *Hold {
	if h := s.holds[port]; h != nil {
		return h[priority]
	}
	return nil
}

// goes reports whether packets may take a path through a switch, on the shortest paths to any host from the switch or
// host before it.
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

// pause processes a PAUSE to a peer that was not paused, and returns the new hold.
func (s *spread) pause(now vtime.Time, sender topologies.PortID, priority uint8) *Hold {
	p := &s.plan.Ports[sender]
	h := &Hold{Port: p.Peer, Priority: priority, From: now + p.Delay, To: vtime.Never, Depth: 1}
	var others []topologies.PortID // a host's ports do not forward to each other
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

// resume processes a RESUME, and returns the hold that it ends, if there is one.
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
