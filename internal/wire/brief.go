package wire

import (
	"encoding/binary"
)

// Form is the headers of RoCE packets over IPv4, up to the BTH, less what each has of its own: one direction of a flow.
// It never changes, so that any number of packets, which may be anywhere, can share it.
type Form struct {
	header [roceHeaderLen]byte // lengths, checksum, TTL, opcode, flags, PSN and the codepoint of ECN are zero
	ecn    ECN                 // that packets begin with
	sum    uint32              // of header's IP header, unfolded
}

// newForm returns the Form of a header whose TOS has the codepoint of ECN that packets begin with.
func newForm(header *[roceHeaderLen]byte) Form {
	f := Form{header: *header}
	ip := IPv4(f.header[EthernetLen:])
	f.ecn = ip.ECN()
	ip[ipTOS] &^= 3
	ip[ipTTL] = 0
	f.sum = sum16(ip[:IPv4Len])
	return f
}

// checksum returns the checksum of the IPv4 header of a packet with the given length.
func (f *Form) checksum(length int, tos, ttl uint8) uint16 {
	return ^fold(f.sum - uint32(f.header[EthernetLen+ipTOS]) + uint32(tos) + uint32(ttl)<<8 + uint32(length))
}

// Brief is what one data packet, ACK or NAK has of its own beside its Form and its length, without telemetry, timestamp
// and what follows the headers. Its MAC addresses are those of the cable that it is on.
//
// From the lowest bit: PSN 24, MSN 24, TTL 7, operation 3 (briefOps), codepoint of ECN 2; then of a data packet the
// bytes of padding 2 and whether it asks for an ACK 1, of an answer FECN 1, BECN 1 and whether it is a NAK 1; then of
// data whether it is trimmed 1, of an answer bit 7 of its syndrome 1. Data has in the place of the MSN its priority 3,
// if it is trimmed, and BTH.Retransmitted 1; an answer tells that by its operation.
type Brief uint64

const (
	briefMSN           = 24
	briefRetransmitted = 27 // of data: Retransmitted
	briefTTL           = 48
	briefOp            = 55
	briefECN           = 58
	briefPad           = 60
	briefFECN          = 60
	briefBECN          = 61
	briefAck           = 62 // of data: AckReq; of an answer: NAK
	briefOwn           = 63 // of data: trimmed; of an answer: syndromeOwn

	briefChanging = 0x7f<<briefTTL | 3<<briefECN
)

// briefOps are the operations that a Brief can tell: a WRITE's packets, and, last, the answers.
var briefOps = [8]Opcode{OpWriteFirst, OpWriteMiddle, OpWriteLast, OpWriteOnly, OpAck, OpAck}

// In briefOps, an answer to a packet stands at briefAnswer, and one to a packet that was sent again at
// briefAnswerRetransmitted.
const (
	briefAnswer              = 4
	briefAnswerRetransmitted = 5
)

// BriefData returns a WRITE's data packet, as PutData has it; op has neither telemetry nor timestamp.
func (f *Form) BriefData(op Opcode, psn uint32, payload int, ackRequest bool) Brief {
	b := Brief(psn&PSNMask) | DefaultTTL<<briefTTL | Brief(f.ecn)<<briefECN | Brief(padCount(payload))<<briefPad
	switch op {
	case OpWriteMiddle:
		b |= 1 << briefOp
	case OpWriteLast:
		b |= 2 << briefOp
	case OpWriteOnly:
		b |= 3 << briefOp
	}
	if ackRequest {
		b |= 1 << briefAck
	}
	return b
}

// BriefAck returns an ACK or NAK, as PutAck and EchoMark have it: with SyndromeAck or SyndromeNakSequence, or one of
// selective repeat's.
func (f *Form) BriefAck(syndrome uint8, psn, msn uint32, mark ECN) Brief {
	b :=
		Brief(psn&PSNMask) | Brief(msn&PSNMask)<<briefMSN | DefaultTTL<<briefTTL | Brief(f.ecn)<<briefECN |
			briefAnswer<<briefOp
	switch mark {
	case CE:
		b |= 1 << briefFECN
	case UE:
		b |= 1 << briefBECN
	}
	if syndrome&syndromeKindMask == syndromeKindNak {
		b |= 1 << briefAck
	}
	return b | Brief(syndrome>>7)<<briefOwn
}

// IsAnswer reports whether the packet is an ACK or NAK.
func (b Brief) IsAnswer() bool { return b>>briefOp&7 >= briefAnswer }

