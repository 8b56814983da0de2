//go:build linux

package nat

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// IPv6 addresses of the hosts' outside interface, and of the gate behind it, from the range for tests of devices
// (RFC 5180, section 8), which no network routes.
var (
	inside6  = netip.MustParsePrefix("2001:2::/48")
	gateway6 = netip.MustParseAddr("2001:2:0:ffff::1")
)

// insideAddress6 returns the IPv6 address of the n-th host.
func insideAddress6(n int) netip.Addr {
	a := inside6.Addr().As16()
	v4 := insideAddress(n).As4()
	copy(a[12:], v4[:])
	return netip.AddrFrom16(a)
}

// machineHasIPv6 reports whether the machine has a route to the addresses of IPv6 networks (RFC 4291, section 2.4). It
// sends nothing.
func machineHasIPv6() bool {
	conn, err := net.Dial("udp6", "[2000::1]:9")
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// enableIPv6 enables IPv6 on an interface of the thread's namespace, with only the configured addresses.
func enableIPv6(name string) error {
	for _, s := range [...][2]string{
		{"disable_ipv6", "0"},
		{"addr_gen_mode", "1"},
		{"accept_ra", "0"},
		{"accept_dad", "0"},
		{"keep_addr_on_down", "1"},
	} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/"+s[0], []byte(s[1]), 0); err != nil {
			return err
		}
	}
	return nil
}

// prepareGate6 does for IPv6 what prepareGate does for IPv4.
func prepareGate6(lo netlink.Link) error {
	if err := enableIPv6(lo.Attrs().Name); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/net/ipv6/icmp/echo_ignore_all", []byte("1"), 0); err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{
		LinkIndex: lo.Attrs().Index, Dst: everything6, Type: unix.RTN_LOCAL,
		Table: unix.RT_TABLE_MAIN,
	})
}

var everything6 = &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}

func single6(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(128, 128)}
}

// hardware returns the link-layer address of an end of the n-th host's interface. So neither end has to resolve the
// other's.
func hardware(gate bool, n int) net.HardwareAddr {
	a := net.HardwareAddr{0x02, 0xff, 0, 0, byte(n >> 8), byte(n)}
	if gate {
		a[2] = 1
	}
	return a
}

// neighbour adds a static neighbour entry to an interface.
func neighbour(link netlink.Link, a netip.Addr, who net.HardwareAddr) error {
	return netlink.NeighAdd(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, Family: unix.AF_INET6,
		State: netlink.NUD_PERMANENT, IP: a.AsSlice(), HardwareAddr: who,
	})
}

// addressOut6 adds IPv6 addresses to the n-th host's interface.
func addressOut6(own netlink.Link, n int) error {
	if err := enableIPv6(own.Attrs().Name); err != nil {
		return err
	}
	return netlink.AddrAdd(own, &netlink.Addr{IPNet: single6(insideAddress6(n)), Flags: unix.IFA_F_NODAD})
}

// routeOut6 adds IPv6 routes to the outside interface of the n-th host.
func routeOut6(own netlink.Link, n int) error {
	if err := neighbour(own, gateway6, hardware(true, n)); err != nil {
		return fmt.Errorf("make the gate its neighbour: %w", err)
	}
	return netlink.RouteAdd(&netlink.Route{
		LinkIndex: own.Attrs().Index, Dst: everything6, Gw: gateway6.AsSlice(), Src: insideAddress6(n).AsSlice(),
		Flags: int(netlink.FLAG_ONLINK),
	})
}

// leadIn6 connects the gate to the n-th host by IPv6.
func leadIn6(peer netlink.Link, n int) error {
	if err := enableIPv6(peer.Attrs().Name); err != nil {
		return err
	}
	if err := neighbour(peer, insideAddress6(n), hardware(false, n)); err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{
		LinkIndex: peer.Attrs().Index, Dst: single6(insideAddress6(n)),
		Scope: netlink.SCOPE_LINK,
	})
}
