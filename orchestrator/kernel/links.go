//go:build linux

package kernel

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/rtnetlink"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// vethInfoPeer is VETH_INFO_PEER of linux/veth.h.
const vethInfoPeer = 1

// gateway is the address hosts route through. It is nobody's: a static neighbour gives it the leaf port's MAC.
var gateway = net.IPv4(10, 255, 255, 254)

// makeLinks makes each port's veth pair straight into its namespaces, both ends up, and marks the namespaces as ours. The
// thread is in the hub namespace.
func (f *Fabric) makeLinks() error {
	// Before Linux 6.15 the kernel takes an interface's index for used if the namespace that the request comes from has
	// it, wherever the interface is to be. So the requests come from a namespace that has none but lo.
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

// carrierTimeout is how long bring-up waits for an interface that the kernel does not say is up.
const carrierTimeout = 10 * time.Second

// awaitCarriers has the kernel take note that both ends of each port are up; see carrier. The thread ends up in the hub namespace.
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
			return fmt.Errorf("ask whether %s is up: %w", name, err)
		case up:
			return nil
		case time.Since(start) > timeout:
			return machineError("%s is not up %v after it was made: the machine is too busy, or something else, a network manager say, "+
				"takes interfaces down; try again when it is quieter", name, timeout)
		}
	}
}

// newVeth asks for a port's inner end, in its device's namespace and up, and its outer end, in the hub namespace. A veth's
// second end cannot be created up, as it has no peer yet then: bringUp does that.
func newVeth(plan *topologies.Plan, p *topologies.Port, device, hub netns.NsHandle) *nl.NetlinkRequest {
	mtu := nl.Uint32Attr(uint32(engine.InterfaceMTU(plan)))
	one := nl.Uint32Attr(1)
	outerMAC := p.MAC
	outerMAC[1] = 0xff // distinct, never seen in a frame
	name := nl.ZeroTerminated(p.Name)

	req := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	req.AddData(linkMessage(engine.InnerIfindex(p), unix.IFF_UP))
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, name))
	req.AddData(nl.NewRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(device))))
	req.AddData(nl.NewRtAttr(unix.IFLA_ADDRESS, p.MAC[:]))
	req.AddData(nl.NewRtAttr(unix.IFLA_MTU, mtu))
	req.AddData(nl.NewRtAttr(unix.IFLA_NUM_TX_QUEUES, one))
	req.AddData(nl.NewRtAttr(unix.IFLA_NUM_RX_QUEUES, one))
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("veth"))
	peer := info.AddRtAttr(nl.IFLA_INFO_DATA, nil).AddRtAttr(vethInfoPeer, nil)
	peer.AddChild(linkMessage(engine.OuterIfindex(p.ID), 0))
	peer.AddRtAttr(unix.IFLA_IFNAME, name)
	peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(hub)))
	peer.AddRtAttr(unix.IFLA_ADDRESS, outerMAC[:])
	peer.AddRtAttr(unix.IFLA_MTU, mtu)
	peer.AddRtAttr(unix.IFLA_NUM_TX_QUEUES, one)
	peer.AddRtAttr(unix.IFLA_NUM_RX_QUEUES, one)
	req.AddData(info)
	return req
}

// bringUp asks for a port's outer end to be up. It answers no ARP: nothing but the engine sends into it.
func bringUp(p *topologies.Port) *nl.NetlinkRequest {
	req := nl.NewNetlinkRequest(unix.RTM_SETLINK, 0)
	req.AddData(linkMessage(engine.OuterIfindex(p.ID), unix.IFF_UP|unix.IFF_NOARP))
	return req
}

func linkMessage(index int32, flags uint32) *nl.IfInfomsg {
	m := nl.NewIfInfomsg(unix.AF_UNSPEC)
	m.Index = index
	m.Flags = flags
	m.Change = flags
	return m
}

// configure marks a node's namespace, in which the thread is, as ours, and makes a host's a host's.
func (f *Fabric) configure(n *topologies.Node) error {
	socket, err := rtnetlink.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	defer socket.Close()
	if err := mark(socket, n.Name); err != nil {
		return err
	}
	if n.Kind == topologies.Host {
		if err := f.configureHost(socket, n); err != nil {
			return err
		}
	}
	if err := socket.Flush(); err != nil {
		return err
	}
	if n.Kind == topologies.Host && f.live {
		ports := make([]string, len(n.Ports))
		for i, id := range n.Ports {
			ports[i] = f.plan.Ports[id].Name
		}
		return readyForPrograms(n.Name, ports)
	}
	return nil
}

