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
	// mostConnections bounds the connections that are passed on at once, and mostSessions the exchanges of datagrams, each
	// of two sockets.
	mostConnections, mostSessions = 256, 256
	// dialTimeout is how long the other end has to answer.
	dialTimeout = 10 * time.Second
	// idleTimeout ends an exchange of datagrams in which nothing is sent (RFC 4787 REQ-5 has 2 min at least).
	idleTimeout = 2 * time.Minute
	// largestDatagram is UDP's.
	largestDatagram = 1 << 16
)

// Config is what is to be joined.
type Config struct {
	Plan *topologies.Plan
	// Namespace is a node's network namespace, as an open file.
	Namespace func(topologies.NodeID) int
}

// Gateway connects hosts to the machine's network.
type Gateway struct {
	mutex    sync.Mutex
	open     map[io.Closer]bool
	closed   bool
	work     sync.WaitGroup
	places   chan struct{} // of connections
	sessions chan struct{} // of datagrams
	gate     *gate         // nil: no host reaches the machine's network
}

// Open joins the hosts of which the plan says so. A port that cannot be had is an error with its place in the file.
func Open(c Config) (*Gateway, error) {
	o := &Gateway{
		open: map[io.Closer]bool{}, places: make(chan struct{}, mostConnections),
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
			if err := o.forward(&n.Programs.Ports[i], n, c.Namespace(id)); err != nil {
				return nil, errors.Join(n.Programs.Ports[i].Refuse("%s: %v", n.Name, err), o.Close())
			}
		}
	}
	if len(inside) > 0 {
		if err := o.openGate(inside, c.Namespace); err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	return o, nil
}

// Close ends all of it.
func (o *Gateway) Close() error {
	if o == nil {
		return nil
	}
	o.mutex.Lock()
	o.closed = true
	for c := range o.open {
		_ = c.Close()
	}
	o.mutex.Unlock()
	o.work.Wait()
	return o.gate.close()
}

// keep makes Close close c, or closes it at once after Close.
func (o *Gateway) keep(c io.Closer) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.closed {
		_ = c.Close()
		return
	}
	o.open[c] = true
}

// drop closes something.
func (o *Gateway) drop(c io.Closer) {
	o.mutex.Lock()
	delete(o.open, c)
	o.mutex.Unlock()
	_ = c.Close()
}

// pass takes connections and passes on what they carry. dial gives the other end's.
func (o *Gateway) pass(l net.Listener, dial func(local netip.AddrPort) (net.Conn, error)) {
	o.keep(l)
	o.work.Go(func() {
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
			case o.places <- struct{}{}:
			default:
				reset(conn)
				continue
			}
			o.keep(conn)
			o.work.Go(func() {
				defer func() { <-o.places }()
				defer o.drop(conn)
				local, err := netip.ParseAddrPort(conn.LocalAddr().String())
				if err != nil {
					return
				}
				other, err := dial(local)
				if err != nil {
					reset(conn) // as if it had been refused
					return
				}
				o.keep(other)
				defer o.drop(other)
				both(conn, other)
			})
		}
	})
}

// reset ends a connection by RST.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// both copies both ways until both have ended.
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

// answers passes the datagrams of an exchange on that come back, until it is idle. begin is when the last was sent the
// other way.
func (o *Gateway) answers(from net.Conn, to func(datagram []byte) error) {
	buffer := make([]byte, largestDatagram)
	for {
		_ = from.SetReadDeadline(time.Now().Add(idleTimeout))
		n, err := from.Read(buffer)
		if errors.Is(err, net.ErrClosed) || isTimeout(err) {
			return
		}
		if err != nil { // nobody listens there, ICMP says
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
