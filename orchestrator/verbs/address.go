//go:build linux

package verbs

import (
	"encoding/binary"
	"net/netip"

	"github.com/pausenet/pausenet/internal/wire"
)

// over6 returns the IPv6 address that stands for an IPv4 address in the fabric.
func over6(a netip.Addr) netip.Addr { return netip.AddrFrom16(wire.Map(a.As4())) }

// versionOf returns the IP version of packets to an address.
func versionOf(a netip.Addr) wire.Version {
	if a.Is6() {
		return wire.V6
	}
	return wire.V4
}

// address returns an address in the protocol's format: an IPv4 address as a number. With another bit set it stands for
// one of the fabric's IPv6 addresses. 0 means no address of either kind.
func address(a netip.Addr) uint64 {
	if a.Is4() {
		b := a.As4()
		return uint64(binary.BigEndian.Uint32(b[:]))
	}
	b := a.As16()
	return 1<<addressIPv6 | uint64(binary.BigEndian.Uint32(b[12:]))
}

func addressOf(w uint64) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(w))
	switch a := netip.AddrFrom4(b); {
	case w>>addressIPv6 == 0:
		return a
	case a.IsUnspecified():
		return netip.IPv6Unspecified()
	default:
		return over6(a)
	}
}
