package wire

import (
	"encoding/binary"
	"fmt"
)

// BTH holds an InfiniBand base transport header (IBTA volume 1 section 9.2) and the bytes after it.
type BTH []byte

// BTHLen is the length of the header in bytes.
const BTHLen = 12

const (
	bthOpcode = 0
	bthFlags  = 1 // SE(1) M(1) Pad(2) TVer(4)
	bthPKey   = 2
	bthECN    = 4 // FECN(1) BECN(1) reserved(6)
	bthDestQP = 5
	bthAck    = 8 // A(1) reserved(7), of which the first marks retransmissions of selective repeat
	bthPSN    = 9
)

const (
	bthSolicited     = 0x80
	bthMigReq        = 0x40
	bthPadShift      = 4
	bthTVerMask      = 0x0f
	bthDefaultPKey   = 0xffff
	bthFECN          = 0x80
	bthBECN          = 0x40
	bthAckReq        = 0x80
	bthRetransmitted = 0x40
)

// padCount returns the number of bytes that pad a payload to a multiple of 4.
func padCount(payload int) int { return -payload & 3 }

// PSNMask covers packet sequence numbers, message sequence numbers and QP numbers: 24 bits.
const PSNMask = 1<<24 - 1

// PSNDiff returns how far PSN a is ahead of b, in -2^23..2^23-1, by 24-bit serial arithmetic.
func PSNDiff(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }

// Opcode holds a BTH opcode (IBTA volume 1 section 9.2).
type Opcode uint8

// Opcodes of the reliable connection service, and RoCEv2's CNP (annex A17).
const (
	OpSendFirst   Opcode = 0x00
	OpSendMiddle  Opcode = 0x01
	OpSendLast    Opcode = 0x02
	OpSendOnly    Opcode = 0x04
	OpWriteFirst  Opcode = 0x06
	OpWriteMiddle Opcode = 0x07
	OpWriteLast   Opcode = 0x08
	OpWriteOnly   Opcode = 0x0a
	OpAck         Opcode = 0x11
	OpCNP         Opcode = 0x81
)

// The opcode of a data packet or an acknowledgement with telemetry (INT), or with a timestamp, has three high bits from
// the range that the standard reserves for manufacturers, before its operation's five bits. An opcode with a demand has
// four before four (opDemand).
const (
	opINT       Opcode = 0xc0
	opTimestamp Opcode = 0xe0
	opService   Opcode = 0xe0 // the three bits
	opOperation Opcode = 0x1f
)

// WithINT returns the equivalent opcode with telemetry.
func (o Opcode) WithINT() Opcode { return opINT | o&opOperation }

// HasINT reports whether the opcode has telemetry.
func (o Opcode) HasINT() bool { return o&opService == opINT }

// WithTimestamp returns the equivalent opcode with a timestamp.
func (o Opcode) WithTimestamp() Opcode { return opTimestamp | o&opOperation }

// HasTimestamp reports whether the opcode has a timestamp.
func (o Opcode) HasTimestamp() bool { return o&opService == opTimestamp && o < opDemandFirst }

// HasImm reports whether data packets of the opcode carry immediate data.
func (o Opcode) HasImm() bool {
	o = o.Operation()
	return o <= OpWriteOnlyImm && immOpcodes>>o&1 != 0
}

const immOpcodes = 1<<OpSendLastImm | 1<<OpSendOnlyImm | 1<<OpWriteLastImm | 1<<OpWriteOnlyImm

// Opcodes of WRITEs' packets with a demand consist of opDemand's upper four bits and the operation's lower four. Those
// of SENDs in this range belong to other packets (OpAck.WithTimestamp).
const (
	opDemand        Opcode = 0xf0
	opDemandFirst          = opDemand | OpWriteFirst
	opDemandOperand Opcode = 0x0f
)

// WithDemand returns the equivalent opcode with a demand.
func (o Opcode) WithDemand() Opcode { return opDemand | o&opDemandOperand }

// HasDemand reports whether the opcode has a demand.
func (o Opcode) HasDemand() bool { return o >= opDemandFirst }

