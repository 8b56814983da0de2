package wasm

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/controllerfile"
)

// outsideEvery sets the number of calls of a handler between two checks of an instance for state outside of the flow's.
// The 1st, 2nd, 4th, 8th and so on are checked too.
const outsideEvery = 4096

// outside returns an error if the calls of an instance have changed anything outside of the flow's state. All flows
// that use the instance would share it, and which flows these are depends on the processors. So the memory and the
// globals must equal a new instance's, except for the block, the flow's state, and the stack, which keeps nothing
// between calls.
func (m *instance) outside(handler controllerfile.Handler) error {
	p := m.of
	for i, v := range m.mutableGlobals() {
		if v != p.globals[i] {
			return m.kept(handler, fmt.Sprintf("it changed the module's global %d", p.metered.globals[i]), "it")
		}
	}
	type span struct{ from, to uint32 }
	spans := []span{{0, p.metered.stack}, {p.block, p.block + p.shared}, {p.flow, p.flow + p.flowSize}}
	slices.SortFunc(spans, func(a, b span) int { return int(a.from) - int(b.from) })
	at := uint32(0)
	for _, s := range append(spans, span{uint32(len(p.image)), 0}) {
		if at < s.from && !bytes.Equal(m.memory[at:s.from], p.image[at:s.from]) {
			for m.memory[at] == p.image[at] {
				at++
			}
			if name := variableAt(p.content, at); name != "" {
				return m.kept(handler, "it changed the variable "+name, name)
			}
			return m.kept(handler, fmt.Sprintf("it changed a variable, at %d in memory (compile with -g to see its name)", at),
				"it")
		}
		at = max(at, s.to)
	}
	return nil
}

func (m *instance) kept(handler controllerfile.Handler, what, name string) error {
	return &controllerfile.Error{
		File: m.of.name, Function: handler.String(),
		Message: what + ", which all flows share: a flow's state belongs in struct flow; move " + name +
			" there, or do not change it",
	}
}

// mutableGlobals returns the values of the mutable globals.
func (m *instance) mutableGlobals() (all []uint64) {
	for _, at := range m.of.metered.globals {
		all = append(all, m.module.ExportedGlobal(globalName(at)).Get())
	}
	return all
}

// variableAt returns the name of the variable at an address, if debugging information (DWARF) has it.
func variableAt(module []byte, at uint32) (name string) {
	defer func() {
		if recover() != nil { // the debugging information may be invalid
			name = ""
		}
	}()
	d := debugging(module)
	if d == nil {
		return ""
	}
	nearest := uint32(0)
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			return name
		}
		// DW_OP_addr, and the address.
		if where, _ := e.Val(dwarf.AttrLocation).([]byte); e.Tag == dwarf.TagVariable && len(where) == 5 && where[0] == 3 {
			if v := binary.LittleEndian.Uint32(where[1:]); v <= at && v >= nearest {
				nearest = v
				name, _ = e.Val(dwarf.AttrName).(string)
			}
		}
	}
}
