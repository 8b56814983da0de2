//go:build linux

package verbs

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// testServer is one without sockets, of the small fabric.
func testServer(t testing.TB, e *engine.Engine, plan *topologies.Plan) *Server {
	t.Helper()
	var mutex sync.Mutex
	s := &Server{
		Config: Config{
			Plan: plan, OneWay: func() time.Duration { return 0 },
			Do: func(f func(*engine.Engine) error) error {
				mutex.Lock()
				defer mutex.Unlock()
				return f(e)
			},
		},
		ends: map[netip.Addr]end{}, open: map[*connection]bool{},
	}
	s.manager.server, s.manager.listening = s, map[netip.AddrPort]*cmID{}
	for _, id := range plan.Hosts {
		for place, port := range plan.Nodes[id].Ports {
			s.ends[plan.Address(port)] = end{id, uint8(place)}
		}
	}
	return s
}

// program is a connection of a host, and the other end of its socket.
func program(t testing.TB, s *Server, h *host) *connection {
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
	t.Cleanup(func() { unix.Close(pair[1]) })
	return newConnection(s, h, conn.(*net.UnixConn))
}

func smallPlan(t testing.TB) *topologies.Plan {
	t.Helper()
	plan, err := topologies.Builtin("small")
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// ask does a request as the server would, and closes what comes back.
func ask(c *connection, files []int, words ...uint64) reply {
	r := c.answer(&request{words: putWords(nil, words...)}, &files)
	closeAll(files)
	closeAll(r.files)
	return r
}

// openMemory opens the device with this process's memory.
func openMemory(t testing.TB, c *connection) {
	t.Helper()
	fd, err := unix.Open("/proc/self/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r := ask(c, []int{fd}, opOpen, protocolVersion, 0); r.status != 0 {
		t.Fatal(r.status)
	}
}

// FuzzRequests does requests of any words on two hosts, and then wants everything back.
func FuzzRequests(f *testing.F) {
	plan := smallPlan(f)
	rng := rand.New(rand.NewPCG(19, 0))
	for op := range uint64(opLast + 2) {
		var b []byte
		for range 20 {
			words := []uint64{op, 1 + rng.Uint64N(4), rng.Uint64N(8), rng.Uint64N(3), rng.Uint64N(3), 16, 16, 0, 1}
			b = append(b, byte(len(words)))
			b = putWords(b, words...)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := testServer(t, nil, plan)
		hosts := [2]*host{}
		programs := [2]*connection{}
		full := ofHost(len(plan.Hosts))
		for i := range hosts {
			hosts[i] = &host{id: plan.Hosts[i], quota: quota{left: full}}
			programs[i] = program(t, s, hosts[i])
			openMemory(t, programs[i])
			ask(programs[i], nil, opAllocPD)
			ask(programs[i], nil, opCreateCQ, 16, 0, 1)
		}
		for n := 0; len(b) > 0; n++ {
			length := min(int(b[0])%64*8, len(b)-1) &^ 7
			words := make([]uint64, length/8)
			for i := range words {
				words[i] = binary.NativeEndian.Uint64(b[1+8*i:])
			}
			b = b[1+length:]
			if len(words) > 0 && words[0] >= opCreateSRQ && words[0] <= opPostRecv {
				continue // they are the engine's: TestHostile has one
			}
			ask(programs[n%2], nil, words...)
		}
		for i, c := range programs {
			c.end()
			if hosts[i].quota.left != full {
				t.Errorf("host %d has %+v left of %+v", i, hosts[i].quota.left, full)
			}
		}
	})
}
