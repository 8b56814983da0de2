//go:build linux

package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/rtnetlink"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/topologies"
)

// vethInfoPeer holds VETH_INFO_PEER of linux/veth.h.
const vethInfoPeer = 1

// makeLinks creates each port's veth pair directly in its namespaces, with both ends up, and marks the namespaces as
// pausenet's. The thread is in the hub namespace.
func (f *Fabric) makeLinks() error {
	// Before Linux 6.15 the kernel refuses an interface index that the requesting thread's namespace uses, even for an
	// interface in another namespace. So the requests come from a namespace that has only lo.
	empty, err := newNamespace()
	if err != nil {
		return err
	}
	defer empty.Close()
	err = f.eachPort(func(p *topologies.Port) *nl.NetlinkRequest { return newVeth(f.plan, p, f.devices[p.Node], f.hub) })
	if err != nil {
		return err
	}
	if err := netns.Set(f.hub); err != nil {
		return fmt.Errorf("enter the hub namespace: %w", err)
	}
	if err := f.eachPort(bringUp); err != nil {
		return err
	}
	return f.eachNamespace(func() error { return markOwn("hub") }, f.configure)
}

// eachPort sends a request for each port, from the thread's namespace.
func (f *Fabric) eachPort(request func(p *topologies.Port) *nl.NetlinkRequest) error {
	socket, err := rtnetlink.Open()
	if err != nil {
		return err
	}
	defer socket.Close()
	for i := range f.plan.Ports {
		p := &f.plan.Ports[i]
		if err := socket.Add(request(p), "create the veth pair of", p.Name); err != nil {
			return err
		}
	}
	return socket.Flush()
}

// carrierTimeout limits how long the bring-up waits for an interface to be up.
const carrierTimeout = 10 * time.Second

// awaitCarriers waits until the kernel has registered that both ends of each port are up; see carrier. It leaves the
// thread in the hub namespace.
func (f *Fabric) awaitCarriers() error {
	return f.eachNamespace(func() error { return nil }, func(n *topologies.Node) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		defer unix.Close(fd)
		for _, id := range n.Ports {
			if err := awaitCarrier(fd, f.plan.Ports[id].Name, carrierTimeout); err != nil {
				return err
			}
		}
		return nil
	})
}

func awaitCarrier(fd int, name string, timeout time.Duration) error {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		up, err := carrier(fd, name)
		switch {
		case err != nil:
			return fmt.Errorf("check whether %s is up: %w", name, err)
		case up:
			return nil
		case time.Since(start) > timeout:
			return machineError("%s was not up %v after its creation: the machine is too busy, or something else, such as a "+
				"network manager, takes interfaces down (try again when the machine is less busy)", name, timeout)
		}
	}
}

// newVeth returns a request for a port's inner end, in its device's namespace and up, and its outer end, in the hub
// namespace. A veth's second end cannot be created up, as it has no peer yet: bringUp sets it up.
func newVeth(plan *topologies.Plan, p *topologies.Port, device, hub netns.NsHandle) *nl.NetlinkRequest {
	// A switch's own interfaces accept the longest frames: its processor must receive those that are too long for a port.
	longest := nl.Uint32Attr(uint32(plan.InterfaceMTU))
	mtu := longest
	if plan.Nodes[p.Node].Kind == topologies.Host {
		mtu = nl.Uint32Attr(uint32(p.MTU))
	}
	one := nl.Uint32Attr(1)
	outerMAC := p.MAC
	outerMAC[1] = 0xff // distinct, never seen in a frame
	name := nl.ZeroTerminated(p.Name)

	req := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	req.AddData(linkMessage(fill.InnerIfindex(p), unix.IFF_UP))
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, name))
	req.AddData(nl.NewRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(device))))
	req.AddData(nl.NewRtAttr(unix.IFLA_ADDRESS, p.MAC[:]))
	req.AddData(nl.NewRtAttr(unix.IFLA_MTU, mtu))
	req.AddData(nl.NewRtAttr(unix.IFLA_NUM_TX_QUEUES, one))
	req.AddData(nl.NewRtAttr(unix.IFLA_NUM_RX_QUEUES, one))
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("veth"))
	peer := info.AddRtAttr(nl.IFLA_INFO_DATA, nil).AddRtAttr(vethInfoPeer, nil)
	peer.AddChild(linkMessage(fill.OuterIfindex(p.ID), 0))
	peer.AddRtAttr(unix.IFLA_IFNAME, name)
	peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(hub)))
	peer.AddRtAttr(unix.IFLA_ADDRESS, outerMAC[:])
	peer.AddRtAttr(unix.IFLA_MTU, longest)
	peer.AddRtAttr(unix.IFLA_NUM_TX_QUEUES, one)
	peer.AddRtAttr(unix.IFLA_NUM_RX_QUEUES, one)
	req.AddData(info)
	return req
}

