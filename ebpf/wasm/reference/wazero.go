// Package reference runs the pipelines' WebAssembly by wazero: what its translation to Go is compared with.
package reference

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/wasm"
)

// machine is one instance in a runtime of its own.
type machine struct {
	context               context.Context
	runtime               wazero.Runtime
	module                api.Module
	process, leave, enter api.Function
	stack                 [1]uint64
}

// compilation keeps the machine code: fabrics of one process share it.
var compilation = sync.OnceValue(wazero.NewCompilationCache)

// Load loads the pipelines as wasm.Load does, and runs them on wazero.
func Load(n ebpf.Sizes) (*wasm.Pipelines, error) {
	m := &machine{context: context.Background()}
	m.runtime = wazero.NewRuntimeWithConfig(m.context, wazero.NewRuntimeConfig().WithCompilationCache(compilation()))
	var err error
	if m.module, err = m.runtime.Instantiate(m.context, wasm.Object); err != nil {
		return nil, errors.Join(fmt.Errorf("load the embedded pipelines: %w", err), m.Close())
	}
	m.process, m.leave, m.enter = m.module.ExportedFunction("process"), m.module.ExportedFunction(
		"leave"), m.module.ExportedFunction("enter")
	return wasm.LoadOn(m, n)
}

// Setup implements wasm.Machine.
func (m *machine) Setup(n wasm.Entries) (tables uint32, err error) {
	result, err := m.module.ExportedFunction("setup").Call(m.context, 0, uint64(n.Ports), uint64(n.Switches),
		uint64(n.Hosts), uint64(n.Leaves),
		uint64(n.NextHops), uint64(n.Flows), uint64(n.Fanouts), uint64(n.Flowlets))
	if err != nil {
		return 0, err
	}
	return uint32(result[0]), nil
}

// Another implements wasm.Machine. An instance's memory is its own.
func (m *machine) Another(int) (wasm.Machine, uint32, error) { return nil, 0, wasm.ErrNoSlot }

// Memory implements wasm.Machine.
func (m *machine) Memory() []byte {
	memory := m.module.Memory()
	all, _ := memory.Read(0, memory.Size())
	return all
}

// Process implements wasm.Machine.
func (m *machine) Process(length int) error { return m.call(m.process, length) }

// Leave implements wasm.Machine.
func (m *machine) Leave(length int) error { return m.call(m.leave, length) }

// Enter implements wasm.Machine.
func (m *machine) Enter(length int) error { return m.call(m.enter, length) }

func (m *machine) call(f api.Function, length int) error {
	m.stack[0] = uint64(length)
	return f.CallWithStack(m.context, m.stack[:])
}

// Close implements wasm.Machine.
func (m *machine) Close() error { return m.runtime.Close(m.context) }
