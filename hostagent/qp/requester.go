package qp

import (
	"errors"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// requester implements the send queue of a queue pair. A request's packet has two numbers. Its packet number counts the
// packets in the order of sending, like those of any connection. Its PSN also counts the packets of READ responses
// (IBTA volume 1 section 9.7.3). Both only grow; the wire has the lowest 24 bits of the PSN.
type requester struct {
	Requester
	works       []work // a ring
	head, count int
	cursor      int   // index, from head on, of the work that workAt found last
	packets     int64 // packets of all works so far
	nextPSN     int64 // PSN of the next work
	sentPSN     int64 // 1 + the last PSN sent
	outstanding int   // READs and atomic operations in progress
	notBefore   vtime.Time
	stash       int64 // 1 + last PSN acknowledged beyond a READ or atomic operation that lacks responses; 0: none
	poisoned    bool  // a work has failed and waits for earlier ones
	responded   bool  // the last packet was a response

	stuckSince      vtime.Time // time of the last progress of the requests in flight
	retries, rnrs   int        // retries since then
	ownTimeout      vtime.Time
	gapFor, gapWork int64 // PSN and READ of the last retransmission for a gap in a response
	gapAt           vtime.Time
}

// work holds a work request of the send queue.
type work struct {
	WorkRequest
	length  uint32
	first   int64 // number of its first packet
	packets int64
	psn     int64
	psns    int64
	got     int64  // number of responses received
	sent    bool   // it has been sent at least once
	failed  Status // status of its completion, once earlier works are completed
}

// maxPSNs limits the PSNs in flight: half of the range of 24 bits (IBTA volume 1 section 9.7.2).
const maxPSNs = 1 << 23

// PostSend appends a copy of a work request.
func (q *QueuePair) PostSend(now vtime.Time, r *WorkRequest) error {
	length, err := q.check(r)
	switch {
	case err != nil:
		return err
	case q.state == StateError:
		q.Program.Complete(Completion{
			ID: r.ID, QP: q.Number, Remote: q.Remote.QP, Status: StatusFlushed,
			Op: r.Op.completion(),
		})
		return nil
	case q.state != StateRTS || r.Op.responds() && q.Requester.Reads == 0:
		return ErrState
	case q.count == q.SendDepth:
		return ErrFull
	}
	mtu := int64(q.Remote.MTU)
	w := q.push()
	pieces, inline := append(w.SGEs[:0], r.SGEs...), append(w.Inline[:0], r.Inline...)
	*w = work{WorkRequest: *r, length: length, first: q.packets, psn: q.nextPSN}
	if w.SGEs, w.Inline = pieces, inline; r.Inline == nil {
		w.Inline = nil
	}
	w.psns = max(1, (int64(length)+mtu-1)/mtu)
	w.packets = w.psns
	if r.Op.responds() {
		w.packets = 1
	}
	q.packets += w.packets
	q.nextPSN += w.psns
	if !q.poisoned {
		q.connection.SetEnd(q.packets)
		q.connection.WakeIfDrained(now)
	}
	return nil
}

// check returns the length of a work request's message, or an error for an invalid request.
func (q *QueuePair) check(r *WorkRequest) (length uint32, err error) {
	if r.Op >= workOps || r.Op.responds() && r.Inline != nil {
		return 0, ErrWork
	}
	length, ok := total(r.SGEs)
	if r.Inline != nil {
		length, ok = uint32(min(len(r.Inline), MaxMessage+1)), len(r.Inline) <= MaxMessage
	}
	if !ok {
		return 0, ErrLength
	}
	if r.Op > WorkRead && (length != 8 || r.Remote&7 != 0) {
		return 0, ErrWork
	}
	return length, nil
}

// push appends a work.
func (q *QueuePair) push() *work {
	if q.count == len(q.works) {
		grown := make([]work, min(q.SendDepth, 2*len(q.works)))
		for i := range q.count {
			grown[i] = *q.nth(i)
		}
		q.works, q.head = grown, 0
	}
	q.count++
	return q.nth(q.count - 1)
}

// nth returns work number i, counted from the oldest, which is 0.
func (q *QueuePair) nth(i int) *work { return &q.works[(q.head+i)%len(q.works)] }

// workAt returns the work of a packet. There must be one.
func (q *QueuePair) workAt(packet int64) *work {
	q.cursor = min(q.cursor, q.count-1)
	for q.nth(q.cursor).first > packet {
		q.cursor--
	}
	for w := q.nth(q.cursor); w.first+w.packets <= packet; w = q.nth(q.cursor) {
		q.cursor++
	}
	return q.nth(q.cursor)
}

// gated reports whether the next request waits for the answers to earlier ones.
func (q *QueuePair) gated() bool {
	packet := q.connection.Next()
	w := q.workAt(packet)
	if packet != w.first || w.sent {
		return false
	}
	return q.outstanding > 0 && (w.Fence || w.Op.responds() && q.outstanding >= q.Requester.Reads) ||
		w.psn+w.psns-q.nth(0).psn >= maxPSNs // never the oldest: MaxMessage bytes in packets of 256 or more need fewer PSNs
}

// sendRequest builds the next request's packet; nil if its memory cannot be read.
func (q *QueuePair) sendRequest(now vtime.Time) (f *frame.Frame, payload int) {
	k, mtu := q.connection, int64(q.Remote.MTU)
	settings, packet := k.Settings(), k.Next()
	w := q.workAt(packet)
	index := packet - w.first
	last := index == w.packets-1
	m := wire.Message{
		PSN: uint32(w.psn+index) & wire.PSNMask, VA: w.Remote, RKey: w.RKey, Length: w.length, Imm: w.Imm, Swap: w.Swap,
		Compare:    w.Compare,
		AckRequest: last || k.WantsAck(packet),
		Solicited:  last && w.Solicited,
	}
	offset := index * mtu
	switch m.Op = w.opcode(index); {
	case w.Op == WorkRead:
		done := w.got * mtu // bytes received; a retransmitted request continues there
		m.PSN, m.VA, m.Length = uint32(w.psn+w.got)&wire.PSNMask, w.Remote+uint64(done), w.length-uint32(done)
	case !w.Op.responds():
		m.Payload = int(min(mtu, int64(w.length)-offset))
		switch {
		case settings.INT:
			m.Op = m.Op.WithINT()
		case settings.Timestamps:
			m.Op, m.Timestamp = m.Op.WithTimestamp(), uint64(now)
		}
	}
	source := w.Inline
	if source != nil {
		source = source[offset:]
	} else if m.Payload > 0 {
		source = q.device.scratch(m.Payload)
		if err := q.Program.Gather(w.SGEs, uint32(offset), source); err != nil {
			q.poison(w, localStatus(err))
			return nil, 0
		}
	}
	k.DrawSourcePort()
	f = q.build(&m, source)
	if packet >= k.MostSent() {
		q.BytesSent += int64(m.Payload)
	}
	if w.Op.responds() && !w.sent {
		q.outstanding++
	}
	w.sent = true
	if k.MostSent() == k.Acked() {
		q.stuckSince = now
	}
	k.RecordSent(now, packet, m.Payload, m.AckRequest)
	end := w.psn + index + 1
	if w.Op.responds() {
		end = w.psn + w.psns
	}
	q.sentPSN = max(q.sentPSN, end)
	return f, m.Payload
}

// opcode returns the opcode of one of the work's packets (IBTA volume 1 section 9.4).
func (w *work) opcode(index int64) wire.Opcode {
	switch w.Op {
	case WorkRead:
		return wire.OpReadRequest
	case WorkCompareSwap:
		return wire.OpCompareSwap
	case WorkFetchAdd:
		return wire.OpFetchAdd
	}
	// The opcodes of WRITE are those of SEND in the same order.
	kind := wire.OpWriteFirst - wire.OpSendFirst
	if w.Op == WorkSend || w.Op == WorkSendImm {
		kind = 0
	}
	first, last := index == 0, index == w.packets-1
	switch imm := last && (w.Op == WorkSendImm || w.Op == WorkWriteImm); {
	case first && imm:
		return kind + wire.OpSendOnlyImm
	case first && last:
		return kind + wire.OpSendOnly
	case first:
		return kind + wire.OpSendFirst
	case imm:
		return kind + wire.OpSendLastImm
	case last:
		return kind + wire.OpSendLast
	}
	return kind + wire.OpSendMiddle
}

// whole returns the number of a 24-bit PSN near the oldest work; ok is false if nothing with it is in flight.
func (q *QueuePair) whole(psn uint32) (number int64, ok bool) {
	if q.count == 0 {
		return 0, false
	}
	base := q.nth(0).psn + q.nth(0).got
	number = base + int64(wire.PSNDiff(psn, uint32(base)&wire.PSNMask))
	return number, number >= q.nth(0).psn && number < q.sentPSN
}

// ack handles an ACK: all packets up to its PSN have been received.
func (q *QueuePair) ack(now vtime.Time, p *wire.Packet) {
	q.connection.NotePath(now, p)
	if number, ok := q.whole(p.PSN); ok {
		q.acknowledge(now, p, number+1)
	}
}

// acknowledge acknowledges the packets before a PSN, up to the first READ or atomic operation whose responses have not
// arrived: an ACK, which has its own priority, may overtake them. stash keeps the rest. (With one priority for both,
// the standard treats that as a loss, section 9.7.5.1.1.)
func (q *QueuePair) acknowledge(now vtime.Time, p *wire.Packet, end int64) {
	k := q.connection
	packet := k.Acked() // the first that is not acknowledged
	upTo := packet
	for i := range q.count {
		w := q.nth(i)
		if w.psn >= end || !w.sent {
			break
		}
		if w.Op.responds() && w.got < w.psns {
			q.stash = max(q.stash, end)
			break
		}
		upTo = w.first + min(w.packets, end-w.psn)
		if w.Op.responds() {
			upTo = w.first + 1
		}
	}
	if upTo <= packet {
		return
	}
	q.noteProgress(now)
	k.Acknowledge(now, p, upTo)
	for q.count > 0 && q.nth(0).first+q.nth(0).packets <= k.Acked() {
		q.BytesAcked += q.nth(0).payload()
		q.Messages++
		q.finishWork(StatusOK)
	}
	if q.count > 0 && q.nth(0).failed != StatusOK {
		q.fail(q.nth(0).failed)
	}
}

// payload returns how many bytes the requests of a work carry.
func (w *work) payload() int64 {
	if w.Op.responds() {
		return 0
	}
	return int64(w.length)
}

// noteProgress records that an expected answer has arrived.
func (q *QueuePair) noteProgress(now vtime.Time) {
	q.connection.NoteProgress(now)
	q.stuckSince, q.retries, q.rnrs = now, 0, 0
}

// finishWork completes and removes the oldest work.
func (q *QueuePair) finishWork(status Status) {
	w := q.nth(0)
	q.head = (q.head + 1) % len(q.works)
	q.count--
	q.cursor = max(0, q.cursor-1)
	if w.Signaled || q.SignalAll || status != StatusOK {
		q.Program.Complete(Completion{
			ID: w.ID, QP: q.Number, Remote: q.Remote.QP, Status: status, Op: w.Op.completion(),
			Length: w.length,
		})
	}
}

// fail completes the oldest work with an error, and flushes all others.
func (q *QueuePair) fail(status Status) {
	q.finishWork(status)
	q.toError()
}

// poison completes a work with an error as soon as earlier works are completed. Neither this work nor any later one is
// sent after that; earlier ones still are, also again after a loss.
func (q *QueuePair) poison(w *work, status Status) {
	if w.failed == StatusOK {
		w.failed, q.poisoned = status, true
		q.connection.SetEnd(min(q.connection.End(), w.first))
	}
	if w == q.nth(0) {
		q.fail(w.failed)
	}
}

// nak handles a NAK: the packets before its PSN have been received, and the packet with its PSN is missing or was
// refused.
func (q *QueuePair) nak(now vtime.Time, p *wire.Packet) {
	k := q.connection
	k.NotePath(now, p)
	number, ok := q.whole(p.PSN)
	if !ok {
		return
	}
	q.acknowledge(now, p, number)
	w := q.workOf(number)
	if w == nil || q.state != StateRTS {
		return
	}
	packet := w.first
	if !w.Op.responds() {
		packet += number - w.psn
	}
	switch syndrome := p.Syndrome; {
	case wire.IsRNR(syndrome):
		if packet >= k.Next() { // the sender has already gone back to it, and waits
			return
		}
		if q.rnrs++; q.Requester.RNRRetry < 7 && q.rnrs > int(q.Requester.RNRRetry) {
			q.poison(w, StatusRNRRetryExceeded)
			return
		}
		q.notBefore = now + rnrTime(syndrome)
		q.stuckSince = q.notBefore
		k.GoBack(now, packet, false)
	case syndrome == wire.SyndromeNakSequence:
		if packet < k.Next() && !k.Rewound(now, packet) && q.retry(w) {
			k.GoBack(now, packet, true)
		}
	case syndrome == wire.SyndromeNakInvalid:
		q.poison(w, StatusRemoteInvalid)
	case syndrome == wire.SyndromeNakAccess:
		q.poison(w, StatusRemoteAccess)
	case syndrome == wire.SyndromeNakOperational:
		q.poison(w, StatusRemoteOperation)
	}
}

// workOf returns the work with a PSN; nil if none in flight has it.
func (q *QueuePair) workOf(psn int64) *work {
	for i := range q.count {
		if w := q.nth(i); w.psn <= psn && psn < w.psn+w.psns && w.sent {
			return w
		}
	}
	return nil
}

// retry counts a retransmission from a work on. It returns false if the limit of retries is exceeded.
func (q *QueuePair) retry(w *work) bool {
	if q.retries++; q.retries > int(q.Requester.Retry) {
		q.poison(w, StatusRetriesExceeded)
		return false
	}
	q.Retries++
	return true
}

// Expired handles the expiry of the retransmission timer, and reports whether to retransmit requests. The timer uses
// the shorter of the host's and the queue pair's timeout (see Timeout). Only its own timeout determines when the queue
// pair gives up.
func (q *QueuePair) Expired(now vtime.Time) bool {
	if q.ownTimeout > 0 && now >= q.stuckSince+vtime.Time(int(q.Requester.Retry)+1)*q.ownTimeout {
		if q.count > 0 {
			q.fail(StatusRetriesExceeded)
		}
		return false
	}
	q.Retries++
	return true
}

// Timeout returns how long the queue pair waits for an answer, given the retransmission timeout of its host; 0: without
// limit.
func (q *QueuePair) Timeout(host vtime.Time) vtime.Time {
	if own := q.ownTimeout; own > 0 && (host == 0 || own < host) {
		return own
	}
	return host
}

// response handles a packet of the response to a READ, or the response to an atomic operation.
func (q *QueuePair) response(now vtime.Time, p *wire.Packet) {
	k, mtu := q.connection, int64(q.Remote.MTU)
	var w *work
	for i := range q.count {
		if x := q.nth(i); x.sent && x.Op.responds() {
			w = x
			break
		}
	}
	if q.state != StateRTS || w == nil {
		q.Duplicates++
		return
	}
	due := w.psn + w.got
	switch ahead := wire.PSNDiff(p.PSN, uint32(due)&wire.PSNMask); {
	case ahead < 0:
		q.Duplicates++
		return
	case ahead > 0:
		q.OutOfOrder++
		if due == q.gapFor && w.first == q.gapWork && now-q.gapAt < k.Settings().NakInterval || w.first >= k.Next() {
			return
		}
		q.gapFor, q.gapWork, q.gapAt = due, w.first, now
		if q.retry(w) {
			k.GoBack(now, w.first, true)
		}
		return
	}
	q.acknowledge(now, p, w.psn) // earlier requests have been received
	if q.state != StateRTS {
		return
	}
	if (p.Kind == wire.KindAtomicAck) != (w.Op > WorkRead) {
		q.fail(StatusBadResponse)
		return
	}
	var err error
	if p.Kind == wire.KindAtomicAck {
		err = q.Program.Scatter(w.SGEs, 0, q.device.word(p.Original()))
	} else {
		offset := w.got * mtu
		if int64(p.Payload) != min(mtu, int64(w.length)-offset) {
			q.fail(StatusBadResponse)
			return
		}
		if p.Payload > 0 {
			err = q.Program.Scatter(w.SGEs, uint32(offset), p.Response())
		}
	}
	if err != nil {
		q.fail(localStatus(err))
		return
	}
	q.BytesRead += int64(p.Payload)
	k.Counters().BytesDelivered += int64(p.Payload)
	w.got++
	q.noteProgress(now)
	if w.got < w.psns {
		return
	}
	q.outstanding--
	end := max(q.stash, w.psn+w.psns)
	q.stash = 0
	q.acknowledge(now, p, end)
}

// localStatus returns the status of a work whose memory is not accessible.
func localStatus(err error) Status {
	if errors.Is(err, ErrAccess) {
		return StatusLocalProtection
	}
	return StatusLocalOperation
}
