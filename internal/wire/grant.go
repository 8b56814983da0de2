package wire

import "encoding/binary"

// Grants of a receiver-driven congestion control (RCCC). A sender announces its demand: the total payload bytes, from
// the flow's start on, for which it needs grants. A grant carries the total granted so far. Both are running sums, so
// that a later packet compensates for a lost one.
//
// Data packets carry the demand in 8 bytes directly after the BTH; the opcode then is in the range for manufacturers
// (Opcode.WithDemand). A sender without credit sends a request. A grant and a request are ACKs whose AETH has a
// syndrome that the standard reserves, and whose PSN and MSN hold the upper and lower 24 bits of the sum.

// DemandLen is the length of the demand in a data packet.
const DemandLen = 8

// Syndromes of grants and requests. Bits 6 and 5 are 10, which the standard reserves.
const (
	SyndromeGrant   uint8 = 0x40
	SyndromeRequest uint8 = 0x41
)

// MostSum limits the sum in a grant or a request, in bytes.
const MostSum = 1<<48 - 1

// SetDemand sets the demand of the following data packets with a demand.
func (h *FlowHeader) SetDemand(sum uint64) { h.demand = sum }

// Demand returns the demand of a data packet; ok is false if it carries none.
func (p *Packet) Demand() (sum uint64, ok bool) {
	if p.Kind != KindData || !p.Opcode.HasDemand() {
		return 0, false
	}
	return binary.BigEndian.Uint64(p.frame[p.headers:]), true
}

// PutSum writes a grant or a request, by its syndrome, and returns its length, AckLen. sum is MostSum or less.
func PutSum(buf []byte, h *FlowHeader, syndrome uint8, sum uint64) int {
	return PutAck(buf, h, syndrome, uint32(sum>>24), uint32(sum&PSNMask))
}

// Sum returns the sum in a grant or a request.
func (p *Packet) Sum() uint64 { return uint64(p.PSN)<<24 | uint64(p.MSN) }

// kindOfAnswer returns the kind of a packet with an AETH that has the syndrome.
func kindOfAnswer(syndrome uint8) Kind {
	switch syndrome & syndromeKindMask {
	case syndromeKindAck:
		return KindAck
	case syndromeKindRNR, syndromeKindNak:
		return KindNak
	}
	switch syndrome {
	case SyndromeGrant:
		return KindGrant
	case SyndromeRequest:
		return KindRequest
	}
	return KindOther
}
