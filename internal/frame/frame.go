// Package frame holds the frames of a running fabric: pooled, linked into queues, with what is known about each beside
// its bytes. Nothing here allocates once the pool has grown to the most frames ever in the fabric at once.
package frame

import "github.com/pausenet/pausenet/internal/vtime"

// Frame is a frame on its way through the fabric.
type Frame struct {
	Data   []byte // the frame without FCS; its capacity is the pool's frame size
	next   *Frame
	pooled bool

	Priority uint8
	Control  bool   // MAC control: overtakes data, no priority's pause holds it
	InPort   int32  // switch port whose account holds it; -1: none
	Entry    uint32 // its flow table entry + 1; 0: not counted

	// The departure record: the state of the port it left, as it left.
	Departed     vtime.Time // start of serialisation
	Arrival      vtime.Time // at the far end of the cable
	OnSince      uint64
	QueueBytes   uint32
	QueuePackets uint32
	Burst        uint32
}

// Pool hands out frames and takes them back. The zero Pool is not ready: use NewPool.
type Pool struct {
	size  int
	free  *Frame
	out   int
	chunk int
}

// NewPool is a pool of frames of up to size bytes.
func NewPool(size int) *Pool { return &Pool{size: size, chunk: 64} }

// Get hands out a frame with Data of n bytes; their content is what an earlier user left.
func (p *Pool) Get(n int) *Frame {
	if p.free == nil {
		p.grow()
	}
	f := p.free
	p.free = f.next
	f.next = nil
	f.pooled = false
	f.Data = f.Data[:n]
	f.InPort = -1
	f.Entry = 0
	f.Control = false
	p.out++
	return f
}

// Put takes f back. Putting a frame twice panics: it would be in two queues.
func (p *Pool) Put(f *Frame) {
	if f.pooled {
		panic("frame: put twice")
	}
	f.pooled = true
	f.next = p.free
	p.free = f
	p.out--
}

// Out is how many frames are handed out.
func (p *Pool) Out() int { return p.out }

// Size is the most bytes a frame holds.
func (p *Pool) Size() int { return p.size }

func (p *Pool) grow() {
	frames := make([]Frame, p.chunk)
	memory := make([]byte, p.chunk*p.size)
	for i := range frames {
		frames[i].Data = memory[i*p.size : i*p.size : (i+1)*p.size]
		frames[i].pooled = true
		frames[i].next = p.free
		p.free = &frames[i]
	}
	p.chunk = min(2*p.chunk, 8192)
}

// Queue is a first-in, first-out queue of frames. The zero Queue is empty.
type Queue struct {
	head, tail *Frame
	Bytes      int64
	Packets    int32
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
	q.Bytes += int64(len(f.Data))
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
	}
	f.next = nil
	q.Bytes -= int64(len(f.Data))
	q.Packets--
	return f
}

// Each calls f with every frame of the queue, in order.
func (q *Queue) Each(f func(*Frame)) {
	for x := q.head; x != nil; x = x.next {
		f(x)
	}
}
