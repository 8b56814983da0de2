package wire

import "encoding/binary"

// Opcodes of the reliable connection service that only queue pairs of messages use, not flows (IBTA volume 1 section
// 9.2, table 38).
const (
	OpSendLastImm        Opcode = 0x03
	OpSendOnlyImm        Opcode = 0x05
	OpWriteLastImm       Opcode = 0x09
	OpWriteOnlyImm       Opcode = 0x0b
	OpReadRequest        Opcode = 0x0c
	OpReadResponseFirst  Opcode = 0x0d
	OpReadResponseMiddle Opcode = 0x0e
	OpReadResponseLast   Opcode = 0x0f
	OpReadResponseOnly   Opcode = 0x10
	OpAtomicAck          Opcode = 0x12
	OpCompareSwap        Opcode = 0x13
	OpFetchAdd           Opcode = 0x14
)

// Syndromes of a responder's permanent refusals (IBTA volume 1 section 9.7.5.2.8, table 46).
const (
	SyndromeNakInvalid     uint8 = 0x61 // remote invalid request error
	SyndromeNakAccess      uint8 = 0x62 // remote access error
	SyndromeNakOperational uint8 = 0x63 // remote operational error
)

// IsRNR reports whether a NAK's syndrome means that the receiver is not ready. The timer is in its low 5 bits.
func IsRNR(syndrome uint8) bool { return syndrome&^0x1f == SyndromeRNR }

// Lengths of headers after the BTH.
const (
	ImmDtLen        = 4  // IBTA section 9.3.6
	AtomicETHLen    = 28 // IBTA section 9.3.4
	AtomicAckETHLen = 8  // IBTA section 9.3.5.3
)

// Offsets in an AtomicETH.
const (
	atomicVA      = 0
	atomicRKey    = 8
	atomicSwap    = 12
	atomicCompare = 20
)

// IsReadResponse reports whether the opcode is one of the four of READ responses.
func (o Opcode) IsReadResponse() bool { return o >= OpReadResponseFirst && o <= OpReadResponseOnly }

// readResponseExtension returns the length of the headers after the BTH of a READ response: all but the middle ones
// have an AETH.
func (o Opcode) readResponseExtension() int {
	if o == OpReadResponseMiddle {
		return 0
	}
	return AETHLen
}

// parseMessage parses the headers after the BTH of a packet that is no flow's. rest ends before the ICRC.
func (p *Packet) parseMessage(b BTH, rest []byte) error {
	switch op := p.Opcode; {
	case op == OpReadRequest:
		if len(rest) != RETHLen {
			return ErrLength
		}
		p.Kind = KindReadRequest
	case op.IsReadResponse():
		p.body += op.readResponseExtension()
		p.Payload = p.icrc - p.body - b.PadCount()
		if p.Payload < 0 || (p.Payload+b.PadCount())&3 != 0 {
			return ErrLength
		}
		if op != OpReadResponseMiddle {
			p.Syndrome, p.MSN = AETH(rest).Syndrome(), AETH(rest).MSN()
		}
		p.Kind = KindReadResponse
	case op == OpAtomicAck:
		if len(rest) != AETHLen+AtomicAckETHLen {
			return ErrLength
		}
		p.Syndrome, p.MSN = AETH(rest).Syndrome(), AETH(rest).MSN()
		p.Kind = KindAtomicAck
	case op == OpCompareSwap || op == OpFetchAdd:
		if len(rest) != AtomicETHLen {
			return ErrLength
		}
		p.Kind = KindAtomic
	case op.isDatagram():
		return p.parseDatagram(b)
	}
	return nil
}

// Solicited reports whether a packet of a message requests an event at the receiver.
func (p *Packet) Solicited() bool {
	return p.bth && p.frame[p.headers-BTHLen+bthFlags]&bthSolicited != 0
}

// Immediate returns the immediate data of a data packet, if it carries any, in host order.
func (p *Packet) Immediate() uint32 {
	if p.Kind != KindData || !p.Opcode.HasImm() {
		return 0
	}
	return binary.BigEndian.Uint32(p.frame[p.body-ImmDtLen:])
}

// Atomic returns the operands of an atomic request. For a fetch-and-add, swap is the addend.
func (p *Packet) Atomic() (va uint64, rkey uint32, swap, compare uint64) {
	if p.Kind != KindAtomic {
		return 0, 0, 0, 0
	}
	h := p.frame[p.headers : p.headers+AtomicETHLen]
	return binary.BigEndian.Uint64(h[atomicVA:]), binary.BigEndian.Uint32(h[atomicRKey:]),
		binary.BigEndian.Uint64(h[atomicSwap:]), binary.BigEndian.Uint64(h[atomicCompare:])
}

// Original returns the previous value of the memory in an atomic acknowledge.
func (p *Packet) Original() uint64 {
	if p.Kind != KindAtomicAck {
		return 0
	}
	return binary.BigEndian.Uint64(p.frame[p.headers+AETHLen:])
}

