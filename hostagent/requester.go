package hostagent

import (
	"errors"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// requester is the send queue of a queue pair. Requests are numbered twice: by packets as they are sent, each of which is an MTU of the Sender's
// sequence, and by the PSNs that they take, of which a READ has one for each packet of its response (IBTA volume 1 section 9.7.3). Both
// are whole numbers that go on; those on the wire are their lowest 24 bits.
type requester struct {
	Requester
	works       []work // a ring
	head, count int
	cursor      int   // the work that was sent last, from head on: where to look for the next
	packets     int64 // of all works so far
	nextPSN     int64 // of the next work
	sentPSN     int64 // behind the last that was sent
	outstanding int   // READs and atomic operations under way
	notBefore   vtime.Time
	stash       int64 // behind the last PSN that was acknowledged beyond a READ whose response is not complete
	poisoned    int   // works that have failed and wait for those before them
	responded   bool  // the last packet was a response

	stuck           vtime.Time // since when nothing has been acknowledged that should be
	retries, rnrs   int        // since then
	ownTimeout      vtime.Time
	gapFor, gapWork int64 // what of which READ was missing when it was asked for again
	gapAt           vtime.Time
}

// work is a work request of the send queue.
type work struct {
	WorkRequest
	length  uint32
	first   int64 // number of its first packet
	packets int64
	psn     int64
	psns    int64
	got     int64  // responses
	sent    bool   // the first packet has been, at least once
	failed  Status // what it will be completed with, once those before it have been
}

// most PSNs under way: half of what 24 bits can tell apart (IBTA volume 1 section 9.7.2).
const mostPSNs = 1 << 23

// PostSend appends a copy of a work request.
func (q *QueuePair) PostSend(now vtime.Time, r *WorkRequest) error {
	length, err := q.check(r)
	switch {
	case err != nil:
		return err
	case q.state == PairError:
		q.Program.Complete(Completion{ID: r.ID, QP: q.Number, Remote: q.Remote.QP, Status: StatusFlushed, Op: r.Op.completion()})
		return nil
	case q.state != PairRTS || r.Op.responds() && q.Requester.Reads == 0:
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
	if q.poisoned == 0 {
		q.sender.size = q.packets * q.sender.mtu
		if q.sender.state == senderDrained {
			q.wake(now)
		}
	}
	return nil
}

// check says what is wrong with a work request by itself, and how long its message is.
func (q *QueuePair) check(r *WorkRequest) (length uint32, err error) {
	if r.Op >= workOps || r.Op.responds() && r.Inline != nil {
		return 0, ErrWork
	}
	length, ok := total(r.SGEs)
	if r.Inline != nil {
		length, ok = uint32(min(len(r.Inline), MostMessage+1)), len(r.Inline) <= MostMessage
	}
	if !ok {
		return 0, ErrLength
	}
	if r.Op > WorkRead && (length != 8 || r.Remote&7 != 0) {
		return 0, ErrWork
	}
	return length, nil
}

// push makes room for a work behind the last.
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

// nth is the work that so many are before.
func (q *QueuePair) nth(i int) *work { return &q.works[(q.head+i)%len(q.works)] }

// workAt is the work that a packet is of. There must be one.
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

// gated says whether the next request waits for the answers to others.
func (q *QueuePair) gated() bool {
	packet := q.sender.next / q.sender.mtu
	w := q.workAt(packet)
	if packet != w.first || w.sent {
		return false
	}
	return q.outstanding > 0 && (w.Fence || w.Op.responds() && q.outstanding >= q.Requester.Reads) ||
		w.psn+w.psns-q.nth(0).psn >= mostPSNs // one alone has fewer: MostMessage bytes, of packets of 256 or more
}

// sendRequest makes the next request's packet; nil if its memory cannot be read.
func (q *QueuePair) sendRequest(now vtime.Time) *frame.Frame {
	s, n := q.sender, q.nic
	at := s.next
	packet := at / s.mtu
	w := q.workAt(packet)
	index := packet - w.first
	last, again := index == w.packets-1, at < s.high
	m := wire.Message{
		PSN: uint32(w.psn+index) & wire.PSNMask, VA: w.Remote, RKey: w.RKey, Length: w.length, Imm: w.Imm, Swap: w.Swap, Compare: w.Compare,
		AckRequest: last || s.fills(s.mtu) || (packet+1)%int64(s.settings.AckEvery) == 0,
		Solicited:  last && w.Solicited,
	}
	offset := index * s.mtu
	switch m.Op = w.opcode(index); {
	case w.Op == WorkRead:
		done := w.got * s.mtu // of it that has come; it may be asked for again from there on
		m.PSN, m.VA, m.Length = uint32(w.psn+w.got)&wire.PSNMask, w.Remote+uint64(done), w.length-uint32(done)
	case !w.Op.responds():
		m.Payload = int(min(s.mtu, int64(w.length)-offset))
		switch {
		case s.settings.INT:
			m.Op = m.Op.WithINT()
		case s.settings.Timestamps:
			m.Op, m.Timestamp = m.Op.WithTimestamp(), uint64(now)
		}
	}
	source := w.Inline
	if source != nil {
		source = source[offset:]
	} else if m.Payload > 0 {
		source = n.staged(m.Payload)
		if err := q.Program.Gather(w.SGEs, uint32(offset), source); err != nil {
			q.poison(w, localStatus(err))
			return nil
		}
	}
	if s.entropy != nil {
		q.header.SetSourcePort(s.entropy.next())
	}
	f := n.clock.Frame(q.header.Version().MessageLen(m.Op, m.Payload))
	copy(wire.BeginMessage(f.Data(), q.header, &m), source)
	wire.EndMessage(f.Data())
	f.Priority = s.settings.DataPriority

	s.remember(packet, now, again)
	if again {
		s.Retransmitted += int64(m.Payload)
	} else {
		q.BytesSent += int64(m.Payload)
	}
	if w.Op.responds() && !w.sent {
		q.outstanding++
	}
	w.sent = true
	s.next = at + s.mtu
	if m.AckRequest {
		if !s.due() {
			s.progress = now
		}
		s.asked = max(s.asked, s.next)
	}
	if s.high == s.acked {
		q.stuck = now
	}
	s.high = max(s.high, s.next)
	end := w.psn + index + 1
	if w.Op.responds() {
		end = w.psn + w.psns
	}
	q.sentPSN = max(q.sentPSN, end)
	q.payload = m.Payload
	return f
}

// opcode is that of one of the work's packets (IBTA volume 1 section 9.4).
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

// whole is the whole number of a PSN near the oldest work; ok is false if nothing with it is under way.
func (q *QueuePair) whole(psn uint32) (number int64, ok bool) {
	if q.count == 0 {
		return 0, false
	}
	base := q.nth(0).psn + q.nth(0).got
	number = base + int64(wire.PSNDiff(psn, uint32(base)&wire.PSNMask))
	return number, number >= q.nth(0).psn && number < q.sentPSN
}

// ack takes an ACK: all up to its PSN has been received.
func (q *QueuePair) ack(now vtime.Time, p *wire.Packet) {
	q.sender.hear(now, p)
	if number, ok := q.whole(p.PSN); ok {
		q.acknowledge(now, p, number+1)
	}
}

// acknowledge takes what is before a PSN for received, but for READs and atomic operations whose responses have not come: those may be
// overtaken by an ACK, which has a priority of its own. (Where both have one, the standard takes that for a loss, section 9.7.5.1.1.)
func (q *QueuePair) acknowledge(now vtime.Time, p *wire.Packet, behind int64) {
	s := q.sender
	packet := s.acked / s.mtu // the first that is not acknowledged
	upTo := packet
	for i := range q.count {
		w := q.nth(i)
		if w.psn >= behind || !w.sent {
			break
		}
		if w.Op.responds() && w.got < w.psns {
			q.stash = max(q.stash, behind)
			break
		}
		upTo = w.first + min(w.packets, behind-w.psn)
		if w.Op.responds() {
			upTo = w.first + 1
		}
	}
	if upTo <= packet {
		return
	}
	q.moved(now)
	s.advance(now, p, upTo-1, p.Kind == wire.KindAck)
	for q.count > 0 && (q.nth(0).first+q.nth(0).packets)*s.mtu <= s.acked {
		q.BytesAcked += q.nth(0).payload()
		q.Messages++
		q.finishWork(StatusOK)
	}
	if q.count > 0 && q.nth(0).failed != StatusOK {
		q.fail(q.nth(0).failed)
	}
}

// payload is what the requests of a work carry.
func (w *work) payload() int64 {
	if w.Op.responds() {
		return 0
	}
	return int64(w.length)
}

// moved notes that something has come that was waited for.
func (q *QueuePair) moved(now vtime.Time) {
	q.sender.progress, q.stuck, q.retries, q.rnrs = now, now, 0, 0
}

// finishWork completes the oldest work and forgets it.
func (q *QueuePair) finishWork(status Status) {
	w := q.nth(0)
	q.head = (q.head + 1) % len(q.works)
	q.count--
	q.cursor = max(0, q.cursor-1)
	if w.Signaled || q.SignalAll || status != StatusOK {
		q.Program.Complete(Completion{ID: w.ID, QP: q.Number, Remote: q.Remote.QP, Status: status, Op: w.Op.completion(), Length: w.length})
	}
}

// fail completes the oldest work with an error, and flushes all else.
func (q *QueuePair) fail(status Status) {
	q.finishWork(status)
	q.toError()
}

// poison has a work be completed with an error as soon as those before it have been completed. It and what is behind it is not sent any more.
func (q *QueuePair) poison(w *work, status Status) {
	if w.failed == StatusOK {
		w.failed = status
		q.poisoned++
		q.sender.size = min(q.sender.size, w.first*q.sender.mtu)
	}
	if w == q.nth(0) {
		q.fail(w.failed)
	}
}

// nak takes a NAK: what is before its PSN has been received, and what has it has not.
func (q *QueuePair) nak(now vtime.Time, p *wire.Packet) {
	s := q.sender
	s.hear(now, p)
	number, ok := q.whole(p.PSN)
	if !ok {
		return
	}
	q.acknowledge(now, p, number)
	w := q.workOf(number)
	if w == nil || q.state != PairRTS {
		return
	}
	packet := w.first
	if !w.Op.responds() {
		packet += number - w.psn
	}
	switch syndrome := p.Syndrome; {
	case wire.IsRNR(syndrome):
		if packet*s.mtu >= s.next { // it has been told, and is waited for
			return
		}
		if q.rnrs++; q.Requester.RNRRetry < 7 && q.rnrs > int(q.Requester.RNRRetry) {
			q.poison(w, StatusRNRRetryExceeded)
			return
		}
		q.notBefore = now + rnrTime(syndrome)
		q.stuck = q.notBefore
		s.goBackTo(now, packet)
		s.adjust(now)
	case syndrome == wire.SyndromeNakSequence:
		if packet*s.mtu >= s.next || s.repeated(now, packet) || !q.retry(w) {
			return
		}
		s.goBackTo(now, packet)
		s.controller.OnNak(now)
		s.adjust(now)
	case syndrome == wire.SyndromeNakInvalid:
		q.poison(w, StatusRemoteInvalid)
	case syndrome == wire.SyndromeNakAccess:
		q.poison(w, StatusRemoteAccess)
	case syndrome == wire.SyndromeNakOperational:
		q.poison(w, StatusRemoteOperation)
	}
}

// workOf is the work that has a PSN; nil if none that is under way has.
func (q *QueuePair) workOf(psn int64) *work {
	for i := range q.count {
		if w := q.nth(i); w.psn <= psn && psn < w.psn+w.psns && w.sent {
			return w
		}
	}
	return nil
}

// retry counts that requests go again, from a work on; false if that was too often.
func (q *QueuePair) retry(w *work) bool {
	if q.retries++; q.retries > int(q.Requester.Retry) {
		q.poison(w, StatusRetriesExceeded)
		return false
	}
	q.Retries++
	return true
}

// timedOut says whether requests are to go again as no answer has come. By the retransmission timeout of the host's settings they may go more
// often than by the queue pair's own, which alone says when it gives up.
func (q *QueuePair) timedOut(now vtime.Time) bool {
	if q.ownTimeout > 0 && now >= q.stuck+vtime.Time(int(q.Requester.Retry)+1)*q.ownTimeout {
		if q.count > 0 {
			q.fail(StatusRetriesExceeded)
		}
		return false
	}
	q.Retries++
	return true
}

// waits is how long it waits for an answer; 0: for ever.
func (q *QueuePair) waits() vtime.Time {
	t := q.sender.settings.RetransmitTimeout
	if own := q.ownTimeout; own > 0 && (t == 0 || own < t) {
		return own
	}
	return t
}

// response takes a packet of the response to a READ, or that to an atomic operation.
func (q *QueuePair) response(now vtime.Time, p *wire.Packet) {
	s := q.sender
	var w *work
	for i := range q.count {
		if x := q.nth(i); x.sent && x.Op.responds() {
			w = x
			break
		}
	}
	if q.state != PairRTS || w == nil {
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
		if due == q.gapFor && w.first == q.gapWork && now-q.gapAt < s.settings.NakInterval || w.first*s.mtu >= s.next {
			return
		}
		q.gapFor, q.gapWork, q.gapAt = due, w.first, now
		if q.retry(w) {
			s.goBackTo(now, w.first)
			s.controller.OnNak(now)
			s.adjust(now)
		}
		return
	}
	q.acknowledge(now, p, w.psn) // what is before it has been received
	if q.state != PairRTS {
		return
	}
	if (p.Kind == wire.KindAtomicAck) != (w.Op > WorkRead) {
		q.fail(StatusBadResponse)
		return
	}
	var err error
	if p.Kind == wire.KindAtomicAck {
		err = q.Program.Scatter(w.SGEs, 0, q.nic.word(p.Original()))
	} else {
		offset := w.got * s.mtu
		if int64(p.Payload) != min(s.mtu, int64(w.length)-offset) {
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
	q.nic.BytesDelivered += int64(p.Payload)
	w.got++
	q.moved(now)
	if w.got < w.psns {
		return
	}
	q.outstanding--
	behind := max(q.stash, w.psn+w.psns)
	q.stash = 0
	q.acknowledge(now, p, behind)
}

// localStatus is what a work is completed with whose memory cannot be had.
func localStatus(err error) Status {
	if errors.Is(err, ErrAccess) {
		return StatusLocalProtection
	}
	return StatusLocalOperation
}
