package scenario

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Scenario represents a resolved scenario: everything that a run needs except the controller's name and the seed.
type Scenario struct {
	Name        string
	Description string
	Topology    *topologies.Plan
	Switch      switchagent.Settings
	Host        hostagent.Settings
	// Controllers names the congestion controls and variants to run if the user names none.
	Controllers []string
	Variants    []Variant
	// Catalog resolves names of congestion controls: the built-in ones, and those from files.
	Catalog cc.Catalog
	// ControllerSettings holds the scenario's own constants, by controller and parameter name ("dcqcn" -> "g" ->
	// "1/256"). cc.Spec.Constants returns those for one controller.
	ControllerSettings map[string]map[string]string
	// Flows holds the listed flows, followed by those of Workloads, drawn with Seed. Of a large workload of rings it
	// holds entries that stand for all messages of a rank (Entries).
	Flows     []Flow
	Workloads []Workload
	// Duration sets when the run stops. With Drain it continues until all flows with a size have ended and every queue
	// is empty, but at most for DrainLimit.
	Duration   vtime.Time
	Drain      bool
	DrainLimit vtime.Time // after Duration; 0 without Drain
	Seed       uint64
	// Faults holds the faults, in the file's order.
	Faults []Fault
	// HasQuick reports whether the scenario has changes for a quick run, applied or not.
	HasQuick bool
	Sample   Sampling
	Panels   []Panel
	// DefaultPanels makes each run choose its panels by its measurements, because the file has no report.
	DefaultPanels bool
	// ExpectUnused holds mechanisms (of unusedNames) about which the verdict does not warn if a run never uses them.
	ExpectUnused []string
	// Published holds figures from a source, to compare with the measured ones.
	Published []measure.PublishedTable
	// LookAt holds paragraphs that tell the report's reader what to look at. Spans are shaded in its plots.
	LookAt []string
	Spans  []Span
	// CNPAuto means that Host.CNPInterval is auto, so that Under takes it from the congestion control.
	CNPAuto bool

	listed    int    // number of listed flows in Flows
	memory    int64  // of Reading
	ringsFrom int    // of WithRings; 0: the default
	drawn     uint64 // the seed of the other flows
	// Recipe holds the files and settings from which the scenario was read; nil: it was not read from files.
	Recipe *Recipe
	// Origin holds the time of the run's start on the clock of the file that its flows come from.
	Origin vtime.Time
}

// Span represents a labelled interval of virtual time.
type Span struct {
	From, To vtime.Time
	Label    string
}

// Flow represents one flow: a message from one host to another.
type Flow struct {
	Tag         string
	Source      topologies.NodeID
	Destination topologies.NodeID
	Size        units.Bytes // 0: unbounded, sends until the run ends
	Start       vtime.Time  // vtime.Never: it waits for other flows
	// Extras holds settings that few flows have; nil: none. Flows may share them.
	Extras *FlowExtras
	// ExpectUnfinished is true if the flow may outlast the run without a warning.
	ExpectUnfinished bool
	// Pair holds the interfaces of the flow's ends. The scenario sets those of Named; topologies.Pairs chooses the
	// others.
	Pair  topologies.Pair
	Named topologies.Ends

	hpccPort uint32 // for a flow from a file of HPCC's simulator: 1 + its destination port
}

// SampledPorts returns the ports that a run samples: those of Sample, or every switch port.
func (s *Scenario) SampledPorts() []topologies.PortID {
	if len(s.Sample.Ports) > 0 {
		return s.Sample.Ports
	}
	var all []topologies.PortID
	for _, id := range s.Topology.Switch {
		all = append(all, s.Topology.Nodes[id].Ports...)
	}
	return all
}

// Waits reports whether the flow starts after others of its workload instead of at a time.
func (f *Flow) Waits() bool { return f.Start == vtime.Never }

// FlowExtras holds settings that few flows have. Only listed flows may have any besides Own.
type FlowExtras struct {
	Own
	// Jitter limits the random delay of the start; Start includes the delay.
	Jitter vtime.Time
	// Via lists switches that the flow's path must include; empty: ECMP chooses.
	Via []topologies.NodeID
	// QPVia lists switches that its QPs' paths must also include, one for each QP in turn.
	QPVia []topologies.NodeID
	// StartRate sets the initial rate and target of the controller, as if it had converged; 0: the controller chooses.
	StartRate units.Rate
	// ConstantRate paces the flow at this rate without congestion control; 0: use the controller.
	ConstantRate units.Rate

	listedStart vtime.Time // Start without the jitter, for a flow with jitter
}

// Own holds the settings by which a flow, or a workload's flows, override the run's. The zero Own overrides nothing.
type Own struct {
	// CC names the congestion control; empty: the run's.
	CC string
	// QPs describes the queue pairs that carry the flow.
	QPs QPs
	// Priority holds 1 + the priority of its data; 0: the hosts'.
	Priority uint8
	// Traits holds the settings of its sender at the NIC.
	hostagent.Traits
}

// Tags returns the tags of the scenario's flows in order of first occurrence.
func (s *Scenario) Tags() []string {
	var tags []string
	last := ""
	add := func(tag string) {
		if tag != last && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
		last = tag
	}
	for i := range s.Flows {
		add(s.Flows[i].Tag)
	}
	for i := range s.Workloads {
		add(s.Workloads[i].Tag)
	}
	return tags
}

