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

// GRHLen is how many bytes a datagram's receiver has before the payload: an InfiniBand global route header, or what
// RoCEv2 has in its place.
const GRHLen = 40

// isDatagram reports whether the opcode is a datagram's.
func (o Opcode) isDatagram() bool { return o == OpDatagram || o == OpDatagramImm }

// datagramExtension returns how many bytes of headers a datagram has behind its BTH.
func (o Opcode) datagramExtension() int {
	if o == OpDatagramImm {
		return DETHLen + ImmDtLen
	}
	return DETHLen
}

// parseDatagram reads what follows the BTH of a datagram.
func (p *Packet) parseDatagram(b BTH) error {
	p.body += p.Opcode.datagramExtension()
	p.Payload = p.icrc - p.body - b.PadCount()
	if p.Payload < 0 || (p.Payload+b.PadCount())&3 != 0 {
		return ErrLength
	}
	p.Kind = KindDatagram
	return nil
}

// Datagram returns what a datagram says of itself: its Q_Key, the queue pair that it comes from, and immediate data,
// in host order, if it has some.
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

// GRH returns what a datagram's receiver has before the payload (IBTA annex A17.4.5.1): the IPv6 header (RFC 8200
// section 3), or in its last 20 bytes the IPv4 header, where the standard leaves the others undefined, and they are
// 0.
func (p *Packet) GRH() (header [GRHLen]byte) {
	if p.Kind == KindDatagram {
		n := p.headers - BTHLen - UDPLen - EthernetLen
		copy(header[GRHLen-n:], p.frame[EthernetLen:][:n])
	}
	return header
}

// putDatagram writes what follows the BTH of a datagram, at so many bytes into buf, and returns where the payload
// begins.
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
