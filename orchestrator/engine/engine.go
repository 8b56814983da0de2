package engine

import (
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Config is what an engine drives.
type Config struct {
	Plan  *topologies.Plan
	Plane plane.Plane
	// Switches are the switches' settings, by switch index.
	Switches []*switchagent.Settings
	Hosts    *hostagent.Settings
	// Features are those that the plane was opened for. A fabric with Live (package live) is one partition.
	Features plane.Features
	Seed     uint64
	Observer Observer
	// Tracer is told of every frame's way; nil: nobody is. Not of a live fabric.
	Tracer Tracer
	// Workers drive partitions at once, if there are several and the plane supports it; nil: one worker drives all.
	// Results do not depend on it.
	Workers WorkerPool
}

// Observer is told what happens. It must not change anything.
type Observer interface {
	// FlowDone is told of a flow whose last byte was acknowledged.
	FlowDone(now vtime.Time, flow int)
	// PFC is told of each PAUSE and RESUME as it leaves a port.
	PFC(now vtime.Time, port int, priority uint8, pause bool)
	// PFCReceived is told of each that a switch's port has taken.
	PFCReceived(c PFCArrival)
}

// PFCArrival is a PAUSE or a RESUME of one priority that a switch's port has taken, and what the port's queues were
// then: by the time that an observer is told, other things have happened there.
type PFCArrival struct {
	At       vtime.Time
	Port     int
	Priority uint8
	Pause    bool
	Until    vtime.Time // when the PAUSE runs out
	Peak     int64      // most bytes in the queues since this was last read, as it is now
	Queued   int64      // bytes in them
	XOFF     uint64     // threshold of the port's ingress side
}

// Engine is the virtual clock, the event queues, and what connects ports, pipelines, traffic managers and NICs. One
// goroutine calls it. Its counts are those of Totals.
type Engine struct {
	worker // the first; the engine itself is this one between two events

	synchronised vtime.Time
	lookahead    vtime.Time
	phases       [][]int32  // partitions that are driven together, and between which there are no links
	window       vtime.Time // the end of the present synchronisation window; of one partition there are none
	divided      bool       // there are several partitions
	calls        []call     // by time

	added             int            // flows so far
	pastControlErrors []controlError // of flows that have been freed
	pairs             pairs
	freeFlowSlots     []int32 // flows that have ended and whose places others may take; of a live fabric
	quiescence        vtime.Time
	started           bool
	flowsReport       bool // some flow's receiver has periods, though hosts' settings have none

	pendingCalls int   // calls of At to come
	failed       error // of one
	deadlocks    deadlocks
	workers      *workerGroup // nil: one worker drives all
}

// Totals are an engine's counts over the run.
type Totals struct {
	Events   int64
	Passes   int64  // through the pipelines, triggers included
	Hops     int64  // frames that reached the far end of a link
	Triggers int64  // passes by which pipelines were to generate a packet
	Created  Amount // frames made by hosts and switches
	Ended    Amount // frames that ended: delivered, consumed, dropped
	Dropped  int64  // of Ended
	LossLost int64  // of Dropped: in a lossless class
	Refused  int64  // frames of programs that the fabric dropped; not of Dropped
	// frames of programs that switches took for themselves: for their processors, or to be copied for all hosts
	Taken  int64
	Missed int64 // frames of programs that faults cost; of Dropped
	Built  int64 // frames for programs that switches made: their processors' answers, and copies
}

// Amount counts frames and their bytes.
type Amount struct{ Frames, Bytes int64 }

func (a *Amount) add(n int) {
	a.Frames++
	a.Bytes += int64(n)
}

// port is the engine's side of a port: the transmitter and the wire. What every frame touches comes first, in two cache
// lines.
type port struct {
	id        int32
	peer      int32
	index     int32 // of its switch, or of a host's interface
	partition int32
	isSwitch  bool
	// freeArmed says that an event waits for busyUntil, when the last frame has been serialised.
	freeArmed bool
	faulty    bool  // fault is not nil
	expected  bool  // an event waits for the first frame on the wire
	pauses    uint8 // bit n: a PAUSE came for priority n, and no RESUME since
	busyUntil vtime.Time
	wakeAt    vtime.Time
	perByte   vtime.Time // 0: not a whole number of picoseconds
	delay     vtime.Time
	arrived   int64
	txFrames  int64
	wire      flight       // to the peer
	busy      vtime.Time   // serialising, of frames begun
	control   *frame.Queue // of a host's port: PFC frames or credit messages that wait; nil: there never were any
	txBytes   [switchagent.Priorities]int64

	rate      units.Rate
	pausing   *pausing   // nil: no PAUSE has come or was sent
	pfcSent   [2]int64   // RESUMEs, PAUSEs that left
	fault     *portFault // nil: there never was one
	hostStack *hostStack // of a host's port in a live fabric
	_         [3]int64
}

// New is an engine at virtual time 0. It is an error if the plane was opened for other features than it is to have:
// switches would look for bursts without tables of flows, or telemetry be cut off.
func New(c Config) (*Engine, error) {
	if has := c.Plane.State().Features; has != c.Features {
		return nil, fmt.Errorf("the %s plane was opened for these features: %v, and the engine is to have these: %v; both must be given the same",
			c.Plane.Name(), has, c.Features)
	}
	plan, live := c.Plan, c.Features.Live
	if c.Hosts.IP != plan.IP {
		return nil, fmt.Errorf("hosts send RoCE over %v, and the plan has lengths of %v: make the plan with WithIP",
			c.Hosts.IP, plan.IP)
	}
	e := &Engine{worker: worker{
		fabric: &fabric{
			plane: c.Plane, settings: c.Switches, features: c.Features, seed: c.Seed,
			longest: fill.LongestFrame(plan),
		},
		plan: plan, passes: c.Plane, state: c.Plane.State(), pass: c.Plane.State().Pass, hosts: c.Hosts,
		ports: make([]port, len(plan.Ports)), pool: frame.NewPool(plane.FrameSize(plan)),
	}}
	e.firstWorker, e.drivenPartition, e.maxBroken = &e.worker, noPartition, maxViolations
	division := partition.Divide(plan)
	e.byPort = division.Count > 1
	if live { // driven as a whole, with the events of one time in the order of a run
		division = partition.Undivided(plan)
	}
	ofPort := division.Of
	e.lookahead, e.divided, e.phases = division.Lookahead, division.Count > 1, division.Phases(plan)
	e.due = slices.Repeat([]vtime.Time{vtime.Never}, division.Count)
	for i := range division.Count {
		e.partitions = append(e.partitions, &partitionState{
			worker: &e.worker,
			events: newEvents(plan, func(p int) bool { return int(ofPort[p]) == i }),
		})
		e.partitions[i].hash.Deep = e.deep()
	}
	for i := range plan.Ports {
		p := &plan.Ports[i]
		node := &plan.Nodes[p.Node]
		e.ports[i] = port{
			id: int32(i), partition: ofPort[i], peer: int32(p.Peer), isSwitch: node.Kind == topologies.Switch,
			index:  int32(node.Index),
			wakeAt: vtime.Never, delay: p.Delay,
		}
		if node.Kind == topologies.Host {
			e.ports[i].index = int32(p.Interface)
		}
		e.ports[i].setRate(p.Rate)
		if live && node.Kind == topologies.Host {
			e.ports[i].hostStack = &hostStack{}
		}
		r := e.partitions[ofPort[i]]
		r.ports = append(r.ports, int32(i))
	}
	for i, id := range plan.Switch {
		node := &plan.Nodes[id]
		cables := fill.Cables(plan, id, live)
		buffer, thresholds := c.Switches[i].Resolve(cables)
		sw := &e.state.Switches[i]
		*sw = ebpf.SwitchState{
			Cnm: fill.OneIf(c.Features.BurstDetection), IntOn: fill.OneIf(c.Features.Telemetry),
			Uncounted: uint32(plan.Framing.Uncounted()),
			Seed:      splitmix.At(c.Seed, 0) ^ splitmix.At(uint64(i), 0),
		}
		if err := fill.Choice(sw, plan, &c.Switches[i].Balancing, c.Hosts, i); err != nil {
			return nil, err
		}
		fill.Switch(sw, e.state.Ports[node.Ports[0]:][:len(node.Ports)], c.Switches[i], buffer, thresholds)
		e.switches = append(e.switches, switchagent.New(e.state, c.Switches[i], i, int(node.Ports[0]), buffer, thresholds))
		e.switches[i].TrimTo(c.Hosts.ControlPriority)
		e.cables = append(e.cables, cables)
		for _, port := range node.Ports {
			e.describeDetector(&e.ports[port])
		}
	}
	e.flowControl = newFlowControl(e)
	e.countsFrames = e.flowControl.countsFrames()
	e.quiescence = quiescenceTimeout(plan, c.Hosts, e.flowControl)
	e.newWatchdogs(c.Switches)
	e.deadlocks.next = deadlockPoll
	e.monitor = monitor{
		state: e.state, pass: e.pass, switches: e.switches, observer: c.Observer, tracer: c.Tracer,
		flowControl: e.flowControl, unsynchronised: e.divided,
	}
	if live || !e.flowControl.usesPause() {
		e.monitor.keepPauses()
	}
	if live {
		e.monitor.counts = make([]*portCounts, len(e.ports))
		e.newProcessors()
	}
	for _, id := range plan.Interfaces {
		of := e.partitions[ofPort[id]]
		n := hostagent.NewNIC(c.Hosts, of, plan.MTU, plan.Framing.LineBytes)
		if c.Tracer != nil {
			n.Recorder = c.Tracer.NIC(len(e.nics))
		}
		n.Rate = plan.Ports[plan.Ports[id].Peer].Rate
		e.nics = append(e.nics, n)
	}
	if c.Workers != nil && c.Workers.Size() > 1 && e.divided {
		e.workers = &workerGroup{pool: c.Workers}
	}
	return e, nil
}

// Now is the virtual time.
func (e *Engine) Now() vtime.Time { return e.now }

// Synchronised is the time that all partitions have reached: what happens before it has happened. Of observers and
// calls it is Now; a Tap may see frames of one partition at times after it before those of another.
func (e *Engine) Synchronised() vtime.Time { return e.synchronised }

// Plan is the topology.
func (e *Engine) Plan() *topologies.Plan { return e.plan }

// State is the pipelines' tables and registers.
func (e *Engine) State() *ebpf.State { return e.state }

// Switch is the traffic manager of the switch with this index.
func (e *Engine) Switch(index int) *switchagent.Switch { return e.switches[index] }

// NIC is the RDMA NIC of the interface with this index: of a host with one port, the host's.
func (e *Engine) NIC(index int) *hostagent.NIC { return e.nics[index] }

// TxBytes is the bytes of a priority's frames that port p has begun to send.
func (e *Engine) TxBytes(p int, priority uint8) int64 { return e.ports[p].txBytes[priority] }

// TxFrames is how many frames port p has begun to send.
func (e *Engine) TxFrames(p int) int64 { return e.ports[p].txFrames }

// BusyTime is how long port p has been sending frames, up to now.
func (e *Engine) BusyTime(p int) vtime.Time {
	return e.ports[p].busy - max(0, e.ports[p].busyUntil-e.now)
}

// OpenFlows is how many flows with a size have not ended.
func (e *Engine) OpenFlows() int { return e.openFlows }

// start readies the engine as the first event comes.
func (e *Engine) start() {
	if e.started {
		return
	}
	e.started = true
	e.startOperations()
	e.keepHeaders(e.pool)
	for _, n := range e.nics {
		n.HeadersOnly = !e.plane.CarriesPayload()
		n.Brief = n.HeadersOnly && !e.deep()
	}
}

// deep says whether RoCE frames have headers beyond what IPv4 takes without telemetry.
func (w *worker) deep() bool { return w.features.Telemetry || w.plan.IP == wire.V6 }

// keepHeaders has a pool keep no more of frames than the plane asks for, and the tracer's notes.
func (e *Engine) keepHeaders(p *frame.Pool) {
	if !e.plane.CarriesPayload() {
		p.HeadersOnly(e.deep())
	}
	if e.monitor.tracer != nil {
		p.Notes()
	}
}

// Trim lets go of memory that frames to come would need. A run has ended, or nearly all frames have.
func (e *Engine) Trim() {
	workers := []*worker{&e.worker}
	if e.workers != nil {
		workers = e.workers.all
	}
	for _, w := range workers {
		w.pool.Trim()
		w.freeChunks = nil
	}
}

// idle says whether nothing moves any more: no flow or operation is open and no frame is anywhere.
func (w *worker) idle() bool { return w.openFlows == 0 && w.openOperations == 0 && w.pool.Out() == 0 }

// fail notes a broken invariant.
func (w *worker) fail(invariant, place, format string, args ...any) *Violation {
	v := &Violation{Invariant: invariant, Place: place, Time: w.now, Detail: fmt.Sprintf(format, args...), Times: 1}
	if len(w.broken) < w.maxBroken {
		w.broken = append(w.broken, brokenInvariant{w.drivenPartition, v})
	}
	return v
}
