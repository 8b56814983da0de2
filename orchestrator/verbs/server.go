//go:build linux

package verbs

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
)

// Config connects a server to its fabric.
type Config struct {
	Plan *topologies.Plan
	// Do runs a function between two events.
	Do func(func(e *engine.Engine) error) error
	// Flow returns the flow of a queue pair of one host to another, by the interfaces of both: its path, congestion
	// control and priority.
	Flow func(
		source, destination topologies.NodeID, pair topologies.Pair, salt uint64, priority uint8,
	) (engine.FlowConfig, error)
	// Data sets the priority of queue pairs that select none. Lossless (bit n: priority n) lists the other priorities
	// that they may select.
	Data, Lossless uint8
	// Namespace returns the file descriptor of a host's network namespace.
	Namespace func(topologies.NodeID) int
	// Clock serves the clocks of programs in lock step; nil without. The server uses it on the engine's goroutine.
	Clock Clock
}

// Clock serves the clocks of programs in lock step with the fabric.
type Clock interface {
	// Register gives a thread of a process on a host a slot of the memory whose file it returns. The thread is woken by
	// its eventfd, which then belongs to the clock.
	Register(process, host, event int) (slot, file int, err error)
	Release(slot int)
	// Touch notes that a program may run, Asked that a process has sent a request, and Wrote that its memory has changed.
	Touch()
	Asked(process int)
	Wrote(process int)
}

// Server answers the programs on all hosts of a fabric.
type Server struct {
	Config
	listeners []*net.UnixListener
	hosts     []*host
	ends      map[netip.Addr]end
	manager   manager
	mutex     sync.Mutex
	open      map[*connection]bool
	closed    bool
	running   sync.WaitGroup
}

// end names an interface of a host.
type end struct {
	host     topologies.NodeID
	position uint8 // position of the interface on the host
}

// host holds a host whose programs are served.
type host struct {
	id    topologies.NodeID
	quota quota
}

// Serve makes the hosts' sockets and serves the programs that connect to them, until Close.
func Serve(c Config) (s *Server, err error) {
	if c.Clock == nil {
		c.Clock = noClock{}
	}
	s = &Server{Config: c, ends: map[netip.Addr]end{}, open: map[*connection]bool{}}
	s.manager.begin(s)
	defer func() {
		if err != nil {
			s.Close()
			s = nil
		}
	}()
	for _, id := range c.Plan.Hosts {
		for position, port := range c.Plan.Nodes[id].Ports {
			s.ends[c.Plan.Address(port)] = end{id, uint8(position)}
			s.ends[over6(c.Plan.Address(port))] = end{id, uint8(position)}
		}
	}
	for _, id := range c.Plan.Hosts {
		l, err := listenIn(c.Namespace(id))
		if err != nil {
			return s, fmt.Errorf("create the socket for RDMA programs on %s: %w", c.Plan.Nodes[id].Name, err)
		}
		s.listeners = append(s.listeners, l)
		h := &host{id: id, quota: quota{left: ofHost(len(c.Plan.Hosts))}}
		s.hosts = append(s.hosts, h)
		s.running.Add(1)
		go s.accept(l, h)
	}
	return s, nil
}

// listenIn makes a host's socket. The socket has an abstract name, which belongs to the network namespace.
func listenIn(namespace int) (*net.UnixListener, error) {
	fd, err := kernel.SocketIn(namespace, unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), socketName)
	defer file.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + socketName}); err != nil {
		return nil, err
	}
	if err := unix.Listen(fd, 64); err != nil {
		return nil, err
	}
	l, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	return l.(*net.UnixListener), nil
}

// acceptRest sets how long a server that is short of descriptors waits before it accepts another connection.
const acceptRest = 10 * time.Millisecond

func (s *Server) accept(l *net.UnixListener, h *host) {
	defer s.running.Done()
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptRest)
			continue
		}
		if !h.quota.take(holdings{connections: 1, files: 1}) {
			conn.Close()
			continue
		}
		c := newConnection(s, h, conn)
		if !s.add(c) {
			conn.Close()
			return
		}
		go func() {
			defer s.running.Done()
			c.serve()
			s.remove(c)
			h.quota.give(holdings{connections: 1, files: 1})
		}()
	}
}

func (s *Server) add(c *connection) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return false
	}
	s.open[c] = true
	s.running.Add(1)
	return true
}

func (s *Server) remove(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.open, c)
}

// closeTimeout limits how long Close waits for connections' goroutines.
const closeTimeout = 5 * time.Second

// Close ends all connections.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.mutex.Lock()
	s.closed = true
	for _, l := range s.listeners {
		l.Close()
	}
	for c := range s.open {
		c.conn.Close()
	}
	s.mutex.Unlock()
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(closeTimeout): // a connection waits for a file of its program's
	}
}

// InUse returns the number of programs' connections on all hosts, and of all their objects.
func (s *Server) InUse() (connections, objects int) {
	full := ofHost(len(s.hosts))
	for _, h := range s.hosts {
		h.quota.mutex.Lock()
		connections += full.connections - h.quota.left.connections
		objects += full.objects - h.quota.left.objects
		h.quota.mutex.Unlock()
	}
	return connections, objects
}

// devices returns a host's devices in the format of the reply to opDevices.
func (s *Server) devices(id topologies.NodeID) []uint64 {
	ports := s.Plan.Nodes[id].Ports
	ports = ports[:min(len(ports), maxDevices)]
	words := []uint64{uint64(len(ports))}
	for _, port := range ports {
		p := &s.Plan.Ports[port]
		words = append(words, address(s.Plan.Address(port)), uint64(s.Plan.MTU), uint64(p.Rate), 0)
	}
	return words
}

// noClock is the Clock of a fabric that is not in lock step.
type noClock struct{}

func (noClock) Register(int, int, int) (int, int, error) { return 0, -1, unix.EOPNOTSUPP }
func (noClock) Release(int)                              {}
func (noClock) Touch()                                   {}
func (noClock) Asked(int)                                {}
func (noClock) Wrote(int)                                {}
