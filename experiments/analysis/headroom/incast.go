package headroom

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// mostHosts limits the hosts that are considered, so that large fabrics take no longer than small ones.
const mostHosts = 512

// Incast describes traffic that fills a port's headroom as much as possible. All hosts beyond the port send through it,
// and all others that can send by other paths, to a receiver that repeatedly accepts nothing. So all accounts of the
// switch fill, nothing drains them, and the port receives everything in flight when it sends PAUSE. Hosts on this side,
// the receiver first, send in the other direction, so that a PAUSE has to wait for a frame.
type Incast struct {
	Port     topologies.PortID
	Receiver topologies.NodeID
	Through  []topologies.NodeID // send through the port
	Beside   []topologies.NodeID // send to the receiver by other paths
	Back     []topologies.NodeID // send through the port in the other direction, to the first of Through

	position uint8    // of the receiver's port to which all send
	messages []string // flows of edge; not nil: in place of odd, and with a single stall
}

// named returns the interfaces by which one host sends to another: for the host at the port, that of the port's cable;
// for the receiver, always the same.
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
		pair.To, ends = i.position, ends|topologies.NamedTo
	}
	return pair, ends
}

// pairs returns the interfaces by which a host can send to another, through the two neighbours of via in that order if
// they are given.
func (i *Incast) pairs(plan *topologies.Plan, from, to topologies.NodeID, via ...topologies.NodeID) []topologies.Pair {
	named, ends := i.named(plan, from, to)
	pairs := plan.PairsVia(from, to, via, named, ends)
	if len(via) < 2 {
		return pairs
	}
	return slices.DeleteFunc(pairs, func(pair topologies.Pair) bool { return !passes(plan, from, to, pair, via) })
}

// beside returns the interfaces by which a host can send to the receiver without a shortest path through the port.
func (i *Incast) beside(plan *topologies.Plan, from topologies.NodeID) []topologies.Pair {
	by := []topologies.NodeID{plan.PeerNode(i.Port).ID, plan.Ports[i.Port].Node}
	return slices.DeleteFunc(i.pairs(plan, from, i.Receiver),
		func(pair topologies.Pair) bool { return passes(plan, from, i.Receiver, pair, by) })
}

// passes reports whether a shortest path by a pair of interfaces leads from the first of two neighbours to the second.
func passes(plan *topologies.Plan, from, to topologies.NodeID, pair topologies.Pair, via []topologies.NodeID) bool {
	return slices.ContainsFunc(plan.PathVia(from, to, via, pair), func(id topologies.PortID) bool {
		return plan.Ports[id].Node == via[0] && plan.PeerNode(id).ID == via[1]
	})
}

// Worst returns the worst incast for the first port that frames can use; nil if they can use none.
func Worst(plan *topologies.Plan, ports []topologies.PortID) *Incast {
	for _, id := range ports {
		if i := worst(plan, id); i != nil {
			return i
		}
	}
	return nil
}

func worst(plan *topologies.Plan, id topologies.PortID) *Incast {
	here, there := plan.Ports[id].Node, plan.PeerNode(id).ID
	hosts := plan.Hosts[:min(len(plan.Hosts), mostHosts)]
	i := &Incast{Port: id, Receiver: -1}
	by := func(from, to topologies.NodeID, first, second topologies.NodeID) bool {
		return from != to && from != second && to != first && len(i.pairs(plan, from, to, first, second)) > 0
	}
	// Choose the nearest receiver: a switch's own host shares nothing else with the port.
	receiver, hops := topologies.NodeID(-1), 0
	for _, to := range hosts {
		for _, from := range hosts {
			if !by(from, to, there, here) {
				continue
			}
			position := i.pairs(plan, from, to, there, here)[0].To
			if n := plan.Hops(here, plan.Interface(to, position)); receiver < 0 || n < hops {
				receiver, i.position, hops = to, position, n
			}
			break
		}
	}
	if receiver < 0 {
		return nil
	}
	i.Receiver = receiver
	back := units.Rate(0)
	addBack := func(h topologies.NodeID) bool {
		if back >= plan.Ports[id].Rate || !by(h, i.Through[0], here, there) {
			return false
		}
		i.Back = append(i.Back, h)
		back += plan.Ports[plan.Nodes[h].Ports[0]].Rate
		return true
	}
	var others []topologies.NodeID
	for _, h := range hosts {
		if h != receiver && by(h, receiver, there, here) {
			i.Through = append(i.Through, h)
		} else if h != receiver {
			others = append(others, h)
		}
	}
	addBack(receiver)
	for _, h := range others {
		if !addBack(h) && len(i.beside(plan, h)) > 0 {
			i.Beside = append(i.Beside, h)
		}
	}
	return i
}

