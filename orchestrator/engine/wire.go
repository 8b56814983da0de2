package engine

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

// flight is the frames on the wire from a port, in order. The arrival times stand beside each other: scheduling the next
// arrival touches no frame, which has long left the processor's cache.
type flight struct {
	ring  []flying // a power of 2 long
	head  uint32
	count uint32
	bytes int64
}

type flying struct {
	frame   *frame.Frame
	arrival vtime.Time
}

func (w *flight) mask() uint32 { return uint32(len(w.ring) - 1) }

func (w *flight) push(f *frame.Frame, arrival vtime.Time) {
	if int(w.count) == len(w.ring) {
		grown := make([]flying, max(8, 2*len(w.ring)))
		for i := range w.count {
			grown[i] = w.ring[(w.head+i)&w.mask()]
		}
		w.ring, w.head = grown, 0
	}
	w.ring[(w.head+w.count)&w.mask()] = flying{f, arrival}
	w.count++
	w.bytes += int64(f.Length)
}

// pop takes the first frame. There must be one.
func (w *flight) pop() *frame.Frame {
	at := &w.ring[w.head]
	f := at.frame
	at.frame = nil
	w.head = (w.head + 1) & w.mask()
	w.count--
	w.bytes -= int64(f.Length)
	if next := w.ring[w.head].frame; next != nil {
		frame.Prefetch(next)
	}
	return f
}

// first is the frame that pop would take; nil if the wire is empty.
func (w *flight) first() *frame.Frame {
	if w.count == 0 {
		return nil
	}
	return w.ring[w.head].frame
}

// next is when the first frame arrives; vtime.Never if the wire is empty.
func (w *flight) next() vtime.Time {
	if w.count == 0 {
		return vtime.Never
	}
	return w.ring[w.head].arrival
}

func (w *flight) each(f func(*frame.Frame)) {
	for i := range w.count {
		f(w.ring[(w.head+i)&w.mask()].frame)
	}
}
