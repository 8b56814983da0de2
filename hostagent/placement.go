package hostagent

import (
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// placement is the packets of a flow of selective repeat that have come out of order: each has been written to where its RETH says, and all
// that is kept of it is that it has come.
type placement struct {
	bits    []uint64 // by packet number modulo 64 times the length; nil: none was out of order yet
	highest int64    // behind the last packet that has come

	PlacementCounts
}

// PlacementCounts are what came to the receiver of a flow of selective repeat, in packets.
type PlacementCounts struct {
	Duplicates int64 // had come before
	// Reordered came after one that was sent for the first time after it (RFC 4737, section 3), because it took another way, or was sent
	// again; Extent is the most that one was behind the last, in packets of the sending order.
	Reordered, Extent int64
	Trimmed           int64 // came without their payload
}

// Placed are the counts of a flow of selective repeat; of another they are zero.
func (r *Receiver) Placed() PlacementCounts {
	if r.placed == nil {
		return PlacementCounts{}
	}
	return r.placed.PlacementCounts
}

func (p *placement) has(number int64) bool {
	return len(p.bits) > 0 && number < p.highest && p.bits[number>>6%int64(len(p.bits))]>>(number&63)&1 != 0
}

// put notes that a packet has come; expected is the first that has not.
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

// take says whether a packet has come, and forgets it.
func (p *placement) take(number int64) bool {
	if !p.has(number) {
		return false
	}
	p.bits[number>>6%int64(len(p.bits))] &^= 1 << (number & 63)
	return true
}

// place takes a data packet of a flow of selective repeat, and answers it: with an ACK what is in order, with a NAK what is not (IRN,
// section 3.1).
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
		r.ack(now, p, wire.SyndromeAckAgain)
		return
	case trimmed:
		if r.lender != nil { // it is to be sent again (rtx_backlog)
			r.owe(now, r.lender.demand+int64(n.mtu))
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

// ack acknowledges what has come in order, with the number of the packet that is answered in the place of the MSN; nak says that there is a gap.
func (r *Receiver) ack(now vtime.Time, p *wire.Packet, syndrome uint8) {
	r.answer(now, p, syndrome, uint32(r.expected-1), p.PSN)
	r.nic.AcksSent++
}

func (r *Receiver) nak(now vtime.Time, p *wire.Packet, syndrome uint8) {
	r.answer(now, p, syndrome, uint32(r.expected), p.PSN)
	r.nic.NaksSent++
}
