package wire

import "encoding/binary"

// Packet trimming: if a switch has no room for a data packet, it cuts the packet to its headers and forwards these in
// another priority, so that the receiver learns of the loss at once. The DSCP of a trimmed packet is its priority times
// 8, plus 4 (of data: plus 2, of control: plus 0). Its length fields cover the rest: Ethernet, IPv4, UDP, BTH,
// telemetry or timestamp, RETH and the ICRC, which is recomputed. The RETH also shows that a payload is missing: each
// packet has its own RETH, whose DMA length is that of the whole packet (docs/recovery.md).

const dscpTrimmed = 4 // mask of the lowest three bits

// Trimmed reports whether a data packet arrived without its payload.
func (p *Packet) Trimmed() bool { return p.Kind == KindData && p.TOS>>2&7 == dscpTrimmed }

// TrimmedLen returns the length of the trimmed frame of a data packet with that opcode: its headers, and 4 bytes of
// payload if the headers are shorter than Ethernet's minimum.
func (v Version) TrimmedLen(op Opcode) int {
	if n := v.dataLen(op, 0); n >= MinFrame {
		return n
	}
	return v.dataLen(op, 4)
}

// Opcode returns the operation of a packet with the brief headers b.
func (b Brief) Opcode() Opcode { return briefOps[b>>briefOp&7] }

// Trim returns the packet without its payload, in a priority. It must be a data packet.
func (b Brief) Trim(priority uint8) Brief {
	b &^= 3<<briefPad | 7<<briefMSN
	return b | 1<<briefOwn | Brief(priority&7)<<briefMSN
}

// Trimmable reports whether frame is a RoCE data packet with its payload, and its trimmed length. frame must include at
// least the headers up to the BTH.
func Trimmable(frame []byte) (length int, ok bool) {
	v, dscp := V4, uint8(0)
	switch ip := frame[EthernetLen:]; Ethernet(frame).Type() {
	case EtherTypeIPv4:
		if ip[ipVersionIHL] != ipVersion4NoOptions || ip[ipProtocol] != ProtocolUDP {
			return 0, false
		}
		dscp = IPv4(ip).DSCP()
	case EtherTypeIPv6:
		if IPv6(ip).Version() != 6 || IPv6(ip).NextHeader() != ProtocolUDP || len(frame) < roceHeaderLen6 {
			return 0, false
		}
		v, dscp = V6, IPv6(ip).TrafficClass()>>2
	default:
		return 0, false
	}
	bth := bthOf(frame)
	if UDP(frame[bth-UDPLen:]).DstPort() != PortRoCE || dscp&7 == dscpTrimmed {
		return 0, false
	}
	op := BTH(frame[bth:]).Opcode()
	return v.TrimmedLen(op), op.IsData()
}

// Trim trims a data packet, in a priority, to TrimmedLen bytes. frame is the whole frame with its payload, or only the
// headers kept of frames, which have no ICRC.
func Trim(frame []byte, priority uint8, whole bool) {
	v, ip := versionOf(frame), frame[EthernetLen:]
	udp := frame[bthOf(frame)-UDPLen:]
	bth := udp[UDPLen:]
	n := v.TrimmedLen(Opcode(bth[bthOpcode]))
	tos := TrimmedTOS(priority, ECNOf(frame))
	if v == V6 {
		IPv6(ip).setTrafficClass(tos)
		binary.BigEndian.PutUint16(ip[ip6PayloadLen:], uint16(n-EthernetLen-IPv6Len))
	} else {
		ip[ipTOS] = tos
		binary.BigEndian.PutUint16(ip[ipTotalLen:], uint16(n-EthernetLen))
		IPv4(ip).UpdateChecksum()
	}
	binary.BigEndian.PutUint16(udp[udpLength:], uint16(n-bthOf(frame)+UDPLen))
	bth[bthFlags] &^= 3 << bthPadShift
	if whole {
		binary.LittleEndian.PutUint32(frame[n-ICRCLen:], ICRC(frame[EthernetLen:n-ICRCLen]))
	}
}
