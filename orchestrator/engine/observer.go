package engine

import (
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

// Observer receives events from the engine. Implementations must not modify engine state.
type Observer interface {
	// FlowDone is called when a flow's last byte has been acknowledged.
	FlowDone(now vtime.Time, flow int)
	// PFC is called for each PAUSE and RESUME that leaves a port.
	PFC(now vtime.Time, port int, priority uint8, pause bool)
	// PFCReceived is called when a switch port accepts a PAUSE or RESUME.
	PFCReceived(c PFCArrival)
}

// PFCArrival describes a PAUSE or RESUME of one priority that a switch's port has accepted. It holds the state of the
// port's queues at that time, because observers are called later.
type PFCArrival struct {
	At       vtime.Time
	Port     int
	Priority uint8
	Pause    bool
	Until    vtime.Time // time at which the PAUSE expires
	Peak     int64      // most bytes in the queues since Peak was last read, at the time of arrival
	Queued   int64      // bytes in them
	XOFF     uint64     // threshold of the port's ingress side
}

// StartObserver extends Observer with the starts of flows by operations, and the connections of programs' queue pairs.
type StartObserver interface {
	FlowStarted(now vtime.Time, flow int)
}

// EventObserver extends Observer with faults, storms and deadlocks, in the order of time.
type EventObserver interface{ FaultEvent(FaultEvent) }

// FaultEvent describes an event of the fabric rather than of a frame.
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

// EventKinds lists all kinds of FaultEvent.
var EventKinds = []string{
	EventLinkDown, EventLinkUp, EventLoss, EventCorruption, EventDelay, EventRate, EventReceiver, EventPFCStorm,
	EventReroute, EventStorm,
	EventStormEnd, EventDeadlock, EventDeadlockEnd,
}

// Tracer receives every step of every frame, as it happens. Implementations must not modify engine state. The worker
// that drives a port's partition calls it, so several workers may call it at once for ports of different partitions.
// Frames have notes for it (frame.Frame.Note).
type Tracer interface {
	// NIC returns the recorder of the flows of a host's interface.
	NIC(nic int) hostagent.Recorder
	// Built is called for each control frame that the pipeline of a switch's port has built.
	Built(now vtime.Time, port int, f *frame.Frame)
	// Enqueued is called for each frame that enters the queue of a switch's port. Serialising the frame takes the given
	// time.
	Enqueued(now vtime.Time, port int, f *frame.Frame, serialisation vtime.Time)
	// Trimmed is called when a queued frame, which had this length and priority, has been trimmed to its headers to
	// admit an arriving frame. Serialising the headers takes the given time.
	Trimmed(now vtime.Time, port int, f *frame.Frame, length int32, priority uint8, serialisation vtime.Time)
	// Departed is called for each frame that starts to leave a port. Serialising the frame takes the given time.
	Departed(now vtime.Time, port int, f *frame.Frame, serialisation vtime.Time)
	// Arrived is called for each frame that left a port and reached the far end of its link, before its pass.
	Arrived(now vtime.Time, port int, f *frame.Frame)
	// Marked is called for each frame that got an ECN mark in its pass: as it left the port, or else as it is about to
	// join the port's queue.
	Marked(now vtime.Time, port int, f *frame.Frame, left bool)
	// Paused is called when a control frame, which left the far end at departed, stops a priority of a port until a
	// time. Freed is called when the port may send the priority again.
	Paused(now vtime.Time, port int, priority uint8, until, departed vtime.Time)
	Freed(now vtime.Time, port int, priority uint8)
	// Pausing is called for each PAUSE that a port has built, the first of a pause or a renewal; under credits, for each
	// message of a switch's port.
	Pausing(now vtime.Time, port int, priority uint8, why PauseCause)
}

// PauseCause identifies the reason for a PAUSE.
type PauseCause uint8

// Causes of PAUSEs.
const (
	PauseAccount  PauseCause = iota // a switch's account of the port and priority: XOFF
	PauseReceiver                   // a slow receiver
	PauseStorm                      // a malfunctioning NIC: an injected PFC storm
)
