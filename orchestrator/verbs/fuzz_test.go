//go:build linux

package verbs_test

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/orchestrator/verbs"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// small holds the setup of a fabric.
func small(t testing.TB) *live.Setup {
	s, err := scenario.Reading{Live: true}.Parse("", []byte("topology: small\n"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := live.NewSetup(s, "")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// idle returns an engine with nothing to do, and a server of its hosts.
func idle(t *testing.T, made *live.Setup) (*engine.Engine, *verbs.Server) {
	plane, err := wasmplane.Open(made.Scenario.Topology, made.Fabric().Features)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Close() })
	config := made.Engine(1)
	config.Plane = plane
	e, err := engine.New(config)
	if err != nil {
		t.Fatal(err)
	}
	e.Start()
	return e, verbs.NewServer(e, made.Scenario.Topology,
		func(source, destination topologies.NodeID, pair topologies.Pair, salt uint64, _ uint8) (engine.FlowConfig, error) {
			return made.Flow(&scenario.Flow{Source: source, Destination: destination, Pair: pair}, "", salt)
		})
}

// FuzzRequests does requests of any words on two hosts with queue pairs that are connected, drives the engine between
// them, and then wants everything back. A program's words may be addresses of its memory: 0x1000 and up mean a part
// that a region has.
func FuzzRequests(f *testing.F) {
	made := small(f)
	rng := rand.New(rand.NewPCG(19, 0))
	for op := range uint64(verbs.OpLast + 2) {
		var b []byte
		for range 20 {
			words := []uint64{
				op, 1 + rng.Uint64N(5), rng.Uint64N(8), rng.Uint64N(3), rng.Uint64N(3), 16, 16, 0, 1, 1, 0x1000,
				8 | 1<<32,
			}
			b = append(b, byte(len(words)))
			for _, w := range words {
				b = binary.NativeEndian.AppendUint64(b, w)
			}
		}
		f.Add(b)
	}
	for _, over6 := range []uint64{0, 1 << 32} { // datagrams, to either's queue pair
		var b []byte
		for other := range uint64(2) {
			words := []uint64{
				verbs.OpPostSend, 5, 1, 9, 9 << 32, over6 | 10<<24 + 2 - other, 0, 1<<23 + 3 - 2*other, 0, 8 << 32,
				0x736c6573736f6c,
			}
			b = append(b, byte(len(words)))
			for _, w := range words {
				b = binary.NativeEndian.AppendUint64(b, w)
			}
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, server := idle(t, made)
		memory := [2][]byte{make([]byte, 1<<14), make([]byte, 1<<14)} // what is around the region must stay
		var programs [2]*verbs.Connection
		var numbers [2]uint64
		const offered, size = 4096, 8192
		for i := range programs {
			c := server.Program(t, i)
			programs[i] = c
			at := uint64(uintptr(unsafe.Pointer(&memory[i][0]))) + offered
			c.Ask(nil, verbs.OpAllocPD)                         // 1
			c.Ask(nil, verbs.OpCreateCQ, 64, 0, 1)              // 2
			c.Ask(nil, verbs.OpRegMR, 1, at, size, 0x1000, 0xf) // 3
			for _, service := range []uint64{0, 1} {            // 4, and 5 for datagrams
				_, got := c.Ask(nil, verbs.OpCreateQP, 1, 2, 2, 0, 16, 16, 1, 7, service)
				if len(got) != 2 {
					t.Fatal("there is no queue pair")
				}
				numbers[i] = cmp.Or(numbers[i], got[1])
			}
		}
		for i, c := range programs {
			for state, mask := range []uint64{0, 1 | 8, 1, 1} {
				for _, pair := range []uint64{4, 5} {
					if state > 0 {
						status, _ := c.Ask(nil, verbs.OpModifyQP, pair, uint64(state), mask|1<<6, 0xf, 10<<24+uint64(2-i), numbers[1-i],
							0, 1024, 4, 1, 0, 4, 1, 1, 1, 0, 0)
						if status != 0 {
							t.Fatalf("state %d: %v", state, status)
						}
					}
				}
			}
		}
		drive := func(most int) {
			for range most {
				at := e.Next()
				if at == vtime.Never {
					return
				}
				if err := e.Step(at); err != nil {
					t.Fatal(err)
				}
			}
		}
		for n := 0; len(b) > 0 && n < 64; n++ {
			length := min(int(b[0])%64*8, len(b)-1) &^ 7
			words := make([]uint64, length/8)
			for i := range words {
				words[i] = binary.NativeEndian.Uint64(b[1+8*i:])
			}
			b = b[1+length:]
			if len(words) == 0 || words[0] == verbs.OpRegMR { // memory that it has not offered is not to be offered either
				continue
			}
			programs[n%2].Ask(nil, words...)
			drive(200)
		}
		drive(5000)
		for i, c := range programs {
			c.End()
			drive(200)
			for at, v := range memory[i] {
				if v != 0 && (at < offered || at >= offered+size) {
					t.Fatalf("host %d: byte %d of memory that nobody may write is %d", i, at, v)
				}
			}
		}
		if !server.Clean() {
			t.Error("something is left")
		}
		for _, v := range e.Check() {
			t.Error(v)
		}
	})
}
