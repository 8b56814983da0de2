package wasm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/controllerfile"
)

// ownName prefixes the names of exports for the host: no name of the module's own has this prefix.
const ownName = "pausenet_own_"

// stepsGlobal names the exported global with the number of remaining steps.
const stepsGlobal = ownName + "steps_left"

// globalName returns the name of a mutable global's export. Its value must be the same before and after a call
// (outside.go).
func globalName(at uint32) string { return fmt.Sprint(ownName, "global_", at) }

// metered holds a module that counts its steps.
type metered struct {
	code    []byte
	moves   moves    // map offsets in its code to the original module's code
	globals []uint32 // mutable globals
	blocks  int      // number of blocks in all functions
	stack   uint32   // address of the stack's end, from which it grows down; 0: unknown
}

// meter makes a module count steps: each executed instruction takes one, except those that generate no code (costs).
// The code traps at a function's start or at a round of a loop if no step is left. Unlike a clock, the count is the
// same on any machine. wazero itself counts no instructions. meter exports each handler as a function that resets the
// count and calls the handler, which is cheaper than setting the count from outside. The module's memory cannot grow.
func meter(module []byte) (m metered, err error) {
	all, err := sections(module)
	if err != nil {
		return m, err
	}
	defer damaged(&err)
	find := func(id byte) *reader {
		if i := slices.IndexFunc(all, func(s section) bool { return s.id == id }); i >= 0 {
			return &reader{all[i].content}
		}
		return nil
	}
	if r := find(sectionImport); r != nil && r.u32() > 0 {
		from, what := string(r.bytes(r.u32())), string(r.bytes(r.u32()))
		return m, fmt.Errorf("it imports %s of %s, but a controller may import nothing: build it without a system and "+
			"libraries (clang --target=wasm32 -nostdlib, rustc --target wasm32-unknown-unknown, tinygo "+
			"-target=wasm-unknown)", what, from)
	}
	types, functions := find(sectionType), find(sectionFunction)
	if types == nil || functions == nil || find(sectionExport) == nil || find(sectionCode) == nil ||
		find(sectionMemory) == nil {
		return m, errors.New("it exports no functions: export them by name, such as on_ack")
	}
	if err := checkCounts(all); err != nil {
		return m, err
	}
	e := entries{types: functionTypes(functions)}
	e.plain, e.takes = signatures(types)
	globals := uint32(0)
	if r := find(sectionGlobal); r != nil {
		if globals, err = m.readGlobals(r); err != nil {
			return m, err
		}
	}
	// Exports come before the code, but checking the handlers among them requires the types of functions.
	if err := e.read(find(sectionExport)); err != nil {
		return m, err
	}
	m.code = append(m.code, header...)
	// The count is the last of the globals, so that no other gets another number.
	count := append(appendI64([]byte{typeI64, 1, opI64Const}, mostSteps), opEnd)
	for _, s := range all {
		if s.id == sectionExport && find(sectionGlobal) == nil {
			m.code = appendSection(m.code, section{id: sectionGlobal, content: append([]byte{1}, count...)})
		}
		r := &reader{s.content}
		switch s.id {
		case sectionCustom:
			if s.name != "name" {
				continue // debugging information, whose offsets in the code have changed
			}
		case sectionMemory:
			if s.content, err = fixedMemory(r); err != nil {
				return m, err
			}
		case sectionFunction:
			r.u32()
			s.content = append(appendU32(nil, uint32(len(e.types)+len(e.handlers))), r.data...)
			for _, function := range e.handlers {
				s.content = appendU32(s.content, e.types[function])
			}
		case sectionGlobal:
			r.u32()
			s.content = append(append(appendU32(nil, globals+1), r.data...), count...)
		case sectionExport:
			s.content = m.exports(&e, globals)
		case sectionCode:
			if s.content, err = m.meterCode(r, &e, globals); err != nil {
				return m, err
			}
		}
		m.code = appendSection(m.code, s)
	}
	for _, s := range offsetSections() {
		m.code = appendSection(m.code, s)
	}
	return m, nil
}

