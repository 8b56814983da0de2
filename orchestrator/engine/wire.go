package engine

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

// flight holds the frames on the wire from a port, in order. It keeps their arrival times next to each other. So
// scheduling the next arrival touches no frame, which has long left the processor's cache. The frames are in a list of
// chunks from a common pool: of tens of thousands of wires few have many frames at a time.
type flight struct {
	head, tail *wireChunk // chunks of the first and last frame; nil: none
	from, to   uint8      // index of the first frame in head, and after the last in tail
	count      uint32
	bytes      int64
}

// wireChunk holds some of the frames on a wire.
type wireChunk struct {
	frames [7]frameInFlight // together with next, two cache lines
	next   *wireChunk
}

// frameInFlight holds a frame on a wire, with its arrival time.
type frameInFlight struct {
	frame   *frame.Frame
	arrival vtime.Time
}

// chunkPool holds the chunks that no wire uses.
type chunkPool []*wireChunk

func (s *chunkPool) get() *wireChunk {
	n := len(*s) - 1
	if n < 0 {
		return &wireChunk{}
	}
	x := (*s)[n]
	*s = (*s)[:n]
	return x
}

// balance takes half of the surplus of another pool, if that is large.
func (s *chunkPool) balance(o *chunkPool) {
	const much = 1024
	if more := len(*o) - len(*s); more > much {
		rest := len(*o) - more/2
		*s = append(*s, (*o)[rest:]...)
		clear((*o)[rest:])
		*o = (*o)[:rest]
	}
}

func (w *flight) push(f *frame.Frame, arrival vtime.Time, free *chunkPool) {
	switch {
	case w.tail == nil:
		w.tail = free.get()
		w.head, w.to = w.tail, 0
	case int(w.to) == len(w.tail.frames):
		w.tail.next = free.get()
		w.tail, w.to = w.tail.next, 0
	}
	w.tail.frames[w.to] = frameInFlight{f, arrival}
	w.to++
	w.count++
	w.bytes += int64(f.Length)
}

// pop removes and returns the first frame. The wire must not be empty.
func (w *flight) pop(free *chunkPool) *frame.Frame {
	s := w.head
	f := s.frames[w.from].frame
	s.frames[w.from].frame = nil
	w.from++
	w.count--
	w.bytes -= int64(f.Length)
	if w.count == 0 {
		w.head, w.tail, w.from = nil, nil, 0
		*free = append(*free, s)
		return f
	}
	if int(w.from) == len(s.frames) {
		w.head, w.from = s.next, 0
		s.next = nil
		*free = append(*free, s)
	}
	frame.Prefetch(w.head.frames[w.from].frame)
	return f
}

// first returns the first frame; nil if the wire is empty.
func (w *flight) first() *frame.Frame {
	if w.count == 0 {
		return nil
	}
	return w.head.frames[w.from].frame
}

// next returns when the first frame arrives; vtime.Never if the wire is empty.
func (w *flight) next() vtime.Time {
	if w.count == 0 {
		return vtime.Never
	}
	return w.head.frames[w.from].arrival
}

// end returns when the last frame arrives. The wire must not be empty.
func (w *flight) end() vtime.Time { return w.tail.frames[w.to-1].arrival }

func (w *flight) each(f func(*frame.Frame)) {
	s, i := w.head, int(w.from)
	for range w.count {
		if i == len(s.frames) {
			s, i = s.next, 0
		}
		f(s.frames[i].frame)
		i++
	}
}
