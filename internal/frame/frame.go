// Package frame provides the frames of a running fabric: pooled, linked into queues, with metadata beside their bytes.
// Nothing here allocates once the pool has grown to the maximum number of frames in the fabric at once.
package frame

import (
	"unsafe"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Frame represents a frame on its way through the fabric. It occupies one cache line: in a large fabric most memory
// accesses are to frames, and their share of the cache decides the cost of a hop. Most frames have nothing else: their
// headers are those of a RoCE packet, in Form and Brief. The bytes of others start at the position of Brief; see Data.
type Frame struct {
	next *Frame
	Form *wire.Form // headers of a brief frame; nil otherwise

	// The departure record: the state of the port at the frame's departure.
	Departed     vtime.Time // start of serialisation
	OnSince      uint64
	QueueBytes   uint32
	QueuePackets uint32

	Length int32  // length of the whole frame, without FCS
	InPort int32  // switch port whose account holds it; -1: none
	Entry  uint32 // flow table entry + 1; 0: not counted

	Priority uint8
	Control  bool  // MAC control: overtakes data, no priority's pause holds it
	Burst    uint8 // part of the departure record
	flags    uint8

	Brief wire.Brief // last, because other frames' bytes start here
}

const (
	pooled    uint8 = 1 << iota
	hostStack       // a program in a host's namespace made it
	// Location of its bytes: without any of these flags, it is the first part of a withHeader.
	long  // part of a withTelemetry
	whole // part of a withMemory
	brief // it has no bytes
	noted // a note follows the bytes

	datagram // a hostStack frame that a NIC made, for a queue pair of datagrams

	location = long | whole | brief
	fixed    = location | noted // flags that stay when the frame is reused
)

// HostStack reports whether a program in a host's namespace made the frame: do not rely on its content.
func (f *Frame) HostStack() bool { return f.flags&hostStack != 0 }

// MakeHostStack marks it as such a frame, until Put.
func (f *Frame) MakeHostStack() { f.flags |= hostStack }

// Datagram reports whether a NIC made the frame for a queue pair of datagrams. It is HostStack too.
func (f *Frame) Datagram() bool { return f.flags&datagram != 0 }

// MakeDatagram marks it as such a frame, until Put.
func (f *Frame) MakeDatagram() { f.flags |= datagram | hostStack }

// Types of which a Frame is the first part: metadata and bytes in one piece of memory, if only headers are kept.
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

// Data returns the frame without FCS, or the bytes of it that its pool keeps. A brief frame has none.
func (f *Frame) Data() []byte {
	if f.flags&location != 0 {
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

// ParseHeaders calls wire.ParseHeaders for the frame.
func (f *Frame) ParseHeaders(p *wire.Packet) error {
	if f.Form != nil {
		f.Form.Parse(f.Brief, int(f.Length), p)
		return nil
	}
	return wire.ParseHeaders(f.Data(), int(f.Length), p)
}

// IsAnswer reports whether a RoCE frame is an ACK, NAK or CNP.
func (f *Frame) IsAnswer() bool {
	if f.Form != nil {
		return f.Brief.IsAnswer()
	}
	return wire.IsAnswer(f.Data())
}

// Trimmed returns the length of the frame of a RoCE data packet without its payload. ok is false for other frames, and
// for a frame that has already been trimmed.
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

// Trim removes the payload from the frame of a RoCE data packet, and sets its priority.
func (f *Frame) Trim(priority uint8) {
	n, _ := f.Trimmed()
	if f.Form != nil {
		f.Brief = f.Brief.Trim(priority)
	} else {
		wire.Trim(f.Data(), priority, f.flags&whole != 0)
	}
	f.Length = n
}

// ECN returns the codepoint of an IP frame.
func (f *Frame) ECN() wire.ECN {
	if f.Form != nil {
		return f.Brief.ECN()
	}
	return wire.ECNOf(f.Data())
}

// Pool allocates and recycles frames. The zero Pool is not ready: use NewPool. Only one goroutine at a time may use a
// pool. A frame of one pool may be put into another with the same size.
type Pool struct {
	size     int
	location uint8   // location of the frames' bytes
	notes    uint8   // noted, if the frames have notes
	out      int     // number of frames in use
	lists    [2]list // free frames: with bytes, and brief ones
}

// list holds the free frames of one kind.
type list struct {
	free    *Frame
	count   int // length of free
	chunk   int
	batches []*Frame // lists of batch frames each
}

// batch sets how many frames move from one pool to another at a time.
const batch = 256

// firstChunk sets the number of frames that a pool makes first.
const firstChunk = 64

// NewPool returns a pool of frames of up to size bytes.
func NewPool(size int) *Pool {
	return &Pool{size: size, location: whole, lists: [2]list{{chunk: firstChunk}, {chunk: firstChunk}}}
}

// HeadersOnly makes the pool keep only the first wire.HeaderBytes of each frame, or wire.LongHeaderBytes, which
// telemetry and IPv6 need. With its metadata a frame then occupies two cache lines, which processors load as a pair,
// or three. Call it before the first Get.
func (p *Pool) HeadersOnly(longer bool) {
	if p.lists[0].chunk != firstChunk {
		panic("frame: the pool has been used")
	}
	p.location = 0
	if longer {
		p.location = long
	}
}

// Notes makes the pool's frames keep notes. Call it before the first Get.
func (p *Pool) Notes() { p.notes = noted }

// Get returns a frame of n bytes with undefined content.
func (p *Pool) Get(n int) *Frame {
	if n > p.size {
		panic("frame: longer than the pool's frames")
	}
	return p.get(&p.lists[0], n)
}

// GetBrief returns a frame of n bytes that consists of only a Form and a Brief.
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

// Put returns f to the pool. Putting a frame twice panics: it would be in two queues.
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

// Out returns the number of frames in use, minus frames of other pools put here.
func (p *Pool) Out() int { return p.out }

// Trim releases the memory of the free frames.
func (p *Pool) Trim() {
	for i := range p.lists {
		p.lists[i] = list{chunk: p.lists[i].chunk}
	}
}

// Level spreads free frames evenly over some pools. If frames move from one pool to another all the time, no pool grows
// while another has free frames. From then on the first pool counts the frames in use of all of them.
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

// grow adds free frames: those of a batch, or new ones.
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
	case p.location == whole:
		frames := make([]withMemory, l.chunk)
		memory := make([]byte, l.chunk*p.size)
		for i := range frames {
			frames[i].memory = memory[i*p.size : (i+1)*p.size : (i+1)*p.size]
			l.add(&frames[i].Frame, whole|p.notes)
		}
	case p.location == long && p.notes != 0:
		frames := make([]notedTelemetry, l.chunk)
		for i := range frames {
			l.add(&frames[i].Frame, long|noted)
		}
	case p.notes != 0:
		frames := make([]notedHeader, l.chunk)
		for i := range frames {
			l.add(&frames[i].Frame, noted)
		}
	case p.location == long:
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

func (l *list) add(f *Frame, location uint8) {
	f.flags = location | pooled
	f.next = l.free
	l.free = f
	l.count++
}

// Queue implements a first-in, first-out queue of frames. The zero Queue is empty.
type Queue struct {
	head, tail *Frame
	Bytes      int64
	Packets    int32
	Uncounted  int32 // bytes of the frames that the owner does not count; the owner updates it
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

// Head returns the first frame without removing it; nil if there is none.
func (q *Queue) Head() *Frame { return q.head }

// Pop removes and returns the first frame; nil if there is none.
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

// Newest returns the last frame; nil if there is none.
func (q *Queue) Newest() *Frame { return q.tail }

// PopNewest removes and returns the last frame; nil if there is none. It walks the queue.
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
