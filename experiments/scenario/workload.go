package scenario

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/experiments/traffic/workload"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Workload holds flows that a scenario generates by a rule or reads from a file.
type Workload struct {
	Tag  string
	View WorkloadView
	// rule generates the flows of a random stream between hosts, named by their index; nil for a file, whose flows are
	// in flows.
	rule  rule
	flows []Flow
	own   Own // the settings of all its flows; a file's flows may override them
	// For a workload of dependent flows: build makes the graph of operations from a random stream and the hosts by
	// rank, and assigns ranks to hosts. Each message of the graph is a flow, in order.
	build    func(random workload.Stream, hosts []topologies.NodeID, byRule bool) (*steps.Graph, error)
	place    func(workload.Stream) []topologies.NodeID
	messages int                 // number of messages in the graph
	Graph    *steps.Graph        // operations of dependent flows; nil: each flow has a start time
	Hosts    []topologies.NodeID // host of each rank of Graph
	Warning  string              // from reading the file of Graph; empty: none
	// purpose names the random stream: the tag, and the number of earlier workloads with this tag. So a workload's
	// flows do not depend on workloads of other tags.
	purpose string
	first   int // number of its first flow
	entry   int // index of its first entry in the scenario's flows
	// ringsOnly is true if all messages of the graph follow the rule of steps.Ring. byRule makes the graph hold the rule,
	// and an entry of the scenario's flows stand for several messages: of a rank of a ring, or else between two ranks.
	ringsOnly, byRule bool
	rings             []int   // by ring of Graph: index in the scenario's flows of the first rank's entry
	between           []int32 // by message, if byRule and not ringsOnly: its entry, from the workload's first
}

// First returns the number of the workload's first flow.
func (w *Workload) First() int { return w.first }

// Delay returns the time before the workload's ranks start.
func (w *Workload) Delay() vtime.Time {
	return vtime.Time(w.View.Start*float64(vtime.Nanosecond) + 0.5)
}

// rule generates the flows of a workload.
type rule interface {
	Flows(workload.Stream) iter.Seq[workload.Flow]
	// Events returns the number of events of a stream, Expected the average number, and PerEvent the number of flows
	// that each event starts.
	Events(workload.Stream) int
	Expected() float64
	PerEvent() int
}

// WithSeed returns the scenario with the flows of its workloads drawn anew for a seed. The flows depend on the seed
// only, not on the controller.
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

// WithFlows returns the scenario for a duration with the given flows instead of its own and its workloads', without
// faults, samples and plots.
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

