// Package wasm loads the pipelines into this process, as WebAssembly: it needs neither root nor Linux.
package wasm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/pausenet/pausenet/ebpf"
)

// The same pipelines as the kernel's, compiled for WebAssembly from the same source.
//
//go:embed pipelines.wasm
var object []byte

// Pipelines is the pipelines loaded into this process.
type Pipelines struct {
	State ebpf.State
	// Header is where a frame's first bytes go before a call and come from after it: ebpf.HeaderBytes of them or,
	// with telemetry, ebpf.TelemetryBytes.
	Header *[ebpf.TelemetryBytes]byte

	runtime wazero.Runtime
	module  api.Module
	process api.Function
	leave   api.Function
	enter   api.Function
	stack   [1]uint64
	context context.Context
}

// compilation keeps the machine code: fabrics of one process share it.
var compilation = sync.OnceValue(wazero.NewCompilationCache)

// Load loads the pipelines and makes their tables.
func Load(n ebpf.Sizes) (p *Pipelines, err error) {
	p = &Pipelines{State: ebpf.State{Features: n.Features}, context: context.Background()}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
			p = nil
		}
	}()
	p.runtime = wazero.NewRuntimeWithConfig(p.context, wazero.NewRuntimeConfig().WithCompilationCache(compilation()))
	if p.module, err = p.runtime.Instantiate(p.context, object); err != nil {
		return p, fmt.Errorf("load the embedded pipelines: %w", err)
	}
	p.process, p.leave, p.enter = p.module.ExportedFunction("process"), p.module.ExportedFunction("leave"), p.module.ExportedFunction("enter")
	flows, fanouts := 1, 1
	if n.Features.BurstDetection {
		flows, fanouts = n.Switches*ebpf.FlowIDs, max(n.Fanouts, 1)
	}
	result, err := p.module.ExportedFunction("setup").Call(p.context, uint64(n.Ports), uint64(n.Switches), uint64(n.Hosts),
		uint64(max(n.NextHops, 1)), uint64(flows), uint64(fanouts))
	if err != nil {
		return p, fmt.Errorf("make the tables: %w", err)
	}
	tables := uint32(result[0])
	if tables == 0 {
		return p, fmt.Errorf("make the tables: %d switches with %d ports need more than the 4 GB that WebAssembly can address",
			n.Switches, n.Ports)
	}
	return p, p.mapTables(tables, n, flows, fanouts)
}

// mapTables gives the tables Go types. They do not move any more: nothing grows the memory after setup.
func (p *Pipelines) mapTables(tables uint32, n ebpf.Sizes, flows, fanouts int) error {
	memory := p.module.Memory()
	all, ok := memory.Read(0, memory.Size())
	if !ok {
		return errors.New("map the tables: no memory")
	}
	var at [9]uint32
	for i := range at {
		if at[i], ok = memory.ReadUint32Le(tables + uint32(4*i)); !ok {
			return errors.New("map the tables: bad address")
		}
	}
	var errs [9]error
	var passes []ebpf.Pass
	passes, errs[0] = view[ebpf.Pass](all, at[0], 1)
	var headers [][ebpf.TelemetryBytes]byte
	headers, errs[1] = view[[ebpf.TelemetryBytes]byte](all, at[1], 1)
	p.State.Ports, errs[2] = view[ebpf.Port](all, at[2], n.Ports)
	p.State.Switches, errs[3] = view[ebpf.SwitchState](all, at[3], n.Switches)
	p.State.Routes, errs[4] = view[ebpf.Route](all, at[4], n.Switches*n.Hosts)
	p.State.NextHops, errs[5] = view[uint64](all, at[5], max(n.NextHops, 1))
	p.State.Addresses, errs[6] = view[uint64](all, at[6], n.Hosts)
	p.State.Flows, errs[7] = view[ebpf.Flow](all, at[7], flows)
	p.State.Fanouts, errs[8] = view[uint64](all, at[8], fanouts)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	p.State.Pass, p.Header = &passes[0], &headers[0]
	if !n.Features.BurstDetection {
		p.State.Flows, p.State.Fanouts = nil, nil
	}
	return nil
}

// view gives n entries at an address of linear memory their Go type. WebAssembly is little-endian, and so must we be.
func view[T any](memory []byte, at uint32, n int) ([]T, error) {
	var entry T
	end := uint64(at) + uint64(n)*uint64(unsafe.Sizeof(entry))
	if n < 1 || end > uint64(len(memory)) {
		return nil, fmt.Errorf("map the tables: %d entries of %d bytes at %#x are not in %d bytes", n, unsafe.Sizeof(entry), at, len(memory))
	}
	first := (*T)(unsafe.Pointer(&memory[at]))
	if uintptr(unsafe.Pointer(first))%unsafe.Alignof(entry) != 0 {
		return nil, errors.New("map the tables: linear memory is not aligned")
	}
	return unsafe.Slice(first, n), nil
}

// Process runs the egress pipeline of the port that the frame in Header left and the ingress pipeline of the port it
// enters. length is the frame's. It does not allocate.
func (p *Pipelines) Process(length int) error {
	p.stack[0] = uint64(length)
	return p.process.CallWithStack(p.context, p.stack[:])
}

// Leave runs the egress pipeline alone, Enter the ingress pipeline alone: between them Header is what is on the wire.
func (p *Pipelines) Leave(length int) error {
	p.stack[0] = uint64(length)
	return p.leave.CallWithStack(p.context, p.stack[:])
}

// Enter runs the ingress pipeline alone.
func (p *Pipelines) Enter(length int) error {
	p.stack[0] = uint64(length)
	return p.enter.CallWithStack(p.context, p.stack[:])
}

// Close frees the memory. State must not be used afterwards.
func (p *Pipelines) Close() error {
	if p.runtime == nil {
		return nil
	}
	p.State = ebpf.State{}
	return p.runtime.Close(p.context)
}
