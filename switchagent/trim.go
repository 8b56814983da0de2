package switchagent

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/splitmix"
)

// TrimTo sets the priority of trimmed packets: the hosts' control priority. Without it no packet is trimmed.
func (s *Switch) TrimTo(priority uint8) { s.trimTo = int8(priority) }

// trim cuts a data frame to its headers and queues these at port p. The frame found no room in its lossy queue, and has
// been removed from its ingress port's account. trim reports whether it cut the frame; if not, the frame is unchanged.
//
//go:noinline
func (s *Switch) trim(p int, f *frame.Frame) bool {
	if s.trimTo < 0 || f.HostStack() {
		return false
	}
	port, priority, before := s.Port(p), uint8(s.trimTo), f.Priority
	length, ok := f.Trimmed()
	if !ok || length >= f.Length || (s.lossless|port.discard)>>priority&1 != 0 {
		return false
	}
	if s.queues[priority] == nil {
		s.queues[priority] = make([]frame.Queue, len(s.ports))
	}
	q, n := &s.queues[priority][p-s.first], int64(s.state.Switches[s.index].Counted(int(length)))
	if f.InPort >= 0 {
		s.state.Charge(int(f.InPort), priority, int(length))
	}
	f.Priority = priority
	if s.admit(q, f, n) != Admitted {
		if f.InPort >= 0 {
			s.state.Release(int(f.InPort), priority, int(length), 0)
		}
		f.Priority = before
		return false
	}
	s.cut(p, q, f, length)
	return true
}

// cut trims a frame whose only account is that of its headers, and enqueues these.
func (s *Switch) cut(p int, q *frame.Queue, f *frame.Frame, length int32) {
	port, priority := s.Port(p), uint8(s.trimTo)
	port.TrimmedFrames++
	port.TrimmedBytes += int64(f.Length - length)
	f.Priority = priority
	f.Trim(priority)
	f.Entry = 0
	s.queue(p, q, f, s.counted(f))
}

// Cut holds a queued frame that was trimmed for an arriving one, in its previous state.
type Cut struct {
	Frame    *frame.Frame // nil if none was trimmed
	Length   int32
	Priority uint8
}

// trimNewest tosses NDP's coin for a frame of n bytes that finds a queue of port p full. On heads it trims the newest
// frame of the queue, and queues the arriving one in its place. It reports whether it did.
//
//go:noinline
func (s *Switch) trimNewest(p int, q *frame.Queue, f *frame.Frame, n int64) bool {
	newest, port := q.Newest(), s.Port(p)
	if newest == nil || s.trimTo < 0 || newest.HostStack() {
		return false
	}
	priority, before := uint8(s.trimTo), Cut{newest, newest.Length, newest.Priority}
	length, ok := newest.Trimmed()
	if !ok || length >= newest.Length || (s.lossless|port.discard)>>priority&1 != 0 || priority == f.Priority {
		return false
	}
	port.tosses++
	if splitmix.At(s.state.Switches[s.index].Seed^splitmix.At(coinSeed, uint64(p)), port.tosses)&1 == 0 {
		return false
	}
	if s.queues[priority] == nil {
		s.queues[priority] = make([]frame.Queue, len(s.ports))
	}
	headers, whole, cut :=
		&s.queues[priority][p-s.first], s.counted(newest), int64(s.state.Switches[s.index].Counted(int(length)))
	if s.lossyRoom(size(q)-whole, f, n) != Admitted || s.lossyRoom(size(headers), newest, cut) != Admitted {
		return false
	}
	q.PopNewest()
	q.Uncounted -= newest.Length - int32(whole)
	port.EnqueuedFrames--
	port.EnqueuedBytes -= whole
	if newest.InPort >= 0 {
		s.state.Release(int(newest.InPort), newest.Priority, int(newest.Length), newest.Entry)
		s.state.Charge(int(newest.InPort), priority, int(length))
	}
	s.cut(p, headers, newest, length)
	s.queue(p, q, f, n)
	s.trimmed = before
	return true
}

// coinSeed separates tosses from other uses of a switch's seed.
const coinSeed = 0x6e6470 // "ndp"

// TakeTrimmed returns the queued frame that was trimmed last, once.
func (s *Switch) TakeTrimmed() (c Cut) {
	c, s.trimmed = s.trimmed, c
	return c
}
