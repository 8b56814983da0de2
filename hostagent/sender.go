package hostagent

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// messagePackets sets the number of packets in one RDMA WRITE. A long flow is a sequence of WRITEs, as one WRITE is
// limited to 2 GB (IBTA section 9.4).
const messagePackets = 1 << 18

// SenderConfig describes a flow to NIC.Start, or the sending half of a connection to NIC.Connect.
type SenderConfig struct {
	Flow       int   // the engine's index of the flow
	Size       int64 // payload bytes; 0: unbounded
	Controller cc.Controller
	Wire       wire.FlowParams // towards the receiver
	Settings   *Settings       // the flow's own; nil: the NIC's
	Traits     *Traits         // nil: none
	NotifySent bool            // call Clock.Sent
	Entropy    uint64          // seeds the draws of source ports (EntropyRandom, EntropyREPS)
}

// Sender represents the sending half of a flow, the reaction point.
type Sender struct {
	nic        *NIC
	settings   *Settings
	class      *class
	Flow       int // the engine's index of the flow
	controller cc.Controller
	header     *wire.FlowHeader
	qp         uint32
	flowID     uint16
	order      int     // number of flows of this NIC that started before
	nextSameID *Sender // the next flow of this NIC with the same flow ID

	sequence
	pacing
	progress
	rewind
	controlCheck

	ext        *extensions // nil: a plain flow
	notifySent bool        // Clock.Sent has not been called yet

	Retransmitted int64      // payload bytes
	LastRTT       vtime.Time // 0: none yet
	RTT           RTTCounter // nil: none
}

// sequence holds how many payload bytes of a flow have been sent and acknowledged.
type sequence struct {
	size  int64 // math.MaxInt64 if unbounded
	mtu   int64
	next  int64 // bytes sent in sequence (snd_nxt)
	acked int64 // bytes acknowledged (snd_una)
	high  int64 // maximum of next so far; bytes sent below it are retransmissions
}

// pacing holds the departure of a flow's next packet, and the rate and window of its congestion control.
type pacing struct {
	state     senderState
	position  int        // index in the pacer
	rate      float64    // bits per second of line time; 0: nothing can be sent
	window    int64      // payload bytes; 0: none
	eligible  vtime.Time // departure of the next packet; Never while no rate gives a time
	stoppedAt vtime.Time // time since which eligible is Never
	lastStart vtime.Time // start of the last packet sent
	lastLine  int64      // line time of the last packet, in bytes
}

// progress holds the state of a flow's retransmission timer.
type progress struct {
	// sent holds the departure times of the packets that are not acknowledged in order, or resent. Its index is the
	// packet number modulo its length, a power of 2.
	sent  []vtime.Time
	asked int64      // bytes sent up to the last packet that requested an ACK: one is due while they exceed acked
	moved vtime.Time // time at which acked last moved, or an ACK became due
	armed vtime.Time // time at which OnTimer is due; Never if it is not
}

// extensions holds the parts that few flows have. A plain flow has none of them.
type extensions struct {
	traits     *traits     // nil: none
	connection *Connection // nil: it sends a flow
	selective  *selective  // nil: go-back-N repairs losses
	entropy    *entropies  // nil: all packets have the flow's source port
	credit     *credit     // nil: it needs no grants
	spurious   int64       // packets that selective repeat retransmitted although they had arrived
}

// extend returns the flow's extensions. It creates them on first use.
func (s *Sender) extend() *extensions {
	if s.ext == nil {
		s.ext = &extensions{}
	}
	return s.ext
}

// connection returns the connection that the sender belongs to; nil: it sends a flow.
func (s *Sender) connection() *Connection {
	if s.ext == nil {
		return nil
	}
	return s.ext.connection
}

// selective returns the state of selective repeat; nil: go-back-N repairs losses.
func (s *Sender) selective() *selective {
	if s.ext == nil {
		return nil
	}
	return s.ext.selective
}

// credit returns the flow's credit under grants; nil: the flow needs no grants.
func (s *Sender) credit() *credit {
	if s.ext == nil {
		return nil
	}
	return s.ext.credit
}

// RTTCounter records the RTT samples of flows.
type RTTCounter interface {
	// Record adds a sample from an ACK that arrived at now. If several flows share a counter, several workers
	// (Clock.Worker) may call it at once.
	Record(worker int, now, rtt vtime.Time)
}

type senderState uint8

const (
	senderWaiting senderState = iota // in the pacer
	senderReady                      // in the ready ring
	senderBlocked                    // by its window
	senderDrained                    // all packets sent, some not acknowledged
	senderDone
)

