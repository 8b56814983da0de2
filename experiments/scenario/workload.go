package scenario

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/experiments/steps"
	"github.com/pausenet/pausenet/experiments/workload"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Workload is flows that a scenario starts by a rule, or reads from a file.
type Workload struct {
	Tag  string
	View WorkloadView
	// rule makes the flows of a stream, between hosts by their index. Those of a file are in flows instead.
	rule  rule
	flows []Flow
	own   Own // of its flows; those of a file may have more
	// Of a workload whose flows wait for each other, build makes the graph of a stream and of the hosts by rank, and place
	// these. Each message of the graph is a flow, in order.
	build    func(workload.Stream, []topologies.NodeID) (*steps.Graph, error)
	place    func(workload.Stream) []topologies.NodeID
	messages int                 // of the graph
	Graph    *steps.Graph        // nil: flows have times to start
	Hosts    []topologies.NodeID // by rank of Graph
	warning  string              // of the file of Graph
	// purpose names the stream: the tag, and how many workloads before this one have it. So a workload's flows depend on
	// no workload of another tag.
	purpose string
	first   int // of its flows in the scenario's
}

// First is the number of the workload's first flow in the scenario's.
func (w *Workload) First() int { return w.first }

// Delay is how long the workload's ranks do nothing at first.
func (w *Workload) Delay() vtime.Time {
	return vtime.Time(w.View.Start*float64(vtime.Nanosecond) + 0.5)
}

// rule is how a workload's flows come to be.
type rule interface {
	Flows(workload.Stream) iter.Seq[workload.Flow]
	// Events is how many events a stream has, Expected how many there are on average, and PerEvent how many flows each
	// starts.
	Events(workload.Stream) int
	Expected() float64
	PerEvent() int
}

// WithSeed is the scenario as a run with that seed has it: the flows of its workloads are drawn anew. Nothing but the
// seed decides them, whatever the controller.
func (s *Scenario) WithSeed(seed uint64) (*Scenario, error) {
	if s.drawn == seed && s.Seed == seed {
		return s, nil
	}
	own := *s
	own.Seed = seed
	if s.drawn == seed {
		return &own, nil
	}
	own.Workloads = append([]Workload(nil), s.Workloads...)
	own.Flows = append([]Flow(nil), s.Listed()...)
	return &own, own.draw(false)
}

// WithFlows is the scenario with these flows in the place of its own and of its workloads', without faults, for a
// duration. Nothing of it is sampled or plotted.
func (s *Scenario) WithFlows(flows []Flow, duration vtime.Time) *Scenario {
	own := *s
	own.Flows, own.Workloads, own.Faults = flows, nil, nil
	own.Duration, own.Drain, own.DrainLimit = duration, false, 0
	own.Sample = Sampling{Interval: duration, NoFlows: true}
	own.Panels, own.DefaultPanels, own.Published, own.Spans = nil, false, nil, nil
	own.listed, own.drawn, own.Recipe = len(flows), own.Seed, nil
	own.join()
	return &own
}

// join chooses the interfaces of the flows' ends, where hosts have several: in turns, a workload's by no flow of
// another, and a listed flow's by those of its tag and source. A flow between interfaces that switches do not join has
// the first: its file is refused, or its sender told.
func (s *Scenario) join() {
	if s.Topology.SinglePort() {
		return
	}
	type connection struct {
		workload int
		ends     [2]topologies.NodeID
	}
	listing := NewListing(0)      // interfaces do not depend on the seed
	turns := map[connection]int{} // of messages that wait: those of a connection go by one interface
	for i := range s.Flows {
		f, w := &s.Flows[i], s.WorkloadOf(i)
		if w < 0 {
			listing.Join(s.Topology, f)
			listing.Add(f)
			continue
		}
		turn := i - s.Workloads[w].first
		if f.Waits() {
			own := connection{w, [2]topologies.NodeID{f.Source, f.Destination}}
			known := false
			if turn, known = turns[own]; !known {
				turn = len(turns)
				turns[own] = turn
			}
		}
		f.join(s.Topology, turn)
	}
}

