package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// ICRCLen is the length of the invariant CRC, which ends a RoCEv2 packet.
//
// The invariant CRC is the Ethernet CRC-32 over 8 bytes 0xff in place of InfiniBand's LRH, and then the packet from the
// IP header on. All fields that a switch may change count as ones (IBTA annex A17; telemetry is pausenet's): TOS, TTL
// and checksum, of IPv6 traffic class, flow label and hop limit, UDP's checksum, the BTH's byte 4, and telemetry. So
// the CRC stays valid when switches write them.
const ICRCLen = 4

// rocePrefixLen is the length of the masked part over IPv4: IP, UDP and BTH headers.
const rocePrefixLen = IPv4Len + UDPLen + BTHLen

// crcLRH holds the CRC of the 8 bytes that stand for the LRH.
var crcLRH = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})

// maskIPUDP sets the fields of the IP and UDP header in b that the ICRC does not cover to ones, and returns the length
// of both headers.
func maskIPUDP(b []byte) int {
	n := IPv4Len + UDPLen
	if IPv6(b).Version() == 6 {
		n = IPv6Len + UDPLen
		b[0] |= 0xf
		b[1], b[2], b[3] = 0xff, 0xff, 0xff
		b[ip6HopLimit] = 0xff
	} else {
		b[ipTOS] = 0xff
		b[ipTTL] = 0xff
		b[ipChecksum], b[ipChecksum+1] = 0xff, 0xff
	}
	udp := b[n-UDPLen : n]
	udp[udpChecksum], udp[udpChecksum+1] = 0xff, 0xff
	return n
}

// ICRC computes the invariant CRC of a RoCEv2 packet from its IP header (without options or extension headers) up to
// the position of the ICRC. len(packet) must be at least 40, over IPv6 60: the length of the three headers. Write the
// result least significant byte first.
func ICRC(packet []byte) uint32 {
	var buf [rocePrefixLen + IPv6Len - IPv4Len]byte
	n := rocePrefixLen
	if IPv6(packet).Version() == 6 {
		n = len(buf)
	}
	head, rest := buf[:n], packet[n:]
	copy(head, packet)
	bth := head[maskIPUDP(head):]
	bth[bthECN] = 0xff
	crc := crcShort(crcLRH, head)
	if at := intOffset(Opcode(bth[bthOpcode])); at >= 0 && len(rest) >= at+INTLen {
		crc = intCRC.after(crc32.Update(crc, crc32.IEEETable, rest[:at]))
		rest = rest[at+INTLen:]
	}
	return crc32.Update(crc, crc32.IEEETable, rest)
}

// putICRC writes crc at frame[n:] and returns the frame's length with it.
func putICRC(frame []byte, n int, crc uint32) int {
	binary.LittleEndian.PutUint32(frame[n:], crc)
	return n + ICRCLen
}
