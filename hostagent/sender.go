package hostagent

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// messagePackets is the packets of one RDMA WRITE: a long flow is a row of writes, as one is limited to 2 GB (IBTA
// section 9.4).
const messagePackets = 1 << 18

// SenderConfig says what a sender needs to know of its flow.
type SenderConfig struct {
	Flow       int   // the engine's number of the flow
	Size       int64 // payload bytes; 0: unbounded
	Controller cc.Controller
	Wire       wire.FlowParams // towards the receiver
	Settings   *Settings       // its own; nil: the NIC's
	Traits     *Traits         // nil: none
	TellSent   bool            // Clock.Sent is to be called
	Entropy    uint64          // seeds the draws of source ports (EntropyRandom, EntropyREPS)
}

// Sender is the sending half of a flow's queue pair, the reaction point.
type Sender struct {
	nic        *NIC
	settings   *Settings
	class      *class
	Flow       int
	controller cc.Controller
	header     *wire.FlowHeader
	qp         uint32
	flowID     uint16
	start      int     // how many flows of this host began before
	collides   *Sender // the next of this host's with the same flow id

	size  int64 // math.MaxInt64 if unbounded
	mtu   int64
	next  int64 // bytes sent in sequence (snd_nxt)
	acked int64 // bytes acknowledged (snd_una)
	high  int64 // most of next ever: below it is retransmission

	state     senderState
	special   bool // it has traits, or any of pair, repeat, entropy and credit: most flows have not, and one look says so
	position  int  // in the pacer
	rate      float64
	window    int64
	eligible  vtime.Time // when its next packet may leave; Never while no rate says when
	stoppedAt vtime.Time // since when that is Never
	lastStart vtime.Time // of the last packet sent
	lastLine  int64
	sent      []vtime.Time // starts of the packets not acknowledged in order, or sentTwice; by packet number modulo the length, a power of 2
	asked     int64        // bytes sent up to the last packet that asked for an ACK: one is due while they are more than acked
	progress  vtime.Time   // last time that acked moved, or that an ACK became due
	armed     vtime.Time
	gap       int64      // the packet that go-back-N has gone back to last; -1: none
	gapAt     vtime.Time // when
	gapUntil  vtime.Time // before it, a NAK for that packet is of what was sent before

	traits   *traits    // nil: it has none
	pair     *QueuePair // whose messages it sends; nil: it sends a flow
	repeat   *selective // nil: lost packets are repaired by go-back-N
	entropy  *entropies // nil: all packets have the flow's source port
	credit   *credit    // what has been granted; nil: it goes by no grants
	tellSent bool       // Clock.Sent is still to be called
	broken   *Broken
	again    int // times in a row that the controller's timer was to be called at once again

	Retransmitted int64 // payload bytes
	Spurious      int64 // packets of selective repeat that arrived again, as far as their answers came
	LastRTT       vtime.Time
	RTT           RTTCounter
}

// RTTCounter is told of every RTT sample; nil is fine.
type RTTCounter interface {
	// Record takes a sample by an ACK that came at now. Where several flows have a counter in common it may be called for those of different
	// lanes (Clock.Lane) at once.
	Record(lane int, now, rtt vtime.Time)
}

type senderState uint8

const (
	senderWaiting senderState = iota // in the pacer
	senderReady                      // in the ready ring
	senderBlocked                    // by its window
	senderDrained                    // everything is sent, not everything acknowledged
	senderDone
)

// Start adds a flow that begins to send now.
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
		s.traits = &traits{Traits: c.Traits, begun: now}
	}
	s.sent = make([]vtime.Time, 1<<bits.Len64(uint64(min((s.size-1)/s.mtu, 63)))) // remember has it grow
	if s.settings.Recovery == SelectiveRepeat {
		s.repeat = newRepeat(c.Controller, len(s.sent))
	}
	s.credit = s.newCredit()
	s.special = s.traits != nil || s.repeat != nil || s.entropy != nil || s.credit != nil
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
		n.Recorder.Begun(now, s.Flow, s.eligible)
	}
	s.rearm()
	n.calling = 0
	return s, nil
}

