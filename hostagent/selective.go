package hostagent

import (
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// selective is what the sender of a flow of selective repeat knows of its packets, by their numbers. It is IRN's (Mittal et al., SIGCOMM 2018,
// section 3.1) but for what docs/decisions/050 says.
type selective struct {
	flags    []uint8        // of the packets not acknowledged in order, by number modulo the length, which is that of Sender.sent
	lost     int            // packets to be retransmitted
	from     int64          // before it none is
	looked   int64          // before it gaps have been found
	highest  int64          // behind the last packet that is known to have arrived
	arrived  int64          // packets that have, of those not acknowledged in order
	inFlight int64          // payload bytes sent that have neither arrived nor are to be retransmitted
	order    departures     // of the packets in flight
	losses   cc.LossCounter // the congestion control, if it counts losses; else it is told of each row of them once:
	told     vtime.Time     // when it was told last
	timedOut vtime.Time     // and of a timeout
}

// Flags of a packet.
const (
	packetArrived uint8 = 1 << iota // the SACK bitmap
	packetLost                      // is to be retransmitted
	packetFound                     // has been found lost once: a gap says no more of it
	packetUnsure                    // has been taken for lost, and not been told to be: a copy may still arrive
	packetVague                     // and so has another copy: an answer to one that was sent again may be to either
)

func newRepeat(c cc.Controller, packets int) *selective {
	r := &selective{flags: make([]uint8, packets), told: longAgo, timedOut: longAgo}
	r.losses, _ = c.(cc.LossCounter)
	return r
}

// departures are packets in the order in which they left. One that is no longer in flight, or has left once more, stays until it is the first.
type departures struct {
	ring []departure // its length is a power of 2
	head int
	n    int
}

type departure struct {
	number int64
	at     vtime.Time
}

func (d *departures) push(number int64, at vtime.Time) {
	if d.n == len(d.ring) {
		grown := make([]departure, max(16, 2*d.n))
		n := copy(grown, d.ring[d.head:])
		copy(grown[n:], d.ring[:d.head])
		d.ring, d.head = grown, 0
	}
	d.ring[(d.head+d.n)&(len(d.ring)-1)] = departure{number, at}
	d.n++
}

func (d *departures) pop() {
	d.head = (d.head + 1) & (len(d.ring) - 1)
	d.n--
}

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

// lose takes a packet for lost, unless it has arrived, or has been taken for lost already. sure is that its receiver said so.
func (r *selective) lose(number, payload int64, sure bool) bool {
	f := r.at(number)
	if *f&(packetArrived|packetLost) != 0 {
		return false
	}
	if *f&packetUnsure != 0 || *f&packetFound != 0 && !sure {
		*f |= packetVague
	}
	*f |= packetLost | packetFound
	if !sure {
		*f |= packetUnsure
	}
	r.from = min(r.from, number)
	r.lost++
	r.inFlight -= payload
	return true
}

// first is the first packet to be retransmitted. There must be one.
func (r *selective) first() int64 {
	for *r.at(r.from)&packetLost == 0 {
		r.from++
	}
	return r.from
}

// departed notes that a packet leaves, which is the one that was to be retransmitted or has not been sent before.
func (s *Sender) departed(number int64, now vtime.Time) {
	r := s.repeat
	if f := r.at(number); *f&packetLost != 0 {
		*f &^= packetLost
		r.lost--
	}
	r.inFlight += s.payloadOf(number)
	if s.settings.RetransmitTimeout > 0 {
		r.order.push(number, now)
	}
}

// come notes that a packet has arrived, and says whether that is news.
func (r *selective) come(number, payload int64) bool {
	f := r.at(number)
	if *f&packetArrived != 0 {
		return false
	}
	if *f&packetLost != 0 {
		r.lost--
	} else {
		r.inFlight -= payload
	}
	r.arrived++
	*f = *f&^packetLost | packetArrived
	r.highest = max(r.highest, number+1)
	return true
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
	trimmed, duplicate := p.Syndrome == wire.SyndromeNakTrimmed, p.Syndrome == wire.SyndromeAckAgain
	if duplicate {
		s.Spurious++
	}
	var rtt vtime.Time
	var newly int64
	if about >= una && !trimmed {
		if !duplicate {
			rtt = s.sample(now, p, about)
			s.measured(now, rtt)
		}
		newly += s.arrived(about)
	}
	for ; una < upTo; una++ {
		newly += s.arrived(una)
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
	if newly > 0 {
		s.acknowledged(now, p, rtt, newly)
	}
	before := r.lost
	newest := longAgo // when the last of those that are found lost left
	if trimmed && about >= una {
		newest = s.lose(now, about, true, newest)
	}
	for end := r.highest - int64(s.settings.Selective.Reorder); r.looked < end; r.looked++ {
		if *r.at(r.looked)&packetFound == 0 {
			newest = s.lose(now, r.looked, false, newest)
		}
	}
	if r.lost > before {
		s.repair(now, false)
	}
	if newest >= r.told && r.losses == nil {
		r.told = now
		s.controller.OnNak(now)
	}
	s.adjust(now)
}

// arrived notes that a packet has arrived, and returns its payload if that is news.
func (s *Sender) arrived(number int64) int64 {
	payload := s.payloadOf(number)
	if !s.repeat.come(number, payload) {
		return 0
	}
	return payload
}

// lose takes a packet for lost before its time is over, and returns when it left if that is after newest, and newest else.
func (s *Sender) lose(now vtime.Time, number int64, sure bool, newest vtime.Time) vtime.Time {
	payload := s.payloadOf(number)
	if !s.repeat.lose(number, payload, sure) {
		return newest
	}
	if c := s.repeat.losses; c != nil {
		c.OnLoss(now, payload, false)
	}
	return max(newest, *s.sentAt(number))
}

// sample is the RTT that the answer to a packet tells; 0: none. Of a packet that was sent more than once nobody knows which copy arrived (Karn's
// algorithm, RFC 6298 section 3), unless the answer has the time, or the receiver has said of all the others that they came trimmed, or
// there are two copies and the answer says that it is to the second (htsim's validateSendTs).
func (s *Sender) sample(now vtime.Time, p *wire.Packet, number int64) vtime.Time {
	if at, ok := p.Timestamp(); ok && at <= uint64(now) {
		return now - vtime.Time(at)
	}
	if f := *s.repeat.at(number); f&packetVague != 0 || f&packetUnsure != 0 && !p.SentAgain {
		return 0
	}
	return now - *s.sentAt(number)
}

// oldest is the packet in flight that left first, and when; ok is false if none is in flight.
func (s *Sender) oldest() (d departure, ok bool) {
	r := s.repeat
	for ; r.order.n > 0; r.order.pop() {
		d = r.order.ring[r.order.head]
		if d.number*s.mtu >= s.acked && *r.at(d.number)&(packetArrived|packetLost) == 0 && *s.sentAt(d.number) == d.at {
			return d, true
		}
	}
	return departure{}, false
}

// waitsFrom is the time from which a packet in flight waits for its answer: when it left, or the packet that shares its ACK. Where no ACK has been
// asked for yet it is when something was last heard.
func (s *Sender) waitsFrom(d departure) vtime.Time {
	every := int64(s.settings.AckEvery)
	switch {
	case d.number*s.mtu >= s.asked:
		return max(d.at, s.progress)
	case every > 1:
		last := min((d.number/every+1)*every, (s.asked+s.mtu-1)/s.mtu) - 1
		return max(d.at, *s.sentAt(last))
	}
	return d.at
}

// giveUp takes each packet in flight for lost whose time is over.
func (s *Sender) giveUp(now vtime.Time) {
	r, t := s.repeat, s.timeout()
	newest := longAgo
	for d, ok := s.oldest(); ok && s.waitsFrom(d)+t <= now; d, ok = s.oldest() {
		payload := s.payloadOf(d.number)
		r.lose(d.number, payload, false)
		newest = d.at
		if r.losses != nil {
			r.losses.OnLoss(now, payload, true)
		}
	}
	s.repair(now, true)
	if newest >= r.timedOut && r.losses == nil {
		r.timedOut, r.told = now, now
		s.controller.OnTimeout(now)
	}
}

// expiry is when the retransmission timer expires.
func (s *Sender) expiry() vtime.Time {
	t := s.timeout()
	switch {
	case t <= 0 || !s.due():
	case s.repeat == nil:
		return s.progress + t
	default:
		if d, ok := s.oldest(); ok {
			return s.waitsFrom(d) + t
		}
	}
	return vtime.Never
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

// mostAhead is how many packets the next may be ahead of the first that is not acknowledged in order: PSNs have 24 bits.
const mostAhead = 1 << 22

// repeatFills tells whether the window of a flow of selective repeat is full with so many payload bytes more, or there is no room for a new packet:
// the cap counts from the first byte that is not acknowledged in order (IRN's BDP-FC, section 3.2).
func (s *Sender) repeatFills(more int64) bool {
	r := s.repeat
	if s.window > 0 && r.inFlight+more >= s.window {
		return true
	}
	ahead, most := s.next-s.acked+more, int64(s.settings.Selective.Cap)
	return r.lost == 0 && (most > 0 && ahead >= most || ahead >= mostAhead*s.mtu)
}
