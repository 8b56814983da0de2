package wasm

import (
	"errors"

	"github.com/pausenet/pausenet/ebpf"
)

// maxSlots is the maximum number of slots. instance is the memory reserved for the data of each, in bytes.
const (
	maxSlots = 64
	instance = 16 << 10
)

// Slot runs passes. Only one goroutine at a time may use a slot, but others may use other slots of the same Pipelines
// meanwhile. Two goroutines must not run passes that access the same registers of ports and switches at once:
//
//   - Enter accesses the registers of Pass.InPort, of all other ports of its switch, and of the switch, including flow
//     table and fanouts.
//   - Leave accesses registers of Pass.OutPort, at the other end of the cable: Draws, EcnMarked, UeMarked, Entered and
//     TxLineBytes, and of its classes OnSeen, Waited, Reference, ReferenceTime, Ternary and Falling. These belong to
//     the goroutine that runs the passes into Pass.InPort. The exceptions are Draws and EcnMarked of a switch that
//     marks at enqueue (SwitchState.EcnAtEnqueue): there Leave does not access them.
//   - All passes read hosts, routes and next hops, and the settings of ports and switches. Do not write these during a
//     pass.
//
// So one goroutine may run the passes into the ports of some switches and hosts, and another those into the ports of
// others. Slots share no cache lines.
type Slot struct {
	// Pass holds the engine's arguments before a call, and the pipelines' results after it. Its Done and Marked count
	// this slot's calls.
	Pass *ebpf.Pass
	// Header holds a frame's first bytes before and after a call: ebpf.HeaderBytes or, with telemetry,
	// ebpf.TelemetryBytes; over IPv6 ebpf.HeaderBytes6 or ebpf.TelemetryBytes6.
	Header *[ebpf.TelemetryBytes6]byte

	machine Machine
}

// Machine runs one instance of the pipelines' WebAssembly, with its own data. A call that causes a WebAssembly trap (an
// address outside of memory, a division by zero) returns an error.
type Machine interface {
	// Setup makes tables with these numbers of entries, once. It returns the address of their addresses, or 0 if they
	// need more memory than there is.
	Setup(Entries) (tables uint32, err error)
	// Another returns another instance with the same tables, for the slot with this number, from 1 on. It also returns
	// the address of their addresses there.
	Another(slot int) (machine Machine, tables uint32, err error)
	// Memory returns the linear memory. It does not move after Setup.
	Memory() []byte
	// Leave, Enter and Process implement the methods of Slot.
	Leave(length int) error
	Enter(length int) error
	Process(length int) error
	// Close frees the memory.
	Close() error
}

// ErrNoSlot means that the pipelines have the maximum number of slots.
var ErrNoSlot = errors.New("the pipelines have no more slots")

// NewSlot returns another slot, of at most 64. Do not call it during a pass. Pipelines on wazero have only the first.
func (p *Pipelines) NewSlot() (*Slot, error) {
	if len(p.slots) == maxSlots {
		return nil, ErrNoSlot
	}
	machine, tables, err := p.machine.Another(len(p.slots))
	if err != nil {
		return nil, err
	}
	s := &Slot{machine: machine}
	at, err := addresses(machine.Memory(), tables)
	if err == nil {
		err = s.mapPass(at[0], at[1])
	}
	if err != nil {
		return nil, errors.Join(err, machine.Close())
	}
	p.slots = append(p.slots, s)
	return s, nil
}

// Counts returns the numbers of passes that ended in all slots, and of passes that the egress pipelines saw. Do not
// call it during a pass.
func (p *Pipelines) Counts() (done, marked uint64) {
	for _, s := range p.slots {
		done += s.Pass.Done
		marked += s.Pass.Marked
	}
	return done, marked
}

// mapPass gives the pass and its header Go types.
func (s *Slot) mapPass(pass, header uint32) error {
	passes, errPass := view[ebpf.Pass](s.machine.Memory(), pass, 1)
	headers, errHeader := view[[ebpf.TelemetryBytes6]byte](s.machine.Memory(), header, 1)
	if err := errors.Join(errPass, errHeader); err != nil {
		return err
	}
	s.Pass, s.Header = &passes[0], &headers[0]
	return nil
}

// Process runs the egress pipeline of the port that the frame in Header left, and the ingress pipeline of the port that
// it enters. length is the frame's length. It does not allocate.
func (s *Slot) Process(length int) error { return s.machine.Process(length) }

// Leave runs only the egress pipeline. After it Header holds the frame as on the wire.
func (s *Slot) Leave(length int) error { return s.machine.Leave(length) }

// Enter runs only the ingress pipeline.
func (s *Slot) Enter(length int) error { return s.machine.Enter(length) }