// DataPriorities returns the set of priorities of the flows' data.
func (s *Scenario) DataPriorities() uint8 { return s.dataOf(s.Host.DataPriority) }

// PriorityOf returns the priority of a flow's data.
func (s *Scenario) PriorityOf(f *Flow) uint8 {
	if own := f.own(); own.Priority > 0 {
		return own.Priority - 1
	}
	return s.Host.DataPriority
}

// dataOf returns the set of priorities of the flows' data if the hosts' data priority is host.
func (s *Scenario) dataOf(host uint8) (set uint8) {
	for i := range s.Flows {
		if own := s.Flows[i].own(); own.Priority > 0 {
			set |= 1 << (own.Priority - 1)
		} else {
			set |= 1 << host
		}
	}
	if set == 0 {
		set = 1 << host
	}
	return set
}

// QPs describes the queue pairs of a flow. Each has its own UDP source port and congestion control. The flow ends when
// its last QP does.
type QPs struct {
	Count int // 0: one
	// Message sets the size of the messages that the QPs send in turn; 0: each sends an equal share of the flow's
	// packets.
	Message units.Bytes
}

// Split returns the number of bytes of each QP that has any. It returns 0 for each QP of an unbounded flow.
func (q *QPs) Split(size units.Bytes, mtu int) []units.Bytes {
	if q.Count <= 1 {
		return []units.Bytes{size}
	}
	if size == 0 {
		return make([]units.Bytes, q.Count)
	}
	unit := units.Bytes(mtu)
	if q.Message > 0 {
		unit = q.Message
	}
	n := units.Bytes(q.Count)
	whole := (size + unit - 1) / unit // packets or messages; the last may be shorter
	shares := make([]units.Bytes, min(n, whole))
	for k := range shares {
		shares[k] = whole / n * unit
		if units.Bytes(k) < whole%n {
			shares[k] += unit
		}
	}
	last := len(shares) - 1
	if q.Message > 0 {
		last = int((whole - 1) % n)
	}
	shares[last] -= whole*unit - size
	return shares
}

// Extra returns the flow's extras, or the zero value if it has none.
func (f *Flow) Extra() FlowExtras {
	if f.Extras == nil {
		return FlowExtras{}
	}
	return *f.Extras
}

// own returns the settings by which the flow overrides the run's.
func (f *Flow) own() Own { return f.Extra().Own }

// Sampling sets what a run records over time.
type Sampling struct {
	// Interval sets the time between two samples of ports and rates.
	Interval vtime.Time
	// Ports lists the sampled ports, by "node:peer" pairs; empty: every switch port.
	Ports []topologies.PortID
	// Flows lists the tags of flows whose rates are sampled; empty: every flow, or none with NoFlows.
	Flows   []string
	NoFlows bool
}

// Panel describes one plot of the report, controllers side by side.
type Panel struct {
	Title string
	Note  string // a line under the title; empty: none
	// Window sets the averaging time of pauses and throughput, in whole sampling intervals; 0: one interval.
	Window vtime.Time
	Log    bool // logarithmic scale; values of 0 are drawn at its lower end
	Series []Series
}

// Quantity names the quantity that a series plots.
type Quantity string

// Quantities.
const (
	QueueBytes        Quantity = "queue"   // bytes in the egress queue of a port
	IngressBytes      Quantity = "ingress" // bytes buffered from an ingress port
	PauseRate         Quantity = "pause"   // PAUSE frames per second sent by a port
	Throughput        Quantity = "goodput" // delivered payload of the flows with a tag, bits per second
	SendingRate       Quantity = "rate"    // the controller's rate of the flows with a tag
	CongestedMarks    Quantity = "ce"      // packets marked CE per second by a port
	UndeterminedMarks Quantity = "ue"      // packets marked UE per second by a port (TCD)
	PortState         Quantity = "state"   // TCD's state of a port: 0 not congested, 1 undetermined, 2 congested
	// Collective plots the number, from 1, of the collective operation of a tag that is in progress; 0: none. Only
	// default panels show it.
	Collective Quantity = "collective"
)

// Series describes one line of a panel.
type Series struct {
	Label     string
	Quantity  Quantity
	Port      topologies.PortID // for queue, ingress, pause, ce, ue and state
	Tag       string            // for goodput, rate and collective
	Priority  uint8             // for queue, ingress, pause and goodput: 1 + priority; 0: all priorities of data
	Reference Reference
}

// AllPorts stands for all ports together in a series of PAUSE frames.
const AllPorts topologies.PortID = -1

// from and to return the names of the flow's ends in the scenario: a host or an interface.
func (f *Flow) from(plan *topologies.Plan) string {
	if f.Named&topologies.NamedFrom != 0 {
		return plan.EndName(f.Source, f.Pair.From)
	}
	return plan.Nodes[f.Source].Name
}

func (f *Flow) to(plan *topologies.Plan) string {
	if f.Named&topologies.NamedTo != 0 {
		return plan.EndName(f.Destination, f.Pair.To)
	}
	return plan.Nodes[f.Destination].Name
}