// newSender is a sender that nothing leads to yet.
func (n *NIC) newSender(now vtime.Time, c *SenderConfig, header *wire.FlowHeader) *Sender {
	s := &Sender{
		nic: n, settings: cmp.Or(c.Settings, n.settings), Flow: c.Flow, controller: c.Controller, header: header, qp: c.Wire.DestQP,
		flowID: wire.FlowID(c.Wire.Src, c.Wire.SrcPort, c.Wire.Dst, wire.PortRoCE, wire.ProtocolUDP),
		size:   c.Size, mtu: int64(n.mtu),
		eligible: now, lastStart: now, progress: now, armed: vtime.Never, gap: -1, tellSent: c.TellSent,
	}
	s.class = n.classOf(s.settings.DataPriority)
	s.entropy = newEntropies(s.settings.Entropy, c.Entropy)
	return s
}

// caller is what NIC.calling is while the flow's congestion control is at work.
func (s *Sender) caller() int32 { return int32(s.Flow) + 1 }

// Sent is the payload bytes sent in sequence, MostSent the most that this has been, Acked those acknowledged.
func (s *Sender) Sent() int64     { return s.next }
func (s *Sender) MostSent() int64 { return s.high }
func (s *Sender) Acked() int64    { return s.acked }

// Rate is the controller's rate now, in bits per second of line time; 0 if nothing can be sent at what it says.
func (s *Sender) Rate() float64 { return s.rate }

// Controller is the flow's congestion control; nil once it has ended.
func (s *Sender) Controller() cc.Controller { return s.controller }

// blocked says whether the window holds the next packet up. It does not if no ACK is due that would open it, as when it closes
// behind packets that asked for none: the next will ask.
func (s *Sender) blocked(now vtime.Time) bool {
	if s.credit != nil && s.credit.lacks() {
		return true
	}
	if s.window < 0 {
		s.breaks(now, Broken{Window: s.window})
		return true
	}
	return s.fills(0) && s.due()
}

// fills tells whether the window is full with so many payload bytes more.
func (s *Sender) fills(more int64) bool {
	if s.repeat != nil {
		return s.repeatFills(more)
	}
	return s.window > 0 && s.next-s.acked+more >= s.window
}

// inFlight is the payload that is in flight; see cc.Sample.
func (s *Sender) inFlight() int64 {
	if s.repeat != nil {
		return s.repeat.inFlight
	}
	return s.next - s.acked
}

// due says whether an ACK is due. Where many packets share one, those since the last that asked for it say nothing of a loss.
func (s *Sender) due() bool { return s.asked > s.acked }

// Waits says whether nothing but an answer from the receiver can have the sender go on: it may send nothing more until one comes,
// and no timer will have it send again.
func (s *Sender) Waits() bool {
	if s.settings.RetransmitTimeout > 0 && s.due() {
		return false
	}
	// A controller's timer may open the window. What has all been sent it cannot send again.
	return s.state == senderDrained || s.state == senderBlocked && s.controller.Deadline() == vtime.Never && !(s.credit != nil && s.credit.lacks())
}

// send makes the next packet. The caller has checked that there is one and that it may go.
func (s *Sender) send(now vtime.Time) *frame.Frame {
	if s.pair != nil {
		return s.pair.send(now)
	}
	n, at := s.nic, s.next
	if s.repeat != nil && s.repeat.lost > 0 {
		at = s.repeat.first() * s.mtu
	}
	payload := min(s.mtu, s.size-at)
	number, again := at/s.mtu, at < s.high
	tell := again && s.repeat != nil
	op, last := s.opcode(at, number, payload)
	// A packet that fills the window asks for its ACK too: nothing else would open it again.
	ackRequest := last || s.fills(payload) || (number+1)%int64(s.settings.AckEvery) == 0
	if s.special {
		ackRequest = ackRequest || s.credit != nil && s.credit.left <= payload || tell
		if s.entropy != nil {
			s.header.SetSourcePort(s.entropy.next())
		}
	}
	switch {
	case s.settings.INT:
		op = op.WithINT()
	case s.settings.Timestamps:
		op = op.WithTimestamp()
		s.header.SetTimestamp(uint64(now))
	case s.credit != nil:
		op = op.WithDemand()
		s.credit.left -= payload
		s.header.SetDemand(s.tell(max(s.next, at+payload)))
	}
	var f *frame.Frame
	if length := s.header.Version().DataLen(op, int(payload)); s.briefData() {
		form := s.header.Form()
		brief := form.BriefData(op, uint32(number), int(payload), ackRequest)
		if tell {
			brief = brief.Again()
		}
		f = n.clock.Brief(length, form, brief)
	} else {
		f = n.clock.Frame(length)
		if tell {
			s.header.SetSentAgain(true)
		}
		wire.PutData(f.Data(), s.header, op, uint32(number)&wire.PSNMask, int(payload), ackRequest, true)
		if tell {
			s.header.SetSentAgain(false)
		}
	}
	f.Priority = s.settings.DataPriority

	s.remember(number, now, again)
	if again {
		s.Retransmitted += payload
	}
	s.next = max(s.next, at+payload) // go-back-N has gone back with it
	if ackRequest {
		if !s.due() {
			s.progress = now
		}
		s.asked = max(s.asked, at+payload)
	}
	if n.Recorder != nil {
		n.Recorder.Sent(now, s.Flow, f, again, !s.more())
	}
	s.high = max(s.high, s.next)
	s.lastStart, s.lastLine = now, n.lineBytes(int(f.Length))
	n.DataSent++
	n.BytesSent += payload
	// The next departure is timed before the controller hears of this one, as simulators do.
	s.time(now)
	if s.more() {
		s.state = senderWaiting
		s.class.waiting.push(s)
	} else {
		s.state = senderDrained
		if s.tellSent {
			s.tellSent = false
			n.clock.Sent(now, s)
		}
	}
	s.controller.OnSent(now, int(payload))
	s.adjust(now)
	return f
}

