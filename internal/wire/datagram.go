package wire

import "encoding/binary"

// Opcodes of the unreliable datagram service (IBTA volume 1 section 9.2, table 38).
const (
	OpDatagram    Opcode = 0x64 // SEND only
	OpDatagramImm Opcode = 0x65
)

// DETHLen is the length of a datagram extended transport header (IBTA volume 1 section 9.3.2), which follows the BTH of
// datagrams.
const DETHLen = 8

const (
	dethQKey     = 0
	dethSourceQP = 5
)

// GRHLen counts the bytes that a datagram's receiver gets before the payload: an InfiniBand global route header, or the
// IP header of RoCEv2 in its position.
const GRHLen = 40

// isDatagram reports whether the opcode is a datagram's.
func (o Opcode) isDatagram() bool { return o == OpDatagram || o == OpDatagramImm }

// datagramExtension returns the length of the headers after a datagram's BTH.
func (o Opcode) datagramExtension() int {
	if o == OpDatagramImm {
		return DETHLen + ImmDtLen
	}
	return DETHLen
}

// parseDatagram parses the headers after the BTH of a datagram.
func (p *Packet) parseDatagram(b BTH) error {
	p.body += p.Opcode.datagramExtension()
	p.Payload = p.icrc - p.body - b.PadCount()
	if p.Payload < 0 || (p.Payload+b.PadCount())&3 != 0 {
		return ErrLength
	}
	p.Kind = KindDatagram
	return nil
}

// Datagram returns the fields of a datagram's headers: its Q_Key, the source queue pair, and immediate data, in host
// order, if present.
func (p *Packet) Datagram() (qkey, source, immediate uint32, withImmediate bool) {
	if p.Kind != KindDatagram {
		return 0, 0, 0, false
	}
	h := p.frame[p.headers:p.body]
	if p.Opcode == OpDatagramImm {
		immediate = binary.BigEndian.Uint32(h[DETHLen:])
	}
	return binary.BigEndian.Uint32(h[dethQKey:]), uint24(h[dethSourceQP:]), immediate, p.Opcode == OpDatagramImm
}

// GRH returns the bytes that a datagram's receiver gets before the payload (IBTA annex A17.4.5.1): the IPv6 header (RFC
// 8200 section 3), or the IPv4 header in the last 20 bytes. The standard leaves the other bytes undefined; they are 0.
func (p *Packet) GRH() (header [GRHLen]byte) {
	if p.Kind == KindDatagram {
		n := p.headers - BTHLen - UDPLen - EthernetLen
		copy(header[GRHLen-n:], p.frame[EthernetLen:][:n])
	}
	return header
}

// putDatagram writes the headers after the BTH of a datagram, at an offset in buf, and returns the offset of the
// payload.
func putDatagram(buf []byte, at int, m *Message) int {
	binary.BigEndian.PutUint32(buf[at+dethQKey:], m.QKey)
	binary.BigEndian.PutUint32(buf[at+dethSourceQP-1:], m.SourceQP&PSNMask)
	at += DETHLen
	if m.Op == OpDatagramImm {
		binary.BigEndian.PutUint32(buf[at:], m.Imm)
		at += ImmDtLen
	}
	return at
}
