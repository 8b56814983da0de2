package wire

import "encoding/binary"

// TimestampLen is the length of a timestamp: the departure of a data packet, in a unit of its sender's choice. The
// timestamp directly follows the BTH of the packet, and the packet's ACK or NAK returns it after its AETH, like
// TIMELY's packets in HPCC's simulator. The packet's opcode then is in the range for manufacturers
// (Opcode.WithTimestamp).
const TimestampLen = 8

// AckTimestampLen is the length of an ACK with a timestamp, over IPv4.
const AckTimestampLen = AckLen + TimestampLen // 70

// mostTimestampEnd limits the end of the headers of a packet with a timestamp, from the BTH's end on: that of an ACK.
const mostTimestampEnd = AETHLen + TimestampLen

// SetTimestamp sets the departure time of the following data packets with a timestamp.
func (h *FlowHeader) SetTimestamp(at uint64) { h.timestamp = at }

// PutAckTimestamp works like PutAck for the answer to a packet with a timestamp, which it returns to the sender. Its
// length is AckTimestampLen.
func PutAckTimestamp(buf []byte, h *FlowHeader, syndrome uint8, psn, msn uint32, timestamp uint64) int {
	n := h.length + AETHLen + TimestampLen + ICRCLen
	crc := h.put(buf, n, OpAck.WithTimestamp(), bthMigReq, 0, psn&PSNMask)
	body := buf[h.length : h.length+AETHLen+TimestampLen]
	binary.BigEndian.PutUint32(body, uint32(syndrome)<<24|msn&PSNMask)
	binary.BigEndian.PutUint64(body[AETHLen:], timestamp)
	if h.icrc == nil {
		return n
	}
	return putICRC(buf, n-ICRCLen, crcShort(crc, body))
}

// Timestamp returns the timestamp of a data packet, ACK or NAK; ok is false if it carries none.
func (p *Packet) Timestamp() (timestamp uint64, ok bool) {
	if !p.Opcode.HasTimestamp() {
		return 0, false
	}
	at := p.headers
	switch p.Kind {
	case KindData:
	case KindAck, KindNak:
		at += AETHLen
	default:
		return 0, false
	}
	return binary.BigEndian.Uint64(p.frame[at:]), true
}
