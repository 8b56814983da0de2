package provenance

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

type senderState uint8

const (
	idle    senderState = iota // not started
	waiting                    // for its pacing, or for the NIC's port
	blocked                    // closed window
	drained                    // everything sent
	done
)

// sender holds the state of a flow at its source. It belongs to the source's partition.
type sender struct {
	state          senderState
	retransmitting bool       // it retransmits
	from           vtime.Time // time of its start
	cursor         vtime.Time // end of the time covered by parts
	eligible       vtime.Time // earliest time of its next packet
	own            vtime.Time // end of its last packet on the port
	signal         Signal     // the last reason for a lower rate
	pacing         Signal     // the same when the next packet was timed
	mark           Signal     // the last mark echoed by an ACK since then
	parts          map[Part]vtime.Time
	entries        []Entry // replaces parts once the flow has ended
	nic            *nic
}

// receiver holds the state of a flow at its destination. It belongs to the destination's partition.
type receiver struct {
	mark Signal // the last received mark
	echo Signal // the mark that the next ACK echoes
}

// nic records events of a host's flows.
type nic struct {
	*Recorder
	port     int32
	line     *line
	live     []int32  // flows that have started and not ended
	current  *journey // of the packet in process; nil: none
	kind     wire.Kind
	int      bool // the packet has telemetry
	timedOut bool
}

func (s *sender) add(p Part, t vtime.Time) {
	if t == 0 {
		return
	}
	p.Retransmitted = s.retransmitting
	s.parts[p] += t
}

// Started records a flow that starts.
func (n *nic) Started(now vtime.Time, flow int, eligible vtime.Time) {
	n.senders[flow] = sender{
		state: waiting, from: now, cursor: now, eligible: eligible, own: now, parts: map[Part]vtime.Time{}, nic: n,
		signal: Signal{Start, 0, -1}, pacing: Signal{Start, 0, -1},
	}
	n.live = append(n.live, int32(flow))
}

// advance adds the flow's waiting time at its NIC up to now.
func (n *nic) advance(now vtime.Time, s *sender) {
	if own := min(s.own, now); own > s.cursor {
		s.add(Part{What: Serialising, Port: n.port}, own-s.cursor)
		s.cursor = own
	}
	if paced := min(s.eligible, now); paced > s.cursor {
		s.add(Part{What: Pacing, Port: -1, Signal: s.pacing}, paced-s.cursor)
		s.cursor = paced
	}
	if now > s.cursor {
		n.wait(now, s)
	}
}

// wait adds the port's activity since the flow's packet became eligible. A new packet would have waited as long as a
// retransmitted one.
func (n *nic) wait(now vtime.Time, s *sender) {
	l, retransmitting := n.line, s.retransmitting
	s.retransmitting = false
	l.expire(now)
	var busy vtime.Time
	for i := len(l.log) - 1; i >= 0 && l.log[i].to > s.cursor; i-- {
		e := &l.log[i]
		t := min(e.to, now) - max(e.from, s.cursor)
		s.add(Part{What: Queued, Port: n.port, Class: e.class}, t)
		busy += t
	}
	rest := now - s.cursor - busy
	sent := l.sentBy(now)
	l.pausedFor(s.cursor, now, sent-busy, sent, n.priority, func(hold int32, t vtime.Time) {
		s.add(Part{What: Paused, Port: n.port, Hold: hold}, t)
		rest -= t
	})
	s.add(Part{What: Stopped, Port: n.port}, rest)
	s.cursor, s.retransmitting = now, retransmitting
}

// shorten removes entries of the port's log that no flow needs any more.
func (n *nic) shorten() {
	l := n.line
	if len(l.log) < l.cut {
		return
	}
	oldest := vtime.Never
	for _, flow := range n.live {
		if s := &n.senders[flow]; s.state == waiting {
			oldest = min(oldest, s.cursor)
		}
	}
	expired := 0
	for expired < len(l.log) && l.log[expired].to <= oldest {
		expired++
	}
	l.log = l.log[:copy(l.log, l.log[expired:])]
	l.cut = max(64, 2*len(l.log))
}

// Sent records a data packet as it leaves.
func (n *nic) Sent(now vtime.Time, flow int, f *frame.Frame, retransmitted, last bool) {
	s := &n.senders[flow]
	s.retransmitting = retransmitted
	n.advance(now, s)
	s.state = waiting
	if last {
		s.state = drained
	}
	journeyOf(f).begin(now, flow, n.classOf[flow])
	n.shorten()
}

// Timed records the earliest departure time of the next packet.
func (n *nic) Timed(flow int, eligible vtime.Time) {
	s := &n.senders[flow]
	s.eligible, s.pacing = eligible, s.signal
}

// Blocked records that the window is closed.
func (n *nic) Blocked(now vtime.Time, flow int) {
	s := &n.senders[flow]
	n.advance(now, s)
	s.state = blocked
}

