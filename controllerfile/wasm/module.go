package wasm

import (
	"bytes"
	"errors"
	"fmt"
)

// Sections of a module (WebAssembly Core Specification 2.0, section 5.5.2).
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionTable    = 4
	sectionMemory   = 5
	sectionGlobal   = 6
	sectionExport   = 7
	sectionElement  = 9
	sectionCode     = 10
	sectionData     = 11
)

// Instructions (section 5.4).
const (
	opUnreachable   = 0x00
	opNop           = 0x01
	opBlock         = 0x02
	opLoop          = 0x03
	opIf            = 0x04
	opElse          = 0x05
	opEnd           = 0x0b
	opBr            = 0x0c
	opBrIf          = 0x0d
	opBrTable       = 0x0e
	opReturn        = 0x0f
	opCall          = 0x10
	opDrop          = 0x1a
	opLocalGet      = 0x20
	opLocalSet      = 0x21
	opGlobalGet     = 0x23
	opGlobalSet     = 0x24
	opI32Const      = 0x41
	opI64Const      = 0x42
	opI64LtS        = 0x53
	opI64Sub        = 0x7d
	opI64ShrU       = 0x88
	opI64ExtendI32U = 0xad
)

const (
	typeI32      = 0x7f
	typeI64      = 0x7e
	typeFunction = 0x60

	exportedFunction = 0
	exportedGlobal   = 3
)

var header = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

var errDamaged = errors.New("not a WebAssembly module, or damaged")

// damaged recovers from a reader's panic, and sets err.
func damaged(err *error) {
	if r := recover(); r != nil {
		if r != errDamaged {
			panic(r)
		}
		*err = errDamaged
	}
}

// section holds a section of a module. A custom section has a name, and its content follows the name.
type section struct {
	id      byte
	name    string
	content []byte
}

// sections returns a module's sections, in order.
func sections(module []byte) (all []section, err error) {
	defer damaged(&err)
	if !bytes.HasPrefix(module, header) {
		return nil, errDamaged
	}
	for r := (&reader{module[len(header):]}); len(r.data) > 0; {
		s := section{id: r.byte()}
		s.content = r.bytes(r.u32())
		if s.id == sectionCustom {
			c := &reader{s.content}
			s.name = string(c.bytes(c.u32()))
			s.content = c.data
		}
		all = append(all, s)
	}
	return all, nil
}

// appendSection appends a section to a module.
func appendSection(out []byte, s section) []byte {
	content := s.content
	if s.id == sectionCustom {
		content = append(appendName(nil, s.name), content...)
	}
	out = appendU32(append(out, s.id), uint32(len(content)))
	return append(out, content...)
}

// reader reads a module. It panics with errDamaged at the end of the data, and at an invalid number.
type reader struct{ data []byte }

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.data)) {
		panic(errDamaged)
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) byte() byte { return r.bytes(1)[0] }

// u32 returns an unsigned number (LEB128).
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				panic(errDamaged)
			}
			return uint32(v)
		}
	}
	panic(errDamaged)
}

// i32 returns a signed number (LEB128).
func (r *reader) i32() int32 {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return int32(v)
		}
	}
	panic(errDamaged)
}

// skip skips a LEB128 number, signed or not.
func (r *reader) skip() {
	for range 10 {
		if r.byte() < 0x80 {
			return
		}
	}
	panic(errDamaged)
}

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendI64 appends a signed number (LEB128).
func appendI64(b []byte, v int64) []byte {
	for v > 0x3f || v < -0x40 {
		b = append(b, byte(v&0x7f)|0x80)
		v >>= 7
	}
	return append(b, byte(v&0x7f))
}

func appendName(b []byte, name string) []byte {
	return append(appendU32(b, uint32(len(name))), name...)
}

// mostTargets limits a br_table.
const mostTargets = 1024

// touchesBytes reports whether the next instruction is memory.init, memory.copy or memory.fill, whose last operand is
// the number of bytes that it touches.
func (r *reader) touchesBytes() bool {
	return len(r.data) > 1 && r.data[0] == 0xfc && (r.data[1] == 8 || r.data[1] == 10 || r.data[1] == 11)
}