// Retransmission returns the packet with the mark that it was sent before, or answers such a copy (BTH.Retransmitted).
func (b Brief) Retransmission() Brief {
	if b.IsAnswer() {
		return b | briefAnswerRetransmitted<<briefOp
	}
	return b | 1<<briefRetransmitted
}

// retransmitted reports whether the packet has that mark.
func (b Brief) retransmitted() bool {
	if b.IsAnswer() {
		return b>>briefOp&7 == briefAnswerRetransmitted
	}
	return b>>briefRetransmitted&1 != 0
}

// Trimmed reports whether the packet is data without its payload.
func (b Brief) Trimmed() bool { return b>>briefOwn != 0 && !b.IsAnswer() }

// ECN returns the packet's codepoint.
func (b Brief) ECN() ECN { return ECN(b >> briefECN & 3) }

// BriefLen is how much of a frame Form.Put writes: up to the BTH.
const BriefLen = roceHeaderLen

// Put writes the headers of a packet in a frame of so many bytes that is on the cable between two ports with these
// addresses.
func (f *Form) Put(h *[BriefLen]byte, b Brief, length int, from, to *MAC) {
	ipLen := length - EthernetLen
	tos := f.header[EthernetLen+ipTOS] | uint8(b>>briefECN&3)
	ttl := uint8(b >> briefTTL & 0x7f)
	if b.Trimmed() {
		tos = TrimmedTOS(uint8(b>>briefMSN&7), b.ECN())
	}
	*h = f.header
	*(*MAC)(h[:]) = *to
	*(*MAC)(h[ethSrc:]) = *from
	ip := h[EthernetLen:]
	ip[ipTOS], ip[ipTTL] = tos, ttl
	binary.BigEndian.PutUint16(ip[ipTotalLen:], uint16(ipLen))
	binary.BigEndian.PutUint16(ip[ipChecksum:], f.checksum(ipLen, tos, ttl))
	binary.BigEndian.PutUint16(ip[IPv4Len+udpLength:], uint16(ipLen-IPv4Len))
	bth := h[roceHeaderLen-BTHLen:]
	bth[bthOpcode] = byte(briefOps[b>>briefOp&7])
	ack := uint32(b & PSNMask)
	if b.IsAnswer() {
		bth[bthFlags] = bthMigReq
		bth[bthECN] = byte(b>>briefFECN&1)*bthFECN | byte(b>>briefBECN&1)*bthBECN
	} else {
		bth[bthFlags] = bthMigReq | byte(b>>briefPad&3)<<bthPadShift
		ack |= uint32(b>>briefAck&1) << 31
	}
	if b.retransmitted() {
		ack |= bthRetransmitted << 24
	}
	binary.BigEndian.PutUint32(bth[bthAck:], ack)
}

// Changed returns the packet with what a switch may have changed in its headers: TTL and the codepoint of ECN.
func (b Brief) Changed(h *[BriefLen]byte) Brief {
	ip := h[EthernetLen:]
	return b&^briefChanging | Brief(ip[ipTTL]&0x7f)<<briefTTL | Brief(ip[ipTOS]&3)<<briefECN
}

// Parse is ParseHeaders for such a packet in a frame with the given length. It has no bytes to refer to.
func (f *Form) Parse(b Brief, length int, p *Packet) {
	h := &f.header
	ip, udp, bth := IPv4(h[EthernetLen:]), UDP(h[EthernetLen+IPv4Len:]), BTH(h[roceHeaderLen-BTHLen:])
	*p = Packet{
		TOS: ip.TOS() | uint8(b>>briefECN&3), Protocol: ProtocolUDP, Src: ip.Src(), Dst: ip.Dst(),
		SrcPort: udp.SrcPort(), DstPort: PortRoCE, DestQP: bth.DestQP(), PSN: uint32(b & PSNMask),
		Opcode: briefOps[b>>briefOp&7],
	}
	p.Retransmitted = b.retransmitted()
	if b.IsAnswer() {
		p.MSN = uint32(b >> briefMSN & PSNMask)
		p.FECN, p.BECN = b>>briefFECN&1 != 0, b>>briefBECN&1 != 0
		p.Kind, p.Syndrome = KindAck, SyndromeAck
		if b>>briefAck&1 != 0 {
			p.Kind, p.Syndrome = KindNak, SyndromeNakSequence
		}
		p.Syndrome |= uint8(b>>briefOwn) << 7
		return
	}
	p.Kind, p.AckReq = KindData, b>>briefAck&1 != 0
	if b.Trimmed() {
		p.TOS = TrimmedTOS(uint8(b>>briefMSN&7), b.ECN())
	}
	p.Payload = length - roceHeaderLen - p.Opcode.extensions() - int(b>>briefPad&3) - ICRCLen
}