// bringUp returns a request to set a port's outer end up. It answers no ARP, because only the engine sends into it.
func bringUp(p *topologies.Port) *nl.NetlinkRequest {
	req := nl.NewNetlinkRequest(unix.RTM_SETLINK, 0)
	req.AddData(linkMessage(fill.OuterIfindex(p.ID), unix.IFF_UP|unix.IFF_NOARP))
	return req
}

// configure marks a node's namespace, in which the thread is, as pausenet's. If the node is a host, it also configures
// the namespace.
func (f *Fabric) configure(n *topologies.Node) error {
	socket, err := rtnetlink.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	defer socket.Close()
	if err := mark(socket, n.Name); err != nil {
		return err
	}
	if n.Kind == topologies.Host && f.live {
		ports := make([]string, len(n.Ports))
		for i, id := range n.Ports {
			ports[i] = f.plan.Ports[id].Name
		}
		if err := readyForPrograms(n.Name, ports); err != nil {
			return err
		}
	}
	if n.Kind == topologies.Host {
		if err := f.configureHost(socket, n); err != nil {
			return err
		}
	}
	return socket.Flush()
}

// configureHost adds a host's addresses, routes and static neighbours.
func (f *Fabric) configureHost(socket *rtnetlink.Socket, n *topologies.Node) error {
	var steps []step
	for position := range n.Ports {
		steps = append(steps, f.addresses(n, uint8(position))...)
	}
	for position := range n.Ports {
		steps = append(steps, f.routes(n, uint8(position))...)
	}
	for _, s := range steps {
		if err := socket.Add(s.req, s.action, n.Name); err != nil {
			return err
		}
	}
	if !f.live {
		return nil
	}
	lo := nl.NewNetlinkRequest(unix.RTM_SETLINK, 0)
	lo.AddData(linkMessage(loopbackIndex, unix.IFF_UP))
	return socket.Add(lo, "set lo up in", n.Name)
}

// anywhere is the prefix of all the fabric's addresses.
var anywhere = netip.MustParsePrefix("10.0.0.0/8")

// addressBits returns the prefix length of a host's address. For programs, all hosts are in one subnet. No route
// follows from the prefix: all traffic uses the gateway.
func (f *Fabric) addressBits() int {
	if f.live {
		return anywhere.Bits()
	}
	return 32
}

// broadcast is the broadcast address of that subnet.
var broadcast = netip.AddrFrom4([4]byte{10, 255, 255, 255})

// families returns the address families of hosts: programs of a live fabric also have IPv6 if the kernel supports
// it.
func (f *Fabric) families() []uint8 {
	if f.live && hasIPv6() {
		return []uint8{unix.AF_INET, unix.AF_INET6}
	}
	return []uint8{unix.AF_INET}
}

// inFamily returns an IPv4 address of the fabric, or the IPv6 address that stands for it, and the prefix length in that
// family.
func inFamily(family uint8, a netip.Addr, bits int) ([]byte, uint8) {
	if family == unix.AF_INET6 {
		return topologies.IPv6(a).AsSlice(), uint8(96 + bits)
	}
	return a.AsSlice(), uint8(bits)
}

// gatewayIn returns the gateway address of hosts. The IPv6 gateway is link-local, because the kernel refuses one to
// which it has a route through another port.
func gatewayIn(family uint8) []byte {
	if family == unix.AF_INET6 {
		return topologies.Gateway6.AsSlice()
	}
	return topologies.Gateway.AsSlice()
}

// hostRoute returns a request for a host's route through the gateway at the other end of one of its ports, with that
// port's source address.
func (f *Fabric) hostRoute(family uint8, n *topologies.Node, r topologies.HostRoute, metric uint32) *nl.NetlinkRequest {
	port := n.Ports[r.Position]
	to, bits := inFamily(family, r.To.Addr(), r.To.Bits())
	from, _ := inFamily(family, f.plan.Address(port), 32)
	gateway := gatewayIn(family)
	route := newRoute(family, to, bits, &f.plan.Ports[port], metric)
	route.AddData(nl.NewRtAttr(unix.RTA_GATEWAY, gateway))
	// The kernel would find the port's only address itself, but programs that read routes (scapy) would not.
	route.AddData(nl.NewRtAttr(unix.RTA_PREFSRC, from))
	return route
}