// operands selects the operands after an opcode (WebAssembly 2.0, section 5.4).
type operands uint8

const (
	unknown operands = iota // opcode of SIMD, of threads, or invalid
	none
	oneNumber   // an index, a block's type, a constant
	twoNumbers  // two indices; alignment and offset
	oneByte     // a memory's index, a type of reference
	fourBytes   // f32.const
	eightBytes  // f64.const
	typeList    // list of types: select
	branchTable // table of labels: br_table
	tableChange // refused
	extended    // a second opcode
)

// operandsOf maps each opcode to its operands.
var operandsOf = func() (of [256]operands) {
	for _, r := range []struct {
		first, last byte
		operands    operands
	}{
		{opUnreachable, opNop, none},
		{opBlock, opBlock, oneNumber},
		{opLoop, opLoop, oneNumber},
		{opIf, opIf, oneNumber},
		{opElse, opElse, none},
		{opEnd, opEnd, none},
		{opBr, opBrIf, oneNumber},
		{opBrTable, opBrTable, branchTable},
		{opReturn, opReturn, none},
		{opCall, opCall, oneNumber},
		{0x11, 0x11, twoNumbers},       // call_indirect
		{opDrop, 0x1b, none},           // drop, select
		{0x1c, 0x1c, typeList},         // select with types
		{0x20, opGlobalSet, oneNumber}, // variables
		{0x25, 0x25, oneNumber},        // table.get
		{0x26, 0x26, tableChange},      // table.set
		{0x28, 0x3e, twoNumbers},       // loads and stores
		{0x3f, 0x40, oneByte},          // memory.size, memory.grow
		{opI32Const, opI64Const, oneNumber},
		{0x43, 0x43, fourBytes},
		{0x44, 0x44, eightBytes},
		{0x45, 0xc4, none},      // comparisons, arithmetic, conversions
		{0xd0, 0xd0, oneByte},   // ref.null
		{0xd1, 0xd1, none},      // ref.is_null
		{0xd2, 0xd2, oneNumber}, // ref.func
		{0xfc, 0xfc, extended},
	} {
		for op := int(r.first); op <= int(r.last); op++ {
			of[op] = r.operands
		}
	}
	return of
}()

// instruction reads an instruction and returns its opcode.
func (r *reader) instruction() (op byte, err error) {
	op = r.byte()
	switch operandsOf[op] {
	case none:
	case oneNumber:
		r.skip()
	case twoNumbers:
		r.skip()
		r.skip()
	case oneByte:
		r.byte()
	case fourBytes:
		r.bytes(4)
	case eightBytes:
		r.bytes(8)
	case typeList:
		for range r.u32() {
			r.byte()
		}
	case branchTable:
		n := r.u32()
		if n > mostTargets {
			return 0, fmt.Errorf("it has a br_table of %d targets, but may have at most %d", n, mostTargets)
		}
		for range n {
			r.skip()
		}
		r.skip()
	case tableChange:
		return 0, errTable
	case extended:
		return op, r.extended()
	default:
		return 0, fmt.Errorf("it has an unknown instruction (0x%02x): build without SIMD and threads", op)
	}
	return op, nil
}

// extended reads the operands after opcode 0xfc.
func (r *reader) extended() error {
	switch op := r.u32(); op {
	case 0, 1, 2, 3, 4, 5, 6, 7: // saturating conversions
	case 8, 10: // memory.init, memory.copy
		r.skip()
		r.skip()
	case 11, 16: // memory.fill, table.size
		r.skip()
	case 9, 12, 13, 14, 15, 17: // data.drop, table.init, elem.drop, table.copy, table.grow, table.fill
		return errTable
	default:
		return fmt.Errorf("it has an unknown instruction (0xfc %d)", op)
	}
	return nil
}

// errTable rejects instructions that would keep state outside of the flow's.
var errTable = errors.New("its code changes tables or drops data, which all flows share: keep a flow's state " +
	"only in pausenet_flow")
