//go:build linux

package nat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
)

// Addresses of the hosts' outside interfaces. They belong to the range for tests of
// devices (RFC 2544, section C.2.2), which no network routes.
var (
	firstInside = netip.MustParseAddr("198.18.0.1")
	inside      = netip.MustParsePrefix("198.18.0.0/15")
)

// Interface names the outside interface on hosts.
const Interface = "eth0"

// gate represents a network namespace between hosts and the machine. All addresses are local there, and one socket
// receives connections to all ports.
type gate struct {
	namespace netns.NsHandle
	closers   []io.Closer
}

func (g *gate) close() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, c := range g.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, g.namespace.Close())...)
}

// openGate connects hosts to the machine's network.
func (gw *Gateway) openGate(hosts []*topologies.Node, namespace func(topologies.NodeID) int) error {
	families := []int{unix.AF_INET}
	if machineHasIPv6() {
		families = append(families, unix.AF_INET6)
	}
	six := len(families) > 1
	ns, err := kernel.NewNamespace(func() error { return prepareGate(six) })
	if err != nil {
		return fmt.Errorf("create the gate to the machine's network: %w", err)
	}
	gw.gate = &gate{namespace: ns}
	for i, h := range hosts {
		if err := kernel.In(namespace(h.ID), func() error { return leadOut(ns, i, six) }); err != nil {
			return fmt.Errorf("add an interface to the machine's network to %s: %w", h.Name, err)
		}
		if err := kernel.In(int(ns), func() error { return leadIn(i, six) }); err != nil {
			return fmt.Errorf("make %s reachable from the machine's network: %w", h.Name, err)
		}
	}
	if err := gw.gate.restoreRoutes(hosts, namespace, six); err != nil {
		return err
	}
	var sockets []*os.File // per family: for connections, then for datagrams
	for _, family := range families {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
			s, err := gateSocket(int(ns), family, kind)
			if err != nil {
				return err
			}
			gw.gate.closers = append(gw.gate.closers, s)
			sockets = append(sockets, s)
		}
	}
	if err := gw.gate.takeAll(sockets); err != nil {
		return fmt.Errorf("accept connections to all ports (sk_lookup, Linux 5.9): %w", err)
	}
	for i := 0; i < len(sockets); i += 2 {
		l, err := net.FileListener(sockets[i])
		if err != nil {
			return err
		}
		gw.pass(l, func(to netip.AddrPort) (net.Conn, error) { return dialOut("tcp", to) })
		packets, err := net.FilePacketConn(sockets[i+1])
		if err != nil {
			return err
		}
		gw.relay(packets.(*net.UDPConn), int(ns))
	}
	return nil
}

// prepareGate makes all addresses except those of hosts local to the namespace, in which the thread is. If six is set,
// it includes IPv6.
func prepareGate(six bool) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return err
	}
	if err := netlink.AddrAdd(lo, &netlink.Addr{IPNet: single(topologies.OutsideGateway)}); err != nil {
		return err
	}
	// A ping would be answered for everybody.
	if err := os.WriteFile("/proc/sys/net/ipv4/icmp_echo_ignore_all", []byte("1"), 0); err != nil {
		return err
	}
	if six {
		if err := prepareGate6(lo); err != nil {
			return fmt.Errorf("IPv6: %w", err)
		}
	}
	return netlink.RouteAdd(&netlink.Route{
		LinkIndex: lo.Attrs().Index, Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, Type: unix.RTN_LOCAL,
		Scope: netlink.SCOPE_HOST, Table: unix.RT_TABLE_MAIN,
	})
}

func single(a netip.Addr) *net.IPNet { return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)} }

// insideAddress returns the address of the n-th host.
func insideAddress(n int) netip.Addr {
	first := firstInside.As4()
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(first[:])+uint32(n))
	return netip.AddrFrom4(a)
}

// leadOut creates the outside interface of the n-th host, in whose namespace the thread is.
func leadOut(gate netns.NsHandle, n int, six bool) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.HardwareAddr = Interface, hardware(false, n)
	err := netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: attributes, PeerName: peerName(n), PeerHardwareAddr: hardware(true, n),
		PeerNamespace: netlink.NsFd(gate),
	})
	if err != nil {
		return err
	}
	own, err := netlink.LinkByName(Interface)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(own, &netlink.Addr{IPNet: single(insideAddress(n))}); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(own); err != nil {
		return err
	}
	if six {
		if err := addressOut6(own, n); err != nil {
			return fmt.Errorf("IPv6: %w", err)
		}
	}
	return routeOut(own, n, six)
}

