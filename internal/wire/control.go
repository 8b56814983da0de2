package wire

import "encoding/binary"

// Frame lengths over IPv4; see Version.Extra.
const (
	AckLen    = roceHeaderLen + AETHLen + ICRCLen        // 62
	AckINTLen = AckLen + INTLen                          // 104
	CNPLen    = roceHeaderLen + CNPReservedLen + ICRCLen // 74
)

// CNPReservedLen counts the reserved bytes of a CNP after its BTH (IBTA annex A17).
const CNPReservedLen = 16

// IsAnswer reports whether a RoCE frame is an ACK, NAK or CNP.
func IsAnswer(frame []byte) bool {
	op := Opcode(frame[bthOf(frame)+bthOpcode])
	return op == OpCNP || op.Operation() == OpAck
}

// bthOf returns the offset of the BTH in a RoCE frame.
func bthOf(frame []byte) int { return EthernetLen + IPv4Len + UDPLen + versionOf(frame).Extra() }

// PutAck writes an ACK or NAK and returns its length, AckLen. psn is the last one received in order for an ACK, the
// expected one for a NAK. h describes the direction to the sender.
func PutAck(buf []byte, h *FlowHeader, syndrome uint8, psn, msn uint32) int {
	n := h.length + AETHLen + ICRCLen
	crc := h.put(buf, n, OpAck, bthMigReq, 0, psn&PSNMask)
	aeth := buf[h.length : h.length+AETHLen]
	binary.BigEndian.PutUint32(aeth, uint32(syndrome)<<24|msn&PSNMask)
	if h.icrc == nil {
		return n
	}
	return putICRC(buf, n-ICRCLen, crcShort(crc, aeth))
}

// PutAckINT works like PutAck for the answer to a packet with telemetry, which it returns to the sender. Its length is
// AckINTLen.
func PutAckINT(buf []byte, h *FlowHeader, syndrome uint8, psn, msn uint32, t INT) int {
	n := h.length + AETHLen + INTLen + ICRCLen
	crc := h.put(buf, n, OpAck.WithINT(), bthMigReq, 0, psn&PSNMask)
	aeth := buf[h.length : h.length+AETHLen]
	binary.BigEndian.PutUint32(aeth, uint32(syndrome)<<24|msn&PSNMask)
	copy(buf[h.length+AETHLen:], t[:INTLen])
	if h.icrc == nil {
		return n
	}
	return putICRC(buf, n-ICRCLen, intCRC.after(crcShort(crc, aeth)))
}

// EchoMark writes the strongest mark of the answered packets into an ACK of PutAck or PutAckINT. The FECN bit stands
// for CE, the BECN bit alone for UE, just as in CNPs each direction's own bit stands for CE; other codepoints set none.
// RC ACKs do not use these bits, and the ICRC does not cover them. DCTCP's sender needs the mark of each packet, and so
// does TIMELY's under ternary congestion detection.
func EchoMark(ack []byte, mark ECN) {
	switch mark {
	case CE:
		ack[bthOf(ack)+bthECN] |= bthFECN
	case UE:
		ack[bthOf(ack)+bthECN] |= bthBECN
	}
}

// CNPFlags holds a CNP's congestion bits.
type CNPFlags uint8

// Flags. A standard CNP has BECN. Under ternary congestion detection BECN stands for CE and FECN alone for
// "undetermined" (docs/schemes/tcd.md).
const (
	CNPFECN CNPFlags = bthFECN
	CNPBECN CNPFlags = bthBECN
)

// PutCNP writes a congestion notification packet and returns its length, CNPLen. A nil reserved means zeros, as in the
// standard. h describes the direction to the sender.
func PutCNP(buf []byte, h *FlowHeader, flags CNPFlags, reserved *[CNPReservedLen]byte) int {
	n := h.length + CNPReservedLen + ICRCLen
	crc := h.put(buf, n, OpCNP, 0, byte(flags&(CNPFECN|CNPBECN)), 0)
	r := buf[h.length : h.length+CNPReservedLen]
	if reserved != nil {
		copy(r, reserved[:])
	} else {
		clear(r)
	}
	if h.icrc == nil {
		return n
	}
	return putICRC(buf, n-ICRCLen, crcShort(crc, r))
}

// PCNReport holds a PCN receiver's report in a CNP's reserved bytes (docs/schemes/pcn.md).
type PCNReport struct {
	RateMbps  uint32 // receiving rate
	Congested bool   // equals BECN
	Packets   uint16 // counted
}

const (
	pcnRate      = 0
	pcnFlags     = 4
	pcnPackets   = 6
	pcnCongested = 1
)

// Bytes returns the report in the format for PutCNP.
func (r PCNReport) Bytes() (b [CNPReservedLen]byte) {
	binary.BigEndian.PutUint32(b[pcnRate:], r.RateMbps)
	if r.Congested {
		binary.BigEndian.PutUint16(b[pcnFlags:], pcnCongested)
	}
	binary.BigEndian.PutUint16(b[pcnPackets:], r.Packets)
	return b
}

// ParsePCNReport parses the reserved bytes of a CNP, all 16.
func ParsePCNReport(b []byte) PCNReport {
	return PCNReport{
		RateMbps:  binary.BigEndian.Uint32(b[pcnRate:]),
		Congested: binary.BigEndian.Uint16(b[pcnFlags:])&pcnCongested != 0,
		Packets:   binary.BigEndian.Uint16(b[pcnPackets:]),
	}
}