// join chooses the interfaces of the flows' ends, for hosts that have several. It takes them in turn: separately for
// each workload, and for the listed flows of each tag and source. A flow gets the first interface if no switches
// connect the chosen ones; its file is rejected, or its sender reports an error.
func (s *Scenario) join() {
	if s.Topology.SinglePort() {
		return
	}
	type connection struct {
		workload int
		ends     [2]topologies.NodeID
	}
	listing := NewListing(0)      // interfaces do not depend on the seed
	turns := map[connection]int{} // of dependent messages: all messages of a connection use one interface
	for i := range s.Flows {
		f, w := &s.Flows[i], s.WorkloadOf(i)
		if w < 0 {
			listing.Join(s.Topology, f)
			listing.Add(f)
			continue
		}
		turn := i - s.Workloads[w].entry
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

// Listed returns the flows that the scenario lists, which are the first of Flows.
func (s *Scenario) Listed() []Flow { return s.Flows[:s.listed] }

// FlowCount returns the number of flows, listed and drawn. It includes flows of workloads that are only counted
// (Reading.Count).
func (s *Scenario) FlowCount() int {
	n := s.listed
	for i := range s.Workloads {
		n += s.Workloads[i].View.Flows
	}
	return n
}

// draw delays the listed flows that have jitter, and appends the workloads' flows. If count is set, it appends only
// the first flows of each workload.
func (s *Scenario) draw(count bool) error {
	s.listed = len(s.Flows)
	s.drawn = s.Seed
	rules := len(s.Workloads) - len(s.byRule())
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
		w.entry, w.first = len(s.Flows), total
		room, each := s.mostFlows()-total, int64(FlowMemory)
		if i >= rules {
			room, each = s.mostMessages(w.messageMemory())-total, w.messageMemory()
		}
		w.byRule, w.rings, w.between = i >= rules && !count, nil, nil
		switch {
		case w.build != nil && count:
			s.countSteps(w)
		case w.build != nil:
			if err := s.drawSteps(w, room); err != nil {
				return fmt.Errorf("workload %s: %w", w.Tag, err)
			}
		case w.rule == nil:
			s.Flows = append(s.Flows, w.flows...)
			s.inherit(s.Flows[w.entry:], w.own)
		case count:
			s.drawFlows(w, 1)
		default:
			s.Flows = slices.Grow(s.Flows, min(int(w.rule.Expected())*w.rule.PerEvent(), room))
			s.drawFlows(w, room+1)
		}
		w.View.Flows, w.View.Bytes = len(s.Flows)-w.entry, 0
		if w.Graph != nil {
			w.View.Flows = w.Graph.MessageCount()
		}
		if count && w.build != nil {
			w.View.Flows = w.messages
		}
		if count && w.rule != nil {
			w.View.Flows = w.rule.Events(workload.NewStream(s.Seed, w.purpose)) * w.rule.PerEvent()
		}
		if w.View.Flows > room {
			return fmt.Errorf("workload %s: %s", w.Tag, s.tooMany(float64(total+w.View.Flows), each))
		}
		total += w.View.Flows
		for k := w.entry; k < len(s.Flows); k++ {
			w.View.Bytes += s.Flows[k].Size
			s.Flows[k].ExpectUnfinished = w.View.Unfinished
		}
		if w.byRule {
			w.View.Bytes = w.messageBytes()
		}
	}
	s.join()
	return nil
}

// drawFlows appends the first flows of a workload.
func (s *Scenario) drawFlows(w *Workload, most int) {
	plan, extras := s.Topology, w.own.extras()
	for f := range w.rule.Flows(workload.NewStream(s.Seed, w.purpose)) {
		s.Flows = append(s.Flows, Flow{
			Tag: w.Tag, Source: plan.Hosts[f.From], Destination: plan.Hosts[f.To], Size: units.Bytes(f.Size), Start: f.Start,
			Extras: extras,
		})
		if len(s.Flows)-w.entry >= most {
			return
		}
	}
}

// inherit applies a workload's settings to flows of a file, where the file's columns do not override them.
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

// extras returns the extras of flows that have only these settings; nil if there are none.
func (o Own) extras() *FlowExtras {
	if o == (Own{}) {
		return nil
	}
	return &FlowExtras{Own: o}
}

// countSteps appends the first flows of a workload of dependent flows.
func (s *Scenario) countSteps(w *Workload) {
	if hosts := w.place(workload.NewStream(s.Seed, w.purpose).Sub(0)); w.messages > 0 {
		s.Flows = append(s.Flows, Flow{
			Tag: w.Tag, Source: hosts[0], Destination: hosts[1], Size: 1, Start: vtime.Never,
			Extras: w.own.extras(),
		})
	}
}

// drawSteps appends the flows of a workload of dependent flows.
func (s *Scenario) drawSteps(w *Workload, room int) (err error) {
	stream := workload.NewStream(s.Seed, w.purpose)
	w.Hosts = w.place(stream.Sub(0))
	if w.Graph, err = w.build(stream.Sub(1), w.Hosts, w.byRule && w.ringsOnly); err != nil {
		return err
	}
	w.View.Operations = w.Graph.OperationCount()
	if w.Graph.MessageCount() > room {
		return nil // the caller reports it
	}
	if w.byRule && w.ringsOnly {
		s.drawRings(w)
		return nil
	}
	extras, first, entries := w.own.extras(), len(s.Flows), len(w.Graph.Messages)
	if w.byRule {
		w.between, entries = w.Graph.Pairs()
	}
	s.Flows = slices.Grow(s.Flows, entries)
	for i := range w.Graph.Messages {
		if w.byRule && int(w.between[i]) < len(s.Flows)-first {
			continue
		}
		m := &w.Graph.Messages[i]
		from, to := w.Graph.Operation(m.Send).Rank, w.Graph.Operation(m.Receive).Rank
		s.Flows = append(s.Flows, Flow{
			Tag: w.Tag, Source: w.Hosts[from], Destination: w.Hosts[to], Size: units.Bytes(m.Size), Start: vtime.Never,
			Extras: extras,
		})
	}
	return nil
}

// DefaultTag names flows without a tag.
const DefaultTag = "flow"

// The random numbers that a listed flow's stream provides.
const (
	drawPort = iota
	drawJitter
)

// Listing assigns random numbers and interfaces to listed flows, one flow after the other. They depend on the seed,
// the flow's tag and ends, and the number of earlier flows with the same tag and ends (for interfaces: the same tag
// and source). They do not depend on other flows.
type Listing struct {
	seed    uint64
	tags    map[string]workload.Stream
	before  map[flowEnds]uint64
	senders map[flowEnds]int // counts by tag and source
}

// flowEnds identifies flows that Listing counts together.
type flowEnds struct {
	tag                 string
	source, destination topologies.NodeID
}

// NewListing returns an empty Listing.
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

// Add counts a flow, so that Salts and Join apply to the next one.
func (l *Listing) Add(f *Flow) {
	l.before[flowEnds{f.Tag, f.Source, f.Destination}]++
	l.senders[flowEnds{tag: f.Tag, source: f.Source}]++
}

// Join chooses the interfaces of a flow's ends. The first flows of different hosts use different interfaces, so that
// hosts with one flow each spread over all planes.
func (l *Listing) Join(plan *topologies.Plan, f *Flow) {
	f.join(plan, plan.Nodes[f.Source].Index+l.senders[flowEnds{tag: f.Tag, source: f.Source}])
}

// Salts returns, for each QP of a flow, the start of the search for its UDP source port. It is the same as in a
// scenario that lists this flow after the earlier ones.
func (l *Listing) Salts(f *Flow) func(qp int) uint64 {
	own := l.next(f).Bits(drawPort)
	return func(qp int) uint64 { return qpSalt(own, qp) }
}

// qpSalt returns the salt of a flow's QP; the first QP has the flow's own.
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

// salts returns, for each flow, the start of the search for its UDP source port. It comes from the flow's own stream
// or its workload's, so that a flow takes the same path whatever other flows there are. Dependent messages between two
// hosts share a connection, and so a path.
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
			return streams[i].Bits(uint64(flow - s.Workloads[i].entry))
		}
		return listed[flow].Bits(drawPort)
	}
}

