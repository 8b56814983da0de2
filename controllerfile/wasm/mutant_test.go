package wasm

import (
	"encoding/binary"
	"errors"
	"flag"
	"math"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/splitmix"
)

// draws returns a mutant's random choices; 0 after their end.
type draws []byte

func (d *draws) below(n int) int {
	var b [2]byte
	at := copy(b[:], *d)
	*d = (*d)[at:]
	return int(binary.LittleEndian.Uint16(b[:])) % n
}

// alike lists instructions that take and return the same types: any may stand where another does.
var alike = [][2]byte{
	{0x46, 0x4f}, {0x51, 0x5a}, {0x61, 0x66}, // comparisons of i32, i64, f64
	{0x67, 0x69}, {0x6a, 0x78}, {0x79, 0x7b}, {0x7c, 0x8a}, // i32 and i64
	{0x99, 0x9f}, {0xa0, 0xa6}, // f64
}

// numbers lists numbers that often cause errors.
var numbers = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, 1e9, 1e13, 1e18, 1e300, 5e-324, math.Inf(1), math.Inf(-1),
	math.NaN(),
}

// addresses lists addresses that often cause errors.
var addresses = []int64{0, 1, 8, 1024, 8192, 8193, 9000, 65528, 65535, 65536, 1 << 20, math.MaxInt32, math.MinInt32, -1}

// mutant returns a module with some of its instructions changed and others inserted. It stays valid, so its code is
// compiled and called.
func mutant(module []byte, d draws) []byte {
	all, err := sections(module)
	if err != nil {
		panic(err)
	}
	// What the module says of itself, and where things are, stays.
	answers := map[uint32]bool{}
	for _, s := range all {
		if s.id == sectionExport {
			r := &reader{s.content}
			for range r.u32() {
				name := string(r.bytes(r.u32()))
				r.byte()
				if at := r.u32(); strings.HasPrefix(name, "pausenet_") {
					answers[at] = true
				}
			}
		}
	}
	out := append([]byte(nil), header...)
	for _, s := range all {
		if s.id == sectionCode {
			r := &reader{s.content}
			n := r.u32()
			s.content = appendU32(nil, n)
			chosen := uint32(d.below(int(n)))
			for i := range n {
				body := r.bytes(r.u32())
				if i >= chosen && !answers[i] {
					body = mutantBody(&reader{body}, &d)
				}
				s.content = append(appendU32(s.content, uint32(len(body))), body...)
			}
		}
		out = appendSection(out, s)
	}
	return out
}

// mutantBody changes about one instruction of eight.
func mutantBody(r *reader, d *draws) (out []byte) {
	whole := r.data
	for range r.u32() {
		r.u32()
		r.byte()
	}
	out = append(out, whole[:len(whole)-len(r.data)]...)
	for len(r.data) > 0 {
		if len(*d) > 0 && d.below(16) == 0 {
			out = append(out, snippet(d)...)
		}
		before := r.data
		op, err := r.instruction()
		if err != nil {
			panic(err)
		}
		code := append([]byte(nil), before[:len(before)-len(r.data)]...)
		if len(*d) > 0 && d.below(8) == 0 {
			switch {
			case op == 0x44: // f64.const
				binary.LittleEndian.PutUint64(code[1:], math.Float64bits(numbers[d.below(len(numbers))]))
			case op == opI32Const:
				code = appendI64([]byte{op}, addresses[d.below(len(addresses))])
			default:
				for _, a := range alike {
					if op >= a[0] && op <= a[1] {
						code[0] = a[0] + byte(d.below(int(a[1]-a[0])+1))
					}
				}
			}
		}
		out = append(out, code...)
	}
	return out
}

