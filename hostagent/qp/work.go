package qp

import (
	"errors"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// WorkOp selects the operation of a work request.
type WorkOp uint8

// Operations.
const (
	WorkSend WorkOp = iota
	WorkSendImm
	WorkWrite
	WorkWriteImm
	WorkRead
	WorkCompareSwap
	WorkFetchAdd
	workOps
)

// responds reports whether the operation is answered by more than an ACK.
func (o WorkOp) responds() bool { return o >= WorkRead }

// SGE describes an element of a scatter or gather list: a piece of a program's memory.
type SGE struct {
	Addr         uint64
	Length, LKey uint32
}

// WorkRequest describes an operation that a program posts to a send queue.
type WorkRequest struct {
	ID     uint64
	Op     WorkOp
	SGEs   []SGE  // the local memory
	Inline []byte // the payload, instead of SGEs; nil: use SGEs
	Remote uint64 // address; of an atomic operation a multiple of 8
	RKey   uint32
	Imm    uint32 // immediate data of the operations that have some
	// Compare and Swap hold the operands of an atomic operation. A fetch-and-add adds Swap.
	Compare, Swap uint64
	Signaled      bool // has a completion even without an error
	Solicited     bool // requests an event at the receiver
	Fence         bool // waits for READs and atomic operations before it
}

// ReceiveRequest describes memory for a message. A program posts it to a receive queue.
type ReceiveRequest struct {
	ID   uint64
	SGEs []SGE
}

// Status holds the result of a work request, with the number of its ibv_wc_status.
type Status uint8

// Statuses (IBTA volume 1 section 11.6.2).
const (
	StatusOK               Status = 0
	StatusLocalLength      Status = 1
	StatusLocalOperation   Status = 2
	StatusLocalProtection  Status = 4
	StatusFlushed          Status = 5
	StatusBadResponse      Status = 7
	StatusRemoteInvalid    Status = 9
	StatusRemoteAccess     Status = 10
	StatusRemoteOperation  Status = 11
	StatusRetriesExceeded  Status = 12
	StatusRNRRetryExceeded Status = 13
)

// CompletionOp names a completed operation, with the number of its ibv_wc_opcode.
type CompletionOp uint8

// Operations of completions.
const (
	CompletionSend         CompletionOp = 0
	CompletionWrite        CompletionOp = 1
	CompletionRead         CompletionOp = 2
	CompletionCompareSwap  CompletionOp = 3
	CompletionFetchAdd     CompletionOp = 4
	CompletionReceive      CompletionOp = 128
	CompletionReceiveWrite CompletionOp = 129
)

// completion returns the operation's CompletionOp.
func (o WorkOp) completion() CompletionOp {
	return [workOps]CompletionOp{
		CompletionSend, CompletionSend, CompletionWrite, CompletionWrite, CompletionRead, CompletionCompareSwap,
		CompletionFetchAdd,
	}[o]
}

// Completion describes an entry of a completion queue.
type Completion struct {
	ID          uint64
	QP          uint32 // the local queue pair's number
	Remote      uint32 // the remote queue pair's number
	Status      Status
	Op          CompletionOp
	Length, Imm uint32
	WithImm     bool
	Solicited   bool         // for a receive: an event was requested, or it has failed without being flushed
	IP          wire.Version // IP version of a received datagram
	Receive     bool         // it belongs to a receive queue
}

// EventKind selects a kind of event of a queue pair other than a completion, with the number of its ibv_event_type.
type EventKind uint8

// Kinds (IBTA volume 1 section 11.6.3).
const (
	EventFatal       EventKind = 1  // a request or a response could not be executed here
	EventRequest     EventKind = 2  // the remote side sent an invalid request
	EventAccess      EventKind = 3  // the remote side requested memory that it may not access
	EventEstablished EventKind = 4  // a packet arrived in StateRTR
	EventLastReceive EventKind = 16 // the queue pair takes no more requests from its shared receive queue
)

// Access selects a kind of access to remote memory.
type Access uint8

// Kinds of access.
const (
	AccessRead Access = iota
	AccessWrite
	AccessAtomic
)

// Program represents the owner of a queue pair: its memory, completions and events. The NIC and the queue pair's
// methods call it; it must not call methods of any queue pair. Its arguments are valid during the call only.
//
// The error ErrAccess means that the program does not permit the access. ErrEnded means that its memory no longer
// exists, and that its queue pairs are about to end; then the remote side is not notified. Any other error means that
// the operation failed.
type Program interface {
	// Gather reads a message, which is in pieces of memory, from offset on.
	Gather(pieces []SGE, offset uint32, into []byte) error
	// Scatter writes such a message from offset on.
	Scatter(pieces []SGE, offset uint32, from []byte) error
	// Allows returns nil if the remote side may access length bytes of memory, more than 0. It is called for the first
	// packet of a message.
	Allows(qp, rkey uint32, addr, length uint64, a Access) error
	// RemoteRead reads the payload of one packet, in a range that Allows has permitted.
	RemoteRead(qp, rkey uint32, addr uint64, into []byte) error
	// RemoteWrite writes the payload of one packet, in a range that Allows has permitted.
	RemoteWrite(qp, rkey uint32, addr uint64, from []byte) error
	// RemoteAtomic executes an operation on 8 bytes in the machine's byte order, and returns the value before it.
	RemoteAtomic(qp, rkey uint32, addr uint64, op WorkOp, compare, swap uint64) (before uint64, err error)
	// Complete delivers a completion.
	Complete(c Completion)
	// Event delivers an event.
	Event(qp uint32, kind EventKind)
}

// Errors of posting, and of a Program's memory.
var (
	ErrAccess = errors.New("no permission for this memory")
	ErrEnded  = errors.New("the program has ended")
	ErrFull   = errors.New("the queue is full")
	ErrState  = errors.New("the queue pair's state does not allow this")
	ErrLength = errors.New("the message is too long")
	ErrWork   = errors.New("unknown operation, or invalid operands for it")
)

// MaxMessage limits the length of a message, in bytes.
const MaxMessage = 1 << 30

// MaxDepth limits the work requests in a queue.
const MaxDepth = 1 << 15

// ReceiveQueue holds the receive requests of one queue pair or of several.
type ReceiveQueue struct {
	ring        []ReceiveRequest
	head, count int
}

// NewReceiveQueue returns a queue for depth requests, MaxDepth at most.
func NewReceiveQueue(depth int) *ReceiveQueue {
	return &ReceiveQueue{ring: make([]ReceiveRequest, min(depth, MaxDepth))}
}

// Post appends a copy of a request.
func (r *ReceiveQueue) Post(w *ReceiveRequest) error {
	if r.count == len(r.ring) {
		return ErrFull
	}
	if _, ok := total(w.SGEs); !ok {
		return ErrLength
	}
	to := &r.ring[(r.head+r.count)%len(r.ring)]
	to.ID, to.SGEs = w.ID, append(to.SGEs[:0], w.SGEs...)
	r.count++
	return nil
}

// Len returns the number of requests in the queue.
func (r *ReceiveQueue) Len() int { return r.count }

// room returns how many bytes fit into the oldest request; ok is false if there is none.
func (r *ReceiveQueue) room() (n uint32, ok bool) {
	if r.count == 0 {
		return 0, false
	}
	n, _ = total(r.ring[r.head].SGEs)
	return n, true
}

// take moves the oldest request to *to, and reuses the list of pieces that was there.
func (r *ReceiveQueue) take(to *ReceiveRequest) bool {
	if r.count == 0 {
		return false
	}
	from := &r.ring[r.head]
	*to, *from = *from, *to
	r.head = (r.head + 1) % len(r.ring)
	r.count--
	return true
}

// total returns the length of pieces of memory; ok is false if it exceeds MaxMessage.
func total(pieces []SGE) (n uint32, ok bool) {
	sum := uint64(0)
	for i := range pieces {
		sum += uint64(pieces[i].Length)
	}
	return uint32(min(sum, MaxMessage+1)), sum <= MaxMessage
}

// ackTimeout returns the local ACK timeout of a queue pair attribute n, 0..31 (IBTA volume 1 section 9.9.2.1.2); 0:
// none.
func ackTimeout(n uint8) vtime.Time {
	if n == 0 {
		return 0
	}
	return 4096 * vtime.Nanosecond << (n & 31)
}

// rnrTimes lists the delays of RNR NAKs by their timers, in units of 10 us (IBTA volume 1 section 9.7.5.2.8, table 45).
var rnrTimes = [32]int64{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144,
	8192, 12288, 16384,
	24576, 32768, 49152,
}

// rnrTime returns the delay of an RNR NAK's timer.
func rnrTime(timer uint8) vtime.Time { return vtime.Time(rnrTimes[timer&31]) * 10 * vtime.Microsecond }
