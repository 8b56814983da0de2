// Package frame holds the frames of a running fabric: pooled, linked into queues, with what is known about each beside
// its bytes. Nothing here allocates once the pool has grown to the most frames ever in the fabric at once.
package frame

import (
	"unsafe"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Frame is a frame on its way through the fabric. It is one cache line: in a large fabric frames are most of what is
// touched, and what they take of the cache decides what a hop costs. Of most frames that is all there is: a RoCE
// packet's headers are its Form's, and Brief. The bytes of others lie where Brief does and behind it; see Data.
type Frame struct {
	next *Frame
	Form *wire.Form // of a brief frame, else nil

	// The departure record: the state of the port it left, as it left.
	Departed     vtime.Time // start of serialisation
	OnSince      uint64
	QueueBytes   uint32
	QueuePackets uint32

	Length int32  // of the whole frame, without FCS
	InPort int32  // switch port whose account holds it; -1: none
	Entry  uint32 // its flow table entry + 1; 0: not counted

	Priority uint8
	Control  bool  // MAC control: overtakes data, no priority's pause holds it
	Burst    uint8 // of the departure record
	flags    uint8

	Brief wire.Brief // the last, as others' bytes begin here
}

const (
	pooled    uint8 = 1 << iota
	hostStack       // a program's in a host's namespace
	// Where its bytes are: without any, it is the first part of a withHeader.
	long  // of a withTelemetry
	whole // of a withMemory
	brief // there are none
	noted // there is a note behind them

	datagram // a hostStack that a NIC made, for a queue pair of datagrams

	place = long | whole | brief
	fixed = place | noted // what stays as it is handed out
)

// HostStack reports whether a program in a host's namespace made the frame: nothing about its content can be relied
// on.
func (f *Frame) HostStack() bool { return f.flags&hostStack != 0 }

// MakeHostStack makes it such a frame, until it is put back.
func (f *Frame) MakeHostStack() { f.flags |= hostStack }

// Datagram reports whether a NIC made the frame for a queue pair of datagrams. It is HostStack too.
func (f *Frame) Datagram() bool { return f.flags&datagram != 0 }

// MakeDatagram makes it such a frame, until it is put back.
func (f *Frame) MakeDatagram() { f.flags |= datagram | hostStack }

// What a frame is the first part of: one place in memory for what is known of it and for its bytes, if only headers are
// kept.
type (
	withHeader struct {
		Frame
		_ [wire.HeaderBytes - unsafe.Sizeof(wire.Brief(0))]byte
	}
	withTelemetry struct {
		Frame
		_ [wire.LongHeaderBytes - unsafe.Sizeof(wire.Brief(0))]byte
	}
	withMemory struct {
		Frame
		memory []byte
		note   any
	}
	notedBrief struct {
		Frame
		note any
	}
	notedHeader struct {
		withHeader
		note any
	}
	notedTelemetry struct {
		withTelemetry
		note any
	}
)

// Note returns the storage of a run's recorder for the frame; nil unless the frame's pool keeps notes (Pool.Notes).
// It survives Put, and is reused with the frame.
func (f *Frame) Note() *any {
	switch {
	case f.flags&noted == 0:
		return nil
	case f.flags&brief != 0:
		return &(*notedBrief)(unsafe.Pointer(f)).note
	case f.flags&whole != 0:
		return &(*withMemory)(unsafe.Pointer(f)).note
	case f.flags&long != 0:
		return &(*notedTelemetry)(unsafe.Pointer(f)).note
	}
	return &(*notedHeader)(unsafe.Pointer(f)).note
}

// Data returns the frame without FCS, or as much of it as its pool keeps. A brief frame has none.
func (f *Frame) Data() []byte {
	if f.flags&place != 0 {
		return f.elsewhere()
	}
	return (*[wire.HeaderBytes]byte)(unsafe.Pointer(&f.Brief))[:min(int(f.Length), wire.HeaderBytes)]
}

func (f *Frame) elsewhere() []byte {
	switch {
	case f.flags&brief != 0:
		return nil
	case f.flags&whole != 0:
		return (*withMemory)(unsafe.Pointer(f)).memory[:f.Length]
	}
	return (*[wire.LongHeaderBytes]byte)(unsafe.Pointer(&f.Brief))[:min(int(f.Length), wire.LongHeaderBytes)]
}

// ParseHeaders returns wire.ParseHeaders of the frame.
func (f *Frame) ParseHeaders(p *wire.Packet) error {
	if f.Form != nil {
		f.Form.Parse(f.Brief, int(f.Length), p)
		return nil
	}
	return wire.ParseHeaders(f.Data(), int(f.Length), p)
}

// IsAnswer reports whether a frame of RoCE is an ACK, NAK or CNP.
func (f *Frame) IsAnswer() bool {
	if f.Form != nil {
		return f.Brief.IsAnswer()
	}
	return wire.IsAnswer(f.Data())
}

// Trimmed returns the length of what is left of the frame of a RoCE data packet without its payload; ok is false of
// others, and of what has lost it before.
func (f *Frame) Trimmed() (length int32, ok bool) {
	n := 0
	if f.Form != nil {
		n, ok = wire.V4.TrimmedLen(f.Brief.Opcode()), !f.Brief.IsAnswer() && !f.Brief.Trimmed()
	} else {
		n, ok = wire.Trimmable(f.Data())
	}
	if !ok {
		return 0, false
	}
	return int32(n), true
}

// Trim cuts the frame of a RoCE data packet to what is left without its payload, in a priority.
func (f *Frame) Trim(priority uint8) {
	n, _ := f.Trimmed()
	if f.Form != nil {
		f.Brief = f.Brief.Trim(priority)
	} else {
		wire.Trim(f.Data(), priority, f.flags&whole != 0)
	}
	f.Length = n
}

// ECN returns the codepoint of a frame of IP.
func (f *Frame) ECN() wire.ECN {
	if f.Form != nil {
		return f.Brief.ECN()
	}
	return wire.ECNOf(f.Data())
}

// Pool hands out frames and takes them back. The zero Pool is not ready: use NewPool. One goroutine at a time uses a
// pool. Frames of one may be put back into another, of the same size.
type Pool struct {
	size  int
	place uint8   // of the frames' bytes
	notes uint8   // noted, if they have notes
	out   int     // frames
	lists [2]list // of free frames: those with bytes, and brief ones
}

// list is free frames of one kind.
type list struct {
	free    *Frame
	count   int // of free
	chunk   int
	batches []*Frame // lists of frames, so many each
}

// batch is how many frames go from one pool to another at a time.
const batch = 256

// firstChunk is the number of frames a pool makes first.
const firstChunk = 64

// NewPool returns a pool of frames of up to size bytes.
func NewPool(size int) *Pool {
	return &Pool{size: size, place: whole, lists: [2]list{{chunk: firstChunk}, {chunk: firstChunk}}}
}

// HeadersOnly makes the pool keep only the first wire.HeaderBytes of each frame, or wire.LongHeaderBytes, which
// telemetry and IPv6 need. With its metadata a frame then occupies two cache lines, which processors load as a pair,
// or three. Call it before the first Get.
func (p *Pool) HeadersOnly(longer bool) {
	if p.lists[0].chunk != firstChunk {
		panic("frame: the pool has been used")
	}
	p.place = 0
	if longer {
		p.place = long
	}
}

// Notes makes the pool's frames have notes. Call it before the first Get.
func (p *Pool) Notes() { p.notes = noted }

// Get hands out a frame of n bytes; their content is what an earlier user left.
func (p *Pool) Get(n int) *Frame {
	if n > p.size {
		panic("frame: longer than the pool's frames")
	}
	return p.get(&p.lists[0], n)
}

// GetBrief hands out a frame of n bytes that is no more than a Form and a Brief.
func (p *Pool) GetBrief(n int, form *wire.Form, b wire.Brief) *Frame {
	f := p.get(&p.lists[1], n)
	f.Form, f.Brief = form, b
	return f
}

func (p *Pool) get(l *list, n int) *Frame {
	if l.free == nil {
		p.grow(l)
	}
	f := l.free
	l.free = f.next
	l.count--
	f.next = nil
	f.flags &= fixed
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
	l := &p.lists[0]
	if f.flags&brief != 0 {
		l = &p.lists[1]
		f.Form = nil
	}
	f.flags = f.flags&fixed | pooled
	f.next = l.free
	l.free = f
	p.out--
	if l.count++; l.count == batch {
		l.batches, l.free, l.count = append(l.batches, f), nil, 0
	}
}

// Out returns the number of frames handed out, minus frames of other pools put back here.
func (p *Pool) Out() int { return p.out }

// Trim lets go of the frames that are not handed out.
func (p *Pool) Trim() {
	for i := range p.lists {
		p.lists[i] = list{chunk: p.lists[i].chunk}
	}
}

// Level gives each of some pools about as many frames to hand out as another, so that where frames go from one to
// another all the time none grows for want of what another has. The first counts what the others have handed out, too,
// from then on.
func Level(pools []*Pool) {
	for _, p := range pools[1:] {
		pools[0].out += p.out
		p.out = 0
	}
	for kind := range pools[0].lists {
		level(pools, kind)
	}
}

func level(pools []*Pool, kind int) {
	sum := 0
	for _, p := range pools {
		sum += len(p.lists[kind].batches)
	}
	fair, next := sum/len(pools), 0
	for _, p := range pools {
		l := &p.lists[kind]
		for len(l.batches) > fair+1 {
			for next < len(pools) && len(pools[next].lists[kind].batches) >= fair {
				next++
			}
			if next == len(pools) {
				return
			}
			to := &pools[next].lists[kind]
			to.batches = append(to.batches, l.takeBatch())
		}
	}
}

func (l *list) takeBatch() (head *Frame) {
	n := len(l.batches) - 1
	head, l.batches[n] = l.batches[n], nil
	l.batches = l.batches[:n]
	return head
}

// grow adds free frames: those of a list that was put aside, or new ones.
func (p *Pool) grow(l *list) {
	if len(l.batches) > 0 {
		l.free, l.count = l.takeBatch(), batch
		return
	}
	switch {
	case l == &p.lists[1] && p.notes != 0:
		frames := make([]notedBrief, l.chunk)
		for i := range frames {
			l.add(&frames[i].Frame, brief|noted)
		}
	case l == &p.lists[1]:
		frames := make([]Frame, l.chunk)
		for i := range frames {
			l.add(&frames[i], brief)
		}
	case p.place == whole:
		frames := make([]withMemory, l.chunk)
		memory := make([]byte, l.chunk*p.size)
		for i := range frames {
			frames[i].memory = memory[i*p.size : (i+1)*p.size : (i+1)*p.size]
			l.add(&frames[i].Frame, whole|p.notes)
		}
	case p.place == long && p.notes != 0:
		frames := make([]notedTelemetry, l.chunk)
		for i := range frames {
			l.add(&frames[i].Frame, long|noted)
		}
	case p.notes != 0:
		frames := make([]notedHeader, l.chunk)
		for i := range frames {
			l.add(&frames[i].Frame, noted)
		}
	case p.place == long:
		frames := make([]withTelemetry, l.chunk)
		for i := range frames {
			l.add(&frames[i].Frame, long)
		}
	default:
		frames := make([]withHeader, l.chunk)
		for i := range frames {
			l.add(&frames[i].Frame, 0)
		}
	}
	l.chunk = min(2*l.chunk, 8192)
}

func (l *list) add(f *Frame, place uint8) {
	f.flags = place | pooled
	f.next = l.free
	l.free = f
	l.count++
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

// Head returns the frame that Pop would take; nil if there is none.
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

// Newest returns the frame that Push added last; nil if there is none.
func (q *Queue) Newest() *Frame { return q.tail }

// PopNewest takes the frame that Push added last; nil if there is none. It walks the queue.
func (q *Queue) PopNewest() *Frame {
	f := q.tail
	if f == q.head {
		return q.Pop()
	}
	before := q.head
	for before.next != f {
		before = before.next
	}
	before.next, q.tail = nil, before
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
