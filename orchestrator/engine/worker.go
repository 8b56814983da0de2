package engine

import (
	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// noPartition marks work outside of partitions: at a barrier, or between two events.
const noPartition = -1

// A worker drives partitions, one after the other. It holds the state that changes with every frame and belongs to no
// partition: the time, the pass, the pool of frames, the counts. So several workers can drive partitions at once. Their
// counts are summed when all have finished.
type worker struct {
	*fabric

	// Shared by all workers, like fabric, but copied here because every frame touches them.
	links
	scheduler
	state        *ebpf.State
	hosts        *hostagent.Settings
	switches     []*switchagent.Switch
	nics         []*hostagent.NIC
	flowControl  flowControl
	countsFrames bool // flowControl.countsFrames()

	passes          plane.Passes
	pass            *ebpf.Pass
	pool            *frame.Pool
	freeChunks      chunkPool
	lastEvent       vtime.Time // time of the last event so far
	lastFrameEnd    vtime.Time // time at which the last frame ended
	lastProgress    vtime.Time // time at which a frame of a flow last left a port
	prefetchSum     int32      // keeps the compiler from removing expectArrivals' loads
	drivenPartition int32      // partition; -1: none
	constructing    int32      // 1 + the flow whose congestion control is under construction; 0: none

	openFlows       int                   // flows with a size that have not ended
	pastGrants      hostagent.GrantCounts // sums over the flows that have ended
	scheduledStarts int                   // flows scheduled to start, and operations that compute
	openOperations  int                   // operations that have not ended
	startedFlows    []int32               // flows that an operation has started, for the observer
	occurrences     []occurrence          // events of operations, for their followers
	finishedFlows   []int32               // flows that have ended, for the observer
	receiversToEnd  []int32               // flows that have ended, whose receivers end at the next barrier

	lost    [Losses]Amount // frames lost to faults
	credits creditCounts
	monitor monitor

	Totals

	index int

	_ [8]int64 // phaseOutput is read after each phase, by another worker
	phaseOutput
	_ [8]int64
}

// phaseOutput holds a worker's output at the end of a phase for partitions that other workers may be driving.
type phaseOutput struct {
	remoteArrivals []remoteArrival       // arrivals at other partitions, of frames sent by this worker's partitions
	receivers      []*hostagent.Receiver // receivers of flows that have started
	broken         []brokenInvariant
	maxBroken      int // maximum length of broken
	interruptions  []interruption
	events         int64
}

// remoteArrival holds the time of a partition's first frame from another partition.
type remoteArrival struct {
	partition int32
	at        vtime.Time
}

// interruption records that driving a partition ended early, with an error or a panic.
type interruption struct {
	partition    int32
	err          error
	at           vtime.Time
	constructing int32 // copy of worker.constructing
}

// fabric holds the state that all workers share. Ports and ends of flows change as their partition is driven. All other
// state changes between two events.
type fabric struct {
	plane       plane.Plane
	firstWorker *worker
	concurrent  bool // several workers drive partitions now
	settings    []*switchagent.Settings
	cables      [][]switchagent.Cable // cables of each switch's ports
	flowTable
	steps
	features  plane.Features
	defers    bool // hosts' ports defer events; see pushOwn
	longest   int  // longest frame that a NIC sends, in bytes
	rerouted  bool
	watchdogs watchdogs
	punt      func(port int, data []byte) bool // see Engine.Punt; nil: switches have no control plane of their own
	// accepts frames that a host's kernel sent in reply to a delivered one; nil: not live
	replies   func(port int)
	slowPath  slowPath
	datagrams map[uint32]*Datagrams // programs' queue pairs of datagrams, by number
}

// scheduleArrival schedules the arrival of a frame that leaves port p for an empty wire. Another partition schedules it
// when it is driven next, as its queue is not in the processor's cache now.
func (w *worker) scheduleArrival(p *port, arrival vtime.Time) {
	far := w.ports[p.peer].partition
	switch {
	case far == p.partition:
		w.push(far, arrival, eventArrival, p.id)
	case w.concurrent:
		w.remoteArrivals = append(w.remoteArrivals, remoteArrival{far, arrival})
	case arrival < w.due[far]:
		w.due[far] = arrival
	}
}

// cableOf returns the cable of a switch's port as planned, and as it is now.
func (w *worker) cableOf(p *port) (planned *switchagent.Cable, now switchagent.Cable) {
	peer := &w.ports[p.peer]
	planned = &w.cables[p.index][topologies.PortID(p.id)-w.switchPorts(int(p.index))[0]]
	now = *planned
	now.Rate, now.PeerRate, now.Delay, now.PeerDelay = p.rate, peer.rate, p.delay, peer.delay
	return planned, now
}
