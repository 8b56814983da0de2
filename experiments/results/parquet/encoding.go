package parquet

import (
	"encoding/binary"
	"math/bits"
)

// appendHybrid appends numbers in Parquet's hybrid of run lengths and bit packing: runs of eight or more equal numbers
// as a length and the number, and the others in groups of eight, width bits each.
func appendHybrid(b []byte, numbers []uint32, width int) []byte {
	packed := 0 // from here to i, numbers are not yet written
	for i := 0; i < len(numbers); {
		run := i + 1
		for run < len(numbers) && numbers[run] == numbers[i] {
			run++
		}
		// Groups are whole except for the last one, so a run lends them what they lack.
		start := packed + (i-packed+7)&^7
		if run-start < 8 {
			i = run
			continue
		}
		b = appendPacked(b, numbers[packed:start], width)
		b = binary.AppendUvarint(b, uint64(run-start)<<1)
		for n, left := numbers[i], width; left > 0; n, left = n>>8, left-8 {
			b = append(b, byte(n))
		}
		i, packed = run, run
	}
	return appendPacked(b, numbers[packed:], width)
}

func appendPacked(b []byte, numbers []uint32, width int) []byte {
	if len(numbers) == 0 {
		return b
	}
	groups := (len(numbers) + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	p := packer{b: b}
	for _, n := range numbers {
		p.put(uint64(n), width)
	}
	for range groups*8 - len(numbers) {
		p.put(0, width)
	}
	return p.b
}

// packer appends numbers of some bits each, from the lowest bit of a byte to the highest.
type packer struct {
	b    []byte
	rest uint64 // bits that fill no byte yet
	n    int    // how many
}

func (p *packer) put(v uint64, width int) {
	for width > 0 {
		take := min(width, 8-p.n)
		p.rest |= v & (1<<take - 1) << p.n
		p.n, v, width = p.n+take, v>>take, width-take
		if p.n == 8 {
			p.b = append(p.b, byte(p.rest))
			p.rest, p.n = 0, 0
		}
	}
}

// Sizes of DELTA_BINARY_PACKED's blocks, in numbers.
const (
	deltaBlock = 128
	deltaMini  = 32
)

// appendDeltas appends whole numbers by DELTA_BINARY_PACKED: the first one, then differences, in blocks that subtract
// their smallest difference. Differences may overflow, and do so again when they are added up.
func appendDeltas(b []byte, numbers []uint64) []byte {
	b = binary.AppendUvarint(b, deltaBlock)
	b = binary.AppendUvarint(b, deltaBlock/deltaMini)
	b = binary.AppendUvarint(b, uint64(len(numbers)))
	if len(numbers) == 0 {
		return binary.AppendVarint(b, 0)
	}
	b = binary.AppendVarint(b, int64(numbers[0]))
	for start := 1; start < len(numbers); start += deltaBlock {
		var deltas [deltaBlock]int64
		n := min(deltaBlock, len(numbers)-start)
		for i := range n {
			deltas[i] = int64(numbers[start+i] - numbers[start+i-1])
		}
		least := deltas[0]
		for _, d := range deltas[1:n] {
			least = min(least, d)
		}
		b = binary.AppendVarint(b, least)
		widths := len(b)
		b = append(b, make([]byte, deltaBlock/deltaMini)...)
		for mini := 0; mini*deltaMini < n; mini++ {
			part := deltas[mini*deltaMini : min((mini+1)*deltaMini, n)]
			most := uint64(0)
			for _, d := range part {
				most |= uint64(d - least)
			}
			width := bits.Len64(most)
			b[widths+mini] = byte(width)
			p := packer{b: b}
			for _, d := range part {
				p.put(uint64(d-least), width)
			}
			for range deltaMini - len(part) {
				p.put(0, width)
			}
			b = p.b
		}
	}
	return b
}

// Types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftByte   = 3
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift appends a structure in Thrift's compact protocol. Fields are in ascending order of their ids.
type thrift struct {
	b    []byte
	last []int // the last field's id, for each open structure
}

func newThrift() *thrift { return &thrift{last: []int{0}} }

func (t *thrift) field(id int, kind byte) {
	last := &t.last[len(t.last)-1]
	t.b = append(t.b, byte(id-*last)<<4|kind)
	*last = id
}

func (t *thrift) i32(id, v int) {
	t.field(id, thriftI32)
	t.b = binary.AppendVarint(t.b, int64(v))
}

func (t *thrift) i64(id int, v int64) {
	t.field(id, thriftI64)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) text(id int, s string) {
	t.field(id, thriftBinary)
	t.element(s)
}

// element appends a text of a list.
func (t *thrift) element(s string) {
	t.b = binary.AppendUvarint(t.b, uint64(len(s)))
	t.b = append(t.b, s...)
}

// list starts a list of n elements.
func (t *thrift) list(id int, kind byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 0xF0|kind), uint64(n))
}

// begin starts a structure that is a field; open starts one that is an element of a list. end ends either.
func (t *thrift) begin(id int) {
	t.field(id, thriftStruct)
	t.open()
}

func (t *thrift) open() { t.last = append(t.last, 0) }

func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}
