package switchagent

import (
	"github.com/pausenet/pausenet/internal/frame"
)

// A port whose link is down is closed: its queues are flushed, and later frames for it are dropped, as a switch's MAC
// does. If it kept them, PAUSE would spread from a dead link through the whole fabric. The watchdog treats a queue in a
// PFC storm in the same way (Discard), or lets it send although it is paused (Ignore).

// Close makes port p drop all frames. Open undoes it.
func (s *Switch) Close(p int) { s.Port(p).set(true, s.Port(p).stormy) }

// Open makes port p accept frames again, except those of priorities under Discard.
func (s *Switch) Open(p int) { s.Port(p).set(false, s.Port(p).stormy) }

// Closed reports whether port p is closed.
func (s *Switch) Closed(p int) bool { return s.Port(p).closed }

// Discard makes port p drop frames of a priority, or accept them again. PFC frames are not affected.
func (s *Switch) Discard(p int, priority uint8, on bool) {
	port := s.Port(p)
	port.set(port.closed, with(port.stormy, priority, on))
}

// Ignore makes port p ignore PAUSE for a priority, or obey it again.
func (s *Switch) Ignore(p int, priority uint8, on bool) {
	port := s.Port(p)
	port.ignore = with(port.ignore, priority, on)
}

// Ignores reports whether port p ignores PAUSE for a priority.
func (s *Switch) Ignores(p int, priority uint8) bool { return s.Port(p).ignore>>priority&1 != 0 }

func with(set uint8, priority uint8, on bool) uint8 {
	set &^= 1 << priority
	if on {
		set |= 1 << priority
	}
	return set
}

func (p *Port) set(closed bool, stormy uint8) {
	p.closed, p.stormy, p.discard = closed, stormy, stormy
	if closed {
		p.discard = 0xff
	}
}

func (p *Port) refuses(f *frame.Frame) bool {
	return p.closed || !f.Control && p.stormy>>f.Priority&1 != 0
}

// refuse drops a frame for a port that does not accept it, for Enqueue.
//
//go:noinline
func (s *Switch) refuse(p int, f *frame.Frame) Drop {
	port, n := s.Port(p), s.counted(f)
	if f.InPort >= 0 {
		s.state.Release(int(f.InPort), f.Priority, int(f.Length), f.Entry)
	}
	port.DroppedFrames[DropDiscard]++
	port.DroppedBytes[DropDiscard] += n
	return DropDiscard
}

// Flush removes every frame of a priority from the queue of port p, oldest first, and from the accounts, and passes
// each to drop. Due returns the resulting RESUMEs.
func (s *Switch) Flush(p int, priority uint8, drop func(*frame.Frame)) {
	port := s.Port(p)
	if s.queues[priority] == nil {
		s.FindDue()
		return
	}
	q := &s.queues[priority][p-s.first]
	for f := q.Pop(); f != nil; f = q.Pop() {
		n := s.counted(f)
		if f.InPort >= 0 {
			s.state.Release(int(f.InPort), priority, int(f.Length), f.Entry)
		}
		port.EnqueuedFrames--
		port.EnqueuedBytes -= n
		port.DroppedFrames[DropDiscard]++
		port.DroppedBytes[DropDiscard] += n
		drop(f)
	}
	q.Uncounted = 0
	port.backlog &^= 1 << priority
	if s.deficit != nil {
		s.deficit[p-s.first][priority] = 0
	}
	s.state.Ports[p].Class[priority].QueueBytes = 0
	s.FindDue()
}

// FlushControl removes the control frames from the queue of port p and passes each to drop.
func (s *Switch) FlushControl(p int, drop func(*frame.Frame)) {
	port := s.Port(p)
	for f := port.control.Pop(); f != nil; f = port.control.Pop() {
		drop(f)
	}
	port.urgent = false
}