// phases counts the different offsets, in fractions of a frame's time, of the senders in Back.
const phases = 8

// stall holds the times at which the receiver accepts nothing: at first until all accounts are full, then repeatedly.
type stall struct {
	first, pause, again vtime.Time
	more                vtime.Time // number after the first
}

// end returns when the run ends.
func (s *stall) end() vtime.Time { return s.first + s.more*(s.pause+s.again) }

// sets returns the settings (--set) that turn a scenario into the incast: flows, the stalling receiver, and a
// duration.
func (i *Incast) sets(s *scenario.Scenario, controller string, fault, phase int) []string {
	plan := s.Topology
	at, when := &plan.Ports[i.Port], i.stall(s, fault)
	if i.messages != nil {
		when.more = 0
	}
	here, there := at.Node, plan.PeerNode(i.Port).ID
	own, size := "", "unbounded" // settings of all flows
	if controller != "none" {
		own = ", cc: none"
	}
	if s.Drain {
		own, size = own+fmt.Sprintf(", stop: %v", when.end()-vtime.Nanosecond), "1TB"
	}
	if n := lossless(s); n != s.Host.DataPriority {
		own += fmt.Sprintf(", priority: %d", n)
	}
	end := func(h topologies.NodeID, position uint8) string {
		if plan.SinglePort() {
			return plan.Nodes[h].Name
		}
		return fmt.Sprintf("%s.%d", plan.Nodes[h].Name, position+1)
	}
	var flows []string
	add := func(tag, size string, from []topologies.NodeID, to topologies.NodeID, start vtime.Time,
		pairs func(topologies.NodeID) []topologies.Pair, via ...topologies.NodeID,
	) {
		var order []string // destinations of the flows, each with its senders
		senders := map[string][]string{}
		for _, h := range from {
			pair := pairs(h)[0]
			g := end(to, pair.To)
			if senders[g] == nil {
				order = append(order, g)
			}
			senders[g] = append(senders[g], end(h, pair.From))
		}
		by := ""
		var names []string
		for _, id := range via {
			if plan.Nodes[id].Kind != topologies.Host {
				names = append(names, plan.Nodes[id].Name)
			}
		}
		if len(names) > 0 {
			by = fmt.Sprintf(", via: [%s]", strings.Join(names, ", "))
		}
		for _, g := range order {
			flows = append(flows, fmt.Sprintf("{tag: %s, from: [%s], to: %s, size: %s, start: %v, expect_unfinished: true%s%s}",
				tag, strings.Join(senders[g], ", "), g, size, start, own, by))
		}
	}
	through := func(h topologies.NodeID) []topologies.Pair { return i.pairs(plan, h, i.Receiver, there, here) }
	add("through", size, i.Through, i.Receiver, 0, through, there, here)
	if n := i.odd(s); n > 0 && i.messages == nil {
		add("odd", fmt.Sprintf("%dB", n), i.Through[:1], i.Receiver, 0, through, there, here)
	}
	add("beside", size, i.Beside, i.Receiver, 0, func(h topologies.NodeID) []topologies.Pair { return i.beside(plan, h) })
	shift := vtime.Time(phase) * at.Rate.TimeFor(plan.Framing.LineBytes(plan.MTU+58)) / phases
	add("back", size, i.Back, i.Through[0], shift, func(h topologies.NodeID) []topologies.Pair {
		return i.pairs(plan, h, i.Through[0], here, there)
	}, here, there)

	flows = append(flows, i.messages...)

	name, receiver := plan.Nodes[i.Receiver].Name, "receiver: {rate: 1Mbps, buffer: 1GB, xoff: 1B, xon: 0B}"
	faults := []string{fmt.Sprintf("{at: 0s, for: %v, host: %s, %s}", when.first, name, receiver)}
	if when.more > 0 {
		faults = append(faults, fmt.Sprintf("{at: %v, for: %v, every: %v, times: %d, host: %s, %s}", when.first+when.pause,
			when.again,
			when.pause+when.again, when.more, name, receiver))
	}
	if fault >= 0 {
		faults = append(faults, changed(plan, &s.Faults[fault]))
	}
	sets := []string{
		"flows=[" + strings.Join(flows, ", ") + "]", "workloads=[]", "faults=[" + strings.Join(faults, ", ") + "]",
		fmt.Sprintf("duration=%v", when.end()), "sample={flows: none}",
	}
	for set, has := range map[string]bool{
		"report=[]": len(s.Panels) > 0, "spans=[]": len(s.Spans) > 0,
		"published=[]": len(s.Published) > 0,
	} {
		if has {
			sets = append(sets, set)
		}
	}
	slices.Sort(sets[5:])
	if s.Host.Recovery == hostagent.SelectiveRepeat { // which has a window
		sets = append(sets, "host.selective.bdp_cap=0B")
	}
	if !s.Topology.Balancing.KeepsPath() { // the flows have fixed paths
		sets = append(sets, "switch.load_balancing.mode=ecmp")
	}
	if s.Host.Entropy != 0 {
		sets = append(sets, "host.entropy=flow")
	}
	return sets
}

