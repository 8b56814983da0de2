// Package wasm runs controllers that are WebAssembly modules, by wazero: compiled to machine code on amd64 and arm64,
// interpreted elsewhere.
//
// A module imports nothing: it has neither files nor a clock nor a network. The host and the module communicate through
// a block of numbers in the module's memory (struct pausenet), which is the ABI. docs/controllers-from-files.md and
// examples/controllers/pausenet.h document it for authors of modules. A flow's state is a struct of the module at one
// address. The host copies a flow's bytes there before a call, if they are not there, and saves them elsewhere when
// another flow needs the address. So ten thousand flows take ten thousand times that struct, but not as many memories.
// Flows of different hosts may be called at the same time, in different instances.
//
// Calls count steps (meter.go). A step is an instruction.
//
// Files:
//
//   - wasm.go: reading a module, and binding it; flow.go: calling it.
//   - module.go: a module's sections and instructions; meter.go: the limit of a call's steps.
//   - outside.go: checks for state outside of the flow's.
//   - lines.go: positions of failed calls in the source.
package wasm

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/controllerfile/star"
	"github.com/pausenet/pausenet/hostagent/cc"
)

// Version numbers the interface (pausenet_abi). Modules of version 1, whose block ends before in_flight, and of version
// 2, whose block ends after it, run too.
const Version = 3

// Limits of a module.
const (
	mostPages     = 16        // pages of 64 KiB
	mostSteps     = 1_000_000 // a call of a Starlark file may take a tenth as many, which take as long
	mostFlow      = 4096      // bytes of a flow's state
	mostDeclared  = 16 << 10
	mostParameter = 32
)

// Offsets in the block of numbers that host and module share: struct pausenet of pausenet.h, all doubles, in this
// order.
const (
	blockLineRate = iota
	blockBaseRTT
	blockMTU
	blockLineMTU
	blockParams // mostParameter of them
)

const (
	blockRate = blockParams + mostParameter + iota
	blockWindow
	blockTimer
	blockMoves
	blockNow
	blockRTT
	blockAckedBytes
	blockAckSequence
	blockNextSend
	blockCE
	blockUE
	blockPathID
	blockReceived
	blockReceivingRate
	blockFlows
	blockCNMRate
	blockPayload
	blockStartRate
	blockHops // number of hops
	// the first hop's blockHopSize numbers: rate, departed, tx_bytes, queue_bytes
	blockHop
	blockInFlight = blockHop + blockHopSize*blockHopCount // only from version 2 on
	// the first hop's: elapsed, tx_delta, queue_gradient; from version 3 on
	blockDelta = blockInFlight + 1
	blockEnd   = blockDelta + blockDeltaSize*blockHopCount

	blockHopCount, blockHopSize, blockDeltaSize = 5, 4, 3
)

// program holds a module after reading.
type program struct {
	name     string
	content  []byte
	metered  metered
	image    []byte   // the memory of a new instance
	globals  []uint64 // values of the mutable globals in a new instance
	runtime  wazero.Runtime
	module   wazero.CompiledModule
	declared *controllerfile.Declaration
	block    uint32 // addresses
	shared   uint32 // bytes of the block
	flow     uint32
	flowSize uint32
}

// config returns the runtime's configuration.
func config() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithMemoryLimitPages(mostPages).
		WithCoreFeatures(api.CoreFeaturesV2 &^ api.CoreFeatureSIMD)
}

func init() { controllerfile.Register(".wasm", Read) }

// Read reads a module. name is its file's, for messages.
func Read(name string, content []byte) (controllerfile.Program, error) {
	refuse := func(format string, args ...any) (controllerfile.Program, error) {
		return nil, &controllerfile.Error{File: name, Message: fmt.Sprintf(format, args...)}
	}
	m, err := meter(content)
	if err != nil {
		return refuse("%v", err)
	}
	p := &program{
		name: name, content: content, metered: m,
		runtime: wazero.NewRuntimeWithConfig(context.Background(), config()),
	}
	if p.module, err = p.runtime.CompileModule(context.Background(), m.code); err != nil {
		return refuse("%v", err)
	}
	exports := p.module.ExportedFunctions()
	for _, need := range []string{
		"pausenet_abi", "pausenet_declare", "pausenet_block", "pausenet_flow",
		"pausenet_flow_size",
	} {
		f := exports[need]
		if f == nil || len(f.ParamTypes()) > 0 || len(f.ResultTypes()) != 1 || f.ResultTypes()[0] != api.ValueTypeI32 {
			return refuse("it does not export %s, a function without parameters that returns an i32 (PAUSENET_CONTROLLER in "+
				"pausenet.h defines it)", need)
		}
	}
	for name := range exports {
		if handler := controllerfile.Misspelt(name); handler != "" {
			return refuse("it exports %s, which is never called: did you mean %s?", name, handler)
		}
	}
	handled := controllerfile.Handlers(0)
	for h := range controllerfile.HandlerCount {
		f := exports[h.String()]
		if f == nil {
			continue
		}
		if len(f.ParamTypes()) > 0 || len(f.ResultTypes()) > 0 {
			return refuse("%v must have no parameters and no result: its input is in the block", h)
		}
		handled = handled.With(h)
	}
	if exports["init"] == nil {
		return refuse("it does not export init, which sets the rate of new flows")
	}
	if err := p.ask(handled); err != nil {
		return nil, err
	}
	return p, nil
}

