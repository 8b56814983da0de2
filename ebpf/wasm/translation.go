package wasm

import (
	"fmt"

	"github.com/pausenet/pausenet/ebpf/wasm/translated"
)

// translation is the Machine with the Go code that wasm2go generated from pipelines.wasm. Each instance has its own
// part at the start of the memory for its data. Its linear memory is this part and all that follows, so that every
// instance reaches the tables, at addresses that differ by the distances between these parts.
type translation struct {
	module  *translated.Module
	memory  []byte // of the first instance, which contains all others
	entries Entries
}

func newTranslation() *translation { return &translation{module: translated.New()} }

// Setup allocates the memory of all tables at once. Otherwise setup would grow and copy it for each table, and touch
// all of it, though most of a flow table is never used. It adds a spare page: an instance sees only a part of the last
// page, and setup would grow the memory for the rest.
func (t *translation) Setup(n Entries) (tables uint32, err error) {
	t.entries = n
	t.memory = make([]byte, (maxSlots*instance+n.bytes()+2*page-1)&^(page-1))
	untouch(t.memory)
	return t.setup(0)
}

// Another implements Machine with the tables that Setup made.
func (t *translation) Another(slot int) (Machine, uint32, error) {
	a := newTranslation()
	a.memory, a.entries = t.memory, t.entries
	tables, err := a.setup(slot)
	return a, tables, err
}

func (t *translation) setup(slot int) (tables uint32, err error) {
	defer trapped(&err)
	memory := t.module.Xmemory().Slice()
	data := (*memory)[:instance]
	*memory = t.memory[slot*instance:]
	copy(*memory, data)
	n := &t.entries
	return uint32(t.module.Xsetup(int32((maxSlots-slot)*instance), int32(n.Ports), int32(n.Switches), int32(n.Hosts),
		int32(n.Leaves),
		int32(n.NextHops), int32(n.Flows), int32(n.Fanouts), int32(n.Flowlets))), nil
}

// Memory returns the module's memory.
func (t *translation) Memory() []byte { return *t.module.Xmemory().Slice() }

// Process runs both pipelines.
func (t *translation) Process(length int) (err error) {
	defer trapped(&err)
	t.module.Xprocess(int32(length))
	return nil
}

// Leave runs the egress pipeline.
func (t *translation) Leave(length int) (err error) {
	defer trapped(&err)
	t.module.Xleave(int32(length))
	return nil
}

// Enter runs the ingress pipeline.
func (t *translation) Enter(length int) (err error) {
	defer trapped(&err)
	t.module.Xenter(int32(length))
	return nil
}

// Close frees the memory.
func (t *translation) Close() error {
	t.memory = nil
	*t.module.Xmemory().Slice() = nil
	return nil
}

// trapped converts a panic to an error: the translation panics where WebAssembly would trap.
func trapped(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("WebAssembly traps: %v", p)
	}
}
