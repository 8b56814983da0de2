// Package wasm runs the pipelines in this process, as WebAssembly that has been translated to Go. It needs neither root
// nor Linux.
package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/pausenet/pausenet/ebpf"
)

// Pipelines is the pipelines loaded into this process: tables and registers, and slots to make passes in.
type Pipelines struct {
	*Slot            // the first, which suffices for one goroutine
	State ebpf.State // its Pass is that of the first slot

	slots []*Slot
}

// page is the unit of WebAssembly's memory, in bytes.
const page = 1 << 16

// Entries holds the numbers of entries of the pipelines' tables.
type Entries struct{ Ports, Switches, Hosts, Leaves, NextHops, Flows, Fanouts, Flowlets uint32 }

// entriesOf returns the numbers of entries for a fabric, at least one per table.
func entriesOf(n ebpf.Sizes) Entries {
	e := Entries{
		Ports: uint32(n.Ports), Switches: uint32(n.Switches), Hosts: uint32(n.Hosts), Leaves: uint32(max(n.Leaves, 1)),
		NextHops: uint32(max(n.NextHops, 1)), Flows: 1, Fanouts: 1, Flowlets: 1,
	}
	if n.Features.BurstDetection {
		e.Flows, e.Fanouts = uint32(n.Switches*ebpf.FlowIDs), uint32(max(n.Fanouts, 1))
	}
	if n.Features.Flowlets {
		e.Flowlets = uint32(n.Switches * ebpf.Flowlets)
	}
	return e
}

// bytes returns the size of the tables, each aligned to a cache line.
func (e *Entries) bytes() (sum uint64) {
	for _, table := range []struct {
		entries uint64
		size    uintptr
	}{
		{uint64(e.Ports), unsafe.Sizeof(ebpf.Port{})},
		{uint64(e.Ports), unsafe.Sizeof(ebpf.PortExtra{})},
		{uint64(e.Switches), unsafe.Sizeof(ebpf.SwitchState{})},
		{uint64(e.Switches) * uint64(e.Leaves), unsafe.Sizeof(ebpf.Route{})},
		{uint64(e.NextHops), unsafe.Sizeof(uint64(0))},
		{uint64(e.Hosts), unsafe.Sizeof(ebpf.Host{})},
		{uint64(e.Flows), unsafe.Sizeof(ebpf.Flow{})},
		{uint64(e.Fanouts), unsafe.Sizeof(uint64(0))},
		{uint64(e.Flowlets), unsafe.Sizeof(ebpf.Flowlet{})},
	} {
		sum += (table.entries*uint64(table.size) + 63) &^ 63
	}
	return sum
}

// Load loads the pipelines and makes their tables.
func Load(n ebpf.Sizes) (*Pipelines, error) { return LoadOn(newTranslation(), n) }

// LoadOn loads the pipelines as Load does, but on the given machine. It closes the machine after an error.
func LoadOn(machine Machine, n ebpf.Sizes) (*Pipelines, error) {
	p := &Pipelines{Slot: &Slot{machine: machine}, State: ebpf.State{Features: n.Features}}
	if err := p.makeTables(n); err != nil {
		return nil, errors.Join(fmt.Errorf("make the pipelines' tables: %w", err), machine.Close())
	}
	return p, nil
}

func (p *Pipelines) makeTables(n ebpf.Sizes) error {
	entries := entriesOf(n)
	remedy := "use fewer switches"
	if n.Features.BurstDetection {
		remedy += fmt.Sprintf(", or a congestion control without CNMs: DCON's flow tables take %.1f MB a switch",
			float64(ebpf.FlowIDs*unsafe.Sizeof(ebpf.Flow{}))/1e6)
	}
	tooMuch := fmt.Errorf("%d switches with %d ports need more than the 4 GB that WebAssembly can address: %s", n.Switches,
		n.Ports, remedy)
	if entries.bytes() > 1<<32-2*page-maxSlots*instance {
		return tooMuch
	}
	tables, err := p.machine.Setup(entries)
	switch {
	case err != nil:
		return err
	case tables == 0:
		return tooMuch
	}
	return p.mapTables(tables, &entries)
}

// mapTables gives the tables Go types. They do not move, because the memory does not grow after Setup.
func (p *Pipelines) mapTables(tables uint32, n *Entries) error {
	memory := p.machine.Memory()
	at, err := addresses(memory, tables)
	if err != nil {
		return err
	}
	var errs [10]error
	errs[0] = p.mapPass(at[0], at[1])
	p.State.Ports, errs[1] = view[ebpf.Port](memory, at[2], n.Ports)
	p.State.Extras, errs[2] = view[ebpf.PortExtra](memory, at[3], n.Ports)
	p.State.Switches, errs[3] = view[ebpf.SwitchState](memory, at[4], n.Switches)
	p.State.Routes, errs[4] = view[ebpf.Route](memory, at[5], n.Switches*n.Leaves)
	p.State.NextHops, errs[5] = view[uint64](memory, at[6], n.NextHops)
	p.State.Hosts, errs[6] = view[ebpf.Host](memory, at[7], n.Hosts)
	p.State.Flows, errs[7] = view[ebpf.Flow](memory, at[8], n.Flows)
	p.State.Fanouts, errs[8] = view[uint64](memory, at[9], n.Fanouts)
	p.State.Flowlets, errs[9] = view[ebpf.Flowlet](memory, at[10], n.Flowlets)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	p.State.Pass, p.slots = p.Pass, []*Slot{p.Slot}
	if !p.State.Features.BurstDetection {
		p.State.Flows, p.State.Fanouts = nil, nil
	}
	if !p.State.Features.Flowlets {
		p.State.Flowlets = nil
	}
	return nil
}

// addresses returns the addresses of the pass, its header, and the tables, which Setup stored at tables.
func addresses(memory []byte, tables uint32) (at [11]uint32, err error) {
	if uint64(tables)+uint64(unsafe.Sizeof(at)) > uint64(len(memory)) {
		return at, fmt.Errorf("their addresses at %#x are not in %d bytes", tables, len(memory))
	}
	for i := range at {
		at[i] = binary.LittleEndian.Uint32(memory[tables+uint32(4*i):])
	}
	return at, nil
}

// view returns n entries at an address of linear memory with their Go type. It assumes a little-endian machine, as
// WebAssembly is.
func view[T any](memory []byte, at, n uint32) ([]T, error) {
	var entry T
	end := uint64(at) + uint64(n)*uint64(unsafe.Sizeof(entry))
	if n < 1 || end > uint64(len(memory)) {
		return nil, fmt.Errorf("%d entries of %d bytes at %#x are not in %d bytes", n, unsafe.Sizeof(entry), at, len(memory))
	}
	first := (*T)(unsafe.Pointer(&memory[at]))
	if uintptr(unsafe.Pointer(first))%unsafe.Alignof(entry) != 0 {
		return nil, errors.New("linear memory is not aligned")
	}
	return unsafe.Slice(first, n), nil
}

// Close frees the memory. State and slots must not be used afterwards.
func (p *Pipelines) Close() error {
	p.State = ebpf.State{}
	var errs []error
	for _, s := range p.slots {
		s.Pass, s.Header = nil, nil
		errs = append(errs, s.machine.Close())
	}
	return errors.Join(errs...)
}
