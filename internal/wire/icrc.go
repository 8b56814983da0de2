package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// ICRCLen is the invariant CRC's length. It ends a RoCEv2 packet.
//
// It is the Ethernet CRC-32 over 8 bytes 0xff in place of InfiniBand's LRH, then the packet from the IP header on, with
// all that a switch may change set to ones (IBTA annex A17; telemetry is ours): TOS, TTL, IP and UDP checksum, the BTH's byte 4,
// and telemetry. So it survives what switches write.
const ICRCLen = 4

// rocePrefixLen is the masked part: IP, UDP and BTH headers.
const rocePrefixLen = IPv4Len + UDPLen + BTHLen

// crcLRH is the CRC of the 8 bytes that stand for the LRH.
var crcLRH = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})

// maskIPUDP sets what the ICRC leaves out of the IP and UDP header in b to ones.
func maskIPUDP(b []byte) {
	_ = b[IPv4Len+UDPLen-1]
	b[ipTOS] = 0xff
	b[ipTTL] = 0xff
	b[ipChecksum], b[ipChecksum+1] = 0xff, 0xff
	b[IPv4Len+udpChecksum], b[IPv4Len+udpChecksum+1] = 0xff, 0xff
}

// ICRC computes the invariant CRC of a RoCEv2 packet from its IP header (without options) up to where the ICRC
// belongs. len(packet) must be at least 40, the three headers' length. Put the result least significant byte first.
func ICRC(packet []byte) uint32 {
	var head [rocePrefixLen]byte
	copy(head[:], packet[:rocePrefixLen])
	maskIPUDP(head[:])
	head[IPv4Len+UDPLen+bthECN] = 0xff
	crc, rest := crcShort(crcLRH, head[:]), packet[rocePrefixLen:]
	if at := intOffset(Opcode(head[IPv4Len+UDPLen+bthOpcode])); at >= 0 && len(rest) >= at+INTLen {
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
