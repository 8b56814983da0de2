package engine

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/cycle"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// flowControl is the engine's part of flow control, by which a port keeps its peer from sending more than there is room
// for. The pipelines decide who may send. A flowControl has PFC frames or credit messages built as they fall due. It
// says what faults do to them, which queues they stop for good, and what must be true of them in the end. There are
// two: pfc, whose frames are caused by other frames, and cbfc, whose messages are caused by timers.
//
// What every frame touches stands in the ports. A flowControl has the rest, and is given the worker at work at each
// call.
type flowControl interface {
	// usesPause says whether PAUSE is what holds a peer, so that hosts and programs may send it.
	usesPause() bool
	// longestTimer is the longest time between two messages of a port. The quiescence timeout is longer.
	longestTimer() vtime.Time
	// seesBarriers says whether results depend on when barriers are. Synchronisation windows are as short as can be then.
	seesBarriers() bool

	// countsFrames says whether data frames are counted one by one. If not, departed is told of control frames alone, and
	// gate need not be asked: most frames then cost no call.
	countsFrames() bool
	// gate has a host's port go OFF for those of the priorities in which it may not send a frame of size bytes now.
	// Switches' ports have a traffic manager for that.
	gate(w *worker, p *port, priorities uint8, size int)
	// departed is told of each frame that begins to leave port p.
	departed(w *worker, p *port, f *frame.Frame)
	// arrived is told of each control frame, and each of a program's, that has come to port in, after the pipelines have
	// dealt with it.
	arrived(w *worker, in *port, f *frame.Frame)
	// freed is told when something is due at a switch (Switch.Due), as frames have gone from it or its thresholds have
	// changed.
	freed(w *worker, s *switchagent.Switch) error
	// pauseWanted does what a pipeline asks for that lets no more of a priority come in by port in.
	pauseWanted(w *worker, in *port, priority uint8) error
	// timer serves an event of flow control's own.
	timer(w *worker, ev event) error
	// barrier is told when all partitions of several have come to one time.
	barrier(e *Engine, now vtime.Time)

	// linkDown ends what holds port p: its peer, which would end it, is gone. linkUp has both ends begin anew.
	linkDown(w *worker, p *port)
	linkUp(w *worker, ends [2]*port) error
	// renew has the peer of port p told once more what holds it: it may know nothing of it, or for too short a time.
	renew(w *worker, p *port) error
	// lost is told of each control frame that left port p and did not arrive, refused of each that could not leave it.
	lost(w *worker, p *port, f *frame.Frame)
	refused(w *worker, p *port, f *frame.Frame)

	// priorityOf is the priority that a control frame is counted for.
	priorityOf(f *frame.Frame) uint8
	// staysPaused says whether the egress queue at the peer of account's port stays OFF when nothing is left in account,
	// of an ingress port and a priority, but so many bytes, and of its switch's shared buffer so many are used.
	staysPaused(d dependencies, account cycle.PortPriority, bytes, used uint64) bool
	// check is what flow control has of the final check.
	check(e *Engine)
}
