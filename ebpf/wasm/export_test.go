package wasm

import "github.com/pausenet/pausenet/ebpf"

// Memory is the machine's linear memory.
func (p *Pipelines) Memory() []byte { return p.machine.Memory() }

// SlotsBytes is what the data of all slots take.
const SlotsBytes = maxSlots * instance

// TableBytes is what the tables of a fabric take.
func TableBytes(n ebpf.Sizes) int { e := entriesOf(n); return int(e.bytes()) }