// join chooses the interfaces of a flow's ends by its turn.
func (f *Flow) join(plan *topologies.Plan, turn int) {
	if pairs := plan.PairsVia(f.Source, f.Destination, f.Extra().Via, f.Pair, f.Named); len(pairs) > 0 {
		f.Pair = pairs[turn%len(pairs)]
	}
}

// Listed are the flows that the scenario lists, the first of Flows.
func (s *Scenario) Listed() []Flow { return s.Flows[:s.listed] }

// FlowCount is how many flows there are, listed and drawn, also where those of workloads are only counted
// (Reading.Count).
func (s *Scenario) FlowCount() int {
	n := s.listed
	for i := range s.Workloads {
		n += s.Workloads[i].View.Flows
	}
	return n
}

// draw delays the listed flows that have jitter, and appends the workloads' flows; of those that are to be counted
// alone, the first.
func (s *Scenario) draw(count bool) error {
	s.listed = len(s.Flows)
	s.drawn = s.Seed
	streams := s.listedStreams(s.Seed)
	for i := range s.Flows {
		f := &s.Flows[i]
		if by := f.Extra(); by.Jitter > 0 {
			f.Start = by.listedStart + vtime.Time(streams[i].Uniform(drawJitter)*float64(by.Jitter))
		}
	}
	total := s.listed
	for i := range s.Workloads {
		w := &s.Workloads[i]
		w.first = len(s.Flows)
		room := maxFlows - total
		switch {
		case w.build != nil && count:
			s.countSteps(w)
		case w.build != nil:
			if err := s.drawSteps(w, room); err != nil {
				return fmt.Errorf("workload %s: %w", w.Tag, err)
			}
		case w.rule == nil:
			s.Flows = append(s.Flows, w.flows...)
			s.inherit(s.Flows[w.first:], w.own)
		case count:
			s.drawFlows(w, 1)
		default:
			s.Flows = slices.Grow(s.Flows, min(int(w.rule.Expected())*w.rule.PerEvent(), room))
			s.drawFlows(w, room+1)
		}
		w.View.Flows, w.View.Bytes = len(s.Flows)-w.first, 0
		if w.Graph != nil {
			w.View.Flows = len(w.Graph.Messages)
		}
		if count && w.build != nil {
			w.View.Flows = w.messages
		}
		if count && w.rule != nil {
			w.View.Flows = w.rule.Events(workload.NewStream(s.Seed, w.purpose)) * w.rule.PerEvent()
		}
		if w.View.Flows > room {
			return fmt.Errorf("workload %s: more than %d flows in all", w.Tag, maxFlows)
		}
		total += w.View.Flows
		for k := w.first; k < len(s.Flows); k++ {
			w.View.Bytes += s.Flows[k].Size
			s.Flows[k].ExpectUnfinished = w.View.Unfinished
		}
	}
	s.join()
	return nil
}

// drawFlows appends a workload's first flows.
func (s *Scenario) drawFlows(w *Workload, most int) {
	plan, extras := s.Topology, w.own.extras()
	for f := range w.rule.Flows(workload.NewStream(s.Seed, w.purpose)) {
		s.Flows = append(s.Flows, Flow{
			Tag: w.Tag, Source: plan.Hosts[f.From], Destination: plan.Hosts[f.To], Size: units.Bytes(f.Size), Start: f.Start,
			Extras: extras,
		})
		if len(s.Flows)-w.first >= most {
			return
		}
	}
}

// inherit gives flows of a file what their workload's have of their own, where the file's own columns say nothing.
func (s *Scenario) inherit(flows []Flow, base Own) {
	if base == (Own{}) {
		return
	}
	all := map[*FlowExtras]*FlowExtras{}
	for i := range flows {
		f := &flows[i]
		extras, known := all[f.Extras]
		if !known {
			own := f.own()
			own.CC = cmp.Or(own.CC, base.CC)
			own.QPs = cmp.Or(own.QPs, base.QPs)
			own.Priority = cmp.Or(own.Priority, base.Priority)
			own.Weight, own.Stop = cmp.Or(own.Weight, base.Weight), cmp.Or(own.Stop, base.Stop)
			own.On, own.Off = cmp.Or(own.On, base.On), cmp.Or(own.Off, base.Off)
			extras = own.extras()
			all[f.Extras] = extras
		}
		f.Extras = extras
	}
}

