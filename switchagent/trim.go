package switchagent

import "github.com/pausenet/pausenet/internal/frame"

// TrimTo says which priority trimmed packets go on in: the hosts' control priority. Without it nothing is trimmed.
func (s *Switch) TrimTo(priority uint8) { s.trimTo = int8(priority) }

// trim cuts a data frame to its headers and queues those at port p, in the place of a lossy frame that found no room and has been taken off the
// account of the port that it came by. It says whether it could: the frame is as it was, if not.
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
	port.TrimmedFrames++
	port.TrimmedBytes += int64(f.Length - length)
	f.Trim(priority)
	f.Entry = 0
	s.queue(p, q, f, n)
	return true
}