// briefData says whether data packets can be brief.
func (s *Sender) briefData() bool {
	return s.nic.Brief && !s.settings.INT && !s.settings.Timestamps && s.entropy == nil && s.credit == nil
}

// opcode is that of packet number, of the bytes from at on, and whether it ends its message. With selective repeat each packet is a WRITE of
// its own, whose RETH says where its payload belongs; those of the flow that are in no need of an ACK are no last.
func (s *Sender) opcode(at, number, payload int64) (op wire.Opcode, last bool) {
	if s.repeat != nil {
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

// time times the next departure, from the start of the last packet, at the present rate.
func (s *Sender) time(now vtime.Time) {
	gap := math.Round(float64(s.lastLine) * 8e12 / s.rate)
	switch {
	case gap < float64(vtime.Never-s.lastStart): // not so of no rate, nor of one that time has no end for
		s.eligible = s.lastStart + vtime.Time(gap)
	case s.eligible != vtime.Never:
		s.eligible, s.stoppedAt = vtime.Never, now
	}
	if s.nic.Recorder != nil {
		s.nic.Recorder.Timed(s.Flow, s.eligible)
	}
}

// sentTwice is in the place of the start of a packet that go-back-N has sent more than once: its ACK tells no RTT.
const sentTwice vtime.Time = -1

// remember notes that a packet leaves now.
func (s *Sender) remember(number int64, now vtime.Time, again bool) {
	if number*s.mtu-s.acked >= int64(len(s.sent))*s.mtu { // acked is that of whole packets
		grown := make([]vtime.Time, 2*len(s.sent))
		for i := s.acked / s.mtu; i < number; i++ {
			grown[i&int64(len(grown)-1)] = *s.sentAt(i)
		}
		s.sent = grown
		if s.repeat != nil {
			s.repeat.grow(s.acked/s.mtu, number, len(grown))
		}
	}
	switch {
	case s.repeat != nil:
		*s.sentAt(number) = now
		s.departed(number, now)
	case again:
		*s.sentAt(number) = sentTwice
	default:
		*s.sentAt(number) = now
	}
}

// sentAt is where the start of a packet in flight is remembered.
func (s *Sender) sentAt(number int64) *vtime.Time { return &s.sent[number&int64(len(s.sent)-1)] }

// packetNumber is the whole number of a 24-bit PSN, near what is in flight.
func (s *Sender) packetNumber(psn uint32) int64 {
	una := s.acked / s.mtu
	return una + int64(wire.PSNDiff(psn, uint32(una)&wire.PSNMask))
}

func (s *Sender) onAck(now vtime.Time, p *wire.Packet) {
	s.hear(now, p)
	if s.repeat != nil {
		s.onAnswer(now, p)
		return
	}
	s.advance(now, p, s.packetNumber(p.PSN), true)
}

// advance takes all packets up to a number for received, as p says. timed is whether that may tell an RTT.
func (s *Sender) advance(now vtime.Time, p *wire.Packet, number int64, timed bool) {
	acked := min((number+1)*s.mtu, s.size)
	if s.state == senderDone || acked <= s.acked || acked > s.high {
		return
	}
	sent := *s.sentAt(number)
	if at, ok := p.Timestamp(); ok && at <= uint64(s.lastStart) { // of the copy that arrived
		sent = vtime.Time(at)
	}
	var rtt vtime.Time
	if timed && sent != sentTwice {
		rtt = now - sent
	}
	newly := acked - s.acked
	s.acked = acked
	s.progress = now
	if s.next < acked { // an ACK overtook a go-back
		s.next = acked
	}
	s.measured(now, rtt)
	if acked == s.size && s.pair == nil {
		s.finish(now)
		return
	}
	s.acknowledged(now, p, rtt, newly)
	s.adjust(now)
}

// measured records an RTT; 0 is none.
func (s *Sender) measured(now, rtt vtime.Time) {
	if rtt == 0 {
		return
	}
	s.LastRTT = rtt
	if s.RTT != nil {
		s.RTT.Record(s.nic.clock.Lane(), now, rtt)
	}
}

// acknowledged hands an ACK to the congestion control.
func (s *Sender) acknowledged(now vtime.Time, p *wire.Packet, rtt vtime.Time, newly int64) {
	sample := &s.nic.sample
	*sample = cc.Sample{
		Now: now, RTT: rtt, AckedBytes: newly, AckSequence: s.acked, NextSend: s.next, InFlight: s.inFlight(),
		CE: p.FECN, UE: p.BECN && !p.FECN, // see wire.EchoMark
	}
	sample.Hops, sample.PathID = s.nic.telemetry(p)
	s.controller.OnAck(sample)
}

func (s *Sender) onNak(now vtime.Time, p *wire.Packet) {
	s.hear(now, p)
	if s.repeat != nil {
		s.onAnswer(now, p)
		return
	}
	expected := min(s.packetNumber(p.PSN)*s.mtu, s.size)
	if s.state == senderDone || expected < s.acked || expected > s.high {
		return
	}
	if expected > s.acked {
		s.acked = expected
		s.progress = now
	}
	if s.repeated(now, expected/s.mtu) {
		return
	}
	s.goBack(now, false)
	s.controller.OnNak(now)
	s.adjust(now)
}

// repeated tells whether a NAK for a packet is of a gap that the flow has gone back for already, and notes the gap if not. A gap has one rewind: NAKs of packets that left before it may
// come for as long as the first one took, since the packet left.
func (s *Sender) repeated(now vtime.Time, packet int64) bool {
	if s.gap == packet && now < s.gapUntil {
		return true
	}
	span := s.LastRTT
	if sent := *s.sentAt(packet); sent != sentTwice {
		span = now - sent
	} else if s.gap == packet {
		span = now - s.gapAt
	}
	s.gap, s.gapAt, s.gapUntil = packet, now, now+span
	return false
}

// hear takes what an answer says of the path of the packet that it answers.
func (s *Sender) hear(now vtime.Time, p *wire.Packet) {
	if s.credit != nil {
		s.credit.answered()
	}
	if s.entropy != nil {
		s.entropy.answered(now, p.SrcPort, !p.FECN && p.Syndrome != wire.SyndromeNakTrimmed)
	}
}

// goBack sends again from the first byte that is not acknowledged.
func (s *Sender) goBack(now vtime.Time, timeout bool) {
	if s.nic.Recorder != nil {
		s.nic.Recorder.WentBack(now, s.Flow, timeout)
	}
	s.next, s.asked = s.acked, s.acked
	if s.state == senderDrained {
		s.state = senderWaiting
		s.class.waiting.push(s)
	}
}

// goBackTo sends again from a packet on, unless it has gone back further.
func (s *Sender) goBackTo(now vtime.Time, packet int64) {
	if packet*s.mtu >= s.next {
		return
	}
	acked := s.acked
	s.acked = packet * s.mtu
	s.goBack(now, false)
	s.acked = acked
}

func (s *Sender) onCNP(now vtime.Time, p *wire.Packet) {
	if s.state == senderDone {
		return
	}
	sample := &s.nic.sample
	*sample = cc.Sample{Now: now, AckSequence: s.acked, NextSend: s.next, InFlight: s.inFlight(), CE: p.BECN, UE: p.FECN && !p.BECN}
	if reserved := p.Reserved(); reserved != nil {
		report := wire.ParsePCNReport(reserved)
		sample.Received, sample.ReceivingRate = int(report.Packets), units.Rate(report.RateMbps)*units.Mbps
	}
	s.controller.OnCNP(sample)
	s.adjust(now)
}

func (s *Sender) onCNM(now vtime.Time, cnm wire.CNM) {
	sample := &s.nic.sample
	*sample = cc.Sample{
		Now: now, AckSequence: s.acked, NextSend: s.next, InFlight: s.inFlight(),
		CNMFlows: cnm.Flows(), CNMRate: units.Rate(cnm.RateMbps()) * units.Mbps,
	}
	s.controller.OnCNM(sample)
	s.adjust(now)
}

// OnTimer is called at the time armed.
func (s *Sender) OnTimer(now vtime.Time) {
	s.armed = vtime.Never
	if s.state == senderDone {
		return
	}
	if s.traits != nil && s.traits.stops(now) {
		if s.halt(now); s.state == senderDone {
			return
		}
	}
	s.nic.calling = s.caller()
	if s.expiry() <= now {
		s.nic.Timeouts++
		if s.entropy != nil {
			s.entropy.failed(now)
		}
		if s.repeat != nil {
			s.giveUp(now)
		} else {
			s.progress = now
			if s.pair == nil || s.pair.timedOut(now) {
				s.goBack(now, true)
			}
			s.controller.OnTimeout(now)
		}
	}
	if s.controller.Deadline() <= now {
		s.controller.OnTimer(now)
		s.watchTimer(now)
	}
	if c := s.credit; c != nil && s.state == senderBlocked && c.requests <= now {
		s.request(now)
	}
	s.adjust(now)
	s.nic.calling = 0
	if s.nic.Recorder != nil {
		s.nic.Recorder.Handled()
	}
}

// adjust follows up on a controller's change of rate or window. The departure of the next packet was timed as the last one
// left; whether the new rate moves it, to where it would be had it been the rate then, is the controller's to say.
func (s *Sender) adjust(now vtime.Time) {
	if rate := s.sendable(now); rate != s.rate {
		s.lowers(rate < s.rate)
		s.rate = rate
		s.nic.RateChanges++
		if s.eligible == vtime.Never || s.controller.Retimes() {
			s.time(now)
			if s.state == senderWaiting {
				s.class.waiting.fix(s)
			}
		}
	}
	if window := s.controller.Window(); window != s.window {
		s.lowers(window < s.window)
		s.window = window
		s.nic.WindowChanges++
	}
	switch {
	case s.state != senderBlocked:
	case !s.blocked(now):
		s.state = senderWaiting
		s.class.waiting.push(s)
		if s.nic.Recorder != nil {
			s.nic.Recorder.Opened(now, s.Flow)
		}
	case s.credit != nil && s.credit.lacks():
		s.starve(now)
	}
	s.rearm()
}

// lowers tells the recorder that the congestion control has lowered the rate or the window, if it has.
func (s *Sender) lowers(lower bool) {
	if lower && s.nic.Recorder != nil {
		s.nic.Recorder.Lowered(s.Flow)
	}
}

func (s *Sender) rearm() {
	at := vtime.Never
	if s.again < mostAgain {
		at = s.controller.Deadline()
	}
	at = min(at, s.expiry())
	if t := s.traits; t != nil && t.Stop > 0 && !t.halted {
		at = min(at, t.Stop)
	}
	if s.credit != nil && s.state == senderBlocked {
		at = min(at, s.credit.requests)
	}
	if at != s.armed {
		s.armed = at
		if at != vtime.Never {
			s.nic.clock.Arm(s, at)
		}
	}
}

func (s *Sender) finish(now vtime.Time) {
	if s.state == senderWaiting {
		s.class.waiting.remove(s)
	}
	s.state = senderDone
	s.armed = vtime.Never
	if s.credit != nil {
		s.nic.granted--
	}
	if s.nic.Recorder != nil {
		s.nic.Recorder.Done(now, s.Flow)
	}
	// A run of many flows keeps their counters and not what only a live flow needs.
	s.sent, s.header, s.controller, s.repeat = nil, nil, nil, nil
	s.nic.remove(s)
	s.nic.clock.Done(now, s)
}

// Halted says whether its time to stop has come: then it ends with what it had sent.
func (s *Sender) Halted() bool { return s.traits != nil && s.traits.halted }

// Armed is the time at which OnTimer is due; vtime.Never if it is not.
func (s *Sender) Armed() vtime.Time { return s.armed }
