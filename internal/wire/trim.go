package wire

import "encoding/binary"

// Packet trimming: a switch cuts a data packet that it has no room for to its headers, and sends those on in a priority of their own, so that
// the receiver learns at once what it will not get. The DSCP of a trimmed packet is its priority times 8, plus 4 (of data: plus 2, of control:
// plus 0). Its lengths are those of what is left: Ethernet, IPv4, UDP, BTH, telemetry or timestamp, RETH and the ICRC, which is made anew.
// That a payload is missing the RETH tells too: its DMA length is the packet's, of which each has an RETH of its own (docs/recovery.md).

// TrimmedTOS is the TOS byte of trimmed packets in a priority (0..7).
func TrimmedTOS(priority uint8, ecn ECN) uint8 { return (priority*8+4)<<2 | uint8(ecn&3) }

const dscpTrimmed = 4 // of the lowest three bits

// Trimmed says whether a data packet came without its payload.
func (p *Packet) Trimmed() bool { return p.Kind == KindData && p.TOS>>2&7 == dscpTrimmed }

// TrimmedLen is the length of what is left of the frame of a data packet with that opcode: its headers, and 4 bytes of payload where Ethernet's
// least frame is longer than those.
func TrimmedLen(op Opcode) int {
	if n := dataLen(op, 0); n >= MinFrame {
		return n
	}
	return dataLen(op, 4)
}

// Opcode is the operation of a packet with the brief headers b.
func (b Brief) Opcode() Opcode { return briefOps[b>>briefOp&7] }

// Trim is the packet without its payload, in a priority. It must be data.
func (b Brief) Trim(priority uint8) Brief {
	b &^= 3<<briefPad | PSNMask<<briefMSN
	return b | 1<<briefOwn | Brief(priority&7)<<briefMSN
}

// DataOf says whether frame, of which at least the headers up to the BTH are there, is a RoCE data packet that has its payload, and its
// operation.
func DataOf(frame []byte) (op Opcode, ok bool) {
	ip := IPv4(frame[EthernetLen:])
	if Ethernet(frame).Type() != EtherTypeIPv4 || ip[ipVersionIHL] != ipVersion4NoOptions || ip.Protocol() != ProtocolUDP ||
		UDP(ip[IPv4Len:]).DstPort() != PortRoCE || ip.DSCP()&7 == dscpTrimmed {
		return 0, false
	}
	op = BTH(ip[IPv4Len+UDPLen:]).Opcode()
	return op, op.IsData()
}

// Trim cuts a data packet to what is left of it in a priority, TrimmedLen bytes. frame is the whole frame with its payload, or no more than
// the headers that are kept of frames, which have no ICRC.
func Trim(frame []byte, priority uint8, whole bool) {
	ip := IPv4(frame[EthernetLen:])
	bth := ip[IPv4Len+UDPLen:]
	op := Opcode(bth[bthOpcode])
	n := TrimmedLen(op)
	ip[ipTOS] = TrimmedTOS(priority, ip.ECN())
	binary.BigEndian.PutUint16(ip[ipTotalLen:], uint16(n-EthernetLen))
	ip.UpdateChecksum()
	binary.BigEndian.PutUint16(ip[IPv4Len+udpLength:], uint16(n-EthernetLen-IPv4Len))
	bth[bthFlags] &^= 3 << bthPadShift
	if whole {
		binary.LittleEndian.PutUint32(frame[n-ICRCLen:], ICRC(frame[EthernetLen:n-ICRCLen]))
	}
}
