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

// Scenario is a resolved scenario: everything a run needs but the controller's name and the seed.
type Scenario struct {
	Name        string
	Description string
	Topology    *topologies.Plan
	Switch      switchagent.Settings
	Host        hostagent.Settings
	// Controllers are the ones that run when the user names none: congestion controls and variants, by name.
	Controllers []string
	Variants    []Variant
	// Catalog has the congestion controls that names mean here: the built-in ones, and those from files.
	Catalog cc.Catalog
	// ControllerSettings are the scenario's own constants, by controller and parameter name ("dcqcn" -> "g" -> "1/256").
	// cc.Spec.Constants are those that hold for one controller.
	ControllerSettings map[string]map[string]string
	// Flows are the ones that are listed, and after them those of Workloads, drawn with Seed.
	Flows     []Flow
	Workloads []Workload
	// Duration is when the run stops. With Drain it goes on until all flows with a size have ended and every queue is
	// empty, but for DrainLimit at most.
	Duration   vtime.Time
	Drain      bool
	DrainLimit vtime.Time // after Duration; 0 without Drain
	Seed       uint64
	// Faults are what goes wrong, in the file's order.
	Faults []Fault
	// HasQuick says that the scenario has changes for a quick run, be they applied or not.
	HasQuick bool
	Sample   Sampling
	Panels   []Panel
	// DefaultPanels has each run choose its panels by what it measured: the file has no report.
	DefaultPanels bool
	// ExpectUnused are the mechanisms (of unusedNames) of which the verdict does not say that a run had no use for them:
	// the scenario is not about them.
	ExpectUnused []string
	// Published are figures that a source gives for the scenario, to be put beside what runs measure.
	Published []measure.PublishedTable
	// LookAt tells the report's reader what to look at, a paragraph each. Spans are shaded in its plots.
	LookAt []string
	Spans  []Span

	cnpAuto bool   // Host.CNPInterval was left to the congestion control (Under)
	listed  int    // of Flows
	drawn   uint64 // the seed that the others were drawn with
	// Recipe is what it was read from; nil: it was not.
	Recipe *Recipe
	// Origin is the time at which the run begins on the clock of the file that its flows come from.
	Origin vtime.Time
}

// Span is a labelled stretch of virtual time.
type Span struct {
	From, To vtime.Time
	Label    string
}

// Flow is one flow.
type Flow struct {
	Tag         string
	Source      topologies.NodeID
	Destination topologies.NodeID
	Size        units.Bytes // 0: unbounded, sends until the run ends
	Start       vtime.Time  // vtime.Never: it waits
	// Extras are what few flows have, and millions not; nil: nothing. Flows may share them.
	Extras *FlowExtras
	// ExpectUnfinished says that it may outlast the run: that is no fault of the run's.
	ExpectUnfinished bool
	// Pair are the interfaces of its ends. Those of Named are what the scenario says; the others follow by
	// topologies.Pairs.
	Pair  topologies.Pair
	Named topologies.Ends

	hpccPort uint32 // 1 + its destination port, of a flow from a file of HPCC's simulator
}

// Waits says whether the flow starts when others of its workload have ended, and not at a time.
func (f *Flow) Waits() bool { return f.Start == vtime.Never }

// FlowExtras are what few flows have. All but Own only a listed flow may have.
type FlowExtras struct {
	Own
	// Jitter is the time within which the seed delays the start; Start has that in it.
	Jitter vtime.Time
	// Via are the switches the flow's path must go through; empty leaves the choice to ECMP.
	Via []topologies.NodeID
	// QPVia are those that its QPs' paths must go through besides, one each in turn.
	QPVia []topologies.NodeID
	// StartRate presets the controller's rate and target as if it had converged; 0 leaves it to the controller.
	StartRate units.Rate
	// ConstantRate paces the flow at this rate without congestion control; 0 uses the controller.
	ConstantRate units.Rate

	listedStart vtime.Time // without the jitter; of a flow with jitter, whose extras are its own
}

// Own is what a flow may have instead of what the run's flows have, by its entry or its workload's. The zero Own is
// what they have.
type Own struct {
	// CC is the name of its congestion control; empty: the run's.
	CC string
	// QPs are the queue pairs that it is sent by.
	QPs QPs
	// Priority is 1 + the priority of its data; 0: the hosts'.
	Priority uint8
	// Traits are how it differs from others of its NIC.
	hostagent.Traits
}

// Tags returns the tags of the scenario's flows, in the order in which they first occur.
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

// DataPriorities are those that flows' data has, as a set.
func (s *Scenario) DataPriorities() uint8 { return s.dataOf(s.Host.DataPriority) }

// PriorityOf returns the priority of a flow's data.
func (s *Scenario) PriorityOf(f *Flow) uint8 {
	if own := f.own(); own.Priority > 0 {
		return own.Priority - 1
	}
	return s.Host.DataPriority
}

// dataOf is, likewise, what they are where hosts have this one.
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

// QPs are the queue pairs of a flow, each with a UDP source port and a congestion control of its own. The flow's end is
// that of the last.
type QPs struct {
	Count int // 0: one
	// Message is the size of the messages that they take in turn; 0: each has an equal share of the flow's packets.
	Message units.Bytes
}

// Split is how many bytes of a flow's each QP has, those that have any. An unbounded flow's are unbounded, and 0.
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
	whole := (size + unit - 1) / unit // packets or messages, the last of which may be shorter
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

// Extra are the flow's extras, empty if it has none.
func (f *Flow) Extra() FlowExtras {
	if f.Extras == nil {
		return FlowExtras{}
	}
	return *f.Extras
}

// own is what the flow has of its own.
func (f *Flow) own() Own {
	if f.Extras == nil {
		return Own{}
	}
	return f.Extras.Own
}

// Sampling says what is recorded over time.
type Sampling struct {
	// Interval is the time between two samples of ports and rates.
	Interval vtime.Time
	// Ports are the sampled ports, by "node:peer" pairs; empty: every switch port.
	Ports []topologies.PortID
	// Flows are tags of flows whose rates are sampled; empty: every flow, or none with NoFlows.
	Flows   []string
	NoFlows bool
}

// Panel is one plot of the report, controllers side by side.
type Panel struct {
	Title string
	Note  string // a line under the title; may be empty
	// Window is the time that pauses and throughput are averaged over, in whole sampling intervals; 0: one interval.
	Window vtime.Time
	Log    bool // a logarithmic scale, for what spans decades; what is 0 lies at its low end
	Series []Series
}

// Quantity is what a series plots.
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
	// Collective is the number, from 1, of the collective operation of a tag that is under way, 0 between two. Only
	// default panels show it.
	Collective Quantity = "collective"
)

// Series is one line of a panel.
type Series struct {
	Label     string
	Quantity  Quantity
	Port      topologies.PortID // for queue, ingress, pause, ce, ue, state
	Tag       string            // for goodput, rate, collective
	Priority  uint8             // of the queue, ingress, pause or goodput: 1 + priority; 0: all of data's
	Reference Reference
}

// AllPorts has a series of PAUSE frames be about all ports together.
const AllPorts topologies.PortID = -1