// configureHost gives a host its addresses, its routes and the static neighbours behind them.
func (f *Fabric) configureHost(socket *rtnetlink.Socket, n *topologies.Node) error {
	for place := range n.Ports {
		if err := f.configurePort(socket, n, uint8(place)); err != nil {
			return err
		}
	}
	if len(n.Ports) > 1 {
		for _, r := range f.plan.RoutesOf(n.ID) {
			if err := socket.Add(f.hostRoute(n, r, 0), "set a route of", n.Name); err != nil {
				return err
			}
		}
	}
	if !f.live {
		return nil
	}
	lo := nl.NewNetlinkRequest(unix.RTM_SETLINK, 0)
	lo.AddData(linkMessage(loopbackIndex, unix.IFF_UP))
	return socket.Add(lo, "set lo up in", n.Name)
}

// anywhere are the addresses of all hosts.
var anywhere = netip.MustParsePrefix("10.0.0.0/8")

// hostRoute asks for a route of a host, by the gateway at the other end of one of its ports, which it sends from by that port's own address.
func (f *Fabric) hostRoute(n *topologies.Node, r topologies.HostRoute, metric uint32) *nl.NetlinkRequest {
	port := n.Ports[r.Place]
	to, from := r.To.Addr().As4(), f.plan.Address(port).As4()
	route := nl.NewNetlinkRequest(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	rt := nl.NewRtMsg()
	rt.Family = unix.AF_INET
	rt.Dst_len = uint8(r.To.Bits())
	rt.Flags = unix.RTNH_F_ONLINK
	route.AddData(rt)
	route.AddData(nl.NewRtAttr(unix.RTA_DST, to[:]))
	route.AddData(nl.NewRtAttr(unix.RTA_GATEWAY, gateway.To4()))
	route.AddData(nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(uint32(engine.InnerIfindex(&f.plan.Ports[port])))))
	route.AddData(nl.NewRtAttr(unix.RTA_PREFSRC, from[:])) // the kernel knows a port's only address; programs that read routes (scapy) do not
	if metric > 0 {
		route.AddData(nl.NewRtAttr(unix.RTA_PRIORITY, nl.Uint32Attr(metric)))
	}
	return route
}

// configurePort gives a host's port its address, a route to everybody and the static neighbour behind it. The first port's route is taken where
// programs do not ask for another port.
func (f *Fabric) configurePort(socket *rtnetlink.Socket, n *topologies.Node, place uint8) error {
	port := &f.plan.Ports[n.Ports[place]]
	index := uint32(engine.InnerIfindex(port))
	peer := f.plan.Ports[port.Peer].MAC
	addr := f.plan.Address(port.ID).As4()

	address := nl.NewNetlinkRequest(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	msg := nl.NewIfAddrmsg(unix.AF_INET)
	msg.Index = index
	msg.Prefixlen = 32
	address.AddData(msg)
	address.AddData(nl.NewRtAttr(unix.IFA_LOCAL, addr[:]))
	address.AddData(nl.NewRtAttr(unix.IFA_ADDRESS, addr[:]))

	neighbour := nl.NewNetlinkRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	neighbour.AddData(&neighbourMessage{index: index})
	neighbour.AddData(nl.NewRtAttr(unix.NDA_DST, gateway.To4()))
	neighbour.AddData(nl.NewRtAttr(unix.NDA_LLADDR, peer[:]))

	route := f.hostRoute(n, topologies.HostRoute{To: anywhere, Place: place}, uint32(place))

	steps := []struct {
		action string
		req    *nl.NetlinkRequest
	}{{"set the address of", address}, {"set the static neighbour of", neighbour}, {"set the route of", route}}
	for _, step := range steps {
		if err := socket.Add(step.req, step.action, n.Name); err != nil {
			return err
		}
	}
	return nil
}

// neighbourMessage is struct ndmsg for a permanent IPv4 neighbour.
type neighbourMessage struct{ index uint32 }

func (m *neighbourMessage) Len() int { return 12 }

func (m *neighbourMessage) Serialize() []byte {
	b := make([]byte, 12)
	b[0] = unix.AF_INET
	binary.NativeEndian.PutUint32(b[4:], m.index)
	binary.NativeEndian.PutUint16(b[8:], unix.NUD_PERMANENT)
	return b
}
