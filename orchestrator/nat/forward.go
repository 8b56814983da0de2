//go:build linux

package nat

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
)

// forward connects a port of the machine to a port of a host. It connects by IPv6 for connections that arrive by IPv6,
// or by IPv4 if the host accepts none by IPv6. All others it connects by IPv4.
func (gw *Gateway) forward(f *topologies.Forward, host *topologies.Node, namespace int) error {
	to := netip.AddrPortFrom(host.Addr, f.Port)
	to6 := netip.AddrPortFrom(topologies.IPv6(host.Addr), f.Port)
	if f.Protocol == "udp" {
		l, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(f.Machine))
		if err != nil {
			return err
		}
		gw.exchange(l, func(from netip.Addr) (net.Conn, error) {
			if from.Unmap().Is4() {
				return dialIn(namespace, unix.SOCK_DGRAM, to)
			}
			return dialIn(namespace, unix.SOCK_DGRAM, to6)
		})
		return nil
	}
	l, err := net.Listen("tcp", f.Machine.String())
	if err != nil {
		return err
	}
	gw.pass(l, func(local netip.AddrPort) (net.Conn, error) {
		if !local.Addr().Unmap().Is4() {
			if conn, err := dialIn(namespace, unix.SOCK_STREAM, to6); err == nil {
				return conn, nil
			}
		}
		return dialIn(namespace, unix.SOCK_STREAM, to)
	})
	return nil
}

// dialIn connects to an address from within a network namespace.
func dialIn(namespace, kind int, to netip.AddrPort) (net.Conn, error) {
	fd, err := kernel.SocketIn(namespace, familyOf(to.Addr()), kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), to.String())
	defer file.Close()
	if err := connect(file, to); err != nil {
		return nil, err
	}
	return net.FileConn(file)
}

// connect connects a non-blocking socket.
func connect(file *os.File, to netip.AddrPort) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	_ = file.SetDeadline(time.Now().Add(dialTimeout))
	started := false
	var failed error
	err = raw.Write(func(fd uintptr) (done bool) {
		if !started {
			started = true
			failed = unix.Connect(int(fd), sockaddr(to))
			return failed != unix.EINPROGRESS
		}
		number, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case err != nil:
			failed = err
		case number != 0:
			failed = unix.Errno(number)
		default:
			if _, err := unix.Getpeername(int(fd)); errors.Is(err, unix.ENOTCONN) {
				return false // woken too early
			}
			failed = nil
		}
		return true
	})
	return errors.Join(err, failed)
}

// session forwards the datagrams of one key, and the answers to them.
type session struct {
	net.Conn
	answer func(datagram []byte) error
	end    func() // called when no more answers come
}

// forwardDatagrams forwards the datagrams of a socket by sessions, which it opens. receive reads a datagram and returns
// the key of its session.
func forwardDatagrams[K comparable](gw *Gateway, l *net.UDPConn, receive func(buffer []byte) (n int, key K, err error),
	open func(K) (session, error),
) {
	gw.keep(l)
	gw.work.Go(func() {
		sessions := map[K]session{}
		ended := make(chan K, mostSessions)
		buffer := make([]byte, largestDatagram)
		for {
			n, key, err := receive(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			for waiting := true; waiting; {
				select {
				case finished := <-ended:
					delete(sessions, finished)
				default:
					waiting = false
				}
			}
			if err != nil {
				continue
			}
			s, known := sessions[key]
			if !known {
				select {
				case gw.sessions <- struct{}{}:
				default:
					continue // drop the datagram, like a full queue
				}
				if s, err = open(key); err != nil {
					<-gw.sessions
					continue
				}
				sessions[key] = s
				gw.keep(s.Conn)
				gw.work.Go(func() {
					gw.answers(s, s.answer)
					gw.drop(s.Conn)
					s.end()
					<-gw.sessions
					ended <- key
				})
			}
			_, _ = s.Write(buffer[:n]) // or it is lost
		}
	})
}

// exchange forwards datagrams. Each sender gets its own connection, and answers go back to that sender.
func (gw *Gateway) exchange(l *net.UDPConn, dial func(from netip.Addr) (net.Conn, error)) {
	forwardDatagrams(gw, l, l.ReadFromUDPAddrPort, func(from netip.AddrPort) (session, error) {
		conn, err := dial(from.Addr())
		return session{conn, func(datagram []byte) error {
			_, err := l.WriteToUDPAddrPort(datagram, from)
			return err
		}, func() {}}, err
	})
}
