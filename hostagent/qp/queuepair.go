package qp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// State holds the state of a queue pair, with the number of its ibv_qp_state.
type State uint8

// States (IBTA volume 1 section 10.3.1). SQD and SQE are not implemented.
const (
	StateReset State = 0
	StateInit  State = 1
	StateRTR   State = 2
	StateRTS   State = 3
	StateError State = 6
)

func (s State) String() string {
	switch s {
	case StateReset:
		return "RESET"
	case StateInit:
		return "INIT"
	case StateRTR:
		return "RTR"
	case StateRTS:
		return "RTS"
	case StateError:
		return "ERROR"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Config describes a new queue pair.
type Config struct {
	Number    uint32 // 24 bits; unique among the queue pairs and flows of the NIC
	Program   Program
	SendDepth int // work requests, 1..MaxDepth
	// Receives is a shared queue; nil: the queue pair has its own, of ReceiveDepth.
	Receives     *ReceiveQueue
	ReceiveDepth int
	SignalAll    bool // every work request has a completion
}

func (c *Config) checkDepths() error {
	if c.SendDepth < 1 || c.SendDepth > MaxDepth || c.ReceiveDepth < 0 || c.ReceiveDepth > MaxDepth {
		return fmt.Errorf("%d and %d work requests: expected 1 to %d to send and 0 to %d to receive", c.SendDepth,
			c.ReceiveDepth,
			MaxDepth, MaxDepth)
	}
	return nil
}

// Remote holds the attributes of the other end that a queue pair needs to receive.
type Remote struct {
	QP       uint32
	PSN      uint32 // PSN of the first request to arrive
	MTU      int    // payload bytes of a full packet, at both ends: 256..4096, a multiple of 4
	Reads    int    // maximum number of READs and atomic operations to arrive at once
	RNRTimer uint8  // 0..31: the other end's wait after an RNR NAK (IBTA volume 1 table 45)
	IP       wire.Version
}

// Requester holds the attributes that a queue pair needs to send requests.
type Requester struct {
	PSN   uint32 // PSN of the first request
	Reads int    // maximum number of READs and atomic operations in progress at once
	// 0..31: requests without an answer for 4.096 us * 2^Timeout are retransmitted; 0: no timeout
	Timeout         uint8
	Retry, RNRRetry uint8 // 0..7: maximum number of retries; RNRRetry 7: no limit
}

// MaxReads limits the READs and atomic operations in progress at once.
const MaxReads = 128

// Device opens the queue pairs of one NIC.
type Device struct {
	nic     *hostagent.NIC
	payload []byte // payload of the packet under construction
}

// NewDevice returns the device of a NIC.
func NewDevice(nic *hostagent.NIC) *Device { return &Device{nic: nic} }

// scratch returns memory for a packet's payload, until the next call.
func (d *Device) scratch(size int) []byte {
	if d.payload == nil {
		d.payload = make([]byte, wire.MaxPathMTU)
	}
	return d.payload[:size]
}

// word returns a number in this machine's byte order, which is that of the programs' memory.
func (d *Device) word(v uint64) []byte {
	b := d.scratch(8)
	binary.NativeEndian.PutUint64(b, v)
	return b
}

// QueuePair represents a queue pair of the reliable connection service with the messages of a program. Requests and
// READ responses leave by a hostagent.Connection, which has the congestion control.
type QueuePair struct {
	device *Device
	Config
	state      State
	own        bool                  // Receives is not shared
	connection *hostagent.Connection // nil: not connected
	remote     wire.Addr
	source     wire.Addr
	port       uint16 // UDP source port of answers
	Remote     Remote

	requester
	responder

	Counts
}

// Counts holds the counts of a queue pair since it was last connected.
type Counts struct {
	BytesSent     int64 // payload of requests, without retransmissions
	BytesAcked    int64 // part of BytesSent: of work requests completed without error
	BytesReceived int64 // payload of requests, accepted
	BytesRead     int64 // payload of READ responses, accepted
	BytesServed   int64 // payload of READ responses, sent, with retransmissions
	Messages      int64 // work requests completed without error
	Duplicates    int64 // packets that had arrived before
	OutOfOrder    int64
	RNRs          int64 // RNR NAKs sent
	Retries       int64 // retransmissions after timeouts, sequence NAKs and gaps in READ responses; not RNR NAKs
}

// NewPair returns a queue pair in StateReset.
func (d *Device) NewPair(c Config) (*QueuePair, error) {
	if d.nic.HeadersOnly {
		return nil, errors.New("queue pairs of programs need a plane that carries payload")
	}
	if err := c.checkDepths(); err != nil {
		return nil, err
	}
	switch {
	case c.Number > wire.PSNMask:
		return nil, fmt.Errorf("queue pair %#x does not fit in 24 bits", c.Number)
	case d.nic.InUse(c.Number):
		return nil, fmt.Errorf("queue pair %#x is in use", c.Number)
	}
	q := &QueuePair{device: d, Config: c}
	if q.Receives == nil {
		q.Receives, q.own = NewReceiveQueue(c.ReceiveDepth), true
	}
	return q, nil
}

// State returns the state of the queue pair.
func (q *QueuePair) State() State { return q.state }

// Sender returns the sender of requests and responses; nil while the queue pair is not connected.
func (q *QueuePair) Sender() *hostagent.Sender {
	if q.connection == nil {
		return nil
	}
	return q.connection.Sender()
}

// Receiver returns the notification point; nil while the queue pair is not connected.
func (q *QueuePair) Receiver() *hostagent.Receiver {
	if q.connection == nil {
		return nil
	}
	return q.connection.Receiver()
}

// Init allows receive requests to be posted: StateReset becomes StateInit.
func (q *QueuePair) Init() error {
	if q.state != StateReset {
		return ErrState
	}
	q.state = StateInit
	return nil
}

// Connect starts to receive requests: StateInit becomes StateRTR. c.Size and c.Traits are not used. c.Wire describes
// the packets to the other end, with the other queue pair's number, and back describes the answers.
func (q *QueuePair) Connect(now vtime.Time, r Remote, c hostagent.SenderConfig, back wire.FlowParams) error {
	switch {
	case q.state != StateInit:
		return ErrState
	case r.Reads < 0 || r.Reads > MaxReads || r.RNRTimer > 31:
		return fmt.Errorf("%d READs at once and RNR timer %d: expected 0 to %d and 0 to 31", r.Reads, r.RNRTimer, MaxReads)
	}
	k, err := q.device.nic.Connect(now, &hostagent.ConnectionConfig{
		SenderConfig: c, Number: q.Number, MTU: r.MTU,
		Back: back, Messages: q,
	})
	if err != nil {
		return err
	}
	r.PSN &= wire.PSNMask
	q.connection, q.Remote = k, r
	q.source, q.remote, q.port = c.Wire.Src, c.Wire.Dst, back.SrcPort
	q.responder = responder{expected: int64(r.PSN), nakFor: -1, jobs: q.jobs[:0], results: q.results[:0]}
	q.Counts = Counts{}
	q.state = StateRTR
	return nil
}

// Start allows requests to be sent: StateRTR becomes StateRTS.
func (q *QueuePair) Start(r Requester) error {
	switch {
	case q.state != StateRTR:
		return ErrState
	case r.Reads < 0 || r.Reads > MaxReads || r.Timeout > 31 || r.Retry > 7 || r.RNRRetry > 7:
		return fmt.Errorf("%d READs at once, timeout %d, %d and %d retries: expected 0 to %d, 0 to 31, 0 to 7, and 0 to 7",
			r.Reads, r.Timeout,
			r.Retry, r.RNRRetry, MaxReads)
	}
	q.Requester = r
	if q.works == nil {
		q.works = make([]work, min(q.SendDepth, 16)) // push grows it
	}
	q.nextPSN = int64(r.PSN & wire.PSNMask)
	q.sentPSN = q.nextPSN
	q.ownTimeout = ackTimeout(r.Timeout)
	q.state = StateRTS
	return nil
}

// PostReceive appends a receive request to the queue pair's own queue.
func (q *QueuePair) PostReceive(w *ReceiveRequest) error {
	switch {
	case q.state == StateReset || !q.own:
		return ErrState
	case q.state == StateError:
		q.Program.Complete(Completion{
			ID: w.ID, QP: q.Number, Remote: q.Remote.QP, Status: StatusFlushed,
			Op: CompletionReceive, Receive: true,
		})
		return nil
	}
	return q.Receives.Post(w)
}

// Fail puts the queue pair into StateError, and flushes all requests that are not completed.
func (q *QueuePair) Fail(now vtime.Time) {
	if q.state == StateError || q.state == StateReset {
		return
	}
	q.toError()
}

// toError flushes the send queue and the own receive queue, in the order of posting. A shared receive queue keeps its
// requests.
func (q *QueuePair) toError() {
	q.state = StateError
	q.halt()
	for q.count > 0 {
		q.finishWork(StatusFlushed)
	}
	if q.receiving {
		q.receiving = false
		q.completeReceive(StatusFlushed, CompletionReceive, 0, nil)
	}
	if !q.own {
		q.Program.Event(q.Number, EventLastReceive)
		return
	}
	for q.Receives.take(&q.current) {
		q.completeReceive(StatusFlushed, CompletionReceive, 0, nil)
	}
}

// halt stops all sending.
func (q *QueuePair) halt() {
	q.dropJobs()
	q.ending = 0
	if q.connection != nil {
		q.connection.Stop()
	}
}

// Reset returns the queue pair to StateReset. Nothing is completed.
func (q *QueuePair) Reset() {
	q.halt()
	if q.connection != nil {
		q.connection.Close()
		q.connection = nil
	}
	q.requester = requester{works: q.works}
	q.responder = responder{}
	if q.own {
		q.Receives.head, q.Receives.count = 0, 0
	}
	q.state = StateReset
}

// Accepts reports whether a packet with the queue pair's number belongs to its connection.
func (q *QueuePair) Accepts(p *wire.Packet) bool {
	return (q.state == StateRTR || q.state == StateRTS) && p.Src == q.remote && p.Dst == q.source &&
		p.Version() == q.connection.Header().Version()
}

// Receive handles a packet of the queue pair's connection.
func (q *QueuePair) Receive(now vtime.Time, p *wire.Packet) {
	switch p.Kind {
	case wire.KindData, wire.KindReadRequest, wire.KindAtomic:
		q.request(now, p)
	case wire.KindReadResponse, wire.KindAtomicAck:
		q.response(now, p)
	case wire.KindAck:
		q.ack(now, p)
	case wire.KindNak:
		q.nak(now, p)
	}
}

// answer sends an ACK or NAK about a packet.
func (q *QueuePair) answer(now vtime.Time, p *wire.Packet, syndrome uint8, psn int64) {
	q.connection.Answer(now, p, syndrome, uint32(psn)&wire.PSNMask, q.messages)
}

// Next reports whether the next packet may leave. With hostagent.LeaveAt, the time is its departure.
func (q *QueuePair) Next(now vtime.Time) (hostagent.Readiness, vtime.Time) {
	switch {
	case len(q.jobs) > 0:
		return hostagent.LeaveNow, 0
	case !q.sending():
		return hostagent.NothingToSend, 0
	case q.notBefore > now:
		return hostagent.LeaveAt, q.notBefore
	case q.gated():
		return hostagent.AwaitAnswer, 0
	}
	return hostagent.LeaveNow, 0
}

// sending reports whether there is a request to send.
func (q *QueuePair) sending() bool {
	return q.state == StateRTS && q.connection.Next() < q.connection.End()
}

// Responding reports whether there is a response to send.
func (q *QueuePair) Responding() bool { return len(q.jobs) > 0 }

// Pending reports whether there is anything to send.
func (q *QueuePair) Pending() bool { return len(q.jobs) > 0 || q.sending() }

// Send builds the next packet, of a response or a request in turn. It returns nil if there is no packet after all.
func (q *QueuePair) Send(now vtime.Time) (f *frame.Frame, payload int) {
	requests := q.sending() && q.notBefore <= now && !q.gated() && !q.connection.Blocked(now)
	if len(q.jobs) > 0 && (!requests || !q.responded) {
		q.responded = true
		return q.sendResponse(now)
	}
	q.responded = false
	if !requests {
		return nil, 0
	}
	return q.sendRequest(now)
}

// build returns the frame of a packet.
func (q *QueuePair) build(m *wire.Message, payload []byte) *frame.Frame {
	header := q.connection.Header()
	f := q.connection.Frame(header.Version().MessageLen(m.Op, m.Payload))
	copy(wire.BeginMessage(f.Data(), header, m), payload)
	wire.EndMessage(f.Data())
	return f
}

// Delivered returns the payload of requests that the other end has acknowledged, plus that of READ responses sent.
// Retransmitted responses count again.
func (q *QueuePair) Delivered() int64 {
	n := q.BytesAcked + q.BytesServed
	if q.count > 0 && !q.nth(0).Op.responds() {
		n += max(0, (q.connection.Acked()-q.nth(0).first)*int64(q.Remote.MTU))
	}
	return n
}

// Controller returns the congestion control; nil while the queue pair is not connected.
func (q *QueuePair) Controller() cc.Controller {
	if q.connection == nil {
		return nil
	}
	return q.connection.Sender().Controller()
}
