//go:build linux

package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
)

// echoTCP answers each line with itself, once, behind who sent it.
func echoTCP(t *testing.T, l net.Listener) {
	t.Helper()
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			fmt.Fprintf(conn, "echo %s", line)
			conn.Close()
		}
	}()
}

func echoUDP(t *testing.T, l net.PacketConn) {
	t.Helper()
	t.Cleanup(func() { l.Close() })
	go func() {
		buffer := make([]byte, 2048)
		for {
			n, from, err := l.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = l.WriteTo(append([]byte("echo "), buffer[:n]...), from)
		}
	}()
}

// socketOn returns a socket on a host, bound to an address or a device.
func socketOn(t *testing.T, f *Fabric, host string, family, kind int, device string, bind unix.Sockaddr) *os.File {
	t.Helper()
	h, err := f.Host(host)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := kernel.SocketIn(f.plane.Fabric().Namespace(h.ID), family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), host)
	t.Cleanup(func() { file.Close() })
	if device != "" {
		if err := unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, device); err != nil {
			t.Fatal(err)
		}
	}
	if bind != nil {
		if err := unix.Bind(fd, bind); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// said sends a line on a connection and returns the answer; "" if the connection is reset or refused.
func said(t *testing.T, conn net.Conn, line string) string {
	t.Helper()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	_, err := io.WriteString(conn, line)
	buffer := make([]byte, 2048)
	n := 0
	if err == nil {
		n, err = conn.Read(buffer)
	}
	if err != nil && !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.EPIPE) && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	return string(buffer[:n])
}

// echoesOn serves on a host.
func echoesOn(t *testing.T, f *Fabric, host string, family int, tcp, udp unix.Sockaddr) {
	t.Helper()
	server := socketOn(t, f, host, family, unix.SOCK_STREAM, "", tcp)
	if err := unix.Listen(int(server.Fd()), 16); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(server)
	if err != nil {
		t.Fatal(err)
	}
	echoTCP(t, l)
	p, err := net.FilePacketConn(socketOn(t, f, host, family, unix.SOCK_DGRAM, "", udp))
	if err != nil {
		t.Fatal(err)
	}
	echoUDP(t, p)
}

// TestPorts checks that ports of the machine lead to servers on hosts, and are free afterwards.
func TestPorts(t *testing.T) {
	t.Parallel()
	port := testenv.FreePort(t)
	text := fmt.Sprintf("topology:\n  star: {hosts: 2}\n  change_nodes:\n    - {name: h1, ports: [\"%d:80\", \"%d:53/udp\"]}\n", port, port)
	f, err := bringUpFile(t, Options{}, filepath.Join(t.TempDir(), "lab.yaml"), text)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	dial := func(network string) net.Conn {
		conn, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	// The gate takes the connection before it knows that nobody listens on h1. A client that is late sees the reset as
	// it connects.
	if conn, err := net.Dial("tcp", address); err == nil {
		if got := said(t, conn, "nobody\n"); got != "" {
			t.Errorf("nobody listens, and says %q", got)
		}
	} else if !errors.Is(err, unix.ECONNRESET) {
		t.Fatal(err)
	}
	echoesOn(t, f, "h1", unix.AF_INET, &unix.SockaddrInet4{Port: 80}, &unix.SockaddrInet4{Port: 53})
	for range 3 {
		if got := said(t, dial("tcp"), "hello\n"); got != "echo hello\n" {
			t.Errorf("by TCP %q", got)
		}
		if got := said(t, dial("udp"), "hello"); got != "echo hello" {
			t.Errorf("by UDP %q", got)
		}
	}
	again, err := bringUpFile(t, Options{}, "lab.yaml", text)
	if err == nil {
		t.Error("a port of the machine is two fabrics'")
		down(t, again)
	} else if !strings.Contains(err.Error(), "lab.yaml:4:26: h1: listen tcp 127.0.0.1:") ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
	down(t, f)
	// A process that another test starts meanwhile has a copy of the listener until it runs its program.
	until(t, "the port is free", func() bool {
		taken, err := net.Listen("tcp", address)
		if err == nil {
			taken.Close()
		}
		return err == nil
	})
}

// machineAddress returns one of the machine's addresses that is not its loopback's.
func machineAddress(t *testing.T) netip.Addr {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			return p.Addr()
		}
	}
	t.Skip("this test needs a network")
	return netip.Addr{}
}