// Start adds a flow and starts to send it now.
func (n *NIC) Start(now vtime.Time, c SenderConfig) (*Sender, error) {
	header, err := wire.NewFlowHeader(c.Wire)
	if err != nil {
		return nil, err
	}
	s := n.newSender(now, &c, header)
	if s.size == 0 {
		s.size = math.MaxInt64
	}
	if c.Traits != nil {
		s.extend().traits = &traits{Traits: c.Traits, started: now}
	}
	s.sent = make([]vtime.Time, 1<<bits.Len64(uint64(min((s.size-1)/s.mtu, 63)))) // remember grows it
	if s.settings.Recovery == SelectiveRepeat {
		s.extend().selective = newSelective(c.Controller, len(s.sent))
	}
	s.startCredit()
	n.add(s)
	n.calling = s.caller()
	s.window = s.controller.Window()
	if s.rate = s.sendable(now); s.rate > 0 {
		s.class.makeReady(s)
	} else {
		s.state, s.eligible, s.stoppedAt = senderWaiting, vtime.Never, now
		s.class.waiting.push(s)
	}
	if n.Recorder != nil {
		n.Recorder.Started(now, s.Flow, s.eligible)
	}
	s.rearm()
	n.calling = 0
	return s, nil
}

// newSender returns a sender that is not yet registered with the NIC.
func (n *NIC) newSender(now vtime.Time, c *SenderConfig, header *wire.FlowHeader) *Sender {
	s := &Sender{
		nic: n, settings: cmp.Or(c.Settings, n.settings), Flow: c.Flow, controller: c.Controller, header: header,
		qp:         c.Wire.DestQP,
		flowID:     wire.FlowID(c.Wire.Src, c.Wire.SrcPort, c.Wire.Dst, wire.PortRoCE, wire.ProtocolUDP),
		sequence:   sequence{size: c.Size, mtu: int64(n.mtu)},
		pacing:     pacing{eligible: now, lastStart: now},
		progress:   progress{moved: now, armed: vtime.Never},
		rewind:     rewind{packet: -1},
		notifySent: c.NotifySent,
	}
	s.class = n.classOf(s.settings.DataPriority)
	if e := newEntropies(s.settings.Entropy, c.Entropy); e != nil {
		s.extend().entropy = e
	}
	return s
}

// caller returns the value of NIC.calling while the flow's congestion control runs.
func (s *Sender) caller() int32 { return int32(s.Flow) + 1 }

// QP returns the number of the queue pair that the sender's packets go to.
func (s *Sender) QP() uint32 { return s.qp }

// Sent returns the payload bytes sent in sequence.
func (s *Sender) Sent() int64 { return s.next }

// MostSent returns the most that Sent has been.
func (s *Sender) MostSent() int64 { return s.high }

// Acked returns the payload bytes acknowledged.
func (s *Sender) Acked() int64 { return s.acked }

// Rate returns the controller's current rate, in bits per second of line time; 0 if nothing can be sent at it.
func (s *Sender) Rate() float64 { return s.rate }

// Controller returns the flow's congestion control; nil once the flow has finished.
func (s *Sender) Controller() cc.Controller { return s.controller }

// Spurious returns how many packets selective repeat retransmitted although they had arrived, according to the ACKs
// received so far.
func (s *Sender) Spurious() int64 {
	if s.ext == nil {
		return 0
	}
	return s.ext.spurious
}

// Armed returns the time at which OnTimer is due, or vtime.Never.
func (s *Sender) Armed() vtime.Time { return s.armed }

// blocked reports whether the window blocks the next packet. It does not if no ACK is due that would open it, such as
// when it closes behind packets that requested none: the next packet will request one.
func (s *Sender) blocked(now vtime.Time) bool {
	if c := s.credit(); c != nil && c.lacks() {
		return true
	}
	if s.window < 0 {
		s.noteControlError(now, ControlError{Window: s.window})
		return true
	}
	return s.fills(0) && s.due()
}

// fills reports whether this many more payload bytes would exceed the window.
func (s *Sender) fills(more int64) bool {
	if s.selective() != nil {
		return s.selectiveFills(more)
	}
	return s.window > 0 && s.next-s.acked+more >= s.window
}

// inFlight returns the payload in flight; see cc.Sample.
func (s *Sender) inFlight() int64 {
	if r := s.selective(); r != nil {
		return r.inFlight
	}
	return s.next - s.acked
}

// due reports whether an ACK is due. If many packets share one, the packets since the last that requested it do not
// indicate a loss.
func (s *Sender) due() bool { return s.asked > s.acked }

// Waits reports whether only an answer from the receiver can make the sender continue: it may send nothing until one
// arrives, and no timer makes it retransmit.
func (s *Sender) Waits() bool {
	if s.settings.RetransmitTimeout > 0 && s.due() {
		return false
	}
	// A controller's timer may open the window. It cannot cause retransmissions if everything has been sent.
	c := s.credit()
	return s.state == senderDrained || s.state == senderBlocked && s.controller.Deadline() == vtime.Never &&
		!(c != nil && c.lacks())
}