// ask calls the module for its declarations.
func (p *program) ask(handled controllerfile.Handlers) error {
	refuse := func(format string, args ...any) error {
		return &controllerfile.Error{File: p.name, Message: fmt.Sprintf(format, args...)}
	}
	m, err := p.instantiate()
	if err != nil {
		return err
	}
	memory := m.module.Memory()
	p.image, p.globals = bytes.Clone(m.memory), m.mutableGlobals()
	var answers [5]uint32
	for i, name := range []string{
		"pausenet_abi", "pausenet_block", "pausenet_flow", "pausenet_flow_size",
		"pausenet_declare",
	} {
		m.steps.Set(mostSteps)
		result, err := m.module.ExportedFunction(name).Call(context.Background())
		if err != nil {
			return p.failed(err, name, m)
		}
		answers[i] = uint32(result[0])
	}
	switch answers[0] {
	case 1:
		p.shared = 8 * blockInFlight
	case 2:
		p.shared = 8 * blockDelta
	case Version:
		p.shared = 8 * blockEnd
	default:
		return refuse("it uses version %d of the interface, but this pausenet has version %d: rebuild it with this "+
			"version's pausenet.h",
			answers[0], Version)
	}
	p.block, p.flow, p.flowSize = answers[1], answers[2], answers[3]
	size := uint64(memory.Size())
	switch {
	case uint64(p.block)+uint64(p.shared) > size || p.block%8 != 0:
		return refuse("its block, at %d, is outside its memory of %d bytes, or not at a multiple of 8", p.block, size)
	case p.flowSize > mostFlow:
		return refuse("a flow's state has %d bytes, but may have at most %d", p.flowSize, mostFlow)
	case uint64(p.flow)+uint64(p.flowSize) > size:
		return refuse("its flow's state, at %d, is outside its memory of %d bytes", p.flow, size)
	case p.flow < p.block+p.shared && p.block < p.flow+p.flowSize:
		return refuse("its block and its flow's state overlap")
	case p.metered.stack > min(p.block, p.flow):
		return refuse("its stack is above its variables, and would grow into them: link it with the stack first (for " +
			"clang: -Wl,--stack-first)")
	}
	text := ""
	for at := answers[4]; ; at++ {
		c, ok := memory.ReadByte(at)
		if !ok || at-answers[4] > mostDeclared {
			return refuse("pausenet_declare must return the address of a string that ends in a 0, of at most %d bytes",
				mostDeclared)
		}
		if c == 0 {
			read, _ := memory.Read(answers[4], at-answers[4])
			text = string(read)
			break
		}
	}
	p.declared, err = star.Declare(p.name+" (pausenet_declare)", []byte(text), handled)
	if err == nil && len(p.declared.Parameters) > mostParameter {
		return refuse("it declares %d parameters, but may declare at most %d", len(p.declared.Parameters), mostParameter)
	}
	return err
}

// Declares returns the module's declarations.
func (p *program) Declares() *controllerfile.Declaration { return p.declared }

// instance represents an instance of the module, with its own memory.
type instance struct {
	of        *program
	module    api.Module
	steps     api.MutableGlobal
	memory    []byte
	block     []byte      // the block in memory
	flow      []byte      // a flow's state in memory
	owner     *flow       // flow whose only state is in flow; nil: none
	busy      atomic.Bool // a call is running, or has failed
	functions [controllerfile.HandlerCount]api.Function
	calls     [controllerfile.HandlerCount]uint64
}

func (p *program) instantiate() (*instance, error) {
	module, err := p.runtime.InstantiateModule(context.Background(), p.module,
		wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return nil, &controllerfile.Error{File: p.name, Message: fmt.Sprintf("cannot start it: %v", firstLine(err))}
	}
	m := &instance{of: p, module: module, steps: module.ExportedGlobal(stepsGlobal).(api.MutableGlobal)}
	m.memory, _ = module.Memory().Read(0, module.Memory().Size()) // it never grows
	for h := range controllerfile.HandlerCount {
		m.functions[h] = module.ExportedFunction(h.String())
	}
	return m, nil
}

// Bind prepares the module for flows of an Env.
func (p *program) Bind(env cc.Env, set *cc.Settings) (controllerfile.Bound, error) {
	b := &bound{program: p}
	b.constants[blockLineRate], b.constants[blockBaseRTT] = float64(env.LineRate), float64(env.BaseRTT)
	b.constants[blockMTU], b.constants[blockLineMTU] = float64(env.MTU), float64(env.LineMTU)
	for i := range p.declared.Parameters {
		b.constants[blockParams+i] = controllerfile.Number(set, &p.declared.Parameters[i])
	}
	m, err := b.instance()
	if err != nil {
		return nil, err
	}
	b.instances = append(b.instances, m)
	m.busy.Store(false)
	return b, nil
}

// failed turns the error of a call into a controllerfile.Error.
func (p *program) failed(err error, function string, m *instance) error {
	e := &controllerfile.Error{File: p.name, Function: function, Message: firstLine(err), Trace: err.Error()}
	switch {
	case int64(m.steps.Get()) < 0:
		e.Message = fmt.Sprintf("the call has taken %d steps (instructions): is there an endless loop?",
			mostSteps)
	case strings.Contains(e.Message, "unreachable"):
		e.Message = "the code aborted: a trap (a failed assertion, __builtin_trap, panic)"
	case strings.Contains(e.Message, "out of bounds memory"):
		e.Message += ": a pointer or an index is outside the module's memory"
	}
	p.locate(e)
	return e
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(strings.TrimPrefix(line, "wasm error: "), " (recovered by wazero)")
}