// readGlobals finds the mutable globals, and the stack: compilers put its pointer first among them.
func (m *metered) readGlobals(r *reader) (n uint32, err error) {
	n = r.u32()
	for i := range n {
		kind, mutable := r.byte(), r.byte() != 0
		if mutable {
			m.globals = append(m.globals, i)
		}
		value := *r
		for op := byte(0); op != opEnd; {
			if op, err = r.instruction(); err != nil {
				return 0, err
			}
		}
		if mutable && kind == typeI32 && len(m.globals) == 1 && value.byte() == opI32Const {
			m.stack = uint32(value.i32())
		}
	}
	return n, nil
}

// fixedMemory returns the memory section with the minimum size of the memory as its maximum.
func fixedMemory(r *reader) ([]byte, error) {
	if r.u32() != 1 {
		return nil, errors.New("it has several memories")
	}
	if flags := r.byte(); flags > 1 {
		return nil, errors.New("its memory is shared, or of 64 bits: build for wasm32, without threads")
	}
	pages := r.u32()
	if pages > mostPages {
		return nil, fmt.Errorf("it needs %d pages of memory, but may have at most %d, of 64 KiB each (for clang: "+
			"-Wl,-z,stack-size=8192)", pages, mostPages)
	}
	return appendU32(appendU32([]byte{1, 1}, pages), pages), nil
}

// entries holds the handlers that a module exports.
type entries struct {
	plain    map[uint32]bool   // types without arguments and results
	takes    map[uint32]uint32 // arguments of a type
	types    []uint32          // type indexes of functions
	exports  []export
	handlers []uint32 // functions that are exported as handlers
}

type export struct {
	name string
	kind byte
	at   uint32
}

// signatures returns the types that take and return nothing, and the number of arguments of each type.
func signatures(r *reader) (plain map[uint32]bool, takes map[uint32]uint32) {
	plain, takes = map[uint32]bool{}, map[uint32]uint32{}
	for i := range r.u32() {
		if r.byte() != typeFunction {
			panic(errDamaged)
		}
		takes[i] = uint32(len(r.bytes(r.u32())))
		plain[i] = len(r.bytes(r.u32())) == 0 && takes[i] == 0
	}
	return plain, takes
}

func functionTypes(r *reader) (types []uint32) {
	for range r.u32() {
		types = append(types, r.u32())
	}
	return types
}

// read reads the exports.
func (e *entries) read(r *reader) error {
	for range r.u32() {
		x := export{name: string(r.bytes(r.u32()))}
		x.kind, x.at = r.byte(), r.u32()
		if strings.HasPrefix(x.name, ownName) {
			return fmt.Errorf("it exports %s: names that begin with %s are reserved", x.name, ownName)
		}
		if x.kind == exportedFunction {
			if uint64(x.at) >= uint64(len(e.types)) {
				return errDamaged
			}
			// One that takes or returns something stays as it is, and is refused as such.
			if controllerfile.IsHandler(x.name) && e.plain[e.types[x.at]] {
				e.handlers = append(e.handlers, x.at)
				x.at = uint32(len(e.types) + len(e.handlers) - 1)
			}
		}
		e.exports = append(e.exports, x)
	}
	return nil
}

// exports returns the section of exports. count is the index of the count's global.
func (m *metered) exports(e *entries, count uint32) []byte {
	all := append(e.exports, export{stepsGlobal, exportedGlobal, count})
	for _, at := range m.globals {
		all = append(all, export{globalName(at), exportedGlobal, at})
	}
	content := appendU32(nil, uint32(len(all)))
	for _, x := range all {
		content = appendU32(append(appendName(content, x.name), x.kind), x.at)
	}
	return content
}

