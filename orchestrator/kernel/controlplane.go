//go:build linux

package kernel

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/topologies"
)

// PrepareSwitches prepares the switches' namespaces for programs that route. A switch's own address is on lo. Its ports
// have link-local addresses, and those to hosts a route to their host, with the link-layer address that the plan says.
// The kernel forwards what the pipelines do not.
func (f *Fabric) PrepareSwitches() error {
	for _, id := range f.plan.Switch {
		n := &f.plan.Nodes[id]
		if err := In(f.Namespace(id), func() error { return f.prepareSwitch(n) }); err != nil {
			return fmt.Errorf("prepare %s for programs that route: %w", n.Name, err)
		}
	}
	return nil
}

func (f *Fabric) prepareSwitch(n *topologies.Node) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const v4, v6 = "/proc/sys/net/ipv4/", "/proc/sys/net/ipv6/conf/"
	settings := [][2]string{
		{v4 + "ip_forward", "1"},
		{v4 + "conf/all/rp_filter", "0"},
		{v4 + "conf/all/send_redirects", "0"},
		{v4 + "fib_multipath_hash_policy", "1"},
		{v6 + "all/forwarding", "1"},
		{v6 + "lo/disable_ipv6", "0"},
	}
	for _, id := range n.Ports {
		port := f.plan.Ports[id].Name
		for _, o := range offloads {
			if _, err := ethtool(fd, port, o.command, 0); err != nil {
				return fmt.Errorf("turn %s of %s off: %w", o.name, port, err)
			}
		}
		settings = append(settings, [][2]string{
			{v4 + "conf/" + port + "/rp_filter", "0"},
			{v4 + "conf/" + port + "/send_redirects", "0"},
			{v6 + port + "/addr_gen_mode", "0"},
			{v6 + port + "/accept_ra", "0"},
			{v6 + port + "/router_solicitations", "0"},
			{v6 + port + "/accept_dad", "0"},
			{v6 + port + "/accept_redirects", "0"},
			{v6 + port + "/keep_addr_on_down", "1"},
			{v6 + port + "/disable_ipv6", "0"},
		}...)
	}
	for _, s := range settings {
		if err := writeExisting(s[0], s[1]); err != nil {
			return err
		}
	}
	own := f.plan.SwitchAddress(n.Index)
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return err
	}
	if err := giveAddress(lo, netip.PrefixFrom(own, own.BitLen()), netip.Prefix{}); err != nil {
		return err
	}
	if hasIPv6() {
		own6 := topologies.IPv6(own)
		if err := giveAddress(lo, netip.PrefixFrom(own6, own6.BitLen()), netip.Prefix{}); err != nil {
			return err
		}
	}
	for _, id := range n.Ports {
		if f.plan.PeerNode(id).Kind != topologies.Host {
			continue
		}
		if err := f.faceHost(&f.plan.Ports[id], own); err != nil {
			return err
		}
	}
	return nil
}

// faceHost gives a switch's port to a host the route to it.
func (f *Fabric) faceHost(port *topologies.Port, own netip.Addr) error {
	peer := &f.plan.Ports[port.Peer]
	link := &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Name: port.Name, Index: int(fill.InnerIfindex(port))}}
	host := f.plan.Address(peer.ID)
	if err := giveAddress(link, netip.PrefixFrom(own, own.BitLen()), netip.PrefixFrom(host, host.BitLen())); err != nil {
		return err
	}
	of := []netip.Addr{host}
	if hasIPv6() {
		host6 := topologies.IPv6(host)
		of = append(of, host6)
		if err := giveAddress(link, netip.MustParsePrefix("fe80::1/64"), netip.Prefix{}); err != nil {
			return err
		}
		err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Index, Dst: network(netip.PrefixFrom(host6, host6.BitLen()))})
		if err != nil {
			return fmt.Errorf("add the route to %v: %w", host6, err)
		}
	}
	for _, address := range of {
		err := netlink.NeighSet(&netlink.Neigh{
			LinkIndex: link.Index, State: netlink.NUD_PERMANENT, IP: address.AsSlice(), HardwareAddr: peer.MAC[:],
		})
		if err != nil {
			return fmt.Errorf("set the neighbour %v: %w", address, err)
		}
	}
	return nil
}

// giveAddress gives an interface an address, with a peer unless that is invalid.
func giveAddress(link netlink.Link, own, peer netip.Prefix) error {
	a := &netlink.Addr{IPNet: network(own), Flags: unix.IFA_F_NODAD}
	if peer.IsValid() {
		a.Peer = network(peer)
	}
	if err := netlink.AddrAdd(link, a); err != nil {
		return fmt.Errorf("give %s the address %v: %w", link.Attrs().Name, own, err)
	}
	return nil
}

func network(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// SetCarrier makes a port's interface have a carrier, or none, by its outer end. The kernel registers that late, up to
// a second, unless it is asked: until then it loses frames, and programs do not know.
func (f *Fabric) SetCarrier(id topologies.PortID, up bool) error {
	port := &f.plan.Ports[id]
	ask := func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = carrier(fd, port.Name)
		return err
	}
	err := f.inHub(func() error {
		outer := &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: int(fill.OuterIfindex(id))}}
		set := netlink.LinkSetDown
		if up {
			set = netlink.LinkSetUp
		}
		if err := set(outer); err != nil {
			return err
		}
		return ask()
	})
	if err == nil {
		err = In(f.Namespace(port.Node), ask)
	}
	if err != nil {
		return fmt.Errorf("set the carrier of %s: %w", port.Name, err)
	}
	return nil
}