// snippet returns code that leaves the operand stack unchanged.
func snippet(d *draws) []byte {
	address := func(b []byte) []byte { return appendI64(append(b, opI32Const), addresses[d.below(len(addresses))]) }
	number := func(b []byte) []byte {
		return binary.LittleEndian.AppendUint64(append(b, 0x44), math.Float64bits(numbers[d.below(len(numbers))]))
	}
	switch d.below(8) {
	case 0: // a store
		return append(number(address(nil)), 0x39, 3, 0)
	case 1: // a load
		return append(address(nil), 0x2b, 3, 0, 0x1a)
	case 2: // an endless loop, if not all of a million is 0
		return append(append(address(nil), 0x2b, 3, 0, 0x1a), opLoop, 0x40, 0x0c, 0, opEnd)
	case 3: // memory.grow
		return append(address(nil), 0x40, 0, 0x1a)
	case 4: // memory.fill
		return append(address(append(address(address(nil)), 0x1a, opI32Const, 7)), 0xfc, 11, 0)
	case 5: // the stack pointer
		return append(address(nil), opGlobalSet, 0)
	case 6: // a call
		return []byte{opCall, 5}
	}
	return []byte{opUnreachable}
}

// playMutant reads and plays a module as a flow of its own, and says how far it came: 0 not read, 1 read, 2 played.
func playMutant(t *testing.T, content []byte) (c cc.Controller, far int, err error) {
	c, _, err = build(content)
	var mistake *controllerfile.Error
	if err == nil {
		if err = play(c); err == nil {
			return c, 2, nil
		}
		far = 1
	}
	if !errors.As(err, &mistake) && !strings.Contains(err.Error(), "x.wasm") {
		t.Errorf("no mistake of the file: %v", err)
	}
	return c, far, err
}

// same plays a module twice, and holds one to the other.
func same(t *testing.T, content []byte) (far int, err error) {
	t.Helper()
	a, far, err := playMutant(t, content)
	b, second, other := playMutant(t, content)
	switch {
	case far != second || (err == nil) != (other == nil) || err != nil && err.Error() != other.Error():
		t.Errorf("%v, and again %v", err, other)
	case far == 2 && (a.Rate() != b.Rate() || a.Window() != b.Window() || a.Deadline() != b.Deadline()):
		t.Errorf("rate %v, window %v and timer %v, and again %v, %v and %v", a.Rate(), a.Window(), a.Deadline(), b.Rate(),
			b.Window(), b.Deadline())
	}
	return far, err
}

var mutantCases = flag.Uint64("mutants", 60, "how many mutants TestMutants plays")

// TestMutants: modules that are valid and wrong are called and come to their mistakes, the same ones again.
func TestMutants(t *testing.T) {
	var read, played uint64
	mistakes := map[string]bool{}
	for i := range *mutantCases {
		var d draws
		for j := range i % 24 {
			d = binary.LittleEndian.AppendUint64(d, splitmix.At(i, j))
		}
		far, err := same(t, mutant(module(t, []string{"timely.wasm", "dcqcn.wasm"}[i%2]), d))
		read += uint64(min(far, 1))
		played += uint64(far / 2)
		if err != nil {
			_, message, _ := strings.Cut(err.Error(), ": in ")
			_, message, _ = strings.Cut(message, ": ")
			mistakes[message[:min(len(message), 20)]] = true
		}
	}
	if read < *mutantCases/2 || played < *mutantCases/6 || len(mistakes) < 5 {
		t.Errorf("of %d mutants %d were read and %d played; mistakes: %v", *mutantCases, read, played, mistakes)
	}
}

// FuzzMutant: as TestMutants, for the fuzzer.
func FuzzMutant(f *testing.F) {
	modules := [][]byte{module(f, "timely.wasm"), module(f, "dcqcn.wasm")}
	f.Add(false, []byte{1, 2, 3})
	f.Add(true, []byte("the quick brown fox jumps over the lazy dog, and then another fox does, and a third"))
	f.Fuzz(func(t *testing.T, second bool, d []byte) {
		of := modules[0]
		if second {
			of = modules[1]
		}
		_, _ = same(t, mutant(of, d))
	})
}