// Operation returns the opcode without telemetry, timestamp or demand.
func (o Opcode) Operation() Opcode {
	if o < opINT {
		return o
	}
	if o.HasDemand() {
		return o & opDemandOperand
	}
	return o & opOperation
}

// HasRETH reports whether data packets of the opcode carry a RETH: WRITE first and only.
func (o Opcode) HasRETH() bool {
	o = o.Operation()
	return o == OpWriteFirst || o == OpWriteOnly || o == OpWriteOnlyImm
}

// IsData reports whether the opcode is one of SEND's and WRITE's twelve, with or without telemetry, a timestamp or a
// demand.
func (o Opcode) IsData() bool {
	o = o.Operation()
	return o <= OpWriteOnlyImm && dataOpcodes>>o&1 != 0
}

// extensions returns the length of the headers between the BTH of a data packet and its payload.
func (o Opcode) extensions() int {
	n := o.added()
	if o.HasRETH() {
		n += RETHLen
	}
	if o.HasImm() {
		n += ImmDtLen
	}
	return n
}

// added returns the length of the headers that pausenet adds to packets with the opcode.
func (o Opcode) added() int {
	switch {
	case o < opINT:
		return 0
	case o.HasINT():
		return INTLen
	case o.HasTimestamp():
		return TimestampLen
	case o.HasDemand():
		return DemandLen
	}
	return 0
}

const dataOpcodes = 1<<OpSendFirst | 1<<OpSendMiddle | 1<<OpSendLast | 1<<OpSendOnly |
	1<<OpWriteFirst | 1<<OpWriteMiddle | 1<<OpWriteLast | 1<<OpWriteOnly |
	1<<OpSendLastImm | 1<<OpSendOnlyImm | 1<<OpWriteLastImm | 1<<OpWriteOnlyImm

// answerLen returns how many bytes follow the BTH of an acknowledgement.
func (o Opcode) answerLen() int { return AETHLen + o.added() }

// opcodeNames holds the names of opcodes without telemetry, timestamp or demand.
var opcodeNames = [256]string{
	OpSendFirst: "SEND_FIRST", OpSendMiddle: "SEND_MIDDLE", OpSendLast: "SEND_LAST", OpSendOnly: "SEND_ONLY",
	OpWriteFirst: "WRITE_FIRST", OpWriteMiddle: "WRITE_MIDDLE", OpWriteLast: "WRITE_LAST",
	OpWriteOnly: "WRITE_ONLY", OpSendLastImm: "SEND_LAST_IMM", OpSendOnlyImm: "SEND_ONLY_IMM",
	OpWriteLastImm: "WRITE_LAST_IMM", OpWriteOnlyImm: "WRITE_ONLY_IMM", OpReadRequest: "READ_REQUEST",
	OpReadResponseFirst: "READ_RESPONSE_FIRST", OpReadResponseMiddle: "READ_RESPONSE_MIDDLE",
	OpReadResponseLast: "READ_RESPONSE_LAST", OpReadResponseOnly: "READ_RESPONSE_ONLY",
	OpAtomicAck: "ATOMIC_ACK", OpCompareSwap: "COMPARE_SWAP", OpFetchAdd: "FETCH_ADD",
	OpDatagram: "UD_SEND_ONLY", OpDatagramImm: "UD_SEND_ONLY_IMM", OpAck: "ACK", OpCNP: "CNP",
}

// String returns the opcode's name, such as "WRITE_ONLY" or, with telemetry, "WRITE_ONLY INT", with a timestamp
// "WRITE_ONLY TS", with a demand "WRITE_ONLY DEMAND".
func (o Opcode) String() string {
	if o.added() > 0 && (o.IsData() || o.Operation() == OpAck) {
		switch {
		case o.HasINT():
			return o.Operation().String() + " INT"
		case o.HasDemand():
			return o.Operation().String() + " DEMAND"
		}
		return o.Operation().String() + " TS"
	}
	if name := opcodeNames[o]; name != "" {
		return name
	}
	return fmt.Sprintf("opcode 0x%02x", uint8(o))
}

