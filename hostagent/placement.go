package hostagent

import (
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// placement records which packets of a flow under selective repeat have arrived out of order. Each has been written to
// the address in its RETH.
type placement struct {
	bits    []uint64 // by packet number modulo 64 times the length; nil: no packet has been out of order yet
	highest int64    // 1 + the highest packet that has arrived

	PlacementCounts
}

// PlacementCounts counts packets at the receiver of a flow under selective repeat.
type PlacementCounts struct {
	Duplicates int64 // packets that had arrived before
	// Reordered counts packets that arrived after a packet that was first sent after them (RFC 4737, section 3),
	// because they took another path or were retransmitted. Extent is the maximum distance of such a packet from the
	// highest, in packets of the sending order.
	Reordered, Extent int64
	Trimmed           int64 // packets that arrived without their payload
}

// Placed returns the counts of a flow under selective repeat; zero for any other.
func (r *Receiver) Placed() PlacementCounts {
	if r.placed == nil {
		return PlacementCounts{}
	}
	return r.placed.PlacementCounts
}

func (p *placement) has(number int64) bool {
	return len(p.bits) > 0 && number < p.highest && p.bits[number>>6%int64(len(p.bits))]>>(number&63)&1 != 0
}

// put records that a packet has arrived. expected is the first packet that has not.
func (p *placement) put(number, expected int64) {
	for words := int64(len(p.bits)); number>>6-expected>>6 >= words; words = int64(len(p.bits)) {
		grown := make([]uint64, max(4, 2*words))
		for w := expected >> 6; w < expected>>6+words; w++ {
			grown[w%int64(len(grown))] = p.bits[w%words]
		}
		p.bits = grown
	}
	p.bits[number>>6%int64(len(p.bits))] |= 1 << (number & 63)
}

// take reports whether a packet has arrived, and forgets it.
func (p *placement) take(number int64) bool {
	if !p.has(number) {
		return false
	}
	p.bits[number>>6%int64(len(p.bits))] &^= 1 << (number & 63)
	return true
}

// place handles a data packet of a flow under selective repeat. It answers a packet in order with an ACK and any
// other with a NAK (IRN, section 3.1).
func (r *Receiver) place(now vtime.Time, p *wire.Packet) {
	n, at := r.nic, r.placed
	number := r.expected + int64(wire.PSNDiff(p.PSN, uint32(r.expected)&wire.PSNMask))
	trimmed := p.Trimmed()
	if trimmed {
		n.Trimmed++
		at.Trimmed++
	}
	switch {
	case number < r.expected || at.has(number):
		n.Duplicates++
		at.Duplicates++
		r.ack(now, p, wire.SyndromeAckDuplicate)
		return
	case trimmed:
		if r.granter != nil { // it will be retransmitted (rtx_backlog)
			r.raiseDemand(now, r.granter.demand+int64(n.mtu))
		}
		r.nak(now, p, wire.SyndromeNakTrimmed)
		return
	}
	r.Delivered += int64(p.Payload)
	n.BytesDelivered += int64(p.Payload)
	if r.Delivered == r.Size {
		n.clock.Delivered(now, r)
	}
	if number < at.highest {
		at.Reordered++
		at.Extent = max(at.Extent, at.highest-1-number)
	}
	if number > r.expected {
		n.OutOfOrder++
		at.highest = max(at.highest, number+1)
		at.put(number, r.expected)
		r.nak(now, p, wire.SyndromeNakSequence)
		return
	}
	at.highest = max(at.highest, number+1)
	filled := r.expected+1 < at.highest
	for r.expected++; at.take(r.expected); r.expected++ {
	}
	if p.AckReq || filled {
		r.ack(now, p, wire.SyndromeAck)
	}
}

// ack acknowledges the packets that have arrived in order. The MSN field has the number of the packet that it answers.
func (r *Receiver) ack(now vtime.Time, p *wire.Packet, syndrome uint8) {
	r.answer(now, p, syndrome, uint32(r.expected-1), p.PSN)
	r.nic.AcksSent++
}

// nak reports a gap. The MSN field has the number of the packet that it answers.
func (r *Receiver) nak(now vtime.Time, p *wire.Packet, syndrome uint8) {
	r.answer(now, p, syndrome, uint32(r.expected), p.PSN)
	r.nic.NaksSent++
}