// meterCode makes the code of each function count steps, and adds the functions that start counting.
func (m *metered) meterCode(r *reader, e *entries, count uint32) ([]byte, error) {
	whole := len(r.data)
	n := r.u32()
	if uint64(n) != uint64(len(e.types)) {
		return nil, errDamaged
	}
	out := appendU32(nil, n+uint32(len(e.handlers)))
	g := gauge{count}
	for i := range n {
		size := r.u32()
		at := whole - len(r.data)
		takes, known := e.takes[e.types[i]]
		if !known {
			return nil, errDamaged
		}
		body, moved, err := m.body(&reader{r.bytes(size)}, takes, g)
		if err != nil {
			return nil, err
		}
		out = appendU32(out, uint32(len(body)))
		for _, p := range moved {
			m.moves = append(m.moves, move{p.now + len(out), p.was + at})
		}
		out = append(out, body...)
	}
	for _, function := range e.handlers {
		body := appendI64([]byte{0, opI64Const}, mostSteps) // no locals
		body = appendU32(append(body, opGlobalSet), count)
		body = append(appendU32(append(body, opCall), function), opEnd)
		out = append(appendU32(out, uint32(len(body))), body...)
	}
	return out, nil
}

// gauge generates the code that counts steps in a global.
type gauge struct{ count uint32 }

// charge returns code that takes a number of steps.
func (g gauge) charge(steps int) []byte {
	code := appendI64(append(appendU32([]byte{opGlobalGet}, g.count), opI64Const), int64(steps))
	return appendU32(append(code, opI64Sub, opGlobalSet), g.count)
}

// check returns code that traps if no step is left.
func (g gauge) check() []byte {
	return append(appendU32([]byte{opGlobalGet}, g.count), opI64Const, 0, opI64LtS, opIf, 0x40, opUnreachable, opEnd)
}

// bytes returns code that takes the steps of an instruction that touches many bytes. Their number is the last operand,
// which the code keeps in a local meanwhile.
func (g gauge) bytes(local uint32) []byte {
	code := appendU32([]byte{opLocalSet}, local)
	code = appendU32(append(code, opGlobalGet), g.count)
	code = append(appendU32(append(code, opLocalGet), local), opI64ExtendI32U, opI64Const, bytesPerStep, opI64ShrU)
	code = appendU32(append(code, opI64Sub, opGlobalSet), g.count)
	return appendU32(append(append(code, g.check()...), opLocalGet), local)
}

// costs reports whether an instruction takes a step: all that generate code, as wasmtime counts its fuel.
func costs(op byte) bool {
	switch op {
	case opUnreachable, opNop, opBlock, opLoop, opElse, opEnd, opReturn, opDrop:
		return false
	}
	return true
}

// endsRun reports whether the instruction after this one may be executed without it, or the other way round.
func endsRun(op byte) bool {
	switch op {
	case opUnreachable, opLoop, opIf, opElse, opEnd, opBr, opBrIf, opBrTable, opReturn:
		return true
	}
	return false
}

// insertion holds code to insert at an offset.
type insertion struct {
	at   int
	code []byte
}