// Opcode returns the operation.
func (b BTH) Opcode() Opcode { return Opcode(b[bthOpcode]) }

// PadCount returns the bytes of padding, 0..3, after the payload.
func (b BTH) PadCount() int { return int(b[bthFlags] >> bthPadShift & 3) }

// TVer returns the transport version, 0.
func (b BTH) TVer() uint8 { return b[bthFlags] & bthTVerMask }

// FECN returns the forward congestion bit. Without BECN it means "undetermined" in pausenet's CNPs (TCD); in ACKs it
// echoes CE.
func (b BTH) FECN() bool { return b[bthECN]&bthFECN != 0 }

// BECN returns the backward congestion bit, set in CNPs; in ACKs it echoes "undetermined".
func (b BTH) BECN() bool { return b[bthECN]&bthBECN != 0 }

// DestQP returns the receiver's queue pair.
func (b BTH) DestQP() uint32 { return uint24(b[bthDestQP:]) }

// AckReq reports whether the sender requests an ACK.
func (b BTH) AckReq() bool { return b[bthAck]&bthAckReq != 0 }

// Retransmitted reports whether a data packet of selective repeat is a retransmission, or an answer is to a
// retransmission. Ultra Ethernet has a flag for it (Specification 1.0, retransmission in its packet delivery headers);
// the standard reserves this bit.
func (b BTH) Retransmitted() bool { return b[bthAck]&bthRetransmitted != 0 }

// PSN returns the packet sequence number.
func (b BTH) PSN() uint32 { return uint24(b[bthPSN:]) }

// RETH holds an RDMA extended transport header (IBTA section 9.3.3). It follows the BTH, and telemetry or a timestamp
// if present, of WRITE first and only.
type RETH []byte

// RETHLen is the length of the header in bytes.
const RETHLen = 16

const (
	rethVA     = 0
	rethRKey   = 8
	rethDMALen = 12
)

// VA returns the virtual address written to.
func (r RETH) VA() uint64 { return binary.BigEndian.Uint64(r[rethVA:]) }

// RKey returns the remote key.
func (r RETH) RKey() uint32 { return binary.BigEndian.Uint32(r[rethRKey:]) }

// DMALen returns the length of the whole message.
func (r RETH) DMALen() uint32 { return binary.BigEndian.Uint32(r[rethDMALen:]) }

// AETH holds an ACK extended transport header (IBTA section 9.3.5), after the BTH of an ACK or NAK.
type AETH []byte

// AETHLen is the length of the header in bytes.
const AETHLen = 4

const (
	aethSyndrome = 0
	aethMSN      = 1
)

// Syndromes (IBTA volume 1 section 9.3.5). Bits 6 and 5 distinguish ACK (00), RNR NAK (01) and NAK (11).
const (
	SyndromeAck         uint8 = 0x1f // ACK, credits unlimited
	SyndromeRNR         uint8 = 0x20 // receiver not ready; low 5 bits: the timer
	SyndromeNakSequence uint8 = 0x60 // PSN sequence error: go back to the PSN expected
)

// Syndromes of selective repeat (docs/recovery.md). The standard reserves bit 7. The lower bits keep their meaning, and
// the MSN names the answered packet.
const (
	SyndromeAckDuplicate uint8 = syndromeOwn | SyndromeAck         // the packet had arrived before
	SyndromeNakTrimmed   uint8 = syndromeOwn | SyndromeNakSequence // the packet arrived without its payload

	syndromeOwn uint8 = 0x80
)

const (
	syndromeKindMask = 0x60
	syndromeKindAck  = 0x00
	syndromeKindRNR  = 0x20
	syndromeKindNak  = 0x60
)

// Syndrome returns the meaning of the acknowledgement.
func (a AETH) Syndrome() uint8 { return a[aethSyndrome] }

// MSN returns the message sequence number.
func (a AETH) MSN() uint32 { return uint24(a[aethMSN:]) }

func uint24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

func putUint24(b []byte, v uint32) { b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v) }
