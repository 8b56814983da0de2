package hostagent

import (
	"errors"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// WorkOp is what a work request asks for.
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

// responds says whether the operation is answered by more than an ACK.
func (o WorkOp) responds() bool { return o >= WorkRead }

// SGE is a piece of a program's memory: an element of a scatter or gather list.
type SGE struct {
	Addr         uint64
	Length, LKey uint32
}

// WorkRequest is what a program posts to a send queue.
type WorkRequest struct {
	ID     uint64
	Op     WorkOp
	SGEs   []SGE  // the local memory
	Inline []byte // if not nil: the payload, in the place of what SGEs say
	Remote uint64 // address; of an atomic operation a multiple of 8
	RKey   uint32
	Imm    uint32 // of the operations with immediate data
	// Compare and Swap are of an atomic operation. A fetch-and-add adds Swap.
	Compare, Swap uint64
	Signaled      bool // has a completion even if all is well
	Solicited     bool // asks for an event at the receiver
	Fence         bool // waits for READs and atomic operations before it
}

// ReceiveRequest is what a program posts to a receive queue.
type ReceiveRequest struct {
	ID   uint64
	SGEs []SGE
}

// Status is what became of a work request: ibv_wc_status, by number.
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

// CompletionOp is what a completion is of: ibv_wc_opcode, by number.
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

// completion is what a completion of the operation says that it is of.
func (o WorkOp) completion() CompletionOp {
	return [workOps]CompletionOp{CompletionSend, CompletionSend, CompletionWrite, CompletionWrite, CompletionRead, CompletionCompareSwap, CompletionFetchAdd}[o]
}

// Completion is what a completion queue gets.
type Completion struct {
	ID          uint64
	QP          uint32 // the local queue pair's number
	Remote      uint32 // the remote one's
	Status      Status
	Op          CompletionOp
	Length, Imm uint32
	WithImm     bool
	Solicited   bool         // of a receive: an event was asked for
	IP          wire.Version // of a datagram that came: what it came over
	Receive     bool         // it is of a receive queue
}

// EventKind is an event of a queue pair that is no completion: ibv_event_type, by number.
type EventKind uint8

// Kinds (IBTA volume 1 section 11.6.3).
const (
	EventFatal       EventKind = 1 // a request or a response could not be carried out here
	EventRequest     EventKind = 2 // the remote side sent what it must not
	EventAccess      EventKind = 3 // it asked for memory that it may not have
	EventEstablished EventKind = 4 // a packet came in PairRTR
	EventLastReceive EventKind = 16
)

// Access is what is asked for of remote memory.
type Access uint8

// Kinds of access.
const (
	AccessRead Access = iota
	AccessWrite
	AccessAtomic
)

// Program is what a queue pair asks of whoever it belongs to. It is called by whoever drives the NIC, within calls of the NIC and of the queue pair's
// methods: it must not call those of any queue pair. What it is given is valid during the call alone.
//
// An error that is ErrAccess says that the program may not do this; ErrEnded, that its memory is gone, and so will be its queue pairs, of which the
// remote side then hears nothing; any other, that it could not be done.
type Program interface {
	// Gather reads what is offset bytes into a message that lies in pieces of memory, Scatter writes it.
	Gather(pieces []SGE, offset uint32, into []byte) error
	Scatter(pieces []SGE, offset uint32, from []byte) error
	// Allows says whether the remote side may have so many bytes of memory, more than 0. It is asked as the first packet of a message comes.
	Allows(qp, rkey uint32, addr, length uint64, a Access) error
	// RemoteRead and RemoteWrite are of one packet, of a range that was allowed.
	RemoteRead(qp, rkey uint32, addr uint64, into []byte) error
	RemoteWrite(qp, rkey uint32, addr uint64, from []byte) error
	// RemoteAtomic does an operation on 8 bytes in the machine's order, and returns what was there.
	RemoteAtomic(qp, rkey uint32, addr uint64, op WorkOp, compare, swap uint64) (before uint64, err error)
	Complete(c Completion)
	Event(qp uint32, kind EventKind)
}

// Errors of posting, and what a Program says of memory.
var (
	ErrAccess = errors.New("no right to this memory")
	ErrEnded  = errors.New("the program has ended")
	ErrFull   = errors.New("the queue is full")
	ErrState  = errors.New("the queue pair is in no state for this")
	ErrLength = errors.New("the message is too long")
	ErrWork   = errors.New("no such operation, or not in this form")
)

// MostMessage is the longest message, in bytes.
const MostMessage = 1 << 30

// MostDepth is the most work requests of a queue.
const MostDepth = 1 << 15

// ReceiveQueue is receive requests, of one queue pair or of several.
type ReceiveQueue struct {
	ring        []ReceiveRequest
	head, count int
}

// NewReceiveQueue is a queue for so many requests, MostDepth at most.
func NewReceiveQueue(depth int) *ReceiveQueue {
	return &ReceiveQueue{ring: make([]ReceiveRequest, min(depth, MostDepth))}
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

// Len is how many requests wait.
func (r *ReceiveQueue) Len() int { return r.count }

// room is how many bytes the oldest request has room for; ok is false if there is none.
func (r *ReceiveQueue) room() (n uint32, ok bool) {
	if r.count == 0 {
		return 0, false
	}
	n, _ = total(r.ring[r.head].SGEs)
	return n, true
}

// take gives the oldest request to a queue pair, which gives its last one's memory back.
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

// total is how many bytes pieces of memory have; ok is false if that is more than a message may.
func total(pieces []SGE) (n uint32, ok bool) {
	sum := uint64(0)
	for i := range pieces {
		sum += uint64(pieces[i].Length)
	}
	return uint32(min(sum, MostMessage+1)), sum <= MostMessage
}

// ackTimeout is the local ACK timeout of a queue pair attribute n, 0..31 (IBTA volume 1 section 9.9.2.1.2); 0: none.
func ackTimeout(n uint8) vtime.Time {
	if n == 0 {
		return 0
	}
	return 4096 * vtime.Nanosecond << (n & 31)
}

// rnrTimes are the times of RNR NAKs by their timers, in units of 10 us (IBTA volume 1 section 9.7.5.2.8, table 45).
var rnrTimes = [32]int64{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

func rnrTime(timer uint8) vtime.Time { return vtime.Time(rnrTimes[timer&31]) * 10 * vtime.Microsecond }
