package wasm

import (
	"errors"

	"github.com/pausenet/pausenet/ebpf"
)

// maxSlots is how many slots pipelines can have, and instance what memory is kept for the data of each, in bytes.
const (
	maxSlots = 64
	instance = 16 << 10
)

// Slot is what passes are made in. One goroutine at a time uses a slot; others may use other slots of the same
// Pipelines meanwhile. What a pass touches beside its slot are the registers of ports and switches, of which one
// goroutine at a time may have any:
//
//   - Enter has those of Pass.InPort and of the other ports of its switch, and the switch's own, flow table and fanouts
//     included.
//   - Leave has, of Pass.OutPort at the other end of the cable: Draws, EcnMarked, UeMarked, Entered and TxLineBytes,
//     and of its classes
//     OnSeen, Waited, Reference, ReferenceTime, Ternary and Falling. These are the business of whoever has the port
//     that the frame
//     enters. The exception are Draws and EcnMarked where the switch marks at enqueue (SwitchState.EcnAtEnqueue), and
//     Leave does not.
//   - All passes read hosts, routes and next hops, and the settings of ports and switches. Nobody writes these while
//     one is made.
//
// So a goroutine may make the passes into the ports of some switches and hosts, and another those into the ports of
// others. Slots have lines of the processor's cache of their own.
type Slot struct {
	// Pass is what the engine says before a call, and the pipelines after it. Its Done and Marked count this slot's calls.
	Pass *ebpf.Pass
	// Header is where a frame's first bytes are put before a call and taken after it: ebpf.HeaderBytes of them or,
	// with telemetry, ebpf.TelemetryBytes; over IPv6 ebpf.HeaderBytes6 or ebpf.TelemetryBytes6.
	Header *[ebpf.TelemetryBytes6]byte

	machine Machine
}

// Machine runs the pipelines' WebAssembly: one instance, with data of its own. Where a WebAssembly trap would end a
// call (an address outside of memory, a division by zero), the call returns an error.
type Machine interface {
	// Setup makes tables of so many entries, once. It returns the address of their addresses; 0: they need more memory
	// than there is.
	Setup(Entries) (tables uint32, err error)
	// Another is another instance with these tables, for the slot of that number from 1 on. It returns the address of
	// their addresses there.
	Another(slot int) (machine Machine, tables uint32, err error)
	// Memory is the linear memory. It does not move after Setup.
	Memory() []byte
	// Leave, Enter and Process are those of Slot.
	Leave(length int) error
	Enter(length int) error
	Process(length int) error
	// Close frees the memory.
	Close() error
}

// ErrNoSlot says that pipelines cannot have another slot.
var ErrNoSlot = errors.New("the pipelines have no more slots")

// NewSlot makes another slot, of at most 64. No pass is being made meanwhile. Pipelines by wazero have the first alone.
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

// Counts are the passes that ended in all slots, and those that the egress pipelines saw. No pass is being made
// meanwhile.
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

// Process runs the egress pipeline of the port that the frame in Header left and the ingress pipeline of the port it
// enters. length is the frame's. It does not allocate.
func (s *Slot) Process(length int) error { return s.machine.Process(length) }

// Leave runs the egress pipeline alone, Enter the ingress pipeline alone: between them Header is what is on the wire.
func (s *Slot) Leave(length int) error { return s.machine.Leave(length) }

// Enter runs the ingress pipeline alone.
func (s *Slot) Enter(length int) error { return s.machine.Enter(length) }
