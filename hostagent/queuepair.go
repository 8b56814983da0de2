package hostagent

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// PairState is the state of a queue pair: ibv_qp_state, by number.
type PairState uint8

// States (IBTA volume 1 section 10.3.1). SQD and SQE there are none of.
const (
	PairReset PairState = 0
	PairInit  PairState = 1
	PairRTR   PairState = 2
	PairRTS   PairState = 3
	PairError PairState = 6
)

func (s PairState) String() string {
	switch s {
	case PairReset:
		return "RESET"
	case PairInit:
		return "INIT"
	case PairRTR:
		return "RTR"
	case PairRTS:
		return "RTS"
	case PairError:
		return "ERROR"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// PairConfig is a queue pair to be made.
type PairConfig struct {
	Number    uint32 // of 24 bits; no other queue pair or flow that ends or begins at this NIC has it
	Program   Program
	SendDepth int // work requests, 1..MostDepth
	// Receives is a queue that several queue pairs share; nil: it has one of its own, of ReceiveDepth.
	Receives     *ReceiveQueue
	ReceiveDepth int
	SignalAll    bool // every work request has a completion
}

// Remote is what a queue pair must know of the other end to receive.
type Remote struct {
	QP       uint32
	PSN      uint32 // of the first request that comes
	MTU      int    // payload bytes of a full packet, at both ends: 256..4096, a multiple of 4
	Reads    int    // READs and atomic operations that may come at once
	RNRTimer uint8  // 0..31: how long the other end is to wait for a receive request (IBTA volume 1 table 45)
	IP       wire.Version
}

// Requester is what a queue pair must know to send requests.
type Requester struct {
	PSN             uint32 // of the first
	Reads           int    // READs and atomic operations that may be under way at once
	Timeout         uint8  // 0..31: without an answer for 4.096 us * 2^Timeout requests go again; 0: never for that
	Retry, RNRRetry uint8  // 0..7: how often; RNRRetry 7: without end
}

// MostReads is the most READs and atomic operations under way at once.
const MostReads = 128

// QueuePair is a queue pair of the reliable connection service whose messages are a program's. Its requests and its READ responses leave by one
// Sender, which has the congestion control; each request packet takes a full packet's place in that Sender's sequence of bytes, whatever its
// payload is. What answers at once, ACK and NAK, is its Receiver's.
type QueuePair struct {
	nic *NIC
	PairConfig
	state    PairState
	own      bool      // Receives is
	sender   *Sender   // of PairRTR and later
	receiver *Receiver // likewise: its notification point, and where it answers
	header   *wire.FlowHeader
	remote   wire.Addr
	source   wire.Addr
	port     uint16 // UDP source port of answers
	Remote   Remote
	payload  int // of the packet that is being sent

	requester
	responder

	PairCounts
}

// PairCounts are what a queue pair has done since it was last connected.
type PairCounts struct {
	BytesSent     int64 // payload of requests, as they left first
	BytesAcked    int64 // of BytesSent: of work requests that were completed without error
	BytesReceived int64 // payload of requests, accepted
	BytesRead     int64 // payload of READ responses, accepted
	BytesServed   int64 // and sent, those sent again included
	Messages      int64 // work requests completed without error
	Duplicates    int64 // packets that came again
	OutOfOrder    int64
	RNRs          int64 // RNR NAKs sent
	Retries       int64 // timeouts and NAKs after which requests were sent again
}

// NewPair makes a queue pair, in PairReset. It is an error where it cannot work.
func (n *NIC) NewPair(c PairConfig) (*QueuePair, error) {
	switch {
	case n.HeadersOnly:
		return nil, errors.New("queue pairs of programs need a plane that carries payload")
	case c.SendDepth < 1 || c.SendDepth > MostDepth || c.ReceiveDepth < 0 || c.ReceiveDepth > MostDepth:
		return nil, fmt.Errorf("queues of %d and %d work requests: 1..%d to send, 0..%d to receive", c.SendDepth, c.ReceiveDepth, MostDepth, MostDepth)
	case c.Number > wire.PSNMask:
		return nil, fmt.Errorf("queue pair %#x does not fit in 24 bits", c.Number)
	case n.senders.get(c.Number) != nil || n.receivers.get(c.Number) != nil:
		return nil, fmt.Errorf("queue pair %#x is in use", c.Number)
	}
	q := &QueuePair{nic: n, PairConfig: c}
	if q.Receives == nil {
		q.Receives, q.own = NewReceiveQueue(c.ReceiveDepth), true
	}
	return q, nil
}

// State is the queue pair's.
func (q *QueuePair) State() PairState { return q.state }

// Sender is what its requests and responses leave by; nil while it is not connected.
func (q *QueuePair) Sender() *Sender { return q.sender }

// Receiver is its notification point; nil while it is not connected.
func (q *QueuePair) Receiver() *Receiver { return q.receiver }

// Init lets receive requests be posted.
func (q *QueuePair) Init() error {
	if q.state != PairReset {
		return ErrState
	}
	q.state = PairInit
	return nil
}

// Connect has the queue pair receive requests: PairInit becomes PairRTR. c's Size and Traits are not looked at; its Wire leads to the other end,
// whose number it has, and back leads there with answers.
func (q *QueuePair) Connect(now vtime.Time, r Remote, c SenderConfig, back wire.FlowParams) error {
	n := q.nic
	settings := cmp.Or(c.Settings, n.settings)
	switch {
	case q.state != PairInit:
		return ErrState
	case r.MTU < 256 || r.MTU > min(n.mtu, wire.MaxPathMTU) || r.MTU&3 != 0:
		return fmt.Errorf("an MTU of %d bytes: a multiple of 4 in 256..%d, the fabric's", r.MTU, min(n.mtu, wire.MaxPathMTU))
	case r.Reads < 0 || r.Reads > MostReads || r.RNRTimer > 31:
		return fmt.Errorf("%d READs at once and RNR timer %d: 0..%d and 0..31", r.Reads, r.RNRTimer, MostReads)
	case settings.Recovery == SelectiveRepeat:
		return errors.New("queue pairs of programs repair losses by go-back-N alone: selective repeat places packets that are WRITEs of their own. Leave out recovery: selective")
	}
	if _, granted := c.Controller.(cc.ByGrants); granted && settings.Grants { // of others hosts may grant, and nobody asks
		return errors.New("queue pairs of programs send without grants: choose another congestion control than one by which receivers grant")
	}
	header, err := wire.NewFlowHeader(c.Wire)
	if err != nil {
		return err
	}
	answers, err := wire.NewFlowHeader(back)
	if err != nil {
		return err
	}
	s := n.newSender(now, &c, header)
	s.size, s.mtu, s.qp, s.pair, s.state = 0, int64(r.MTU), q.Number, q, senderDrained
	s.sent = make([]vtime.Time, 64)
	s.special = true
	r.PSN &= wire.PSNMask
	q.Remote, q.header, q.source, q.remote, q.port = r, header, c.Wire.Src, c.Wire.Dst, back.SrcPort
	q.sender = s
	q.receiver = &Receiver{
		nic: n, settings: settings, acks: &n.classOf(settings.DataPriority).acks, Flow: c.Flow, qp: q.Number, back: answers, lastCNP: longAgo,
		lastNak: longAgo, nakFor: -1, origin: vtime.Never, armed: vtime.Never, expected: int64(r.PSN),
	}
	q.responder = responder{jobs: q.jobs[:0], results: q.results[:0]}
	q.PairCounts = PairCounts{}
	n.add(s)
	n.calling = s.caller()
	s.window = s.controller.Window()
	if s.rate = s.sendable(now); s.rate <= 0 {
		s.eligible, s.stoppedAt = vtime.Never, now
	}
	s.rearm()
	n.calling = 0
	q.state = PairRTR
	return nil
}

// Start has it send requests: PairRTR becomes PairRTS.
func (q *QueuePair) Start(r Requester) error {
	switch {
	case q.state != PairRTR:
		return ErrState
	case r.Reads < 0 || r.Reads > MostReads || r.Timeout > 31 || r.Retry > 7 || r.RNRRetry > 7:
		return fmt.Errorf("%d READs at once, timeout %d, %d and %d retries: 0..%d, 0..31, 0..7, 0..7", r.Reads, r.Timeout, r.Retry, r.RNRRetry, MostReads)
	}
	q.Requester = r
	if q.works == nil {
		q.works = make([]work, min(q.SendDepth, 16)) // push has it grow
	}
	q.nextPSN = int64(r.PSN & wire.PSNMask)
	q.sentPSN = q.nextPSN
	q.ownTimeout = ackTimeout(r.Timeout)
	q.state = PairRTS
	return nil
}

// PostReceive appends a receive request to its own queue.
func (q *QueuePair) PostReceive(w *ReceiveRequest) error {
	switch {
	case q.state == PairReset || !q.own:
		return ErrState
	case q.state == PairError:
		q.Program.Complete(Completion{ID: w.ID, QP: q.Number, Remote: q.Remote.QP, Status: StatusFlushed, Op: CompletionReceive, Receive: true})
		return nil
	}
	return q.Receives.Post(w)
}

// Fail puts the queue pair into PairError: what has not been completed is flushed.
func (q *QueuePair) Fail(now vtime.Time) {
	if q.state == PairError || q.state == PairReset {
		return
	}
	q.toError()
}

// toError flushes both queues, in the order of posting.
func (q *QueuePair) toError() {
	q.state = PairError
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
	if s := q.sender; s != nil {
		if s.state == senderWaiting {
			s.class.waiting.remove(s)
		}
		if s.state != senderReady { // one that is ready is found out in its turn
			s.state = senderDrained
		}
		s.asked = s.acked
	}
}

// Reset takes it back to PairReset. Nothing is completed.
func (q *QueuePair) Reset() {
	q.halt()
	if s := q.sender; s != nil {
		s.state, s.armed = senderDone, vtime.Never
		q.nic.remove(s)
		q.receiver.armed = vtime.Never
	}
	q.sender, q.receiver, q.header = nil, nil, nil
	q.requester = requester{works: q.works}
	q.responder = responder{}
	if q.own {
		q.Receives.head, q.Receives.count = 0, 0
	}
	q.state = PairReset
}

// takes says whether a packet that is for this number is of its connection.
func (q *QueuePair) takes(p *wire.Packet) bool {
	return (q.state == PairRTR || q.state == PairRTS) && p.Src == q.remote && p.Dst == q.source && p.Version() == q.header.Version()
}

// handle takes a packet for a queue pair, in a frame of so many bytes; false if it is not of its connection.
func (q *QueuePair) handle(now vtime.Time, p *wire.Packet, length int) bool {
	if !q.takes(p) {
		return false
	}
	n := q.nic
	n.calling = q.sender.caller()
	switch p.Kind {
	case wire.KindData, wire.KindReadRequest, wire.KindAtomic:
		n.DataReceived++
		q.receiver.notice(now, p, length)
		q.request(now, p)
	case wire.KindReadResponse, wire.KindAtomicAck:
		n.DataReceived++
		q.receiver.notice(now, p, length)
		q.response(now, p)
	case wire.KindAck:
		n.AcksReceived++
		q.ack(now, p)
	case wire.KindNak:
		n.NaksReceived++
		q.nak(now, p)
	case wire.KindCNP:
		n.CNPsReceived++
		q.sender.onCNP(now, p)
	}
	n.calling = 0
	return true
}

// answer sends an ACK or NAK about a packet.
func (q *QueuePair) answer(now vtime.Time, p *wire.Packet, syndrome uint8, psn int64) {
	q.receiver.answer(now, p, syndrome, uint32(psn)&wire.PSNMask, q.receiver.messages)
	if syndrome == wire.SyndromeAck {
		q.nic.AcksSent++
	} else {
		q.nic.NaksSent++
	}
}

// mayGo says whether a queue pair's next packet may go now, as far as that is its own to say. If not, its sender has been put where it belongs.
func (q *QueuePair) mayGo(now vtime.Time) bool {
	s := q.sender
	if len(q.jobs) > 0 {
		return true
	}
	if !q.sending() {
		s.state = senderDrained
		return false
	}
	if q.notBefore > now {
		s.state, s.eligible = senderWaiting, q.notBefore
		s.class.waiting.push(s)
		return false
	}
	if q.gated() {
		s.state = senderBlocked
		return false
	}
	return true
}

// sending says whether there is a request to send.
func (q *QueuePair) sending() bool {
	return q.state == PairRTS && q.poisoned == 0 && q.sender.next < q.sender.size
}

// wake has the sender look for what to send.
func (q *QueuePair) wake(now vtime.Time) {
	s := q.sender
	switch s.state {
	case senderDrained:
		s.state = senderWaiting
		s.time(now)
		s.class.waiting.push(s)
	case senderBlocked:
		if len(q.jobs) > 0 {
			s.state = senderWaiting
			s.class.waiting.push(s)
		}
	case senderWaiting:
		s.time(now) // it may wait for a receiver that is not ready
		s.class.waiting.fix(s)
	}
}

// send makes the sender's next packet, a response or a request in turn; nil if there is none after all.
func (q *QueuePair) send(now vtime.Time) *frame.Frame {
	s := q.sender
	requests := q.sending() && q.notBefore <= now && !q.gated() && !s.blocked(now)
	var f *frame.Frame
	if len(q.jobs) > 0 && (!requests || !q.responded) {
		q.responded = true
		f = q.sendResponse(now)
	} else {
		q.responded = false
		if requests {
			f = q.sendRequest(now)
		}
	}
	if f != nil {
		s.lastStart, s.lastLine = now, q.nic.lineBytes(int(f.Length))
		q.nic.DataSent++
		q.nic.BytesSent += int64(q.payload)
		s.time(now)
	}
	if len(q.jobs) > 0 || q.sending() {
		s.state = senderWaiting
		s.class.waiting.push(s)
	} else {
		s.state = senderDrained
	}
	if f != nil {
		s.controller.OnSent(now, q.payload)
		s.adjust(now)
	}
	return f
}

// Delivered is the payload that it has sent and that has arrived, of requests and READ responses; of these, what was sent again too.
func (q *QueuePair) Delivered() int64 {
	n := q.BytesAcked + q.BytesServed
	if q.count > 0 && !q.nth(0).Op.responds() {
		n += max(0, q.sender.acked-q.nth(0).first*q.sender.mtu)
	}
	return n
}

// Controller is its congestion control; nil while it is not connected.
func (q *QueuePair) Controller() cc.Controller {
	if q.sender == nil {
		return nil
	}
	return q.sender.controller
}