// Response returns the payload of a READ response; nil for other packets.
func (p *Packet) Response() []byte {
	if p.Kind != KindReadResponse {
		return nil
	}
	return p.frame[p.body : p.body+p.Payload]
}

// Message holds the header fields of one packet of a queue pair of messages. Fields without a header in its opcode are
// ignored.
type Message struct {
	Op         Opcode
	PSN        uint32
	AckRequest bool
	Solicited  bool
	Payload    int    // bytes
	VA         uint64 // RETH and AtomicETH
	RKey       uint32
	Length     uint32 // length of the whole message: RETH
	Imm        uint32
	Syndrome   uint8 // AETH
	MSN        uint32
	// Swap and Compare hold the operands of an atomic request. In its acknowledgement Swap holds the memory's previous
	// value.
	Swap, Compare uint64
	Timestamp     uint64 // for an opcode with a timestamp
	// QKey and SourceQP belong to a datagram.
	QKey, SourceQP uint32
}

// extension returns the length of the headers after the BTH of a packet with the opcode.
func (o Opcode) extension() int {
	switch {
	case o.IsData():
		return o.extensions()
	case o == OpReadRequest:
		return RETHLen
	case o.IsReadResponse():
		return o.readResponseExtension()
	case o == OpAtomicAck:
		return AETHLen + AtomicAckETHLen
	case o == OpCompareSwap || o == OpFetchAdd:
		return AtomicETHLen
	case o.isDatagram():
		return o.datagramExtension()
	}
	return 0
}

// MessageLen returns the length of the frame of a packet with the given payload bytes.
func (v Version) MessageLen(op Opcode, payload int) int {
	return max(roceHeaderLen+v.Extra()+op.extension()+payload+padCount(payload)+ICRCLen, MinFrame)
}

// BeginMessage writes the headers of a packet into buf, whose length is MessageLen of h's version, and zeroes the
// padding. It returns the memory of the payload, which the caller fills; EndMessage then writes the ICRC. h must not be
// for headers only.
func BeginMessage(buf []byte, h *FlowHeader, m *Message) (payload []byte) {
	padding := padCount(m.Payload)
	flags := bthMigReq | byte(padding)<<bthPadShift
	if m.Solicited {
		flags |= bthSolicited
	}
	ackPSN := m.PSN & PSNMask
	if m.AckRequest {
		ackPSN |= bthAckReq << 24
	}
	n := h.length + m.Op.extension() + m.Payload + padding + ICRCLen
	h.put(buf, n, m.Op, flags, 0, ackPSN)
	at := h.length
	if m.Op.HasINT() && m.Op.IsData() {
		clear(buf[at : at+INTLen])
		at += INTLen
	}
	if m.Op.HasTimestamp() && m.Op.IsData() {
		binary.BigEndian.PutUint64(buf[at:], m.Timestamp)
		at += TimestampLen
	}
	switch op := m.Op; {
	case op.HasRETH() || op == OpReadRequest:
		binary.BigEndian.PutUint64(buf[at+rethVA:], m.VA)
		binary.BigEndian.PutUint32(buf[at+rethRKey:], m.RKey)
		binary.BigEndian.PutUint32(buf[at+rethDMALen:], m.Length)
		at += RETHLen
	case op == OpCompareSwap || op == OpFetchAdd:
		binary.BigEndian.PutUint64(buf[at+atomicVA:], m.VA)
		binary.BigEndian.PutUint32(buf[at+atomicRKey:], m.RKey)
		binary.BigEndian.PutUint64(buf[at+atomicSwap:], m.Swap)
		binary.BigEndian.PutUint64(buf[at+atomicCompare:], m.Compare)
		at += AtomicETHLen
	case op == OpAtomicAck || op.IsReadResponse() && op != OpReadResponseMiddle:
		binary.BigEndian.PutUint32(buf[at:], uint32(m.Syndrome)<<24|m.MSN&PSNMask)
		at += AETHLen
		if op == OpAtomicAck {
			binary.BigEndian.PutUint64(buf[at:], m.Swap)
			at += AtomicAckETHLen
		}
	case op.isDatagram():
		at = putDatagram(buf, at, m)
	}
	if m.Op.HasImm() {
		binary.BigEndian.PutUint32(buf[at:], m.Imm)
		at += ImmDtLen
	}
	clear(buf[at+m.Payload:])
	return buf[at : at+m.Payload : at+m.Payload]
}

// EndMessage writes the ICRC of a packet whose payload has been filled in.
func EndMessage(buf []byte) {
	n := EthernetLen + IPv4(buf[EthernetLen:]).TotalLen()
	if versionOf(buf) == V6 {
		n = EthernetLen + IPv6Len + IPv6(buf[EthernetLen:]).PayloadLen()
	}
	binary.LittleEndian.PutUint32(buf[n-ICRCLen:], ICRC(buf[EthernetLen:n-ICRCLen]))
}
