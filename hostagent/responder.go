package hostagent

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// responder is what a queue pair knows of the requests that come. Its Receiver has the PSN that it expects and how many messages have come
// (IBTA volume 1 section 9.7.4).
type responder struct {
	open      wire.Opcode // of the first packet of the message that is coming, if more are to come
	more      bool        // they are
	va        uint64      // where the next packet of a WRITE belongs
	rkey      uint32
	remaining uint32 // bytes of the WRITE to come
	length    uint32 // of the message so far
	current   ReceiveRequest
	room      uint32 // of current, in bytes
	receiving bool   // current is in use
	came      bool   // a packet has
	notReady  bool   // an RNR NAK was sent, and what was asked for again has not come

	jobs         []job    // responses to be sent, in the order of their PSNs
	results      []result // of the last atomic operations
	lastResponse int64    // behind the PSNs of the last READ or atomic operation
	ending       uint8    // the syndrome of the NAK that ends it, once jobs have been done; 0: none
	endingPSN    int64
	endingEvent  EventKind
}

// job is the response to a READ or an atomic operation.
type job struct {
	psn    int64 // of the next packet
	msn    uint32
	atomic bool
	before uint64 // of an atomic operation: what was there
	first  bool   // no packet has been sent
	again  bool   // it was asked for again
	rkey   uint32
	va     uint64
	length uint32 // still to be sent
}

// result is what an atomic operation came to, should it be asked for again.
type result struct {
	psn    int64
	before uint64
	msn    uint32
}

// request takes a request packet.
func (q *QueuePair) request(now vtime.Time, p *wire.Packet) {
	r, n := q.receiver, q.nic
	if q.ending != 0 {
		return
	}
	if q.state == PairRTR && !q.came {
		q.came = true
		q.Program.Event(q.Number, EventEstablished)
	}
	trimmed := p.Trimmed()
	if trimmed {
		n.Trimmed++
	}
	switch ahead := wire.PSNDiff(p.PSN, uint32(r.expected)&wire.PSNMask); {
	case ahead == 0 && !trimmed:
		q.execute(now, p)
	case ahead < 0:
		q.Duplicates++
		if !trimmed {
			q.repeat(now, p, r.expected+int64(ahead))
		}
	default:
		q.OutOfOrder++
		if q.notReady { // it comes again with what was refused
			return
		}
		if r.nakFor != r.expected || now-r.lastNak >= r.settings.NakInterval {
			r.nakFor, r.lastNak = r.expected, now
			q.answer(now, p, wire.SyndromeNakSequence, r.expected)
		}
	}
}

// execute takes the request packet that is expected.
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

// Whether a data packet begins and ends a message, and which kind.
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