// TestNAT checks that hosts reach only the machine's network, by TCP and UDP, and only if the topology allows it.
func TestNAT(t *testing.T) {
	t.Parallel()
	machine := machineAddress(t)
	before, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	f, err := bringUpFile(t, Options{}, "lab.yaml", "topology:\n  star: {hosts: 3}\n  defaults: {nat: true}\n"+
		"  change_nodes: [{name: h2, nat: false}]\n")
	if err != nil {
		t.Fatal(err)
	}
	defer down(t, f)
	l, err := net.Listen("tcp", netip.AddrPortFrom(machine, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	echoTCP(t, l)
	port := l.Addr().(*net.TCPAddr).Port
	p, err := net.ListenPacket("udp", netip.AddrPortFrom(machine, uint16(port)).String())
	if err != nil {
		t.Fatal(err)
	}
	echoUDP(t, p)
	from := func(host string, kind int, to netip.Addr) net.Conn {
		return connectedTo(t, f, host, kind, netip.AddrPortFrom(to, uint16(port)))
	}
	for _, host := range []string{"h0", "h1", "h0"} {
		if got := said(t, from(host, unix.SOCK_STREAM, machine), "hello\n"); got != "echo hello\n" {
			t.Errorf("%s by TCP: %q", host, got)
		}
		exchanges(t, from(host, unix.SOCK_DGRAM, machine))
	}
	// The gate's own address is the name server's, and leads to no other port of the machine.
	if got := said(t, from("h0", unix.SOCK_STREAM, topologies.OutsideGateway), "hello\n"); got != "" {
		t.Errorf("the gate says %q", got)
	}
	if got := on(t, f, "h0", "cat", "/etc/resolv.conf"); got != "nameserver 198.19.255.254\n" {
		t.Errorf("%q", got)
	}
	if got := on(t, f, "h2", "ls", "/sys/class/net"); got != "h2-eth1\nlo\n" {
		t.Errorf("h2 has %s", got)
	}
	on(t, f, "h0", "ping", "-c", "1", "-W", "180", "h1") // over the fabric
	if now, err := net.Interfaces(); err != nil || len(now) != len(before) {
		t.Errorf("the machine has %v, %v; before %v", now, err, before)
	}
}

// connectedTo connects from a host's eth0, because the fabric's own addresses may be the machine's, too.
func connectedTo(t *testing.T, f *Fabric, host string, kind int, to netip.AddrPort) net.Conn {
	t.Helper()
	family, address := unix.AF_INET, unix.Sockaddr(nil)
	if to.Addr().Is4() {
		address = &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
	} else {
		family, address = unix.AF_INET6, &unix.SockaddrInet6{Addr: to.Addr().As16(), Port: int(to.Port())}
	}
	file := socketOn(t, f, host, family, kind, "eth0", nil)
	if err := unix.Connect(int(file.Fd()), address); err != nil {
		t.Fatal(err)
	}
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// exchanges sends datagrams and expects each back. NAT has no connection yet when the first arrives.
func exchanges(t *testing.T, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	for range 3 {
		_ = conn.SetDeadline(time.Now().Add(timeout))
		buffer := make([]byte, 64)
		if _, err := conn.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(buffer); err != nil || string(buffer[:n]) != "echo hello" {
			t.Errorf("by UDP: %q, %v", buffer[:n], err)
		}
	}
}

// TestNAT6 checks that hosts reach the machine's network by IPv6 if it has IPv6 routes, and that servers on hosts are
// reached from IPv6 ports of the machine. The machine is a network namespace here, with addresses for examples (RFC
// 3849).
func TestNAT6(t *testing.T) {
	t.Parallel()
	if _, there := os.LookupEnv("PAUSENET_TEST_NAT6"); !there {
		testenv.NeedRoot(t)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-ec", `ip link set lo up
ip link add d0 type veth peer name d1
ip link set d0 up
ip link set d1 up
ip -6 addr add 2001:db8::1/64 dev d0 nodad
ip -6 route add default dev d0
exec "$0" -test.v -test.run='^TestNAT6$'`, self)
		cmd.Env = append(os.Environ(), "PAUSENET_TEST_NAT6=1")
		cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNET}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestNAT6") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	port, other := testenv.FreePort(t), testenv.FreePort(t)
	text := fmt.Sprintf("topology:\n  star: {hosts: 3}\n  defaults: {nat: true}\n  change_nodes:\n    - {name: h2, nat: false}\n"+
		"    - {name: h1, ports: [\"[::1]:%d:80\", \"[::1]:%d:53/udp\", \"[::1]:%d:81\"]}\n", port, port, other)
	f, err := bringUpFile(t, Options{}, filepath.Join(t.TempDir(), "lab.yaml"), text)
	if err != nil {
		t.Fatal(err)
	}
	defer down(t, f)
	l, err := net.Listen("tcp", "[2001:db8::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	echoTCP(t, l)
	to := l.Addr().(*net.TCPAddr).AddrPort()
	p, err := net.ListenPacket("udp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	echoUDP(t, p)
	for _, host := range []string{"h0", "h1", "h0"} {
		if got := said(t, connectedTo(t, f, host, unix.SOCK_STREAM, to), "hello\n"); got != "echo hello\n" {
			t.Errorf("%s by TCP: %q", host, got)
		}
		exchanges(t, connectedTo(t, f, host, unix.SOCK_DGRAM, to))
	}
	if got := said(t, connectedTo(t, f, "h0", unix.SOCK_STREAM, netip.MustParseAddrPort("[2001:2:0:ffff::1]:53")),
		"hello\n"); got != "" {
		t.Errorf("the gate says %q", got)
	}
	if got := on(t, f, "h2", "ip", "-6", "route", "show", "default"); got != "" {
		t.Errorf("h2 has %s", got)
	}
	on(t, f, "h0", "ping", "-6", "-c", "1", "-W", "180", "h1") // over the fabric

	echoesOn(t, f, "h1", unix.AF_INET6, &unix.SockaddrInet6{Port: 80}, &unix.SockaddrInet6{Port: 53})
	server := socketOn(t, f, "h1", unix.AF_INET, unix.SOCK_STREAM, "", &unix.SockaddrInet4{Port: 81})
	if err := unix.Listen(int(server.Fd()), 16); err != nil {
		t.Fatal(err)
	}
	l4, err := net.FileListener(server)
	if err != nil {
		t.Fatal(err)
	}
	echoTCP(t, l4)
	for _, c := range []struct {
		network string
		port    int
	}{{"tcp", port}, {"udp", port}, {"tcp", other}} { // the last by IPv4, which its server has alone
		conn, err := net.Dial(c.network, fmt.Sprintf("[::1]:%d", c.port))
		if err != nil {
			t.Fatal(err)
		}
		if got := said(t, conn, "hello\n"); got != "echo hello\n" {
			t.Errorf("%s port %d: %q", c.network, c.port, got)
		}
	}
}
