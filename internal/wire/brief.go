package wire

import (
	"encoding/binary"
)

// Form holds the headers of RoCE packets over IPv4, up to the BTH, without the fields that differ between packets of
// one direction of a flow. It never changes, so any number of packets can share it.
type Form struct {
	header [roceHeaderLen]byte // lengths, checksum, TTL, opcode, flags, PSN and the codepoint of ECN are zero
	ecn    ECN                 // codepoint of packets as sent
	sum    uint32              // checksum sum of header's IP header, unfolded
}

// newForm returns the Form of a header whose TOS has the ECN codepoint of packets as sent.
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

// Brief holds the fields of one data packet, ACK or NAK beside its Form and its length. It has no telemetry, timestamp
// or bytes after the headers. Its MAC addresses are those of the cable that it is on.
//
// From the lowest bit, all packets have: PSN 24, MSN 24, TTL 7, operation 3 (briefOps), codepoint of ECN 2. A data
// packet then has: bytes of padding 2, ACK request 1, trimmed 1. An answer then has: FECN 1, BECN 1, NAK 1, bit 7 of
// its syndrome 1. In the bits of the MSN a data packet has its priority 3, if it is trimmed, and BTH.Retransmitted 1;
// the operation of an answer includes the latter.
type Brief uint64

const (
	briefMSN           = 24
	briefRetransmitted = 27 // for data: Retransmitted
	briefTTL           = 48
	briefOp            = 55
	briefECN           = 58
	briefPad           = 60
	briefFECN          = 60
	briefBECN          = 61
	briefAck           = 62 // for data: AckReq; for an answer: NAK
	briefOwn           = 63 // for data: trimmed; for an answer: syndromeOwn

	briefChanging = 0x7f<<briefTTL | 3<<briefECN
)

// briefOps lists the operations of a Brief: a WRITE's packets, and, last, the answers.
var briefOps = [8]Opcode{OpWriteFirst, OpWriteMiddle, OpWriteLast, OpWriteOnly, OpAck, OpAck}

// Indexes in briefOps of an answer to a packet, and of an answer to a retransmitted packet.
const (
	briefAnswer              = 4
	briefAnswerRetransmitted = 5
)

// BriefData returns a WRITE's data packet, equal to PutData's; op has neither telemetry nor timestamp.
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

// BriefAck returns an ACK or NAK, equal to those of PutAck and EchoMark: with SyndromeAck or SyndromeNakSequence, or
// one of selective repeat's.
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

// Retransmission returns the packet marked as a retransmission, or as an answer to one (BTH.Retransmitted).
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

// BriefLen is the length of the headers that Form.Put writes: up to the BTH.
const BriefLen = roceHeaderLen

// Put writes the headers of a packet in a frame of n bytes that is on the cable between two ports with these addresses.
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

// Changed returns the packet with the header fields that a switch may change: TTL and the codepoint of ECN.
func (b Brief) Changed(h *[BriefLen]byte) Brief {
	ip := h[EthernetLen:]
	return b&^briefChanging | Brief(ip[ipTTL]&0x7f)<<briefTTL | Brief(ip[ipTOS]&3)<<briefECN
}

// Parse works like ParseHeaders for such a packet in a frame with the given length. The result refers to no bytes.
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