// send builds the next packet. The caller has checked that there is one and that it may leave.
func (s *Sender) send(now vtime.Time) *frame.Frame {
	if c := s.connection(); c != nil {
		return c.send(now)
	}
	n, at := s.nic, s.next
	r, credit := s.selective(), s.credit()
	if r != nil && r.lost > 0 {
		at = r.first() * s.mtu
	}
	payload := min(s.mtu, s.size-at)
	number, retransmitted := at/s.mtu, at < s.high
	flagged := retransmitted && r != nil // its header says that it was retransmitted
	op, last := s.opcode(at, number, payload)
	// A packet that fills the window requests an ACK too: nothing else would open the window again.
	ackRequest := last || s.fills(payload) || (number+1)%int64(s.settings.AckEvery) == 0
	if s.ext != nil {
		ackRequest = ackRequest || credit != nil && credit.left <= payload || flagged
		if e := s.ext.entropy; e != nil {
			s.header.SetSourcePort(e.next())
		}
	}
	switch {
	case s.settings.INT:
		op = op.WithINT()
	case s.settings.Timestamps:
		op = op.WithTimestamp()
		s.header.SetTimestamp(uint64(now))
	case credit != nil:
		op = op.WithDemand()
		credit.left -= payload
		s.header.SetDemand(s.announce(max(s.next, at+payload)))
	}
	f := s.build(op, number, payload, ackRequest, flagged)
	s.remember(number, now, retransmitted)
	if retransmitted {
		s.Retransmitted += payload
	}
	s.next = max(s.next, at+payload) // go-back-N has moved next back
	if ackRequest {
		if !s.due() {
			s.moved = now
		}
		s.asked = max(s.asked, at+payload)
	}
	if n.Recorder != nil {
		n.Recorder.Sent(now, s.Flow, f, retransmitted, !s.more())
	}
	s.high = max(s.high, s.next)
	s.lastStart, s.lastLine = now, n.lineBytes(int(f.Length))
	n.DataSent++
	n.BytesSent += payload
	// The next departure is timed before the controller learns of this one, as simulators do.
	s.time(now)
	if s.more() {
		s.state = senderWaiting
		s.class.waiting.push(s)
	} else {
		s.state = senderDrained
		s.reportSent(now)
	}
	s.controller.OnSent(now, int(payload))
	s.adjust(now)
	return f
}

// build returns the frame of a data packet.
func (s *Sender) build(op wire.Opcode, number, payload int64, ackRequest, flagged bool) *frame.Frame {
	n := s.nic
	length := s.header.Version().DataLen(op, int(payload))
	var f *frame.Frame
	if s.briefData() {
		form := s.header.Form()
		brief := form.BriefData(op, uint32(number), int(payload), ackRequest)
		if flagged {
			brief = brief.Retransmission()
		}
		f = n.clock.Brief(length, form, brief)
	} else {
		f = n.clock.Frame(length)
		if flagged {
			s.header.SetRetransmitted(true)
		}
		wire.PutData(f.Data(), s.header, op, uint32(number)&wire.PSNMask, int(payload), ackRequest, true)
		if flagged {
			s.header.SetRetransmitted(false)
		}
	}
	f.Priority = s.settings.DataPriority
	return f
}

// reportSent calls Clock.Sent, once, if the flow is configured to.
func (s *Sender) reportSent(now vtime.Time) {
	if s.notifySent {
		s.notifySent = false
		s.nic.clock.Sent(now, s)
	}
}

// briefData reports whether data packets can be brief.
func (s *Sender) briefData() bool {
	return s.nic.Brief && !s.settings.INT && !s.settings.Timestamps &&
		(s.ext == nil || s.ext.entropy == nil && s.ext.credit == nil)
}

// opcode returns the opcode of packet number, which starts at byte at, and whether it ends its message. With selective
// repeat each packet is its own WRITE, whose RETH holds the address of its payload. Only the flow's last packet ends a
// message then.
func (s *Sender) opcode(at, number, payload int64) (op wire.Opcode, last bool) {
	if s.selective() != nil {
		s.header.SetMessage(uint64(at), uint32(payload))
		return wire.OpWriteOnly, at+payload == s.size
	}
	first := number%messagePackets == 0
	last = number%messagePackets == messagePackets-1 || at+payload == s.size
	if first {
		remaining := min(s.size-at, messagePackets*s.mtu)
		s.header.SetMessage(uint64(at), uint32(remaining))
	}
	switch {
	case first && last:
		return wire.OpWriteOnly, last
	case first:
		return wire.OpWriteFirst, last
	case last:
		return wire.OpWriteLast, last
	}
	return wire.OpWriteMiddle, last
}

// time schedules the next departure, from the start of the last packet, at the current rate.
func (s *Sender) time(now vtime.Time) {
	gap := math.Round(float64(s.lastLine) * 8e12 / s.rate)
	switch {
	case gap < float64(vtime.Never-s.lastStart): // false for no rate, and for one whose gap exceeds virtual time
		s.eligible = s.lastStart + vtime.Time(gap)
	case s.eligible != vtime.Never:
		s.eligible, s.stoppedAt = vtime.Never, now
	}
	if s.nic.Recorder != nil {
		s.nic.Recorder.Timed(s.Flow, s.eligible)
	}
}

// more reports whether anything is left to send, even if the window has no room for it.
func (s *Sender) more() bool {
	if s.next < s.size {
		return true
	}
	r := s.selective()
	return r != nil && r.lost > 0
}
