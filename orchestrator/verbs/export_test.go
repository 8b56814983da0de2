//go:build linux

package verbs

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// What package verbs_test uses, which may import what brings an engine.

// Connection represents a program's connection.
type Connection = connection

// Of requests, and of enum ibv_qp_attr_mask.
const (
	OpDevices       = opDevices
	OpOpen          = opOpen
	ProtocolVersion = protocolVersion
	OpAllocPD       = opAllocPD
	OpRegMR         = opRegMR
	OpCreateCQ      = opCreateCQ
	OpCreateQP      = opCreateQP
	OpModifyQP      = opModifyQP
	OpPostSend      = opPostSend
	OpLast          = opLast
	OpDestroy       = opDestroy
	OpCMID          = opCMID
	OpCMBind        = opCMBind
	OpCMListen      = opCMListen
	OpResolve       = opCMResolve
	OpConnect       = opCMConnect
	Requested       = cmConnectRequest
	Rejected        = cmRejected
)

// FileSystem exports fileSystem.
var FileSystem = fileSystem

// NewServer returns a server without sockets, and Program a program of one of its hosts that has opened its device.
func NewServer(e *engine.Engine, plan *topologies.Plan,
	flow func(
		source, destination topologies.NodeID, pair topologies.Pair, salt uint64, priority uint8,
	) (engine.FlowConfig, error),
) *Server {
	var mutex sync.Mutex
	s := &Server{
		Config: Config{
			Clock: noClock{},
			Plan:  plan, Data: 3, Lossless: 1 << 3, Flow: flow,
			Do: func(f func(*engine.Engine) error) error {
				mutex.Lock()
				defer mutex.Unlock()
				return f(e)
			},
		},
		ends: map[netip.Addr]end{}, open: map[*connection]bool{},
	}
	s.manager.begin(s)
	for _, id := range plan.Hosts {
		s.hosts = append(s.hosts, &host{id: id, quota: quota{left: ofHost(len(plan.Hosts))}})
		for position, port := range plan.Nodes[id].Ports {
			s.ends[plan.Address(port)] = end{id, uint8(position)}
			s.ends[over6(plan.Address(port))] = end{id, uint8(position)}
		}
	}
	return s
}

func (s *Server) Program(t testing.TB, host int) *Connection {
	t.Helper()
	c := s.Connect(t, host)
	fd, err := unix.Open("/proc/self/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := c.Ask([]int{fd}, opOpen, protocolVersion, 0); status != 0 {
		t.Fatal(status)
	}
	return c
}

// Connect returns a connection of a program that has opened no device: that of its connection manager.
func (s *Server) Connect(t testing.TB, host int) *Connection {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(pair[0]), "connection")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(pair[1])
	return newConnection(s, s.hosts[host], conn.(*net.UnixConn))
}

// Events makes a channel for events of the connection manager, whose end is closed after the test.
func (c *Connection) Events(t testing.TB) (handle uint64, fd int) {
	t.Helper()
	r := c.answer(&request{words: putWords(nil, opChannel)}, new([]int))
	if r.status != 0 {
		t.Fatal(r.status)
	}
	t.Cleanup(func() { closeAll(r.files) })
	return r.words[0], r.files[0]
}

// Ask executes a request like the server, and closes the files of the reply.
func (c *Connection) Ask(files []int, words ...uint64) (status unix.Errno, answered []uint64) {
	r := c.answer(&request{words: putWords(nil, words...)}, &files)
	closeAll(files)
	closeAll(r.files)
	return r.status, r.words
}

// End ends the program.
func (c *Connection) End() { c.end() }

// Clean reports whether programs have released all resources.
func (s *Server) Clean() bool {
	for _, h := range s.hosts {
		if h.quota.left != ofHost(len(s.hosts)) {
			return false
		}
	}
	return true
}
