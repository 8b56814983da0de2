package wasm_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/wasm"
	"github.com/pausenet/pausenet/ebpf/wasm/reference"
)

// machines are the two that run the WebAssembly.
var machines = []struct {
	name string
	load func(ebpf.Sizes) (*wasm.Pipelines, error)
}{{"translated", wasm.Load}, {"wazero", reference.Load}}

var small = ebpf.Sizes{Ports: 4, Switches: 1, Hosts: 2, Leaves: 1, NextHops: 2, Fanouts: 16}

func load(t *testing.T, load func(ebpf.Sizes) (*wasm.Pipelines, error), n ebpf.Sizes) *wasm.Pipelines {
	t.Helper()
	p, err := load(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range p.State.Ports {
		p.State.Ports[i].Kind = ebpf.KindSwitch
	}
	return p
}

// address is where something of the tables is in linear memory.
func address[T any](p *wasm.Pipelines, entry *T) uint32 {
	return uint32(uintptr(unsafe.Pointer(entry)) - uintptr(unsafe.Pointer(&p.Memory()[0])))
}

// repoint has what points to one address before the tables point to another: setup has put the tables' addresses there.
func repoint(t *testing.T, p *wasm.Pipelines, from, to uint32) {
	t.Helper()
	memory := p.Memory()[:address(p, &p.State.Ports[0])]
	moved := 0
	for i := 0; i < len(memory); i += 4 {
		if word := memory[i : i+4]; binary.LittleEndian.Uint32(word) == from {
			binary.LittleEndian.PutUint32(word, to)
			moved++
		}
	}
	if moved == 0 {
		t.Fatalf("nothing points to %#x", from)
	}
}

// TestTraps: an access outside of linear memory, or across its end, is an error of the call, and nobody else's memory
// is touched.
func TestTraps(t *testing.T) {
	for _, m := range machines {
		t.Run(m.name, func(t *testing.T) {
			p, other := load(t, m.load, small), load(t, m.load, small)
			untouched := bytes.Clone(other.Memory())
			end := uint32(len(p.Memory()))
			for name, call := range map[string]func(int) error{"process": p.Process, "leave": p.Leave, "enter": p.Enter} {
				if err := call(100); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			ports := address(p, &p.State.Ports[0])
			for _, to := range []uint32{end, end - 2, 1<<32 - 64, 1<<32 - 2048} {
				repoint(t, p, ports, to)
				for name, call := range map[string]func(int) error{"process": p.Process, "leave": p.Leave, "enter": p.Enter} {
					if err := call(100); err == nil {
						t.Errorf("%s with the ports at %#x of %#x: no error", name, to, end)
					}
				}
				repoint(t, p, to, ports)
			}
			if err := p.Process(100); err != nil {
				t.Errorf("after the traps: %v", err)
			}
			if !bytes.Equal(other.Memory(), untouched) {
				t.Error("the other instance's memory has changed")
			}
		})
	}
}

// TestInstances: each has a memory of its own.
func TestInstances(t *testing.T) {
	for _, m := range machines {
		t.Run(m.name, func(t *testing.T) {
			a, b := load(t, m.load, small), load(t, m.load, small)
			a.State.Ports[1].RxFrames = 7
			for range 3 {
				if err := a.Process(100); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Process(100); err != nil {
				t.Fatal(err)
			}
			if a.State.Pass.Done != 3 || b.State.Pass.Done != 1 || b.State.Ports[1].RxFrames != 0 {
				t.Errorf("%d and %d passes, want 3 and 1; %d frames in the other's port", a.State.Pass.Done, b.State.Pass.Done,
					b.State.Ports[1].RxFrames)
			}
		})
	}
}

// TestMemory: an instance takes what its tables take, and less than two pages more, the translation what its slots take
// besides. It has that from the beginning.
func TestMemory(t *testing.T) {
	burst := small
	burst.Features.BurstDetection = true
	large := ebpf.Sizes{Ports: 3072, Switches: 320, Hosts: 1024, Leaves: 128, NextHops: 100_000}
	for _, n := range []ebpf.Sizes{small, burst, large} {
		for _, m := range machines {
			p := load(t, m.load, n)
			tables := wasm.TableBytes(n)
			more := 2 << 16
			if m.name == "translated" {
				more += wasm.SlotsBytes
			}
			if got := len(p.Memory()); got < tables || got > tables+more {
				t.Errorf("%s: %d bytes of memory for %d of tables", m.name, got, tables)
			}
			if m.name == "translated" && cap(p.Memory()) != len(p.Memory()) {
				t.Errorf("memory has grown: the tables are not %d bytes", tables)
			}
		}
	}
}

// TestPortsLines: a port begins with a cache line, as do its priorities, and takes an odd number of them: in what
// frames touch of a port no two ports share a line, and the same line of many is spread over all of the cache. Extras
// share no line either.
func TestPortsLines(t *testing.T) {
	const line = 64
	p := load(t, wasm.Load, small)
	for i := range p.State.Ports {
		port := &p.State.Ports[i]
		if uintptr(unsafe.Pointer(port))%line != 0 || uintptr(unsafe.Pointer(&port.Class))%line != 0 ||
			line%unsafe.Sizeof(port.Class[0]) != 0 {
			t.Errorf("port %d is at %p, its priorities at %p, %d bytes each", i, port, &port.Class, unsafe.Sizeof(port.Class[0]))
		}
	}
	if n := unsafe.Sizeof(ebpf.Port{}) / line; n%2 == 0 {
		t.Errorf("a port takes %d lines", n)
	}
	if at := uintptr(unsafe.Pointer(&p.State.Extras[0])); at%line != 0 || unsafe.Sizeof(ebpf.PortExtra{})%line != 0 {
		t.Errorf("extras are at %#x, %d bytes each", at, unsafe.Sizeof(ebpf.PortExtra{}))
	}
}

// TestTooLarge: what does not fit 4 GB is refused, without taking any of it.
func TestTooLarge(t *testing.T) {
	n := ebpf.Sizes{
		Ports: 3072, Switches: 1500, Hosts: 1024, Leaves: 128, NextHops: 1,
		Features: ebpf.Features{BurstDetection: true},
	}
	for _, m := range machines {
		p, err := m.load(n)
		if err == nil {
			t.Errorf("%s: %d bytes of memory", m.name, len(p.Memory()))
		} else if !strings.Contains(err.Error(), "1500 switches with 3072 ports need more than the 4 GB") ||
			!strings.Contains(err.Error(), "DCON's flow tables take 3.1 MB a switch") {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestClosed: a call after Close is an error too.
func TestClosed(t *testing.T) {
	p, err := wasm.Load(small)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Process(100); err == nil {
		t.Error("no error")
	}
}

// TestProcessAllocatesNothing: nor does it with the recovery from traps.
func TestProcessAllocatesNothing(t *testing.T) {
	p := load(t, wasm.Load, small)
	if n := testing.AllocsPerRun(1000, func() {
		if err := p.Process(100); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a pass", n)
	}
}
