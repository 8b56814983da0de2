package engine

import (
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

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

// StartObserver is an Observer that is told too when operations start flows, and when queue pairs of programs are
// connected.
type StartObserver interface {
	FlowStarted(now vtime.Time, flow int)
}

// EventObserver is an Observer that is told of faults, storms and deadlocks too, in the order of time.
type EventObserver interface{ FaultEvent(FaultEvent) }

// FaultEvent is something that happened to the fabric, and not to a frame.
type FaultEvent struct {
	At     vtime.Time
	Port   int // -1: the whole fabric
	Kind   string
	Detail string
}

// Kinds of FaultEvent.
const (
	EventLinkDown    = "link_down"
	EventLinkUp      = "link_up"
	EventLoss        = "loss"
	EventCorruption  = "corruption"
	EventDelay       = "delay"
	EventRate        = "rate"
	EventReceiver    = "receiver"
	EventPFCStorm    = "injected_storm"
	EventReroute     = "reroute"
	EventStorm       = "storm"
	EventStormEnd    = "storm_end"
	EventDeadlock    = "deadlock"
	EventDeadlockEnd = "deadlock_end"
)

// EventKinds are all kinds of FaultEvent.
var EventKinds = []string{
	EventLinkDown, EventLinkUp, EventLoss, EventCorruption, EventDelay, EventRate, EventReceiver, EventPFCStorm,
	EventReroute, EventStorm,
	EventStormEnd, EventDeadlock, EventDeadlockEnd,
}

// Tracer is told of the way of every frame, as it happens. It must not change anything. What is told of a port is told
// by the worker that drives its partition, and so workers may call it at once, for ports of different partitions.
// Frames have notes for it (frame.Frame.Note).
type Tracer interface {
	// NIC is who is told of the flows of a host's interface.
	NIC(nic int) hostagent.Recorder
	// Built is told of a frame that the pipeline of a switch's port has built, other than for data.
	Built(now vtime.Time, port int, f *frame.Frame)
	// Enqueued is told of a frame that a switch's port has taken into its queue, which takes so long to be serialised.
	Enqueued(now vtime.Time, port int, f *frame.Frame, serialisation vtime.Time)
	// Trimmed is called when a queued frame, which had this length and priority, has been trimmed to its headers for one
	// that arrives. The headers take this long to be serialised.
	Trimmed(now vtime.Time, port int, f *frame.Frame, length int32, priority uint8, serialisation vtime.Time)
	// Departed is told of a frame that begins to leave a port, and how long it takes.
	Departed(now vtime.Time, port int, f *frame.Frame, serialisation vtime.Time)
	// Arrived is told of a frame that has left a port and come to the far end of its link, before it makes its pass.
	Arrived(now vtime.Time, port int, f *frame.Frame)
	// Marked is told of a frame that got an ECN mark in its pass: as it left the port, or else as it is about to join the
	// port's queue.
	Marked(now vtime.Time, port int, f *frame.Frame, left bool)
	// Paused is told that a port may not send frames of a priority until a time, by a control frame that left the far end
	// at departed, and free that it may again.
	Paused(now vtime.Time, port int, priority uint8, until, departed vtime.Time)
	Freed(now vtime.Time, port int, priority uint8)
	// Pausing is told of each PAUSE that a port has had built, the first or one that renews it; under credits, of each
	// message of a switch's.
	Pausing(now vtime.Time, port int, priority uint8, why PauseCause)
}

// PauseCause says what had a PAUSE built.
type PauseCause uint8

// Causes of PAUSEs.
const (
	PauseAccount  PauseCause = iota // a switch's account of the port and priority: XOFF
	PauseReceiver                   // a slow receiver
	PauseStorm                      // a malfunctioning NIC: an injected PFC storm
)
