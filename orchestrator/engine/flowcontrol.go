package engine

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/cycle"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// flowControl implements the engine's part of flow control, by which a port prevents its peer from overrunning its
// buffer. The pipelines decide who may send. A flowControl triggers PFC frames or credit messages when they are due. It
// defines the effect of faults on them, which queues they stop for good, and what the final check compares. There are
// two: pfc, whose frames are caused by other frames, and cbfc, whose messages are caused by timers.
//
// The ports hold state that every frame touches. A flowControl holds the rest, and each call passes the worker.
type flowControl interface {
	// usesPause reports whether PAUSE stops a peer, so that hosts and programs may send it.
	usesPause() bool
	// longestTimer returns the longest time between two messages of a port. The quiescence timeout is longer.
	longestTimer() vtime.Time
	// seesBarriers reports whether results depend on the times of barriers. If so, synchronisation windows are as short
	// as possible.
	seesBarriers() bool

	// countsFrames reports whether data frames are counted one by one. If not, departed is called for control frames
	// only and gate need not be called: most frames then cost no call.
	countsFrames() bool
	// gate switches a host's port OFF for those of the priorities in which it may not send a frame of size bytes now.
	// Switches' ports have a traffic manager for that.
	gate(w *worker, p *port, priorities uint8, size int)
	// departed is called for each frame that starts to leave port p.
	departed(w *worker, p *port, f *frame.Frame)
	// arrived is called for each control frame, and each program's frame, that has made its pass into port in.
	arrived(w *worker, in *port, f *frame.Frame)
	// freed is called when something is due at a switch (Switch.Due), because frames have left it or its thresholds
	// have changed.
	freed(w *worker, s *switchagent.Switch) error
	// pauseWanted executes a pipeline's request to stop frames of a priority from entering port in.
	pauseWanted(w *worker, in *port, priority uint8) error
	// timer executes an event of flow control.
	timer(w *worker, ev event) error
	// barrier is called when all of several partitions have reached one time.
	barrier(e *Engine, now vtime.Time)

	// linkDown ends the pauses of port p, because its peer cannot. linkUp restarts both ends.
	linkDown(w *worker, p *port)
	linkUp(w *worker, ends [2]*port) error
	// refreshPeer repeats the message that stops the peer of port p: the peer may not have it, or only for too short a
	// time.
	refreshPeer(w *worker, p *port) error
	// lost is called for each control frame that left port p and did not arrive, refused for each that could not leave.
	lost(w *worker, p *port, f *frame.Frame)
	refused(w *worker, p *port, f *frame.Frame)

	// priorityOf returns the priority that a control frame is counted for.
	priorityOf(f *frame.Frame) uint8
	// staysPaused reports whether the egress queue at the peer of account's port stays OFF under two conditions: only
	// these bytes remain in account (of an ingress port and a priority), and this much of its switch's shared buffer is
	// used.
	staysPaused(d dependencies, account cycle.PortPriority, bytes, used uint64) bool
	// check performs flow control's part of the final check.
	check(e *Engine)
}
