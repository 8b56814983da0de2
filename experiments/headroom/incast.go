package headroom

import (
	"context"
	"slices"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// most bounds the hosts that are looked at, and those that send, so that large fabrics take no longer than small ones.
const (
	mostHosts   = 512
	mostSenders = 64
)

// Incast is traffic that fills a port's headroom as much as traffic can: hosts beyond the port send by it at the full rate of its cable to a receiver, as do
// others that come to the receiver otherwise; and hosts on this side send the other way, so that PAUSE finds a frame being sent.
type Incast struct {
	Port     topologies.PortID
	Receiver topologies.NodeID
	Through  []topologies.NodeID // send by the port
	Beside   []topologies.NodeID // send to the receiver by other ways
	Back     []topologies.NodeID // send by the port's other direction, to the first of Through

	place uint8 // of the receiver's port that all send to
}

// named are the interfaces by which one host is to send to another: of the host at the port that of the port's cable, of the receiver always the same.
func (i *Incast) named(plan *topologies.Plan, from, to topologies.NodeID) (pair topologies.Pair, ends topologies.Ends) {
	if plan.SinglePort() {
		return pair, 0
	}
	far := &plan.Ports[plan.Ports[i.Port].Peer]
	if from == far.Node {
		pair.From, ends = uint8(far.Number-1), ends|topologies.NamedFrom
	}
	switch to {
	case far.Node:
		pair.To, ends = uint8(far.Number-1), ends|topologies.NamedTo
	case i.Receiver:
		pair.To, ends = i.place, ends|topologies.NamedTo
	}
	return pair, ends
}

// pairs are the interfaces by which a host can send to another so, through two neighbours in this order if via says so.
func (i *Incast) pairs(plan *topologies.Plan, from, to topologies.NodeID, via ...topologies.NodeID) []topologies.Pair {
	named, ends := i.named(plan, from, to)
	pairs := plan.PairsVia(from, to, via, named, ends)
	if len(via) < 2 {
		return pairs
	}
	return slices.DeleteFunc(pairs, func(pair topologies.Pair) bool { return !passes(plan, from, to, pair, via) })
}

// beside are the interfaces by which a host can send to the receiver, and has no shortest path by the port.
func (i *Incast) beside(plan *topologies.Plan, from topologies.NodeID) []topologies.Pair {
	by := []topologies.NodeID{plan.PeerNode(i.Port).ID, plan.Ports[i.Port].Node}
	return slices.DeleteFunc(i.pairs(plan, from, i.Receiver), func(pair topologies.Pair) bool { return passes(plan, from, i.Receiver, pair, by) })
}

// passes says whether a shortest path by a pair of interfaces goes from one of two neighbours to the other.
func passes(plan *topologies.Plan, from, to topologies.NodeID, pair topologies.Pair, via []topologies.NodeID) bool {
	return slices.ContainsFunc(plan.PathVia(from, to, via, pair), func(id topologies.PortID) bool {
		return plan.Ports[id].Node == via[0] && plan.PeerNode(id).ID == via[1]
	})
}

// Worst is the worst incast for the first of the ports that hosts can congest what is beyond, or of those that frames can go by at all; nil if none can.
func Worst(plan *topologies.Plan, ports []topologies.PortID) *Incast {
	var first *Incast
	for _, id := range ports {
		switch i := worst(plan, id); {
		case i == nil:
		case i.congests(plan):
			return i
		case first == nil:
			first = i
		}
	}
	return first
}

// congests says whether more is sent to the receiver than it takes.
func (i *Incast) congests(plan *topologies.Plan) bool {
	access := func(h topologies.NodeID) units.Rate { return plan.Ports[plan.Nodes[h].Ports[0]].Rate } // the ports of a host are alike, or nearly
	through := units.Rate(0)
	for _, h := range i.Through {
		through += access(h)
	}
	sum := min(through, plan.Ports[plan.Ports[i.Port].Peer].Rate)
	for _, h := range i.Beside {
		sum += access(h)
	}
	return sum > access(i.Receiver)
}

func worst(plan *topologies.Plan, id topologies.PortID) *Incast {
	here, there := plan.Ports[id].Node, plan.PeerNode(id).ID
	hosts := plan.Hosts[:min(len(plan.Hosts), mostHosts)]
	i := &Incast{Port: id, Receiver: -1}
	by := func(from, to topologies.NodeID, first, second topologies.NodeID) bool {
		return from != to && from != second && to != first && len(i.pairs(plan, from, to, first, second)) > 0
	}
	// The nearest receiver: a switch's own host shares nothing else with the port.
	receiver, hops := topologies.NodeID(-1), 0
	for _, to := range hosts {
		for _, from := range hosts {
			if !by(from, to, there, here) {
				continue
			}
			place := i.pairs(plan, from, to, there, here)[0].To
			if n := plan.Hops(here, plan.Interface(to, place)); receiver < 0 || n < hops {
				receiver, i.place, hops = to, place, n
			}
			break
		}
	}
	if receiver < 0 {
		return nil
	}
	i.Receiver = receiver
	fill := func(into *[]topologies.NodeID, least units.Rate, ok func(topologies.NodeID) bool) {
		sum := units.Rate(0)
		for _, h := range hosts {
			if sum >= least || len(*into) == mostSenders {
				return
			}
			if ok(h) {
				*into = append(*into, h)
				sum += plan.Ports[plan.Nodes[h].Ports[0]].Rate
			}
		}
	}
	rate := plan.Ports[plan.Ports[id].Peer].Rate
	fill(&i.Through, rate, func(h topologies.NodeID) bool { return by(h, i.Receiver, there, here) })
	fill(&i.Beside, rate, func(h topologies.NodeID) bool {
		return h != i.Receiver && !slices.Contains(i.Through, h) && len(i.beside(plan, h)) > 0
	})
	fill(&i.Back, plan.Ports[id].Rate, func(h topologies.NodeID) bool { return h != i.Receiver && by(h, i.Through[0], here, there) })
	return i
}

// flows are those of the incast: without end, and without congestion control.
func (i *Incast) flows(plan *topologies.Plan) (flows []scenario.Flow) {
	here, there := plan.Ports[i.Port].Node, plan.PeerNode(i.Port).ID
	add := func(from, to topologies.NodeID, pair topologies.Pair, via ...topologies.NodeID) {
		ends := topologies.Ends(0)
		if !plan.SinglePort() {
			ends = topologies.NamedFrom | topologies.NamedTo
		}
		via = slices.DeleteFunc(via, func(id topologies.NodeID) bool { return plan.Nodes[id].Kind == topologies.Host })
		flows = append(flows, scenario.Flow{
			Source: from, Destination: to, Pair: pair, Named: ends, ExpectUnfinished: true, Extras: &scenario.FlowExtras{Via: via},
		})
	}
	for _, h := range i.Through {
		add(h, i.Receiver, i.pairs(plan, h, i.Receiver, there, here)[0], there, here)
	}
	for _, h := range i.Beside {
		add(h, i.Receiver, i.beside(plan, h)[0])
	}
	for _, h := range i.Back {
		add(h, i.Through[0], i.pairs(plan, h, i.Through[0], here, there)[0], here, there)
	}
	return flows
}

// Tried is what a run of an incast came to.
type Tried struct {
	Paused  bool        // the port has sent PAUSE: what follows was put to the test
	Most    units.Bytes // of a lossless priority, buffered from the port
	Dropped int64       // frames of lossless priorities, in the whole fabric, for want of room
	For     vtime.Time  // virtual time
}

// Try runs the incast on the wasm plane without congestion control until the port's account has reached XOFF many times over. A fault, by its index, is
// there from the start; negative: none.
func (i *Incast) Try(ctx context.Context, s *scenario.Scenario, fault int) (*Tried, error) {
	plan := s.Topology
	// At half the line's rate the account fills to XOFF within twice the time that XOFF takes on the line. No account is above the buffer.
	node := &plan.Nodes[plan.Ports[i.Port].Node]
	buffer, thresholds := scenario.EverySwitch(plan, &s.Switch)[node.Index].Resolve(engine.Cables(plan, node.ID, false))
	xoff := thresholds[plan.Ports[i.Port].Number-1].XOFF
	if s.Switch.PFC.Alpha > 0 && (xoff == 0 || xoff > buffer) {
		xoff = buffer
	}
	p := &plan.Ports[i.Port]
	rate, delay := min(p.Rate, plan.Ports[p.Peer].Rate), p.Delay
	var faults []scenario.Fault
	if fault >= 0 {
		f := s.Faults[fault]
		f.At, f.For, f.Every, f.Times = 0, 0, 0, 1
		faults = append(faults, f)
		delay = max(delay, f.Delay)
		if f.Rate > 0 {
			rate = min(rate, f.Rate)
		}
	}
	t := &Tried{For: 8*rate.TimeFor(int64(xoff)) + 50*delay + 200*vtime.Microsecond}
	own := s.WithFlows(i.flows(plan), t.For)
	own.Faults = faults
	own.Switch.Balancing, own.Host.Entropy = switchagent.Default().Balancing, 0 // the flows are pinned to paths
	own.Topology = plan.WithBalancing(engine.Balancing(&own.Switch.Balancing, &own.Host)).WithIP(own.Host.IP)
	sum, err := runner.Watch(ctx, own, "none", runner.Watching{
		Plane: engine.PlaneWasm, Seed: s.Seed,
		Ended: func(e *engine.Engine) {
			r := &e.State().Ports[i.Port]
			t.Paused = r.PausesSent > 0
			t.Most = units.Bytes(r.Class[own.Host.DataPriority].Peak)
		},
	})
	if err != nil {
		return nil, err
	}
	t.Dropped = sum.Drops.Lossless
	return t, nil
}