// body makes a function's body count its steps: those of a run of instructions that are executed together at the start
// of the run, and those of an instruction that touches many bytes before it. It checks the count at the function's
// start and at each round of a loop. It returns where the parts of the body moved to.
func (m *metered) body(r *reader, takes uint32, g gauge) (out []byte, moved moves, err error) {
	whole := r.data
	groups := r.u32()
	declared := r.data
	locals := uint64(takes)
	for range groups {
		locals += uint64(r.u32())
		r.byte()
	}
	if locals > mostLocals {
		return nil, nil, fmt.Errorf("a function has %d parameters and locals, but may have at most %d", locals, mostLocals)
	}
	// One local more, for the number of bytes.
	out = append(appendU32(nil, groups+1), declared[:len(declared)-len(r.data)]...)
	out = append(out, 1, typeI32)
	from := len(whole) - len(r.data)
	moved = append(moved, move{len(out), from})
	var inserted []insertion
	start, steps, checks := from, 0, true // of the run of instructions
	for depth, blocks := 0, 0; len(r.data) > 0; {
		before := len(whole) - len(r.data)
		if r.touchesBytes() {
			inserted = append(inserted, insertion{before, g.bytes(uint32(locals))})
		}
		op, err := r.instruction()
		if err != nil {
			return nil, nil, err
		}
		if costs(op) {
			steps++
		}
		if endsRun(op) {
			var code []byte
			if steps > 0 {
				code = g.charge(steps)
			}
			if checks {
				code = append(code, g.check()...)
			}
			inserted = append(inserted, insertion{start, code})
			start, steps, checks = len(whole)-len(r.data), 0, op == opLoop
		}
		switch op {
		case opBlock, opLoop, opIf:
			if depth++; depth > mostNesting {
				return nil, nil, fmt.Errorf("its blocks are nested more than %d deep", mostNesting)
			}
			if blocks++; blocks > mostBlocks {
				return nil, nil, fmt.Errorf("a function has more than %d blocks (split it)", mostBlocks)
			}
			if m.blocks++; m.blocks > mostAllBlocks {
				return nil, nil, fmt.Errorf("its functions have more than %d blocks", mostAllBlocks)
			}
		case opEnd:
			depth--
		}
	}
	slices.SortStableFunc(inserted, func(a, b insertion) int { return a.at - b.at })
	for _, i := range inserted {
		if len(i.code) == 0 {
			continue
		}
		moved = append(moved, move{len(out), from})
		out = append(out, whole[from:i.at]...)
		moved = append(moved, move{len(out), i.at})
		out = append(out, i.code...)
		from = i.at
	}
	moved = append(moved, move{len(out), from})
	return append(out, whole[from:]...), moved, nil
}

// Limits of a module, which keep the time and memory that its compilation takes within bounds. Compilers' modules of
// controllers have a tenth of each.
const (
	mostCode      = 128 << 10 // bytes of all functions
	mostFunctions = 1024
	mostTypes     = 1024
	mostGlobals   = 64 // each is compared after each call
	mostExports   = 1024
	mostLocals    = 256 // locals and parameters of a function
	mostBlocks    = 512 // blocks of a function: compilation takes time in proportion to their square
	mostAllBlocks = 8192
	mostNesting   = 128  // blocks in blocks
	mostElements  = 1024 // elements of a table, or of its segments
)

// bytesPerStep is the binary logarithm of the bytes that memory.fill, memory.copy and memory.init touch per step.
const bytesPerStep = 6

// checkCounts rejects a module that is larger than a controller may be.
func checkCounts(all []section) error {
	seen := map[byte]bool{}
	for _, s := range all {
		if s.id != sectionCustom && seen[s.id] {
			return errDamaged
		}
		seen[s.id] = true
		limit, known := map[byte]struct {
			most uint32
			what string
		}{
			sectionType: {mostTypes, "types"}, sectionFunction: {mostFunctions, "functions"}, sectionTable: {1, "tables"},
			sectionGlobal: {mostGlobals, "globals"},
			sectionExport: {mostExports, "exports"}, sectionElement: {mostElements, "element segments"},
			sectionData: {mostElements, "data segments"},
		}[s.id]
		if s.id == sectionCode && len(s.content) > mostCode {
			return fmt.Errorf("its code has %d bytes, but may have at most %d", len(s.content), mostCode)
		}
		if !known {
			continue
		}
		r := &reader{s.content}
		n := r.u32()
		if n > limit.most {
			return fmt.Errorf("it has %d %s, but may have at most %d", n, limit.what, limit.most)
		}
		if s.id == sectionTable && n == 1 {
			r.byte() // type
			r.byte() // flags
			if least := r.u32(); least > mostElements {
				return fmt.Errorf("it has a table of %d elements, but may have at most %d", least, mostElements)
			}
		}
	}
	return nil
}
