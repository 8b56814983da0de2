package hostagent

import (
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// selective is what the sender of a flow of selective repeat knows of its packets, by their numbers. It is IRN's (Mittal et al., SIGCOMM 2018,
// section 3.1) but for what docs/decisions/050 says.
type selective struct {
	flags   []uint8 // of the packets in flight, by number modulo the length, which is that of Sender.sent
	lost    int     // packets to be sent again
	from    int64   // before it none is
	looked  int64   // before it gaps have been found
	highest int64   // behind the last packet that is known to have arrived
	arrived int64   // packets in flight that are
	episode int64   // packets before it are of a loss that the congestion control has been told of
}

// Flags of a packet.
const (
	packetArrived uint8 = 1 << iota // the SACK bitmap
	packetLost                      // is to be sent again
	packetResent                    // has been, or will be
)

// sentPackets is how many packets have been sent at least once.
func (s *Sender) sentPackets() int64 { return (s.next + s.mtu - 1) / s.mtu }

// payloadOf is the payload of a packet.
func (s *Sender) payloadOf(number int64) int64 { return min(s.mtu, s.size-number*s.mtu) }

func (r *selective) at(number int64) *uint8 { return &r.flags[number%int64(len(r.flags))] }

// grow makes room for the flags of more packets in flight: from una on, up to number.
func (r *selective) grow(una, number int64, length int) {
	grown := make([]uint8, length)
	for i := una; i < number; i++ {
		grown[i%int64(length)] = *r.at(i)
	}
	r.flags = grown
}

// lose has a packet sent again, unless it has arrived, or is to be already.
func (r *selective) lose(number int64) bool {
	f := r.at(number)
	if *f&(packetArrived|packetLost) != 0 {
		return false
	}
	*f |= packetLost | packetResent
	r.from = min(r.from, number)
	r.lost++
	return true
}

// take is the first packet to be sent again. There must be one.
func (r *selective) take() int64 {
	for *r.at(r.from)&packetLost == 0 {
		r.from++
	}
	*r.at(r.from) &^= packetLost
	r.lost--
	return r.from
}

// come notes that a packet has arrived, and says whether that is news.
func (r *selective) come(number int64) bool {
	f := r.at(number)
	news := *f&packetArrived == 0
	if *f&packetLost != 0 {
		r.lost--
	}
	if news {
		r.arrived++
	}
	*f = *f&^packetLost | packetArrived
	r.highest = max(r.highest, number+1)
	return news
}

// forget drops the first packet in flight, which has arrived.
func (r *selective) forget(number int64) {
	*r.at(number) = 0
	r.arrived--
}

// onAnswer takes an ACK or NAK of a flow of selective repeat: what has arrived in order, and which packet is answered.
func (s *Sender) onAnswer(now vtime.Time, p *wire.Packet) {
	r, una, sent := s.repeat, s.acked/s.mtu, s.sentPackets()
	upTo, about := s.packetNumber(p.PSN), s.packetNumber(p.MSN)
	if p.Kind == wire.KindAck {
		upTo++
	}
	if s.state == senderDone || upTo > sent || about >= sent {
		return
	}
	trimmed := p.Syndrome == wire.SyndromeNakTrimmed
	if p.Syndrome == wire.SyndromeAckAgain {
		s.Spurious++
	}
	fresh := about >= una
	rtt := s.LastRTT
	if rtt == 0 {
		rtt = now - *s.sentAt(una)
	}
	if fresh && !trimmed && p.Syndrome != wire.SyndromeAckAgain {
		rtt = s.sample(now, p, about)
	}
	var newly int64
	if fresh && !trimmed && r.come(about) {
		newly += s.payloadOf(about)
	}
	for ; una < upTo; una++ {
		if r.come(una) {
			newly += s.payloadOf(una)
		}
		r.forget(una)
	}
	s.acked = max(s.acked, min(una*s.mtu, s.size))
	if newly > 0 || trimmed {
		s.progress = now
	}
	if s.acked == s.size {
		s.finish(now)
		return
	}
	r.from, r.looked = max(r.from, una), max(r.looked, una)
	missed := trimmed && about >= una && r.lose(about)
	for end := r.highest - int64(s.settings.Selective.Reorder); r.looked < end; r.looked++ {
		if *r.at(r.looked)&packetResent == 0 && r.lose(r.looked) {
			missed = true
		}
	}
	if missed {
		s.repair(now, false)
	}
	if newly > 0 {
		sample := &s.nic.sample
		*sample = cc.Sample{
			Now: now, RTT: rtt, AckedBytes: newly, AckSequence: s.acked, NextSend: s.next,
			CE: p.FECN, UE: p.BECN && !p.FECN, // see wire.EchoMark
		}
		sample.Hops, sample.PathID = s.nic.telemetry(p)
		s.controller.OnAck(sample)
	}
	if missed && una >= r.episode {
		r.episode = sent
		s.controller.OnNak(now)
	}
	s.adjust(now)
}

// sample is the RTT that the answer to a packet in flight tells, which is recorded. Of one that was sent twice nobody knows which answer it is
// (Karn's algorithm, RFC 6298 section 3), unless it has the time: there is the last RTT then.
func (s *Sender) sample(now vtime.Time, p *wire.Packet, number int64) vtime.Time {
	rtt := now - *s.sentAt(number)
	if at, ok := p.Timestamp(); ok && at <= uint64(now) {
		rtt = now - vtime.Time(at)
	} else if *s.repeat.at(number)&packetResent != 0 {
		if s.LastRTT > 0 {
			return s.LastRTT
		}
		return rtt
	}
	s.LastRTT = rtt
	if s.RTT != nil {
		s.RTT.Record(s.nic.clock.Lane(), now, rtt)
	}
	return rtt
}

// giveUp takes all packets that an ACK was asked for, and of which nothing has been heard, for lost.
func (s *Sender) giveUp(now vtime.Time) {
	for i, end := s.acked/s.mtu, (s.asked+s.mtu-1)/s.mtu; i < end; i++ {
		s.repeat.lose(i)
	}
	s.repeat.episode = s.sentPackets() // the congestion control hears of the timeout
	s.repair(now, true)
}

// repair has the flow send again what is lost.
func (s *Sender) repair(now vtime.Time, timeout bool) {
	if s.nic.Recorder != nil {
		s.nic.Recorder.WentBack(now, s.Flow, timeout)
	}
	if s.state == senderDrained {
		s.state = senderWaiting
		s.class.waiting.push(s)
	}
}

// spent says whether a flow that is to send has nothing to send: what was lost has arrived in the meantime.
func (s *Sender) spent() bool { return s.repeat != nil && s.repeat.lost == 0 && s.next >= s.size }

// more says whether there is anything to send, be it that the window has no room for it.
func (s *Sender) more() bool { return s.next < s.size || s.repeat != nil && s.repeat.lost > 0 }

// timeout is how long the flow waits for an answer; 0: for ever.
func (s *Sender) timeout() vtime.Time {
	set := s.settings
	if s.pair != nil {
		return s.pair.waits()
	}
	if r := s.repeat; r != nil && set.RetransmitTimeout > 0 && s.sentPackets()-s.acked/s.mtu-r.arrived <= int64(set.Selective.LowPackets) {
		return min(set.RetransmitTimeout, set.Selective.LowTimeout)
	}
	return set.RetransmitTimeout
}

// limit is the payload that may be in flight, by the congestion control and the cap of selective repeat; 0: without limit.
func (s *Sender) limit(w int64) int64 {
	if s.repeat == nil {
		return w
	}
	c := int64(s.settings.Selective.Cap)
	if c <= 0 || w > 0 && w < c {
		return w
	}
	return c
}
