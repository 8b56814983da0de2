// Package frame holds the frames of a running fabric: pooled, linked into queues, with what is known about each beside
// its bytes. Nothing here allocates once the pool has grown to the most frames ever in the fabric at once.
package frame

import (
	"unsafe"

	"github.com/pausenet/pausenet/vtime"
)

// HeaderBytes is how much of a frame a pool of headers keeps: every header but telemetry's fits. With the 48 bytes that are known
// of the frame it takes two cache lines, a pair that processors load together. In a large fabric frames are most of what is
// touched: what they take of the cache decides what a hop costs.
const HeaderBytes = 80

// TelemetryHeaderBytes is how much a pool of headers keeps where frames carry telemetry. Frames take three cache lines then.
const TelemetryHeaderBytes = 144

// Frame is a frame on its way through the fabric. Its bytes lie behind it; see Data.
type Frame struct {
	next *Frame

	Length int32  // of the whole frame, without FCS
	InPort int32  // switch port whose account holds it; -1: none
	Entry  uint32 // its flow table entry + 1; 0: not counted

	Priority uint8
	Control  bool // MAC control: overtakes data, no priority's pause holds it
	flags    uint8

	// The departure record: the state of the port it left, as it left.
	Burst        uint8
	Departed     vtime.Time // start of serialisation
	OnSince      uint64
	QueueBytes   uint32
	QueuePackets uint32
}

const (
	pooled    uint8 = 1 << iota
	hostStack       // a program's in a host's namespace
	// Where its bytes are: without either, it is the first part of a withHeader.
	long  // of a withTelemetry
	whole // of a withMemory

	place = long | whole
)

// HostStack says whether a program in a host's namespace made the frame: nothing about its content can be relied on.
func (f *Frame) HostStack() bool { return f.flags&hostStack != 0 }

// MakeHostStack makes it such a frame, until it is put back.
func (f *Frame) MakeHostStack() { f.flags |= hostStack }

// What a frame is the first part of: one place in memory for what is known of it and for its bytes, if only headers are kept.
type (
	withHeader struct {
		Frame
		header [HeaderBytes]byte
	}
	withTelemetry struct {
		Frame
		header [TelemetryHeaderBytes]byte
	}
	withMemory struct {
		Frame
		memory []byte
	}
)

// Data is the frame without FCS, or as much of it as its pool keeps.
func (f *Frame) Data() []byte {
	if f.flags&place != 0 {
		return f.elsewhere()
	}
	return (*withHeader)(unsafe.Pointer(f)).header[:min(int(f.Length), HeaderBytes)]
}

func (f *Frame) elsewhere() []byte {
	if f.flags&whole != 0 {
		return (*withMemory)(unsafe.Pointer(f)).memory[:f.Length]
	}
	return (*withTelemetry)(unsafe.Pointer(f)).header[:min(int(f.Length), TelemetryHeaderBytes)]
}

// Pool hands out frames and takes them back. The zero Pool is not ready: use NewPool.
type Pool struct {
	size  int
	place uint8 // of the frames' bytes
	free  *Frame
	out   int
	chunk int
}

// firstChunk is the number of frames a pool makes first.
const firstChunk = 64

// NewPool is a pool of frames of up to size bytes.
func NewPool(size int) *Pool { return &Pool{size: size, place: whole, chunk: firstChunk} }

// HeadersOnly has the pool keep only the first HeaderBytes of each frame, or with telemetry TelemetryHeaderBytes. It comes
// before the first Get.
func (p *Pool) HeadersOnly(telemetry bool) {
	if p.chunk != firstChunk {
		panic("frame: the pool has been used")
	}
	p.place = 0
	if telemetry {
		p.place = long
	}
}

// Get hands out a frame of n bytes; their content is what an earlier user left.
func (p *Pool) Get(n int) *Frame {
	if p.free == nil {
		p.grow()
	}
	if n > p.size {
		panic("frame: longer than the pool's frames")
	}
	f := p.free
	p.free = f.next
	f.next = nil
	f.flags &= place
	f.Length = int32(n)
	f.InPort = -1
	f.Entry = 0
	f.Control = false
	p.out++
	return f
}

// Put takes f back. Putting a frame twice panics: it would be in two queues.
func (p *Pool) Put(f *Frame) {
	if f.flags&pooled != 0 {
		panic("frame: put twice")
	}
	f.flags = f.flags&place | pooled
	f.next = p.free
	p.free = f
	p.out--
}

// Out is how many frames are handed out.
func (p *Pool) Out() int { return p.out }

func (p *Pool) grow() {
	switch p.place {
	case whole:
		frames := make([]withMemory, p.chunk)
		memory := make([]byte, p.chunk*p.size)
		for i := range frames {
			frames[i].memory = memory[i*p.size : (i+1)*p.size : (i+1)*p.size]
			p.add(&frames[i].Frame)
		}
	case long:
		frames := make([]withTelemetry, p.chunk)
		for i := range frames {
			p.add(&frames[i].Frame)
		}
	default:
		frames := make([]withHeader, p.chunk)
		for i := range frames {
			p.add(&frames[i].Frame)
		}
	}
	p.chunk = min(2*p.chunk, 8192)
}

func (p *Pool) add(f *Frame) {
	f.flags = p.place | pooled
	f.next = p.free
	p.free = f
}

// Queue is a first-in, first-out queue of frames. The zero Queue is empty.
type Queue struct {
	head, tail *Frame
	Bytes      int64
	Packets    int32
	Uncounted  int32 // bytes of them that the owner does not count, kept by it
}

// Push adds f at the end.
func (q *Queue) Push(f *Frame) {
	f.next = nil
	if q.tail == nil {
		q.head = f
	} else {
		q.tail.next = f
	}
	q.tail = f
	q.Bytes += int64(f.Length)
	q.Packets++
}

// Head is the frame that Pop would take; nil if there is none.
func (q *Queue) Head() *Frame { return q.head }

// Pop takes the first frame; nil if there is none.
func (q *Queue) Pop() *Frame {
	f := q.head
	if f == nil {
		return nil
	}
	q.head = f.next
	if q.head == nil {
		q.tail = nil
	} else {
		Prefetch(q.head)
	}
	f.next = nil
	q.Bytes -= int64(f.Length)
	q.Packets--
	return f
}

// Each calls f with every frame of the queue, in order.
func (q *Queue) Each(f func(*Frame)) {
	for x := q.head; x != nil; x = x.next {
		f(x)
	}
}
