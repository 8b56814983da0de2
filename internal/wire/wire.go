package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// MinFrame is the minimum length of an Ethernet frame without its FCS (IEEE 802.3 clause 4.2.3.3).
const MinFrame = 60

// MAC holds an Ethernet address.
type MAC [6]byte

// String returns the address such as "02:00:00:00:01:01".
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// Addr holds an IPv4 address. It converts from and to netip.Addr by As4 and AddrFrom4, and can be a map key.
type Addr [4]byte

// String returns the address such as "10.0.0.1".
func (a Addr) String() string { return netip.AddrFrom4(a).String() }

// Ethernet holds an Ethernet II header (IEEE 802.3 clause 3.1.1) and the bytes after it.
type Ethernet []byte

// EthernetLen is the length of the header in bytes.
const EthernetLen = 14

const (
	ethDst  = 0
	ethSrc  = 6
	ethType = 12
)

// EtherTypes.
const (
	EtherTypeIPv4       = 0x0800
	EtherTypeARP        = 0x0806
	EtherTypeIPv6       = 0x86dd
	EtherTypeMACControl = 0x8808 // IEEE 802.3 clause 31
	EtherTypeCNM        = 0x88b5 // IEEE local experimental 1, DCON's CNM (docs/schemes/dcon.md)
)

// Dst returns the destination address.
func (e Ethernet) Dst() MAC { return MAC(e[ethDst:ethSrc]) }

// Src returns the source address.
func (e Ethernet) Src() MAC { return MAC(e[ethSrc:ethType]) }

// Type returns the EtherType.
func (e Ethernet) Type() uint16 { return binary.BigEndian.Uint16(e[ethType:]) }

// SetDst rewrites the destination address.
func (e Ethernet) SetDst(m MAC) { copy(e[ethDst:], m[:]) }

// SetSrc rewrites the source address.
func (e Ethernet) SetSrc(m MAC) { copy(e[ethSrc:], m[:]) }

// SetType rewrites the EtherType.
func (e Ethernet) SetType(t uint16) { binary.BigEndian.PutUint16(e[ethType:], t) }

// pad zeroes a frame of n bytes up to MinFrame and returns the resulting length.
func pad(buf []byte, n int) int {
	if n >= MinFrame {
		return n
	}
	clear(buf[n:MinFrame])
	return MinFrame
}