// Salts returns, for each QP of a flow, the start of the search for its UDP source port.
func (s *Scenario) Salts(seed uint64) func(flow, qp int) uint64 {
	salt := s.salts(seed)
	return func(flow, qp int) uint64 { return qpSalt(salt(flow), qp) }
}

// Draws returns the seed of each QP's random source ports, for hosts that draw a port for each packet. Messages of one
// connection share its port but have seeds of their own.
func (s *Scenario) Draws(seed uint64) func(flow, qp int) uint64 {
	salt := s.salts(seed)
	return func(flow, qp int) uint64 {
		entry := s.Entry(flow)
		own := salt(entry)
		if i := s.WorkloadOf(entry); i >= 0 && s.Flows[entry].Waits() {
			own = splitmix.At(own, uint64(flow-s.Workloads[i].first))
		}
		return qpSalt(own, qp)
	}
}

// WorkloadOf returns the index of the workload of an entry in Flows, or -1 for a listed flow.
func (s *Scenario) WorkloadOf(entry int) int {
	i := len(s.Workloads) - 1
	for i >= 0 && entry < s.Workloads[i].entry {
		i--
	}
	return i
}

// racks returns the index of each host's switch, by the host's index. For a host of several ports it is the switch of
// the first.
func racks(plan *topologies.Plan) []int32 {
	of := make([]int32, len(plan.Hosts))
	for i, id := range plan.Hosts {
		of[i] = int32(plan.PeerNode(plan.Nodes[id].Ports[0]).Index)
	}
	return of
}

// hostCapacity returns the sum of the hosts' line rates; coreCapacity that of the links, one way, from these hosts'
// switches to other switches.
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

// seedBits limits the bits of a seed. It leaves room for programs that read a seed as a signed number and add to it.
const seedBits = 62

// ParseSeed parses a seed, and rejects one of more than seedBits bits.
func ParseSeed(text string) (uint64, error) {
	seed, err := strconv.ParseUint(text, 10, seedBits)
	if err != nil {
		return 0, fmt.Errorf("seed %q must be a whole number from 0 to 2^%d-1", text, seedBits)
	}
	return seed, nil
}

// Destination ports by which the scripts of HPCC's simulator distinguish flows (its analysis/fct_analysis.py), and the
// tags of these flows here. Flows to another port N have the tag "portN".
const (
	HPCCNormalPort, hpccNormal = 100, "normal"
	hpccIncastPort, hpccIncast = 200, "incast"
	hpccPortPrefix             = "port"
)

// hpccTag returns the tag of flows to a port.
func hpccTag(port int) string {
	switch port {
	case HPCCNormalPort:
		return hpccNormal
	case hpccIncastPort:
		return hpccIncast
	}
	return hpccPortPrefix + strconv.Itoa(port)
}

// hpccPort returns a flow's destination port in the simulator: its file's, or the port that the simulator's scripts
// expect (200 for an incast, 100 for other flows).
func (s *Scenario) hpccPort(flow int) int {
	if port := s.Flows[flow].hpccPort; port > 0 {
		return int(port) - 1
	}
	w, tag := s.WorkloadOf(flow), s.Flows[flow].Tag
	var port int
	if _, err := fmt.Sscanf(tag, hpccPortPrefix+"%d", &port); err == nil && port >= 0 && port <= 0xFFFF {
		return port
	}
	if tag == hpccIncast || w >= 0 && s.Workloads[w].View.Kind == "incast" {
		return hpccIncastPort
	}
	return HPCCNormalPort
}
