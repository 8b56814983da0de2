package qp

import (
	"errors"
	"slices"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// responder holds the state of the requests that a queue pair receives (IBTA volume 1 section 9.7.4).
type responder struct {
	expected int64  // PSN
	messages uint32 // received
	lastNak  vtime.Time
	nakFor   int64 // PSN that the last NAK was for; -1: none yet

	open      wire.Opcode // opcode of the first packet of the current message, if more packets follow
	more      bool        // more packets of the message follow
	va        uint64      // address for the next packet of a WRITE
	rkey      uint32
	remaining uint32 // bytes of the WRITE that are missing
	length    uint32 // length of the message so far
	current   ReceiveRequest
	room      uint32 // room in current, in bytes
	receiving bool   // current is in use
	started   bool   // a request has arrived in StateRTR, which reports EventEstablished
	notReady  bool   // an RNR NAK was sent, and the retransmission has not arrived

	jobs         []job    // responses to send, in the order of their PSNs
	results      []result // results of the last atomic operations
	lastResponse int64    // 1 + the last PSN of the last READ or atomic operation
	ending       uint8    // syndrome of the NAK that ends the queue pair, once jobs are done; 0: none
	endingPSN    int64
	endingEvent  EventKind
}

// job represents the response to a READ or an atomic operation.
type job struct {
	psn    int64 // PSN of the next packet
	msn    uint32
	atomic bool
	before uint64 // value before an atomic operation
	first  bool   // no packet has been sent
	repeat bool   // the request was retransmitted
	rkey   uint32
	va     uint64
	length uint32 // bytes left to send
}

// result holds the result of an atomic operation, in case the request is retransmitted.
type result struct {
	psn    int64
	before uint64
	msn    uint32
}

// request handles a request packet.
func (q *QueuePair) request(now vtime.Time, p *wire.Packet) {
	k := q.connection
	if q.ending != 0 {
		return
	}
	if q.state == StateRTR && !q.started {
		q.started = true
		q.Program.Event(q.Number, EventEstablished)
	}
	trimmed := p.Trimmed()
	if trimmed {
		k.Counters().Trimmed++
	}
	switch ahead := wire.PSNDiff(p.PSN, uint32(q.expected)&wire.PSNMask); {
	case ahead == 0 && !trimmed:
		q.execute(now, p)
	case ahead < 0:
		q.Duplicates++
		if !trimmed {
			q.repeat(now, p, q.expected+int64(ahead))
		}
	default:
		q.OutOfOrder++
		if q.notReady { // it will be retransmitted with the refused packets
			return
		}
		if q.nakFor != q.expected || now-q.lastNak >= k.Settings().NakInterval {
			q.nakFor, q.lastNak = q.expected, now
			q.answer(now, p, wire.SyndromeNakSequence, q.expected)
		}
	}
}

// execute executes the expected request packet.
func (q *QueuePair) execute(now vtime.Time, p *wire.Packet) {
	switch p.Kind {
	case wire.KindData:
		q.take(now, p)
	case wire.KindReadRequest:
		q.read(now, p)
	case wire.KindAtomic:
		q.operate(now, p)
	}
}

// shape reports whether a data packet begins or ends a message, and whether it is a SEND.
func shape(op wire.Opcode) (first, last, send bool) {
	switch op {
	case wire.OpSendFirst:
		return true, false, true
	case wire.OpSendMiddle:
		return false, false, true
	case wire.OpSendLast, wire.OpSendLastImm:
		return false, true, true
	case wire.OpSendOnly, wire.OpSendOnlyImm:
		return true, true, true
	case wire.OpWriteFirst:
		return true, false, false
	case wire.OpWriteMiddle:
		return false, false, false
	case wire.OpWriteLast, wire.OpWriteLastImm:
		return false, true, false
	}
	return true, true, false
}

// take handles a packet of a SEND or a WRITE.
func (q *QueuePair) take(now vtime.Time, p *wire.Packet) {
	size := uint32(p.Payload)
	op := p.Opcode.Operation()
	first, last, send := shape(op)
	imm := op.HasImm()
	full := size == uint32(q.Remote.MTU)
	switch {
	// out of the order of opcodes (section 9.7.4.1.2)
	case first == q.more, !first && send != (q.open == wire.OpSendFirst),
		!last && !full, size > uint32(q.Remote.MTU), last && !first && size == 0: // or of lengths (section 9.7.4.1.6)
		q.refuse(now, p, wire.SyndromeNakInvalid, EventRequest)
		return
	}
	if (send && first || !send && imm) && !q.receiving {
		if !q.Receives.take(&q.current) {
			q.notReady = true
			q.RNRs++
			q.connection.Counters().RNRs++
			q.answer(now, p, wire.SyndromeRNR|q.Remote.RNRTimer, q.expected)
			return
		}
		q.receiving = true
		q.room, _ = total(q.current.SGEs)
	}
	q.notReady = false
	if first {
		q.length = 0
	}
	if send {
		if !q.takeSend(now, p) {
			return
		}
	} else if !q.takeWrite(now, p, first, last) {
		return
	}
	q.length += size
	q.open, q.more = op, !last
	if !last && !first {
		q.open = wire.OpWriteFirst
		if send {
			q.open = wire.OpSendFirst
		}
	}
	q.expected++
	q.BytesReceived += int64(size)
	q.connection.Counters().BytesDelivered += int64(size)
	if last {
		q.countMessage()
	}
	if p.AckReq {
		q.answer(now, p, wire.SyndromeAck, q.expected-1)
	}
	if last && q.receiving {
		q.receiving = false
		kind := CompletionReceive
		if !send {
			kind = CompletionReceiveWrite
		}
		q.completeReceive(StatusOK, kind, q.length, p)
	}
}

// countMessage counts a message or request that was received.
func (q *QueuePair) countMessage() { q.messages = (q.messages + 1) & wire.PSNMask }

// takeSend writes a packet of a SEND to the memory of the receive request. It returns false if the request has been
// refused.
func (q *QueuePair) takeSend(now vtime.Time, p *wire.Packet) bool {
	if q.length+uint32(p.Payload) > q.room {
		q.receiving = false
		q.completeReceive(StatusLocalLength, CompletionReceive, 0, nil)
		q.refuse(now, p, wire.SyndromeNakInvalid, EventRequest)
		return false
	}
	if p.Payload == 0 {
		return true
	}
	if err := q.Program.Scatter(q.current.SGEs, q.length, p.Data()); err != nil {
		q.receiving = false
		q.completeReceive(localStatus(err), CompletionReceive, 0, nil)
		if errors.Is(err, ErrEnded) {
			q.toError()
		} else {
			q.refuse(now, p, wire.SyndromeNakOperational, EventFatal)
		}
		return false
	}
	return true
}

// takeWrite writes a packet of a WRITE to the memory that the message names. It returns false if the request has been
// refused.
func (q *QueuePair) takeWrite(now vtime.Time, p *wire.Packet, first, last bool) bool {
	size := uint32(p.Payload)
	if first {
		reth := p.RETH()
		q.va, q.rkey, q.remaining = reth.VA(), reth.RKey(), reth.DMALen()
		if q.remaining > MaxMessage {
			q.refuse(now, p, wire.SyndromeNakInvalid, EventRequest)
			return false
		}
		if !q.allowed(now, p, q.rkey, q.va, q.remaining, AccessWrite) {
			return false
		}
	}
	if size > q.remaining || last != (size == q.remaining) {
		q.refuse(now, p, wire.SyndromeNakInvalid, EventRequest)
		return false
	}
	if size == 0 {
		return true
	}
	if err := q.Program.RemoteWrite(q.Number, q.rkey, q.va, p.Data()); err != nil {
		q.refuseFor(now, p, err)
		return false
	}
	q.va += uint64(size)
	q.remaining -= size
	return true
}

// allowed asks the program whether a message's memory is accessible. It returns false if the request has been
// refused.
func (q *QueuePair) allowed(now vtime.Time, p *wire.Packet, rkey uint32, va uint64, length uint32, a Access) bool {
	if length == 0 { // no key is checked (section 9.7.4.1.5)
		return true
	}
	if err := q.Program.Allows(q.Number, rkey, va, uint64(length), a); err != nil {
		q.refuseFor(now, p, err)
		return false
	}
	return true
}

// refuseFor refuses a request because of an error of the program's memory.
func (q *QueuePair) refuseFor(now vtime.Time, p *wire.Packet, err error) {
	switch {
	case errors.Is(err, ErrEnded):
		q.toError()
	case errors.Is(err, ErrAccess):
		q.refuse(now, p, wire.SyndromeNakAccess, EventAccess)
	default:
		q.refuse(now, p, wire.SyndromeNakOperational, EventFatal)
	}
}

// refuse answers the expected request with a NAK that ends the queue pair, after the responses to earlier requests
// (section 9.9.3).
func (q *QueuePair) refuse(now vtime.Time, p *wire.Packet, syndrome uint8, event EventKind) {
	q.ending, q.endingPSN, q.endingEvent = syndrome, q.expected, event
	if len(q.jobs) == 0 {
		q.end(now, p)
	}
}

// end sends the NAK that ends the queue pair.
func (q *QueuePair) end(now vtime.Time, p *wire.Packet) {
	q.answer(now, p, q.ending, q.endingPSN)
	q.Program.Event(q.Number, q.endingEvent)
	q.toError()
}

// completeReceive completes the current receive request. p is the last packet of its message, nil if it failed.
func (q *QueuePair) completeReceive(status Status, op CompletionOp, length uint32, p *wire.Packet) {
	c := Completion{
		ID: q.current.ID, QP: q.Number, Remote: q.Remote.QP, Status: status, Op: op, Length: length,
		Receive: true, Solicited: p == nil,
	}
	if p != nil {
		c.Solicited, c.WithImm, c.Imm = p.Solicited(), p.Opcode.HasImm(), p.Immediate()
	}
	q.Program.Complete(c)
}

// read handles a READ request.
func (q *QueuePair) read(now vtime.Time, p *wire.Packet) {
	reth := p.RETH()
	if q.more || reth.DMALen() > MaxMessage || !q.roomForJob() {
		q.refuse(now, p, wire.SyndromeNakInvalid, EventRequest)
		return
	}
	if !q.allowed(now, p, reth.RKey(), reth.VA(), reth.DMALen(), AccessRead) {
		return
	}
	q.notReady = false
	q.countMessage() // as it is valid (section 9.7.7.1, C9-148)
	q.jobs = append(q.jobs, q.readJob(q.expected, reth))
	q.expected += q.responses(reth.DMALen())
	q.lastResponse = q.expected
	q.connection.Wake(now)
}

// roomForJob reports whether the requester may request one more response. It drops responses to retransmitted
// requests, which may have arrived in the meantime.
func (q *QueuePair) roomForJob() bool {
	if len(q.jobs) >= q.Remote.Reads {
		q.jobs = slices.DeleteFunc(q.jobs, func(j job) bool { return j.repeat })
	}
	return len(q.jobs) < q.Remote.Reads
}

// readJob returns the response to a READ.
func (q *QueuePair) readJob(psn int64, reth wire.RETH) job {
	return job{psn: psn, msn: q.messages, first: true, rkey: reth.RKey(), va: reth.VA(), length: reth.DMALen()}
}

// responses returns the number of packets of the response to a READ.
func (q *QueuePair) responses(length uint32) int64 {
	return max(1, (int64(length)+int64(q.Remote.MTU)-1)/int64(q.Remote.MTU))
}

// operate handles an atomic request.
func (q *QueuePair) operate(now vtime.Time, p *wire.Packet) {
	va, rkey, swap, compare := p.Atomic()
	if q.more || va&7 != 0 || !q.roomForJob() {
		q.refuse(now, p, wire.SyndromeNakInvalid, EventRequest)
		return
	}
	if !q.allowed(now, p, rkey, va, 8, AccessAtomic) {
		return
	}
	op := WorkCompareSwap
	if p.Opcode == wire.OpFetchAdd {
		op = WorkFetchAdd
	}
	before, err := q.Program.RemoteAtomic(q.Number, rkey, va, op, compare, swap)
	if err != nil {
		q.refuseFor(now, p, err)
		return
	}
	q.notReady = false
	q.countMessage()
	if len(q.results) == q.Remote.Reads {
		copy(q.results, q.results[1:])
		q.results = q.results[:len(q.results)-1]
	}
	q.results = append(q.results, result{q.expected, before, q.messages})
	q.jobs = append(q.jobs, job{psn: q.expected, msn: q.messages, atomic: true, before: before})
	q.expected++
	q.lastResponse = q.expected
	q.connection.Wake(now)
}

// repeat handles a retransmitted request packet that had arrived before (section 9.7.5.1.3). It answers a READ anew, an
// atomic operation with its first result, and all others with an ACK. The requester has gone back, and also repeats the
// requests that follow.
func (q *QueuePair) repeat(now vtime.Time, p *wire.Packet, psn int64) {
	switch p.Kind {
	case wire.KindData:
		upTo := psn // the ACK must not acknowledge a READ whose response may have been lost
		if psn >= q.lastResponse {
			upTo = q.expected - 1
		}
		q.answer(now, p, wire.SyndromeAck, upTo)
	case wire.KindReadRequest:
		reth := p.RETH()
		if reth.DMALen() > MaxMessage || psn+q.responses(reth.DMALen()) > q.expected {
			return
		}
		if q.dropFrom(psn); len(q.jobs) >= q.Remote.Reads {
			return
		}
		if l := reth.DMALen(); l > 0 {
			if err := q.Program.Allows(q.Number, reth.RKey(), reth.VA(), uint64(l), AccessRead); err != nil {
				return
			}
		}
		j := q.readJob(psn, reth)
		j.repeat = true
		q.jobs = append(q.jobs, j)
		q.connection.Wake(now)
	case wire.KindAtomic:
		for i := range q.results {
			if x := &q.results[i]; x.psn == psn {
				if q.dropFrom(psn); len(q.jobs) < q.Remote.Reads {
					q.jobs = append(q.jobs, job{psn: psn, msn: x.msn, atomic: true, before: x.before, repeat: true})
					q.connection.Wake(now)
				}
				return
			}
		}
	}
}

// dropFrom drops the responses from a PSN on. The requester requests them anew.
func (q *QueuePair) dropFrom(psn int64) {
	for i := range q.jobs {
		if end := q.jobs[i].psn + q.responses(q.jobs[i].length); end > psn {
			q.jobs = q.jobs[:i]
			return
		}
	}
}

func (q *QueuePair) dropJobs() { q.jobs = q.jobs[:0] }

// sendResponse builds the next packet of the first job; nil if its memory cannot be read.
func (q *QueuePair) sendResponse(now vtime.Time) (f *frame.Frame, size int) {
	j := &q.jobs[0]
	m := wire.Message{PSN: uint32(j.psn) & wire.PSNMask, Syndrome: wire.SyndromeAck, MSN: j.msn}
	last := true
	if j.atomic {
		m.Op, m.Swap = wire.OpAtomicAck, j.before
	} else {
		m.Payload = min(q.Remote.MTU, int(j.length))
		switch last = int(j.length) == m.Payload; {
		case j.first && last:
			m.Op = wire.OpReadResponseOnly
		case j.first:
			m.Op = wire.OpReadResponseFirst
		case last:
			m.Op = wire.OpReadResponseLast
		default:
			m.Op = wire.OpReadResponseMiddle
		}
	}
	payload := q.device.scratch(m.Payload)
	if m.Payload > 0 {
		if err := q.Program.RemoteRead(q.Number, j.rkey, j.va, payload); errors.Is(err, ErrEnded) {
			q.toError()
			return nil, 0
		} else if err != nil {
			q.endingPSN, q.ending, q.endingEvent = j.psn, wire.SyndromeNakOperational, EventFatal
			if errors.Is(err, ErrAccess) {
				q.ending, q.endingEvent = wire.SyndromeNakAccess, EventAccess
			}
			q.dropJobs()
			q.end(now, &wire.Packet{SrcPort: q.port})
			return nil, 0
		}
	}
	f = q.build(&m, payload)
	q.BytesServed += int64(m.Payload)
	j.psn++
	j.va += uint64(m.Payload)
	j.length -= uint32(m.Payload)
	j.first = false
	if last {
		q.jobs = q.jobs[:copy(q.jobs, q.jobs[1:])]
		if len(q.jobs) == 0 && q.ending != 0 {
			q.end(now, &wire.Packet{SrcPort: q.port})
		}
	}
	return f, m.Payload
}