// take takes a packet of a SEND or a WRITE.
func (q *QueuePair) take(now vtime.Time, p *wire.Packet) {
	r, size := q.receiver, uint32(p.Payload)
	op := p.Opcode.Operation()
	first, last, send := shape(op)
	imm := op.HasImm()
	full := size == uint32(q.Remote.MTU)
	switch {
	case first == q.more, !first && send != (q.open == wire.OpSendFirst), // out of the order of opcodes (section 9.7.4.1.2)
		!last && !full, size > uint32(q.Remote.MTU), last && !first && size == 0: // or of lengths (section 9.7.4.1.6)
		q.refuse(now, p, wire.SyndromeNakInvalid, EventRequest)
		return
	}
	if (send && first || !send && imm) && !q.receiving {
		if !q.Receives.take(&q.current) {
			q.notReady = true
			q.RNRs++
			q.nic.RNRs++
			q.answer(now, p, wire.SyndromeRNR|q.Remote.RNRTimer, r.expected)
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
	r.expected++
	r.Delivered += int64(size)
	q.BytesReceived += int64(size)
	q.nic.BytesDelivered += int64(size)
	if last {
		r.messages = (r.messages + 1) & wire.PSNMask
	}
	if p.AckReq {
		q.answer(now, p, wire.SyndromeAck, r.expected-1)
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

// takeSend writes a packet of a SEND to where the receive request says.
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

// takeWrite writes a packet of a WRITE to where the message says.
func (q *QueuePair) takeWrite(now vtime.Time, p *wire.Packet, first, last bool) bool {
	size := uint32(p.Payload)
	if first {
		reth := p.RETH()
		q.va, q.rkey, q.remaining = reth.VA(), reth.RKey(), reth.DMALen()
		if q.remaining > MostMessage {
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

// allowed asks the program about a message's memory. If it may not be had, the request has been refused.
func (q *QueuePair) allowed(now vtime.Time, p *wire.Packet, rkey uint32, va uint64, length uint32, a Access) bool {
	if length == 0 { // no key is looked at (section 9.7.4.1.5)
		return true
	}
	if err := q.Program.Allows(q.Number, rkey, va, uint64(length), a); err != nil {
		q.refuseFor(now, p, err)
		return false
	}
	return true
}

// refuseFor refuses a request for what the program says of its memory.
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

// refuse answers the request that is expected with a NAK that ends the queue pair, after the responses to those before it (section 9.9.3).
func (q *QueuePair) refuse(now vtime.Time, p *wire.Packet, syndrome uint8, event EventKind) {
	q.ending, q.endingPSN, q.endingEvent = syndrome, q.receiver.expected, event
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
	c := Completion{ID: q.current.ID, QP: q.Number, Remote: q.Remote.QP, Status: status, Op: op, Length: length, Receive: true, Solicited: p == nil}
	if p != nil {
		c.Solicited, c.WithImm, c.Imm = p.Solicited(), p.Opcode.HasImm(), p.Immediate()
	}
	q.Program.Complete(c)
}

// read takes a READ request.
func (q *QueuePair) read(now vtime.Time, p *wire.Packet) {
	r, reth := q.receiver, p.RETH()
	if q.more || reth.DMALen() > MostMessage || !q.roomForJob() {
		q.refuse(now, p, wire.SyndromeNakInvalid, EventRequest)
		return
	}
	if !q.allowed(now, p, reth.RKey(), reth.VA(), reth.DMALen(), AccessRead) {
		return
	}
	q.notReady = false
	r.messages = (r.messages + 1) & wire.PSNMask // as it is valid (section 9.7.7.1, C9-148)
	q.jobs = append(q.jobs, q.readJob(r.expected, reth))
	r.expected += q.responses(reth.DMALen())
	q.lastResponse = r.expected
	q.wake(now)
}

// roomForJob says whether the requester may ask for one more response. One that it asked for again it may have had in the meantime.
func (q *QueuePair) roomForJob() bool {
	if len(q.jobs) >= q.Remote.Reads {
		q.jobs = slices.DeleteFunc(q.jobs, func(j job) bool { return j.again })
	}
	return len(q.jobs) < q.Remote.Reads
}

func (q *QueuePair) readJob(psn int64, reth wire.RETH) job {
	return job{psn: psn, msn: q.receiver.messages, first: true, rkey: reth.RKey(), va: reth.VA(), length: reth.DMALen()}
}

// responses is how many packets the response to a READ has.
func (q *QueuePair) responses(length uint32) int64 {
	return max(1, (int64(length)+int64(q.Remote.MTU)-1)/int64(q.Remote.MTU))
}

// operate takes an atomic request.
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
	r := q.receiver
	q.notReady = false
	r.messages = (r.messages + 1) & wire.PSNMask
	if len(q.results) == q.Remote.Reads {
		copy(q.results, q.results[1:])
		q.results = q.results[:len(q.results)-1]
	}
	q.results = append(q.results, result{r.expected, before, r.messages})
	q.jobs = append(q.jobs, job{psn: r.expected, msn: r.messages, atomic: true, before: before})
	r.expected++
	q.lastResponse = r.expected
	q.wake(now)
}

// repeat takes a request packet that has come before (section 9.7.5.1.3): a READ is answered anew, an atomic operation with what it came to,
// all else with an ACK. The requester has gone back, and asks anew for what is behind it too.
func (q *QueuePair) repeat(now vtime.Time, p *wire.Packet, psn int64) {
	switch p.Kind {
	case wire.KindData:
		upTo := psn // it must not acknowledge a READ whose response may have been lost
		if psn >= q.lastResponse {
			upTo = q.receiver.expected - 1
		}
		q.answer(now, p, wire.SyndromeAck, upTo)
	case wire.KindReadRequest:
		reth := p.RETH()
		if reth.DMALen() > MostMessage || psn+q.responses(reth.DMALen()) > q.receiver.expected {
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
		j.again = true
		q.jobs = append(q.jobs, j)
		q.wake(now)
	case wire.KindAtomic:
		for i := range q.results {
			if x := &q.results[i]; x.psn == psn {
				if q.dropFrom(psn); len(q.jobs) < q.Remote.Reads {
					q.jobs = append(q.jobs, job{psn: psn, msn: x.msn, atomic: true, before: x.before, again: true})
					q.wake(now)
				}
				return
			}
		}
	}
}

// dropFrom drops the responses that are asked for anew: those from a PSN on.
func (q *QueuePair) dropFrom(psn int64) {
	for i := range q.jobs {
		if end := q.jobs[i].psn + q.responses(q.jobs[i].length); end > psn {
			q.jobs = q.jobs[:i]
			return
		}
	}
}

func (q *QueuePair) dropJobs() { q.jobs = q.jobs[:0] }

// sendResponse makes the next packet of the first job; nil if its memory cannot be read.
func (q *QueuePair) sendResponse(now vtime.Time) *frame.Frame {
	j, n, s := &q.jobs[0], q.nic, q.sender
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
	payload := n.staged(m.Payload)
	if m.Payload > 0 {
		if err := q.Program.RemoteRead(q.Number, j.rkey, j.va, payload); errors.Is(err, ErrEnded) {
			q.toError()
			return nil
		} else if err != nil {
			q.endingPSN, q.ending, q.endingEvent = j.psn, wire.SyndromeNakOperational, EventFatal
			if errors.Is(err, ErrAccess) {
				q.ending, q.endingEvent = wire.SyndromeNakAccess, EventAccess
			}
			q.dropJobs()
			q.end(now, &wire.Packet{SrcPort: q.port})
			return nil
		}
	}
	f := n.clock.Frame(q.header.Version().MessageLen(m.Op, m.Payload))
	copy(wire.BeginMessage(f.Data(), q.header, &m), payload)
	wire.EndMessage(f.Data())
	f.Priority = s.settings.DataPriority
	q.BytesServed += int64(m.Payload)
	q.payload = m.Payload
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
	return f
}

// staged is memory for a packet's payload, until the next is asked for.
func (n *NIC) staged(size int) []byte {
	if n.stage == nil {
		n.stage = make([]byte, wire.MaxPathMTU)
	}
	return n.stage[:size]
}

// word is a number as memory has it: programs run on this machine, whose order is little endian.
func (n *NIC) word(v uint64) []byte {
	b := n.staged(8)
	binary.NativeEndian.PutUint64(b, v)
	return b
}
