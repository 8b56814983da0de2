package engine

import (
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Config holds the parts and settings of an engine.
type Config struct {
	Plan  *topologies.Plan
	Plane plane.Plane
	// Switches holds the switches' settings, by switch index.
	Switches []*switchagent.Settings
	Hosts    *hostagent.Settings
	// Features must equal the features that the plane was opened for. A fabric with Live (package live) is one
	// partition.
	Features plane.Features
	Seed     uint64
	Observer Observer
	// Tracer receives every step of every frame; nil disables tracing. Live fabrics have no tracer.
	Tracer Tracer
	// Workers drives several partitions at once, if the plane supports it. With nil one worker drives all. Results do
	// not depend on it.
	Workers WorkerPool
	Ordered bool // handles all events in order of time, by one worker; a fabric with Live does so, too
}

// Engine drives a fabric in virtual time: it holds the clock and the event queues, and moves frames between ports,
// pipelines, traffic managers and NICs. It is not safe for concurrent use. Totals has its counts.
type Engine struct {
	worker // worker 0; the engine uses it for work outside of events

	synchronised vtime.Time
	lookahead    vtime.Time
	phases       [][]int32  // groups of partitions that are driven together; no link joins two partitions of a group
	window       vtime.Time // end of the present synchronisation window; unused with one partition
	calls        []call     // sorted by time

	pastControlErrors []controlError // control errors of freed flows
	pairs             pairs
	quiescence        vtime.Time // time without progress after which a draining run ends
	started           bool

	pendingCalls int   // functions of At that have not run
	failed       error // first error of a function of At
	deadlocks
	workers *workerGroup // nil: one worker drives all
}

// New returns an engine at virtual time 0. It returns an error if the plane was opened for other features: switches
// would look for bursts without tables of flows, or telemetry would be cut off.
func New(c Config) (*Engine, error) {
	if has := c.Plane.State().Features; has != c.Features {
		return nil, fmt.Errorf("the %s plane was opened with these features: %v; the engine has these: %v (give both the "+
			"same)", c.Plane.Name(), has, c.Features)
	}
	plan, live := c.Plan, c.Features.Live
	if c.Hosts.IP != plan.IP || c.Hosts.Spreads() != plan.Spread {
		return nil, fmt.Errorf("hosts send RoCE over %v with entropy %v, but the plan was made for other hosts (use "+
			"Plan.WithHosts)", c.Hosts.IP, c.Hosts.Entropy)
	}
	e := &Engine{worker: worker{
		fabric: &fabric{
			plane: c.Plane, settings: c.Switches, features: c.Features,
			longest: fill.LongestFrame(plan),
		},
		links:  links{plan: plan, ports: make([]port, len(plan.Ports)), seed: c.Seed},
		passes: c.Plane, state: c.Plane.State(), pass: c.Plane.State().Pass, hosts: c.Hosts,
		pool: frame.NewPool(plane.FrameSize(plan)),
	}}
	e.firstWorker, e.drivenPartition, e.maxBroken = &e.worker, noPartition, maxViolations
	e.addPartitions(live || c.Ordered)
	e.addSwitches()
	e.flowControl = newFlowControl(e)
	e.countsFrames = e.flowControl.countsFrames()
	e.quiescence = quiescenceTimeout(plan, c.Hosts, e.flowControl)
	e.newWatchdogs()
	e.deadlocks.next = deadlockPoll
	e.monitor = monitor{
		state: e.state, pass: e.pass, switches: e.switches, observer: c.Observer, tracer: c.Tracer,
		flowControl: e.flowControl,
	}
	if live || !e.flowControl.usesPause() {
		e.monitor.keepPauses()
	}
	if live {
		e.monitor.counts = make([]*portCounts, len(e.ports))
		e.newProcessors()
	}
	for _, id := range plan.Interfaces {
		p := e.partitions[e.ports[id].partition]
		n := hostagent.NewNIC(c.Hosts, p, plan.MTU, plan.Framing.LineBytes, &p.scratch)
		if c.Tracer != nil {
			n.Recorder = c.Tracer.NIC(len(e.nics))
		}
		n.Rate = plan.Ports[plan.Ports[id].Peer].Rate
		e.nics = append(e.nics, n)
	}
	if c.Workers != nil && c.Workers.Size() > 1 && e.divided() {
		e.workers = &workerGroup{pool: c.Workers}
	}
	return e, nil
}

// addPartitions divides the fabric, and gives each port its partition.
func (e *Engine) addPartitions(whole bool) {
	plan := e.plan
	division := partition.Divide(plan)
	e.byPort = division.Count > 1
	if whole { // one partition, but events of equal times are in the order of a divided run
		division = partition.Undivided(plan)
	}
	ofPort := division.Of
	e.lookahead, e.phases = division.Lookahead, division.Phases(plan)
	e.due = slices.Repeat([]vtime.Time{vtime.Never}, division.Count)
	for i := range division.Count {
		e.partitions = append(e.partitions, &partitionState{worker: &e.worker})
		e.partitions[i].hash.Deep = e.deep()
	}
	for i := range plan.Ports {
		p := &plan.Ports[i]
		node := &plan.Nodes[p.Node]
		e.ports[i] = port{
			id: int32(i), partition: ofPort[i], peer: int32(p.Peer), isSwitch: node.Kind == topologies.Switch,
			index:  int32(node.Index),
			wakeAt: vtime.Never, deferred: event{At: vtime.Never}, delay: p.Delay,
		}
		if node.Kind == topologies.Host {
			e.ports[i].index = int32(p.Interface)
		}
		e.ports[i].setRate(p.Rate)
		if e.features.Live && node.Kind == topologies.Host {
			e.ports[i].hostStack = &hostStack{}
		}
		r := e.partitions[ofPort[i]]
		r.ports = append(r.ports, int32(i))
	}
	for _, r := range e.partitions {
		r.events = newEvents(plan, r.ports)
	}
}

// addSwitches fills the pipelines' tables of each switch, and makes its traffic manager.
func (e *Engine) addSwitches() {
	for i, id := range e.plan.Switch {
		node, settings := &e.plan.Nodes[id], e.settings[i]
		cables := fill.Cables(e.plan, id, e.features.Live)
		buffer, thresholds := settings.Resolve(cables)
		sw := &e.state.Switches[i]
		*sw = ebpf.SwitchState{
			Cnm: fill.OneIf(e.features.BurstDetection), IntOn: fill.OneIf(e.features.Telemetry),
			Uncounted: uint32(e.plan.Framing.Uncounted()),
			// A frame of the MTU takes far more than LineMin, so the difference is the overhead.
			LineOverhead: int32(e.plan.Framing.LineBytes(e.plan.MTU) - int64(e.plan.MTU)),
			LineMin:      uint32(e.plan.Framing.LineBytes(0)),
			Seed:         splitmix.At(e.seed, 0) ^ splitmix.At(uint64(i), 0),
		}
		fill.Choice(sw, e.plan, i)
		fill.Switch(sw, e.state.Ports[node.Ports[0]:][:len(node.Ports)], settings, buffer, thresholds)
		e.switches = append(e.switches, switchagent.New(e.state, settings, i, int(node.Ports[0]), buffer, thresholds))
		e.switches[i].TrimTo(e.hosts.ControlPriority)
		if i > 0 && slices.Equal(cables, e.cables[i-1]) {
			cables = e.cables[i-1] // one copy for switches that are alike
		}
		e.cables = append(e.cables, cables)
		for _, port := range node.Ports {
			e.describeDetector(&e.ports[port])
		}
	}
}

// Now returns the virtual time.
func (e *Engine) Now() vtime.Time { return e.now }

// Synchronised returns the time that all partitions have reached. In observers and calls it equals Now. A Tap may see
// frames of one partition later than this before it sees those of another.
func (e *Engine) Synchronised() vtime.Time { return e.synchronised }

// Plan returns the topology.
func (e *Engine) Plan() *topologies.Plan { return e.plan }

// State returns the pipelines' tables and registers.
func (e *Engine) State() *ebpf.State { return e.state }

// Switch returns the traffic manager of the switch with this index.
func (e *Engine) Switch(index int) *switchagent.Switch { return e.switches[index] }

// NIC returns the RDMA NIC of the interface with this index.
func (e *Engine) NIC(index int) *hostagent.NIC { return e.nics[index] }

// BusyTime returns how long port p has been sending frames, up to now.
func (e *Engine) BusyTime(p int) vtime.Time {
	return e.ports[p].busy - max(0, e.ports[p].busyUntil-e.now)
}

// OpenFlows returns the number of flows with a size that have not ended.
func (e *Engine) OpenFlows() int { return e.openFlows }

// newFlowControl returns the flow control of an engine's fabric. All switches have the same kind.
func newFlowControl(e *Engine) flowControl {
	if len(e.settings) > 0 && e.settings[0].FlowControl == switchagent.FlowCBFC {
		return newCBFC(e)
	}
	return pfc{}
}
