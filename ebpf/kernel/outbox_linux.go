package kernel

import (
	"sync/atomic"

	"github.com/pausenet/pausenet/ebpf"
)

// Outbox is what has come out of the pipelines, frame by frame.
type Outbox struct {
	places []ebpf.Out
	begun  *uint64

	// Taken counts the frames that were taken from it.
	Taken uint64
}

// Receive returns the next frame and the interface that it came out of, if there is one. The frame is valid until
// Release.
func (o *Outbox) Receive() (frame []byte, ifindex int32, ok bool) {
	at := &o.places[o.Taken%uint64(len(o.places))]
	if atomic.LoadUint64(&at.Filled) <= o.Taken {
		return nil, 0, false
	}
	return at.Frame[:min(at.Length, uint32(len(at.Frame)))], int32(at.Ifindex), true
}

// Release frees the frame that Receive returned.
func (o *Outbox) Release() { o.Taken++ }

// Begun returns the number of frames that the pipelines have sent so far.
func (o *Outbox) Begun() uint64 { return atomic.LoadUint64(o.begun) }
