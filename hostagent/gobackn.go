package hostagent

import (
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// rewind holds the last gap for which go-back-N has gone back.
type rewind struct {
	packet int64      // number; -1: none
	at     vtime.Time // time of going back
	until  vtime.Time // a NAK for the packet before this time concerns packets sent earlier
}

// resent marks, in progress.sent, a packet that go-back-N has sent more than once: its ACK gives no RTT.
const resent vtime.Time = -1

// remember records that a packet leaves now.
func (s *Sender) remember(number int64, now vtime.Time, retransmitted bool) {
	r := s.selective()
	if number*s.mtu-s.acked >= int64(len(s.sent))*s.mtu { // acked counts whole packets
		grown := make([]vtime.Time, 2*len(s.sent))
		for i := s.acked / s.mtu; i < number; i++ {
			grown[i&int64(len(grown)-1)] = *s.sentAt(i)
		}
		s.sent = grown
		if r != nil {
			r.grow(s.acked/s.mtu, number, len(grown))
		}
	}
	switch {
	case r != nil:
		*s.sentAt(number) = now
		s.departed(number, now)
	case retransmitted:
		*s.sentAt(number) = resent
	default:
		*s.sentAt(number) = now
	}
}

// sentAt returns a pointer to the departure time of a packet in flight.
func (s *Sender) sentAt(number int64) *vtime.Time { return &s.sent[number&int64(len(s.sent)-1)] }

// packetNumber returns the packet number of a 24-bit PSN near the packets in flight.
func (s *Sender) packetNumber(psn uint32) int64 {
	una := s.acked / s.mtu
	return una + int64(wire.PSNDiff(psn, uint32(una)&wire.PSNMask))
}

func (s *Sender) onAck(now vtime.Time, p *wire.Packet) {
	s.notePath(now, p)
	if s.selective() != nil {
		s.onAnswer(now, p)
		return
	}
	s.advance(now, p, s.packetNumber(p.PSN), true)
}

// advance acknowledges all packets up to number, with the information in p. timed reports whether p may give an RTT.
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
	if timed && sent != resent {
		rtt = now - sent
	}
	newly := acked - s.acked
	s.acked = acked
	s.moved = now
	if s.next < acked { // an ACK arrived after a rewind
		s.next = acked
	}
	s.recordRTT(now, rtt)
	if acked == s.size && s.connection() == nil {
		s.finish(now)
		return
	}
	s.acknowledged(now, p, rtt, newly)
	s.adjust(now)
}

// recordRTT records an RTT; it ignores 0, which means none.
func (s *Sender) recordRTT(now, rtt vtime.Time) {
	if rtt == 0 {
		return
	}
	s.LastRTT = rtt
	if s.RTT != nil {
		s.RTT.Record(s.nic.clock.Worker(), now, rtt)
	}
}

// acknowledged passes an ACK to the congestion control.
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
	s.notePath(now, p)
	if s.selective() != nil {
		s.onAnswer(now, p)
		return
	}
	expected := min(s.packetNumber(p.PSN)*s.mtu, s.size)
	if s.state == senderDone || expected < s.acked || expected > s.high {
		return
	}
	if expected > s.acked {
		s.acked = expected
		s.moved = now
	}
	if s.rewound(now, expected/s.mtu) {
		return
	}
	s.goBack(now, false)
	s.controller.OnNak(now)
	s.adjust(now)
}

// rewound reports whether the flow has already gone back for the gap that a NAK for a packet reports. If not, it
// records the gap. A gap causes one rewind: NAKs for packets that left before it may arrive for as long as the first
// NAK took, counted from the packet's departure.
func (s *Sender) rewound(now vtime.Time, packet int64) bool {
	g := &s.rewind
	if g.packet == packet && now < g.until {
		return true
	}
	span := s.LastRTT
	if sent := *s.sentAt(packet); sent != resent {
		span = now - sent
	} else if g.packet == packet {
		span = now - g.at
	}
	*g = rewind{packet, now, now + span}
	return false
}

// notePath records that a packet was answered: for the flow's credit, and with its path and mark for the entropy.
func (s *Sender) notePath(now vtime.Time, p *wire.Packet) {
	if s.ext == nil {
		return
	}
	if c := s.ext.credit; c != nil {
		c.answered()
	}
	if e := s.ext.entropy; e != nil {
		e.answered(now, p.SrcPort, !p.FECN && p.Syndrome != wire.SyndromeNakTrimmed)
	}
}

// goBack makes the flow retransmit from the first byte that is not acknowledged.
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
