package hostagent

import (
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// selective holds the state of a flow's packets under selective repeat, by packet number. It follows IRN (Mittal et
// al., SIGCOMM 2018, section 3.1), with the differences in docs/decisions/050.
type selective struct {
	// flags of the packets not acknowledged in order, by number modulo the length, which equals that of progress.sent
	flags    []uint8
	lost     int        // packets to retransmit
	from     int64      // no packet before it is lost
	looked   int64      // the search for gaps has covered all packets before it
	highest  int64      // 1 + the highest packet known to have arrived
	arrived  int64      // packets that have arrived but are not acknowledged in order
	inFlight int64      // payload bytes sent that have neither arrived nor been marked lost
	order    departures // packets in flight by departure
	// the congestion control, if it counts losses; otherwise it is notified once for each group of losses
	losses   cc.LossCounter
	notified vtime.Time // time of its last notification
	timedOut vtime.Time // time of its last notification of a timeout
}

// Flags of a packet.
const (
	packetArrived uint8 = 1 << iota // it has arrived: the SACK bitmap
	packetLost                      // it must be retransmitted
	packetFound                     // it was found lost once: a later gap proves nothing
	packetUnsure                    // it was assumed lost without a report from the receiver: a copy may still arrive
	// the same holds for another copy: the answer to a retransmission may belong to either
	packetVague
)

func newSelective(c cc.Controller, packets int) *selective {
	r := &selective{flags: make([]uint8, packets), notified: longAgo, timedOut: longAgo}
	r.losses, _ = c.(cc.LossCounter)
	return r
}

// departures holds packets in the order in which they left. A packet that is no longer in flight, or has left again,
// stays until it is first.
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

// sentPackets returns how many packets have been sent at least once.
func (s *Sender) sentPackets() int64 { return (s.next + s.mtu - 1) / s.mtu }

// payloadOf returns the payload of a packet.
func (s *Sender) payloadOf(number int64) int64 { return min(s.mtu, s.size-number*s.mtu) }

func (r *selective) at(number int64) *uint8 { return &r.flags[number%int64(len(r.flags))] }

// grow makes room for the flags of length packets in flight. The packets from una up to number keep theirs.
func (r *selective) grow(una, number int64, length int) {
	grown := make([]uint8, length)
	for i := una; i < number; i++ {
		grown[i%int64(length)] = *r.at(i)
	}
	r.flags = grown
}

// lose marks a packet as lost and reports whether it was not before. sure means that the packet's receiver reported it.
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

// first returns the first packet to retransmit. There must be one.
func (r *selective) first() int64 {
	for *r.at(r.from)&packetLost == 0 {
		r.from++
	}
	return r.from
}

// departed records that a packet leaves: the first to retransmit, or one that was never sent before.
func (s *Sender) departed(number int64, now vtime.Time) {
	r := s.ext.selective
	if f := r.at(number); *f&packetLost != 0 {
		*f &^= packetLost
		r.lost--
	}
	r.inFlight += s.payloadOf(number)
	if s.settings.RetransmitTimeout > 0 {
		r.order.push(number, now)
	}
}

// arrive marks a packet as arrived and reports whether it was not before.
func (r *selective) arrive(number, payload int64) bool {
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

// onAnswer handles an ACK or NAK of selective repeat. The answer acknowledges the packets that have arrived in order,
// and names the packet that it answers.
func (s *Sender) onAnswer(now vtime.Time, p *wire.Packet) {
	r, una, sent := s.ext.selective, s.acked/s.mtu, s.sentPackets()
	upTo, about := s.packetNumber(p.PSN), s.packetNumber(p.MSN)
	if p.Kind == wire.KindAck {
		upTo++
	}
	if s.state == senderDone || upTo > sent || about >= sent {
		return
	}
	trimmed, duplicate := p.Syndrome == wire.SyndromeNakTrimmed, p.Syndrome == wire.SyndromeAckDuplicate
	if duplicate {
		s.ext.spurious++
	}
	var rtt vtime.Time
	var newly int64
	if about >= una && !trimmed {
		if !duplicate {
			rtt = s.rttOf(now, p, about)
			s.recordRTT(now, rtt)
		}
		newly += s.arrived(about)
	}
	for ; una < upTo; una++ {
		newly += s.arrived(una)
		r.forget(una)
	}
	s.acked = max(s.acked, min(una*s.mtu, s.size))
	if newly > 0 || trimmed {
		s.moved = now
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
	newest := longAgo // departure of the latest packet that is found lost
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
	if newest >= r.notified && r.losses == nil {
		r.notified = now
		s.controller.OnNak(now)
	}
	s.adjust(now)
}

// arrived records that a packet has arrived. It returns the packet's payload, or 0 if the packet had arrived before.
func (s *Sender) arrived(number int64) int64 {
	payload := s.payloadOf(number)
	if !s.ext.selective.arrive(number, payload) {
		return 0
	}
	return payload
}

// lose marks a packet as lost before its timeout. It returns the later of newest and, if the packet was not marked
// before, the packet's departure.
func (s *Sender) lose(now vtime.Time, number int64, sure bool, newest vtime.Time) vtime.Time {
	r, payload := s.ext.selective, s.payloadOf(number)
	if !r.lose(number, payload, sure) {
		return newest
	}
	if r.losses != nil {
		r.losses.OnLoss(now, payload, false)
	}
	return max(newest, *s.sentAt(number))
}

// rttOf returns the RTT that the answer to a packet gives; 0: none. If a packet was sent more than once, the answer may
// belong to any copy (Karn's algorithm, RFC 6298 section 3). There are three exceptions: the answer has a timestamp;
// the receiver has reported that all other copies arrived trimmed; or there are two copies and the answer names the
// second (htsim's validateSendTs).
func (s *Sender) rttOf(now vtime.Time, p *wire.Packet, number int64) vtime.Time {
	if at, ok := p.Timestamp(); ok && at <= uint64(now) {
		return now - vtime.Time(at)
	}
	if f := *s.ext.selective.at(number); f&packetVague != 0 || f&packetUnsure != 0 && !p.Retransmitted {
		return 0
	}
	return now - *s.sentAt(number)
}

// oldest returns the packet in flight that left first, and its departure; ok is false if none is in flight.
func (s *Sender) oldest() (d departure, ok bool) {
	r := s.ext.selective
	for ; r.order.n > 0; r.order.pop() {
		d = r.order.ring[r.order.head]
		if d.number*s.mtu >= s.acked && *r.at(d.number)&(packetArrived|packetLost) == 0 && *s.sentAt(d.number) == d.at {
			return d, true
		}
	}
	return departure{}, false
}

// waitsFrom returns the time from which a packet in flight waits for its answer: its departure, or that of the packet
// that shares its ACK. If no ACK has been requested yet, it is the time of the last arrival.
func (s *Sender) waitsFrom(d departure) vtime.Time {
	every := int64(s.settings.AckEvery)
	switch {
	case d.number*s.mtu >= s.asked:
		return max(d.at, s.moved)
	case every > 1:
		last := min((d.number/every+1)*every, (s.asked+s.mtu-1)/s.mtu) - 1
		return max(d.at, *s.sentAt(last))
	}
	return d.at
}

// giveUp marks each packet in flight as lost whose timeout has passed.
func (s *Sender) giveUp(now vtime.Time) {
	r, t := s.ext.selective, s.timeout()
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
		r.timedOut, r.notified = now, now
		s.controller.OnTimeout(now)
	}
}

// repair makes the flow retransmit lost packets.
func (s *Sender) repair(now vtime.Time, timeout bool) {
	if s.nic.Recorder != nil {
		s.nic.Recorder.WentBack(now, s.Flow, timeout)
	}
	if s.state == senderDrained {
		s.state = senderWaiting
		s.class.waiting.push(s)
	}
}

// idle reports whether a flow that was to retransmit has nothing left to send, because the lost packets have arrived in
// the meantime.
func (r *selective) idle(s *Sender) bool { return r.lost == 0 && s.next >= s.size }

// maxAhead limits how many packets the next may be ahead of the first that is not acknowledged in order: PSNs have 24
// bits.
const maxAhead = 1 << 22

// selectiveFills reports whether this many more payload bytes would exceed the window of a flow under selective repeat,
// or a new packet would exceed the cap. The cap counts from the first byte that is not acknowledged in order (IRN's
// BDP-FC, section 3.2).
func (s *Sender) selectiveFills(more int64) bool {
	r := s.ext.selective
	if s.window > 0 && r.inFlight+more >= s.window {
		return true
	}
	ahead, most := s.next-s.acked+more, int64(s.settings.Selective.Cap)
	return r.lost == 0 && (most > 0 && ahead >= most || ahead >= maxAhead*s.mtu)
}
