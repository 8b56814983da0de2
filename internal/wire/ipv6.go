package wire

import "encoding/binary"

// IPv6 holds an IPv6 header (RFC 8200 section 3) and the bytes after it.
type IPv6 []byte

// IPv6Len is the length of the header in bytes.
const IPv6Len = 40

const (
	ip6PayloadLen = 4
	ip6NextHeader = 6
	ip6HopLimit   = 7
	ip6Src        = 8
	ip6Dst        = 24
)

// Version selects the IP version of RoCE frames; IBTA annex A17 specifies both.
type Version uint8

// Versions. Lengths without a version are those over IPv4.
const (
	V4 Version = iota
	V6
)

// String returns "IPv4" or "IPv6".
func (v Version) String() string { return [...]string{"IPv4", "IPv6"}[v&1] }

// Extra returns the additional length of a frame's headers compared with IPv4: 0 or 20.
func (v Version) Extra() int { return int(v) * (IPv6Len - IPv4Len) }

// versionOf returns the IP version of a RoCE frame.
func versionOf(frame []byte) Version {
	if Ethernet(frame).Type() == EtherTypeIPv6 {
		return V6
	}
	return V4
}

// Addr6 holds an IPv6 address.
type Addr6 [16]byte

// Map returns the address of the fabric that stands for an IPv4 address: fd00::/96 (RFC 4193) and its 32 bits.
func Map(a Addr) Addr6 { return Addr6{0: 0xfd, 12: a[0], 13: a[1], 14: a[2], 15: a[3]} }

// Unmap returns the IPv4 address that one of the fabric stands for; ok is false for others.
func (a Addr6) Unmap() (v4 Addr, ok bool) {
	v4 = Addr(a[12:])
	return v4, a == Map(v4)
}

// Version returns the IP version.
func (p IPv6) Version() uint8 { return p[0] >> 4 }

// TrafficClass returns DSCP<<2 | ECN.
func (p IPv6) TrafficClass() uint8 { return uint8(binary.BigEndian.Uint16(p) >> 4) }

// ECN returns the congestion codepoint.
func (p IPv6) ECN() ECN { return ECN(p[1] >> 4 & 3) }

// setTrafficClass writes the first word, with a flow label of 0.
func (p IPv6) setTrafficClass(tos uint8) { binary.BigEndian.PutUint32(p, 6<<28|uint32(tos)<<20) }

// PayloadLen returns the length of the bytes after the header.
func (p IPv6) PayloadLen() int { return int(binary.BigEndian.Uint16(p[ip6PayloadLen:])) }

// NextHeader returns the kind of the bytes after the header: a protocol's number, or an extension header's.
func (p IPv6) NextHeader() uint8 { return p[ip6NextHeader] }

// HopLimit returns the hop limit, which IPv4 calls TTL.
func (p IPv6) HopLimit() uint8 { return p[ip6HopLimit] }

// SetHopLimit rewrites the hop limit.
func (p IPv6) SetHopLimit(n uint8) { p[ip6HopLimit] = n }

// Src returns the source address.
func (p IPv6) Src() Addr6 { return Addr6(p[ip6Src:ip6Dst]) }

// Dst returns the destination address.
func (p IPv6) Dst() Addr6 { return Addr6(p[ip6Dst:IPv6Len]) }

// ECNOf returns the codepoint of an IP frame.
func ECNOf(frame []byte) ECN {
	if versionOf(frame) == V6 {
		return IPv6(frame[EthernetLen:]).ECN()
	}
	return IPv4(frame[EthernetLen:]).ECN()
}

// PriorityOf returns the priority of a frame by its DSCP; 0 if it is not IP. Missing bytes of a short frame count as 0,
// like padding.
func PriorityOf(frame []byte) uint8 {
	switch ip := frame[EthernetLen:]; {
	case Ethernet(frame).Type() == EtherTypeIPv4 && len(ip) > ipTOS:
		return ip[ipTOS] >> 5
	case Ethernet(frame).Type() == EtherTypeIPv6 && len(ip) > 0:
		return ip[0] & 0xf >> 1
	}
	return 0
}
