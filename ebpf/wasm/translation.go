package wasm

import (
	"fmt"

	"github.com/pausenet/pausenet/ebpf/wasm/translated"
)

// translation is the Machine whose code wasm2go has made of pipelines.wasm: a call of the pipelines is a call in Go.
// Each instance has a part of the memory's beginning for its data, and what follows is its linear memory: the tables
// are in all of them, at addresses that differ by the distances between these parts.
type translation struct {
	module  *translated.Module
	memory  []byte // the first instance's, which is all of it
	entries Entries
}

func newTranslation() *translation { return &translation{module: translated.New()} }

// Setup gives the tables their memory at once. Left to itself, setup would have it grow and move for each, and all of
// it be touched: most of a flow table never is. Of the last page setup sees only a part, for which it would grow.
func (t *translation) Setup(n Entries) (tables uint32, err error) {
	t.entries = n
	t.memory = make([]byte, (maxSlots*instance+n.bytes()+2*page-1)&^(page-1))
	return t.setup(0)
}

// Another shares what Setup has made.
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

// Memory is the module's.
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

// Close lets go of the memory.
func (t *translation) Close() error {
	t.memory = nil
	*t.module.Xmemory().Slice() = nil
	return nil
}

// trapped makes an error of a panic: where WebAssembly traps, its translation panics.
func trapped(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("WebAssembly traps: %v", p)
	}
}
