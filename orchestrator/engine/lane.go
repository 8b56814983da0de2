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

// none is no region.
const none = -1

// A lane drives regions, one after the other. It has what changes with every frame and belongs to no region: the time,
// the pass, the pool of frames, the counts. So several lanes can drive regions at once, and what they have counted is
// put together when all are done.
type lane struct {
	*fabric

	// Of the fabric too, and here as every frame touches them.
	plan         *topologies.Plan
	state        *ebpf.State
	hosts        *hostagent.Settings
	ports        []port
	switches     []*switchagent.Switch
	nics         []*hostagent.NIC
	regions      []*region
	due          []vtime.Time // of each region's next event, or before it
	flowControl  flowControl
	countsFrames bool // flowControl does

	now       vtime.Time // in the region that is driven
	passes    plane.Passes
	pass      *ebpf.Pass
	pool      *frame.Pool
	stretches stretches
	last      vtime.Time // of any event so far
	lastEnd   vtime.Time // of any frame
	moved     vtime.Time // when a frame of a flow last left a port
	warmth    int32      // keeps the compiler from dropping warm's loads
	driving   int32      // region; -1: none
	making    int32      // 1 + the flow whose congestion control is being made; 0: none

	open       int                   // flows with a size that have not ended
	pastGrants hostagent.GrantCounts // sums over the flows that have ended
	starting   int                   // flows that are to start at a time, and operations that compute
	undone     int                   // operations that have not ended
	begun      []int32               // flows that an operation has started, and the observer has not been told of
	points     []point               // of operations, of which the followers have not been told
	ended      []int32               // flows that have ended and the observer has not been told of
	gone       []int32               // flows that have ended and whose receivers have not been told

	lost    [Losses]Amount // by faults
	credits creditCounts
	monitor monitor

	Totals

	index int

	_ [8]int64 // what comes now is read after each phase
	handed
	_ [8]int64
}

// handed is what a lane hands over at the end of a phase: what concerns regions that other lanes may be driving.
type handed struct {
	awaited   []awaited             // by regions that this one has sent something
	receivers []*hostagent.Receiver // of flows that have started
	broken    []broken
	most      int // of broken
	cut       []cut
	events    int64
}

// awaited is when something reaches a region that nothing was on its way to.
type awaited struct {
	region int32
	at     vtime.Time
}

// broken is an invariant that was broken in a region; -1: at a barrier.
type broken struct {
	region int32
	*Violation
}

// cut says that driving a region ended in the middle: with an error, or else a panic.
type cut struct {
	region int32
	err    error
	at     vtime.Time
	making int32 // as the lane's
}

// fabric is what all lanes drive. What is a region's, a port or one end of a flow, changes as that region is driven;
// all else does between two events.
type fabric struct {
	plane    plane.Plane
	first    *lane
	shared   bool // several lanes are at work
	settings []*switchagent.Settings
	cables   [][]switchagent.Cable // of each switch's ports
	flows    []Flow
	steps
	features  plane.Features
	seed      uint64
	longest   int   // frame that a NIC sends, in bytes
	data      uint8 // data priorities that flows have of their own
	byPort    bool  // frames that arrive at one time do so in the order of ports: regions driven apart know no other
	rerouted  bool
	watchdogs []watch        // by port and priority; nil: no switch has one
	replies   func(port int) // takes what a host's kernel sent as a frame went up its stack; nil: not live
	slowPath  slowPath
	datagrams map[uint32]*Datagrams // of programs, by number
}