// routeOut adds routes to the outside interface of the n-th host.
func routeOut(own netlink.Link, n int, six bool) error {
	if six {
		if err := routeOut6(own, n); err != nil {
			return fmt.Errorf("IPv6: %w", err)
		}
	}
	return netlink.RouteAdd(&netlink.Route{
		LinkIndex: own.Attrs().Index, Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)},
		Gw: topologies.OutsideGateway.AsSlice(), Src: insideAddress(n).AsSlice(),
		Flags: int(netlink.FLAG_ONLINK),
	})
}

// restoreRoutes restores the routes of hosts' interfaces whenever they come up.
func (g *gate) restoreRoutes(hosts []*topologies.Node, namespace func(topologies.NodeID) int, six bool) error {
	return kernel.In(int(g.namespace), func() error {
		peers := make([]int32, len(hosts))
		for n := range hosts {
			peer, err := netlink.LinkByName(peerName(n))
			if err != nil {
				return err
			}
			peers[n] = int32(peer.Attrs().Index)
		}
		watch, err := kernel.WatchUps(func(peer int32) {
			for n, h := range hosts {
				if peer != kernel.AnyPeer && peer != peers[n] {
					continue
				}
				_ = kernel.In(namespace(h.ID), func() error { // or it has ended, or is down again
					own, err := netlink.LinkByName(Interface)
					if err != nil {
						return err
					}
					return routeOut(own, n, six)
				})
			}
		})
		if err == nil {
			g.closers = append(g.closers, watch)
		}
		return err
	})
}

func peerName(n int) string { return fmt.Sprintf("host%d", n) }

// leadIn connects the gate, in whose namespace the thread is, to the n-th host.
func leadIn(n int, six bool) error {
	peer, err := netlink.LinkByName(peerName(n))
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(peer); err != nil {
		return err
	}
	if six {
		if err := leadIn6(peer, n); err != nil {
			return fmt.Errorf("IPv6: %w", err)
		}
	}
	return netlink.RouteAdd(&netlink.Route{
		LinkIndex: peer.Attrs().Index, Dst: single(insideAddress(n)),
		Scope: netlink.SCOPE_LINK, Src: topologies.OutsideGateway.AsSlice(),
	})
}

// gateSocket returns a socket of the gate that accepts any local address. A socket for connections listens.
func gateSocket(namespace, family, kind int) (*os.File, error) {
	fd, err := kernel.SocketIn(namespace, family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "gate")
	errs := []error{anyAddress(fd, family, netip.AddrPortFrom(unspecified(family), gatePort))}
	if family == unix.AF_INET {
		errs = append(errs, unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_RECVORIGDSTADDR, 1))
	} else {
		errs = append(errs, unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_RECVORIGDSTADDR, 1))
	}
	if kind == unix.SOCK_STREAM {
		errs = append(errs, unix.Listen(fd, unix.SOMAXCONN))
	}
	if err := errors.Join(errs...); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// gatePort holds an arbitrary port: takeAll directs the traffic of all other ports to its sockets.
const gatePort = 1

func unspecified(family int) netip.Addr {
	if family == unix.AF_INET6 {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// anyAddress binds a socket to an address that need not be local.
func anyAddress(fd, family int, a netip.AddrPort) error {
	errs := []error{unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)}
	if family == unix.AF_INET6 {
		errs = append(errs, unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_V6ONLY, 1),
			unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_TRANSPARENT, 1))
	} else {
		errs = append(errs, unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TRANSPARENT, 1))
	}
	return errors.Join(append(errs, unix.Bind(fd, sockaddr(a)))...)
}

// familyOf returns the address family of an address.
func familyOf(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
}

// takeAll makes sockets receive all traffic to ports without a socket: IPv4 connections, IPv4 datagrams and, if
// there are four sockets, the same for IPv6.
func (g *gate) takeAll(files []*os.File) error {
	sockets, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "gate", Type: ebpf.SockMap, KeySize: 4, ValueSize: 8,
		MaxEntries: uint32(len(files)),
	})
	if err != nil {
		return err
	}
	defer sockets.Close()
	for key, file := range files {
		if err := sockets.Put(uint32(key), uint64(file.Fd())); err != nil {
			return err
		}
	}
	const familyAt, protocolAt = 8, 12 // offset in struct bpf_sk_lookup (linux/bpf.h)
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "gate", Type: ebpf.SkLookup, AttachType: ebpf.AttachSkLookup, License: "Dual BSD/GPL",
		Instructions: asm.Instructions{
			asm.Mov.Reg(asm.R6, asm.R1),
			asm.Mov.Imm(asm.R7, 0),
			asm.LoadMem(asm.R2, asm.R6, protocolAt, asm.Word),
			asm.JEq.Imm(asm.R2, unix.IPPROTO_TCP, "family"),
			asm.Mov.Imm(asm.R7, 1),
			asm.LoadMem(asm.R2, asm.R6, familyAt, asm.Word).WithSymbol("family"),
			asm.JNE.Imm(asm.R2, unix.AF_INET6, "key"),
			asm.Add.Imm(asm.R7, 2),
			asm.StoreMem(asm.RFP, -4, asm.R7, asm.Word).WithSymbol("key"),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.LoadMapPtr(asm.R1, sockets.FD()),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "pass"),
			asm.Mov.Reg(asm.R7, asm.R0),
			asm.Mov.Reg(asm.R1, asm.R6),
			asm.Mov.Reg(asm.R2, asm.R7),
			asm.Mov.Imm(asm.R3, 0),
			asm.FnSkAssign.Call(),
			asm.Mov.Reg(asm.R1, asm.R7),
			asm.FnSkRelease.Call(),
			asm.Mov.Imm(asm.R0, 1).WithSymbol("pass"), // SK_PASS
			asm.Return(),
		},
	})
	if err != nil {
		return err
	}
	defer program.Close()
	l, err := link.AttachNetNs(int(g.namespace), program)
	if err != nil {
		return err
	}
	g.closers = append([]io.Closer{l}, g.closers...)
	return nil
}