// newRoute returns a request for a route through a port.
func newRoute(family uint8, to []byte, bits uint8, port *topologies.Port, metric uint32) *nl.NetlinkRequest {
	route := nl.NewNetlinkRequest(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	rt := nl.NewRtMsg()
	rt.Family = family
	rt.Dst_len = bits
	rt.Flags = unix.RTNH_F_ONLINK
	route.AddData(rt)
	route.AddData(nl.NewRtAttr(unix.RTA_DST, to))
	route.AddData(nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(uint32(fill.InnerIfindex(port)))))
	if metric > 0 {
		route.AddData(nl.NewRtAttr(unix.RTA_PRIORITY, nl.Uint32Attr(metric)))
	}
	return route
}

// toAll returns a request for the route of multicast groups and the limited broadcast through a port.
func toAll(port *topologies.Port, to netip.Prefix, metric uint32) *nl.NetlinkRequest {
	route := newRoute(unix.AF_INET, to.Addr().AsSlice(), uint8(to.Bits()), port, metric)
	rt := route.Data[0].(*nl.RtMsg)
	rt.Flags, rt.Scope = 0, unix.RT_SCOPE_LINK
	return route
}

// step describes a request to configure a host, with its purpose.
type step struct {
	action string
	req    *nl.NetlinkRequest
}

// addresses returns the steps that assign a host's port its addresses.
func (f *Fabric) addresses(n *topologies.Node, position uint8) (steps []step) {
	port := &f.plan.Ports[n.Ports[position]]
	for _, family := range f.families() {
		addr, bits := inFamily(family, f.plan.Address(port.ID), f.addressBits())

		address := nl.NewNetlinkRequest(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
		msg := nl.NewIfAddrmsg(int(family))
		msg.Index = uint32(fill.InnerIfindex(port))
		msg.Prefixlen = bits
		address.AddData(msg)
		address.AddData(nl.NewRtAttr(unix.IFA_LOCAL, addr))
		address.AddData(nl.NewRtAttr(unix.IFA_ADDRESS, addr))
		switch {
		case family == unix.AF_INET6:
			address.AddData(nl.NewRtAttr(unix.IFA_FLAGS, nl.Uint32Attr(unix.IFA_F_NODAD|unix.IFA_F_NOPREFIXROUTE)))
		case f.live:
			address.AddData(nl.NewRtAttr(unix.IFA_FLAGS, nl.Uint32Attr(unix.IFA_F_NOPREFIXROUTE)))
			address.AddData(nl.NewRtAttr(unix.IFA_BROADCAST, broadcast.AsSlice()))
		}

		steps = append(steps, step{"set the address of", address})
	}
	return steps
}

// routes returns the steps that add the routes of a host's port and, unless the host resolves it, the static neighbour
// behind the port. The kernel removes all of these when the interface goes down. Programs that do not bind to a port
// use the first port's route to all hosts.
func (f *Fabric) routes(n *topologies.Node, position uint8) (steps []step) {
	port := &f.plan.Ports[n.Ports[position]]
	peer := f.plan.Ports[port.Peer].MAC
	for _, family := range f.families() {
		metric := uint32(position)
		if family == unix.AF_INET6 {
			metric += 1024 // IPv6's default metric
		}
		if !f.live || !f.plan.LearnGateway {
			neighbour := nl.NewNetlinkRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
			neighbour.AddData(&neighbourMessage{family: family, index: uint32(fill.InnerIfindex(port))})
			neighbour.AddData(nl.NewRtAttr(unix.NDA_DST, gatewayIn(family)))
			neighbour.AddData(nl.NewRtAttr(unix.NDA_LLADDR, peer[:]))
			steps = append(steps, step{"set the static neighbour of", neighbour})
		}
		steps = append(steps, step{"set the route of", f.hostRoute(family, n,
			topologies.HostRoute{To: anywhere, Position: position}, metric)})
	}
	if f.live {
		for _, to := range []string{"224.0.0.0/4", "255.255.255.255/32"} {
			steps = append(steps, step{"set the route to all of", toAll(port, netip.MustParsePrefix(to), uint32(position))})
		}
	}
	if len(n.Ports) == 1 {
		return steps
	}
	for _, r := range f.plan.RoutesOf(n.ID) {
		for _, family := range f.families() {
			if r.Position == position {
				steps = append(steps, step{"set a route of", f.hostRoute(family, n, r, 0)})
			}
		}
	}
	return steps
}

// neighbourMessage represents struct ndmsg for a permanent neighbour.
type neighbourMessage struct {
	family uint8
	index  uint32
}

func (m *neighbourMessage) Len() int { return 12 }

func (m *neighbourMessage) Serialize() []byte {
	b := make([]byte, 12)
	b[0] = m.family
	binary.NativeEndian.PutUint32(b[4:], m.index)
	binary.NativeEndian.PutUint16(b[8:], unix.NUD_PERMANENT)
	return b
}
