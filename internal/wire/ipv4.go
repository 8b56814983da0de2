package wire

import "encoding/binary"

// IPv4 holds an IPv4 header (RFC 791 section 3.1) and the bytes after it.
type IPv4 []byte

// IPv4Len is the length of a header without options, the only kind that pausenet sends.
const IPv4Len = 20

const (
	ipVersionIHL = 0
	ipTOS        = 1
	ipTotalLen   = 2
	ipID         = 4
	ipFragment   = 6
	ipTTL        = 8
	ipProtocol   = 9
	ipChecksum   = 10
	ipSrc        = 12
	ipDst        = 16
)

const (
	ipVersion4NoOptions = 0x45
	ipDontFragment      = 0x4000
	ipFragmentMask      = 0x3fff // more-fragments flag and offset: not zero in any fragment

	// ProtocolUDP is UDP's protocol number (RFC 768).
	ProtocolUDP = 17
	// DefaultTTL is the TTL of the frames that pausenet builds.
	DefaultTTL = 64
)

// ECN holds the codepoint in the low two bits of the TOS byte (RFC 3168 section 5).
type ECN uint8

// Codepoints. Under ternary congestion detection ECT(0) means "undetermined" and senders use ECT(1) (TCD,
// docs/schemes/tcd.md).
const (
	NotECT ECN = 0
	ECT1   ECN = 1
	ECT0   ECN = 2
	CE     ECN = 3
	UE         = ECT0
)

// String returns the codepoint's name in RFC 3168.
func (e ECN) String() string { return [...]string{"Not-ECT", "ECT(1)", "ECT(0)", "CE"}[e&3] }

// DataTOS returns the TOS byte of data packets of a priority (0..7): DSCP priority*8+2.
func DataTOS(priority uint8, ecn ECN) uint8 { return (priority*8+2)<<2 | uint8(ecn&3) }

// ControlTOS returns the TOS byte of ACK, NAK and CNP of a priority (0..7): DSCP priority*8, Not-ECT. Priority 6
// gives the customary DSCP 48 of CNPs.
func ControlTOS(priority uint8) uint8 { return priority * 8 << 2 }

// PriorityOfDSCP returns the priority, 0..7, of a DSCP.
func PriorityOfDSCP(dscp uint8) uint8 { return dscp >> 3 & 7 }

// Version returns the IP version.
func (p IPv4) Version() uint8 { return p[ipVersionIHL] >> 4 }

// HeaderLen returns the header's length with options, from its length field.
func (p IPv4) HeaderLen() int { return int(p[ipVersionIHL]&0xf) * 4 }

// TOS returns the former type-of-service byte: DSCP<<2 | ECN.
func (p IPv4) TOS() uint8 { return p[ipTOS] }

// DSCP returns the differentiated services codepoint (RFC 2474).
func (p IPv4) DSCP() uint8 { return p[ipTOS] >> 2 }

// ECN returns the congestion codepoint.
func (p IPv4) ECN() ECN { return ECN(p[ipTOS] & 3) }

// TotalLen returns the packet's length, header included.
func (p IPv4) TotalLen() int { return int(binary.BigEndian.Uint16(p[ipTotalLen:])) }

// Fragmented reports whether the packet is a fragment.
func (p IPv4) Fragmented() bool { return binary.BigEndian.Uint16(p[ipFragment:])&ipFragmentMask != 0 }

// TTL returns the time to live.
func (p IPv4) TTL() uint8 { return p[ipTTL] }

// Protocol returns the protocol carried.
func (p IPv4) Protocol() uint8 { return p[ipProtocol] }

// Checksum returns the checksum in the header.
func (p IPv4) Checksum() uint16 { return binary.BigEndian.Uint16(p[ipChecksum:]) }

// Src returns the source address.
func (p IPv4) Src() Addr { return Addr(p[ipSrc:ipDst]) }

// Dst returns the destination address.
func (p IPv4) Dst() Addr { return Addr(p[ipDst : ipDst+4]) }

// SetECN rewrites the congestion codepoint and adjusts the checksum.
func (p IPv4) SetECN(e ECN) { p.setWord(ipVersionIHL, p[ipVersionIHL], p[ipTOS]&^3|uint8(e&3)) }

// setWord rewrites the 16 bits at off and updates the checksum by RFC 1624 equation 3, HC' = ~(~HC + ~m + m'). (RFC
// 1141's shorter form can leave 0xffff where a full computation gives 0.)
func (p IPv4) setWord(off int, hi, lo byte) {
	m := binary.BigEndian.Uint16(p[off:])
	p[off], p[off+1] = hi, lo
	sum := uint32(^p.Checksum()) + uint32(^m) + (uint32(hi)<<8 | uint32(lo))
	binary.BigEndian.PutUint16(p[ipChecksum:], ^fold(sum))
}

// UpdateChecksum computes the checksum over the header, whose length must be that of IHL.
func (p IPv4) UpdateChecksum() {
	binary.BigEndian.PutUint16(p[ipChecksum:], 0)
	binary.BigEndian.PutUint16(p[ipChecksum:], ^fold(sum16(p[:p.HeaderLen()])))
}

// ChecksumValid reports whether the checksum matches the header.
func (p IPv4) ChecksumValid() bool {
	n := p.HeaderLen()
	return n >= IPv4Len && n <= len(p) && fold(sum16(p[:n])) == 0xffff
}

// sum16 adds b's 16-bit words (RFC 1071) without folding the carries. len(b) must be even.
func sum16(b []byte) uint32 {
	var sum uint32
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	return sum
}

// fold adds the carries back in.
func fold(sum uint32) uint16 {
	sum = sum>>16 + sum&0xffff
	return uint16(sum + sum>>16)
}

// TrimmedTOS returns the TOS byte of trimmed packets in a priority (0..7).
func TrimmedTOS(priority uint8, ecn ECN) uint8 { return (priority*8+4)<<2 | uint8(ecn&3) }