// extras are those of flows that have nothing but this of their own; nil: not even this.
func (o Own) extras() *FlowExtras {
	if o == (Own{}) {
		return nil
	}
	return &FlowExtras{Own: o}
}

// countSteps appends the first of the flows of a workload whose flows wait.
func (s *Scenario) countSteps(w *Workload) {
	if hosts := w.place(workload.NewStream(s.Seed, w.purpose).Sub(0)); w.messages > 0 {
		s.Flows = append(s.Flows, Flow{
			Tag: w.Tag, Source: hosts[0], Destination: hosts[1], Size: 1, Start: vtime.Never,
			Extras: w.own.extras(),
		})
	}
}

// drawSteps appends the flows of a workload whose flows wait.
func (s *Scenario) drawSteps(w *Workload, room int) (err error) {
	stream := workload.NewStream(s.Seed, w.purpose)
	w.Hosts = w.place(stream.Sub(0))
	if w.Graph, err = w.build(stream.Sub(1), w.Hosts); err != nil {
		return err
	}
	w.View.Operations = len(w.Graph.Operations)
	if len(w.Graph.Messages) > room {
		return nil // and the caller says so
	}
	s.Flows = slices.Grow(s.Flows, len(w.Graph.Messages))
	extras := w.own.extras()
	for i := range w.Graph.Messages {
		m := &w.Graph.Messages[i]
		s.Flows = append(s.Flows, Flow{
			Tag: w.Tag, Source: w.Hosts[w.Graph.Operations[m.Send].Rank],
			Destination: w.Hosts[w.Graph.Operations[m.Receive].Rank],
			Size:        units.Bytes(m.Size), Start: vtime.Never, Extras: extras,
		})
	}
	return nil
}

// DefaultTag names the flows that are given no tag.
const DefaultTag = "flow"

// What is drawn of a listed flow's stream.
const (
	drawPort = iota
	drawJitter
)

// Listing gives listed flows random numbers and interfaces, one flow after the other. They depend on the seed, the
// flow's tag and ends, and how many flows before it share these (of interfaces: the tag and the source), and on no
// other flow.
type Listing struct {
	seed    uint64
	tags    map[string]workload.Stream
	before  map[flowEnds]uint64
	senders map[flowEnds]int // by tag and source alone
}

// flowEnds are what flows are counted by.
type flowEnds struct {
	tag                 string
	source, destination topologies.NodeID
}

// NewListing returns a Listing that no flow has been added to.
func NewListing(seed uint64) *Listing {
	return &Listing{
		seed: seed, tags: map[string]workload.Stream{}, before: map[flowEnds]uint64{},
		senders: map[flowEnds]int{},
	}
}

func (l *Listing) next(f *Flow) workload.Stream {
	tag, known := l.tags[f.Tag]
	if !known {
		tag = workload.NewStream(l.seed, "flows "+f.Tag)
		l.tags[f.Tag] = tag
	}
	return tag.Sub(uint64(f.Source)<<32 | uint64(f.Destination)).Sub(l.before[flowEnds{f.Tag, f.Source, f.Destination}])
}

// Add counts a flow: Salts and Join are then about the next one.
func (l *Listing) Add(f *Flow) {
	l.before[flowEnds{f.Tag, f.Source, f.Destination}]++
	l.senders[flowEnds{tag: f.Tag, source: f.Source}]++
}

// Join chooses the interfaces of a flow's ends. Hosts begin at different interfaces, so that those of one flow each are
// spread over all.
func (l *Listing) Join(plan *topologies.Plan, f *Flow) {
	f.join(plan, plan.Nodes[f.Source].Index+l.senders[flowEnds{tag: f.Tag, source: f.Source}])
}

// Salts returns where the search for the UDP source port of each of a flow's QPs begins, as in a scenario that lists
// the flow after those before.
func (l *Listing) Salts(f *Flow) func(qp int) uint64 {
	own := l.next(f).Bits(drawPort)
	return func(qp int) uint64 { return qpSalt(own, qp) }
}

// qpSalt is that of a QP of a flow: the first has the flow's.
func qpSalt(own uint64, qp int) uint64 {
	if qp > 0 {
		return splitmix.At(own, uint64(qp))
	}
	return own
}