// Opened records that the window is open again.
func (n *nic) Opened(now vtime.Time, flow int) {
	s := &n.senders[flow]
	if n.current != nil && n.kind == wire.KindGrant {
		s.add(Part{Stage: Awaiting, What: Ungranted, Port: -1, Signal: Signal{Port: -1}}, now-s.cursor)
		s.cursor = now
	} else {
		n.await(now, s, Awaiting, Closed)
	}
	s.state = waiting
}

// await adds the time for which the flow waited for the answer in process, by the steps of that answer. Without an
// answer, without names the reason.
func (n *nic) await(now vtime.Time, s *sender, stage Stage, without What) {
	end, signal := now, Signal{Port: -1}
	if stage == Awaiting {
		signal = s.signal
	}
	if j := n.current; j != nil && j.answer {
		now = s.follow(j, now, stage, signal)
	}
	s.add(Part{Stage: stage, What: without, Port: -1, Signal: signal}, now-s.cursor)
	s.cursor = end
}

// follow adds the last steps of a journey that has its present step at now, as far back as the cursor. It returns the
// start of the earliest step added.
func (s *sender) follow(j *journey, now vtime.Time, stage Stage, signal Signal) vtime.Time {
	for i := len(j.steps) - 1; i >= 0 && s.cursor < now; i-- {
		x := &j.steps[i]
		t := min(x.time, now-s.cursor)
		s.add(Part{Stage: stage, What: x.what, Answer: x.answer, Port: x.port, Class: x.class, Hold: x.hold, Signal: signal},
			t)
		now -= t
	}
	return now
}

// WentBack records that the flow starts to retransmit.
func (n *nic) WentBack(now vtime.Time, flow int, timeout bool) {
	s := &n.senders[flow]
	if timeout {
		n.timedOut = true
	}
	if s.state == drained || s.state == blocked {
		if timeout {
			s.add(Part{Stage: Repairing, What: Timeout, Port: -1}, now-s.cursor)
		} else {
			n.await(now, s, Repairing, Closed)
		}
		s.cursor = now
	}
	if s.state == drained {
		s.state = waiting
	}
}

// Lowered records that the flow's rate or window was lowered.
func (n *nic) Lowered(flow int) {
	s, j := &n.senders[flow], n.current
	switch {
	case n.timedOut:
		s.signal = Signal{TimedOut, 0, -1}
	case j == nil:
		s.signal = Signal{Own, 0, -1}
	case n.kind == wire.KindNak:
		s.signal = Signal{NAK, 0, -1}
	case n.kind == wire.KindCNP || n.kind == wire.KindCNM:
		s.signal = j.signal
	case s.mark.Kind != NoSignal: // a control that counts marks may act on a later ACK
		s.signal = s.mark
	default:
		port, hold := j.worst()
		s.signal = Signal{Delay, hold, port}
		if n.int {
			s.signal.Kind = Telemetry
		}
	}
	s.mark = Signal{}
}

// Received records a packet before the NIC processes it.
func (n *nic) Received(now vtime.Time, f *frame.Frame, p *wire.Packet) {
	j := journeyOf(f)
	j.add(step{what: Buffered, port: n.port, time: now - j.at})
	j.at = now
	n.current, n.kind, n.int = j, p.Kind, p.INT() != nil
	if j.signal.Kind == NoSignal || j.flow < 0 {
		return
	}
	switch p.Kind {
	case wire.KindData:
		r := &n.receivers[j.flow]
		r.mark, r.echo = j.signal, j.signal
	case wire.KindAck, wire.KindNak:
		n.senders[j.flow].mark = j.signal
	}
}

// Handled records that the NIC has processed the packet.
func (n *nic) Handled() { n.current, n.timedOut = nil, false }

// Answered records an answer.
func (n *nic) Answered(now vtime.Time, flow int, f *frame.Frame, kind wire.Kind) {
	n.line.expire(now)
	r, j := &n.receivers[flow], journeyOf(f)
	j.begin(now, flow, control)
	j.answer = true
	j.join(now, n.line)
	j.hold = 0
	if kind == wire.KindGrant || kind == wire.KindRequest { // it echoes nothing
		j.signal = Signal{}
		return
	}
	if kind == wire.KindCNP {
		j.signal = Signal{CNP, r.mark.Hold, -1}
		if r.mark.Kind != NoSignal {
			j.signal.Port = r.mark.Port
		}
		return
	}
	if n.current != nil {
		j.steps = append(j.steps, n.current.steps...)
	}
	j.signal, r.echo = r.echo, Signal{}
}

// Done records that the flow has finished.
func (n *nic) Done(now vtime.Time, flow int) {
	s := &n.senders[flow]
	s.retransmitting = false
	n.await(now, s, Finishing, Unanswered)
	s.end(done)
	for i, f := range n.live {
		if f == int32(flow) {
			n.live[i] = n.live[len(n.live)-1]
			n.live = n.live[:len(n.live)-1]
			break
		}
	}
}