// odd returns the size of a one-packet message that leaves the account of a static XOFF a few bytes below it before a
// full packet arrives, so that most of that packet is past XOFF; 0: XOFF is dynamic, or several hosts send through the
// port.
func (i *Incast) odd(s *scenario.Scenario) units.Bytes {
	plan := s.Topology
	p := &plan.Ports[i.Port]
	node := &plan.Nodes[p.Node]
	own := scenario.EverySwitch(plan, &s.Switch)[node.Index]
	_, thresholds := own.Resolve(fill.Cables(plan, node.ID, false))
	t := &thresholds[p.Number-1]
	if t.Alpha > 0 || len(i.Through) != 1 {
		return 0
	}
	counted := func(op wire.Opcode, payload int) units.Bytes {
		return units.Bytes(plan.Framing.Counted(plan.IP.DataLen(op, payload)))
	}
	headers := counted(wire.OpWriteOnly, plan.MTU) - units.Bytes(plan.MTU)
	rest := (t.XOFF - 1 - counted(wire.OpWriteFirst, plan.MTU) - headers) % counted(wire.OpWriteMiddle, plan.MTU)
	return min(max(0, rest&^3), units.Bytes(plan.MTU))
}

// lossless returns the tested priority: that of data, or the first lossless one.
func lossless(s *scenario.Scenario) uint8 {
	if set := s.Switch.PFC.Priorities; set>>s.Host.DataPriority&1 == 0 {
		return uint8(bits.TrailingZeros8(set))
	}
	return s.Host.DataPriority
}

// changed returns the setting of a fault of links that is active from the start.
func changed(plan *topologies.Plan, f *scenario.Fault) string {
	var links []string
	for _, id := range f.Ports {
		links = append(links, fmt.Sprintf("%q", scenario.PortLabel(plan, id)))
	}
	what := fmt.Sprintf("delay: %v", f.Delay)
	if f.Kind == settings.FaultRate {
		what = fmt.Sprintf("rate: %v", f.Rate)
	}
	return fmt.Sprintf("{at: 0s, link: [%s], one_way: %v, %s}", strings.Join(links, ", "), f.OneWay, what)
}

// stall returns times that let the accounts of the port's switch fill to XOFF and overflow, fall to XON, and fill
// again.
func (i *Incast) stall(s *scenario.Scenario, fault int) stall {
	plan := s.Topology
	p := &plan.Ports[i.Port]
	node := &plan.Nodes[p.Node]
	own := scenario.EverySwitch(plan, &s.Switch)[node.Index]
	cables := fill.Cables(plan, node.ID, false)
	buffer, thresholds := own.Resolve(cables)
	cable, xoff := cables[p.Number-1], thresholds[p.Number-1].XOFF
	rate, delay := min(p.Rate, plan.Ports[p.Peer].Rate), p.Delay
	if fault >= 0 {
		f := &s.Faults[fault]
		delay = max(delay, f.Delay)
		if f.Rate > 0 {
			rate = min(rate, f.Rate)
		}
		cable.Delay, cable.PeerDelay = delay, delay
	}
	through := units.Rate(0)
	for _, h := range i.Through {
		through += plan.Ports[plan.Nodes[h].Ports[0]].Rate
	}
	rate = min(rate, through)
	if alpha := thresholds[p.Number-1].Alpha; alpha > 0 {
		// The ports share the free buffer with the others that fill at the same time.
		ports := 1.0
		for _, h := range i.Beside {
			if slices.ContainsFunc(plan.Nodes[h].Ports, func(id topologies.PortID) bool {
				return plan.PeerNode(id).ID == node.ID
			}) {
				ports++
			}
		}
		if part := units.Bytes(alpha * float64(buffer) / (1 + alpha*ports)); xoff == 0 || xoff > part {
			xoff = part
		}
	}
	all := cable.InFlight(&own.PFC)
	again := own.PFC.XOFFToXON + all.Line()
	round := 20*delay + 20*vtime.Microsecond
	drained := plan.Ports[plan.Nodes[i.Receiver].Ports[0]].Rate
	whole := func(t vtime.Time) vtime.Time { return (t/vtime.Microsecond + 1) * vtime.Microsecond }
	return stall{
		first: whole(2*rate.TimeFor(int64(xoff+all.Line())) + round),
		pause: whole(2*drained.TimeFor(int64(again)*int64(len(i.Through)+len(i.Beside))) + round),
		again: whole(8*rate.TimeFor(int64(again)) + round),
		more:  4,
	}
}

