//go:build linux

package nat

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/pausenet/pausenet/topologies"
)

const (
	// mostConnections limits the forwarded connections, and mostSessions the exchanges of datagrams, each with two
	// sockets.
	mostConnections, mostSessions = 256, 256
	// dialTimeout limits how long the other end may take to accept a connection.
	dialTimeout = 10 * time.Second
	// idleTimeout sets the idle time that ends an exchange of datagrams (RFC 4787, REQ-5, requires at least 2 min).
	idleTimeout = 2 * time.Minute
	// largestDatagram holds UDP's maximum, in bytes.
	largestDatagram = 1 << 16
)

// Config describes the connections to make.
type Config struct {
	Plan *topologies.Plan
	// Namespace returns a node's network namespace, as a file descriptor.
	Namespace func(topologies.NodeID) int
}

// Gateway connects hosts to the machine's network.
type Gateway struct {
	mutex       sync.Mutex
	open        map[io.Closer]bool
	closed      bool
	work        sync.WaitGroup
	connections chan struct{} // limits connections
	sessions    chan struct{} // limits exchanges of datagrams
	gate        *gate         // nil if no host reaches the machine's network
}

// Open connects the hosts for which the plan requests it. An error about a port has its position in the file.
func Open(c Config) (*Gateway, error) {
	gw := &Gateway{
		open: map[io.Closer]bool{}, connections: make(chan struct{}, mostConnections),
		sessions: make(chan struct{}, mostSessions),
	}
	var inside []*topologies.Node
	for _, id := range c.Plan.Hosts {
		n := &c.Plan.Nodes[id]
		if n.Programs == nil {
			continue
		}
		if n.Programs.NAT {
			inside = append(inside, n)
		}
		for i := range n.Programs.Ports {
			if err := gw.forward(&n.Programs.Ports[i], n, c.Namespace(id)); err != nil {
				return nil, errors.Join(n.Programs.Ports[i].Refuse("%s: %v", n.Name, err), gw.Close())
			}
		}
	}
	if len(inside) > 0 {
		if err := gw.openGate(inside, c.Namespace); err != nil {
			return nil, errors.Join(err, gw.Close())
		}
	}
	return gw, nil
}

// Close closes all connections and sockets.
func (gw *Gateway) Close() error {
	if gw == nil {
		return nil
	}
	gw.mutex.Lock()
	gw.closed = true
	for c := range gw.open {
		_ = c.Close()
	}
	gw.mutex.Unlock()
	gw.work.Wait()
	return gw.gate.close()
}

// keep makes Close close c, or closes it at once after Close.
func (gw *Gateway) keep(c io.Closer) {
	gw.mutex.Lock()
	defer gw.mutex.Unlock()
	if gw.closed {
		_ = c.Close()
		return
	}
	gw.open[c] = true
}

// drop closes c and forgets it.
func (gw *Gateway) drop(c io.Closer) {
	gw.mutex.Lock()
	delete(gw.open, c)
	gw.mutex.Unlock()
	_ = c.Close()
}

// pass accepts connections and forwards their data. dial returns the other end.
func (gw *Gateway) pass(l net.Listener, dial func(local netip.AddrPort) (net.Conn, error)) {
	gw.keep(l)
	gw.work.Go(func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // a want of descriptors or memory, which passes
				time.Sleep(10 * time.Millisecond)
				continue
			}
			select {
			case gw.connections <- struct{}{}:
			default:
				reset(conn)
				continue
			}
			gw.keep(conn)
			gw.work.Go(func() {
				defer func() { <-gw.connections }()
				defer gw.drop(conn)
				local, err := netip.ParseAddrPort(conn.LocalAddr().String())
				if err != nil {
					return
				}
				other, err := dial(local)
				if err != nil {
					reset(conn) // as if it had been refused
					return
				}
				gw.keep(other)
				defer gw.drop(other)
				both(conn, other)
			})
		}
	})
}

// reset ends a connection with RST.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// both copies in both directions until both ends are closed.
func both(a, b net.Conn) {
	var ways sync.WaitGroup
	for _, way := range [2][2]net.Conn{{a, b}, {b, a}} {
		ways.Go(func() {
			_, err := io.Copy(way[0], way[1])
			if err != nil {
				reset(a)
				reset(b)
				return
			}
			if tcp, ok := way[0].(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
		})
	}
	ways.Wait()
}

// answers forwards the answers of an exchange of datagrams until it is idle.
func (gw *Gateway) answers(from net.Conn, to func(datagram []byte) error) {
	buffer := make([]byte, largestDatagram)
	for {
		_ = from.SetReadDeadline(time.Now().Add(idleTimeout))
		n, err := from.Read(buffer)
		if errors.Is(err, net.ErrClosed) || isTimeout(err) {
			return
		}
		if err != nil { // ICMP reports that nobody listens there
			continue
		}
		if to(buffer[:n]) != nil {
			return
		}
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