// listedStreams returns the random numbers of each listed flow.
func (s *Scenario) listedStreams(seed uint64) []workload.Stream {
	l, streams := NewListing(seed), make([]workload.Stream, s.listed)
	for i := range streams {
		streams[i] = l.next(&s.Flows[i])
		l.Add(&s.Flows[i])
	}
	return streams
}

// salts are where the search for a flow's UDP source port begins. Flows have it from a stream of their own, or of their
// workload, so that they take the same ways whatever other flows there are. Messages that wait go from one host to
// another by one connection, and so one way.
func (s *Scenario) salts(seed uint64) func(flow int) uint64 {
	streams := make([]workload.Stream, len(s.Workloads))
	for i := range s.Workloads {
		streams[i] = workload.NewStream(seed, s.Workloads[i].purpose+" ports")
	}
	listed := s.listedStreams(seed)
	return func(flow int) uint64 {
		if i := s.WorkloadOf(flow); i >= 0 {
			if f := &s.Flows[flow]; f.Waits() {
				return streams[i].Bits(uint64(f.Source)<<32 | uint64(f.Destination))
			}
			return streams[i].Bits(uint64(flow - s.Workloads[i].first))
		}
		return listed[flow].Bits(drawPort)
	}
}

// Salts returns where the search for the UDP source port of each of a flow's QPs begins.
func (s *Scenario) Salts(seed uint64) func(flow, qp int) uint64 {
	salt := s.salts(seed)
	return func(flow, qp int) uint64 { return qpSalt(salt(flow), qp) }
}

// Draws returns what seeds the draws of source ports of each of a flow's QPs, where hosts draw them. Messages of one
// connection draw others, though they have its port.
func (s *Scenario) Draws(seed uint64) func(flow, qp int) uint64 {
	salt := s.salts(seed)
	return func(flow, qp int) uint64 {
		own := salt(flow)
		if i := s.WorkloadOf(flow); i >= 0 && s.Flows[flow].Waits() {
			own = splitmix.At(own, uint64(flow-s.Workloads[i].first))
		}
		return qpSalt(own, qp)
	}
}

// WorkloadOf is the index of the workload of a flow, -1 of one that is listed.
func (s *Scenario) WorkloadOf(flow int) int {
	i := len(s.Workloads) - 1
	for i >= 0 && flow < s.Workloads[i].first {
		i--
	}
	return i
}

// racks are the switches of a plan's hosts, by the hosts' and the switches' indexes; of a host of several ports that of
// the first.
func racks(plan *topologies.Plan) []int32 {
	of := make([]int32, len(plan.Hosts))
	for i, id := range plan.Hosts {
		of[i] = int32(plan.PeerNode(plan.Nodes[id].Ports[0]).Index)
	}
	return of
}

// hostCapacity is the line rate of some hosts together; coreCapacity that of the links between the switches of these
// hosts and other switches, one way.
func hostCapacity(plan *topologies.Plan, hosts []int) units.Rate {
	var sum units.Rate
	for _, h := range hosts {
		sum += plan.HostRate(plan.Hosts[h])
	}
	return sum
}

func coreCapacity(plan *topologies.Plan, hosts []int) units.Rate {
	var sum units.Rate
	seen := map[topologies.NodeID]bool{}
	for _, h := range hosts {
		for _, own := range plan.Nodes[plan.Hosts[h]].Ports {
			rack := plan.PeerNode(own)
			if seen[rack.ID] {
				continue
			}
			seen[rack.ID] = true
			for _, port := range rack.Ports {
				if plan.PeerNode(port).Kind == topologies.Switch {
					sum += plan.Ports[port].Rate
				}
			}
		}
	}
	return sum
}

// seedBits are the bits of the largest seed: what reads one as a signed number, and adds to it, does not overflow.
const seedBits = 62

// ParseSeed reads a seed.
func ParseSeed(text string) (uint64, error) {
	seed, err := strconv.ParseUint(text, 10, seedBits)
	if err != nil {
		return 0, fmt.Errorf("seed %q is not a whole number from 0 to 2^%d-1", text, seedBits)
	}
	return seed, nil
}