// Tried holds the result of a run of an incast.
type Tried struct {
	Paused  bool        // a port of the kind sent PAUSE, so that its headroom was tested
	Most    units.Bytes // peak bytes of a lossless priority, buffered from one of the kind's ports
	Dropped int64       // frames of lossless priorities dropped in the whole fabric for lack of headroom or buffer
	Overrun []string    // names of the ports, of any kind, whose headroom overflowed
	Full    []string    // names of the egress ports of frames that met a full buffer
	For     vtime.Time  // virtual time
	Sets    []string    // the settings of the run, as for --set

	pausedAt vtime.Time // when the incast's port first sent PAUSE
}

// PastXOFF returns the bytes buffered past a static XOFF of a row's scenario.
func (t *Tried) PastXOFF() units.Bytes { return max(0, t.Most-rowXOFF) }

// Load reads the scenario again with these settings.
type Load func(sets []string) (*scenario.Scenario, error)

// Try runs the incast for ports of a kind on the wasm plane, with a controller's settings but without congestion
// control. If a run drops nothing and the arithmetic does not prove this, Try repeats it with other phases. It returns
// the first run that drops frames, or otherwise the one with the highest peak.
func (i *Incast) Try(ctx context.Context, s *scenario.Scenario, controller string, k *Kind, load Load) (*Tried, error) {
	var best *Tried
	for phase := range phases {
		t, err := i.try(ctx, i.sets(s, controller, k.Fault, phase), controller, k.Ports, load)
		if err != nil {
			return nil, err
		}
		if best == nil || t.Dropped > 0 || t.Most > best.Most {
			best = t
		}
		if t.Dropped > 0 || k.Holds() {
			break
		}
	}
	if best.Dropped > 0 || k.Holds() {
		return best, nil
	}
	t, err := i.edge(ctx, s, controller, k, load)
	if t != nil && (t.Dropped > 0 || t.Most > best.Most) {
		best = t
	}
	return best, err
}

func (i *Incast) try(ctx context.Context, sets []string, controller string, ports []topologies.PortID,
	load Load,
) (*Tried, error) {
	own, err := load(sets)
	if err != nil {
		return nil, fmt.Errorf("the worst incast: %w", err)
	}
	t := &Tried{For: own.Duration, Sets: sets}
	priority := lossless(own)
	observe := func(*scenario.Setup) (*runner.Observer, error) {
		return &runner.Observer{PFC: func(now vtime.Time, port topologies.PortID, _ uint8, pause bool) {
			if port == i.Port && pause && t.pausedAt == 0 {
				t.pausedAt = now
			}
		}}, nil
	}
	options := runner.Options{Controller: controller, Seed: own.Seed, Observers: []runner.NewObserver{observe}}
	sum, err := runner.Watch(ctx, own, options, runner.Watching{
		Ended: func(e *engine.Engine) {
			for _, id := range ports {
				r := &e.State().Ports[id]
				t.Paused = t.Paused || e.State().Extras[id].PausesSent > 0
				t.Most = max(t.Most, units.Bytes(r.Class[priority].Peak))
			}
			for _, v := range e.Broken() {
				switch {
				case v.Invariant != engine.NothingDropped:
				case strings.Contains(v.Detail, switchagent.DropHeadroom.String()):
					t.Overrun = append(t.Overrun, v.Location)
				default:
					t.Full = append(t.Full, v.Location)
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	t.Dropped = sum.Drops.Lossless
	return t, nil
}