// errNowhere reports an address that hosts cannot reach.
var errNowhere = errors.New("not an address of the machine's network")

// dialOut connects to a host's destination. The gate's own address means the machine's name server.
func dialOut(network string, to netip.AddrPort) (net.Conn, error) {
	a := to.Addr().Unmap()
	switch {
	case a == topologies.OutsideGateway && to.Port() == 53:
		to = nameServer()
	case inside.Contains(a), inside6.Contains(a), a.IsLoopback(), a.IsUnspecified(), a.IsMulticast(),
		a.IsLinkLocalUnicast() && a.Is6(), a == netip.MustParseAddr("255.255.255.255"):
		return nil, errNowhere
	}
	return net.DialTimeout(network, to.String(), dialTimeout)
}

// nameServer returns the machine's first name server, or the machine itself if there is none (resolv.conf(5)).
func nameServer() netip.AddrPort {
	text, _ := os.ReadFile("/etc/resolv.conf")
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(words[1]); err == nil {
			return netip.AddrPortFrom(a, 53)
		}
	}
	return netip.MustParseAddrPort("127.0.0.1:53")
}

// relay forwards datagrams of hosts, and the answers to them.
func (gw *Gateway) relay(l *net.UDPConn, namespace int) {
	type pair struct{ from, to netip.AddrPort }
	control := make([]byte, 256)
	forwardDatagrams(gw, l, func(buffer []byte) (int, pair, error) {
		n, nc, _, from, err := l.ReadMsgUDPAddrPort(buffer, control)
		to, ok := destination(control[:nc])
		if err == nil && !ok {
			err = unix.EDESTADDRREQ
		}
		return n, pair{netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), to}, err
	}, func(p pair) (session, error) {
		back, err := dialBack(namespace, p.to, p.from)
		if err != nil {
			return session{}, err
		}
		conn, err := dialOut("udp", p.to)
		if err != nil {
			back.Close()
			return session{}, err
		}
		gw.keep(back)
		// Later datagrams of the host arrive at back, which is connected.
		gw.work.Go(func() {
			gw.answers(back, func(datagram []byte) error { _, _ = conn.Write(datagram); return nil })
			gw.drop(back)
		})
		return session{conn, func(datagram []byte) error {
			_ = back.SetReadDeadline(time.Now().Add(idleTimeout))
			_, err := back.Write(datagram)
			return err
		}, func() { gw.drop(back) }}, nil
	})
}

// destination returns the original destination of a datagram (IP_ORIGDSTADDR, ip(7), and IPV6_ORIGDSTADDR).
func destination(control []byte) (to netip.AddrPort, ok bool) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return to, false
	}
	for i := range messages {
		m := &messages[i]
		if m.Header.Level == unix.SOL_IP && m.Header.Type == unix.IP_ORIGDSTADDR && len(m.Data) >= 8 {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte(m.Data[4:8])), binary.BigEndian.Uint16(m.Data[2:])), true
		}
		if m.Header.Level == unix.SOL_IPV6 && m.Header.Type == unix.IPV6_ORIGDSTADDR && len(m.Data) >= 24 {
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte(m.Data[8:24])), binary.BigEndian.Uint16(m.Data[2:])), true
		}
	}
	return to, false
}

// dialBack returns a socket that sends to a host from a foreign source address.
func dialBack(namespace int, as, to netip.AddrPort) (net.Conn, error) {
	family := familyOf(as.Addr())
	fd, err := kernel.SocketIn(namespace, family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "back")
	defer file.Close()
	if err := errors.Join(anyAddress(fd, family, as), unix.Connect(fd, sockaddr(to))); err != nil {
		return nil, err
	}
	return net.FileConn(file)
}
