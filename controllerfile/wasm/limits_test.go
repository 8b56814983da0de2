package wasm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// handmade returns a module of this many functions with this body. The given sections replace its own.
func handmade(functions uint32, body []byte, changed ...section) []byte {
	declared, code := appendU32(nil, functions), appendU32(nil, functions)
	for range functions {
		declared = append(declared, 0)
		code = append(appendU32(code, uint32(len(body))), body...)
	}
	all := []section{
		{id: sectionType, content: []byte{1, typeFunction, 0, 0}},
		{id: sectionFunction, content: declared},
		{id: sectionTable},
		{id: sectionMemory, content: []byte{1, 0, 1}},
		{id: sectionExport, content: append(appendName([]byte{1}, "init"), exportedFunction, 0)},
		{id: sectionCode, content: code},
	}
	out := bytes.Clone(header)
	for _, s := range all {
		for _, c := range changed {
			if c.id == s.id {
				s = c
			}
		}
		if s.content != nil {
			out = appendSection(out, s)
		}
	}
	return out
}

// TestLimits: a module that would take gigabytes or minutes to compile is refused before; one within the limits gets as
// far as its exports.
func TestLimits(t *testing.T) {
	nested := func(depth int) []byte {
		return append(append([]byte{0}, bytes.Repeat([]byte{opBlock, 0x40}, depth)...),
			bytes.Repeat([]byte{opEnd}, depth+1)...)
	}
	branches := func(targets uint32) []byte {
		body := appendU32([]byte{0, opI32Const, 0, 0x0e}, targets)
		return append(append(body, bytes.Repeat([]byte{0}, int(targets)+1)...), opEnd)
	}
	blocks := func(n int) []byte {
		return append(append([]byte{0}, bytes.Repeat([]byte{opBlock, 0x40, opEnd}, n)...), opEnd)
	}
	locals := func(n uint32) []byte { return append(appendU32([]byte{1}, n), typeI64, opEnd) }
	table := func(n uint32) section { return section{id: sectionTable, content: appendU32([]byte{1, 0x70, 0}, n)} }
	const passes = "it does not export pausenet_abi"
	for name, c := range map[string]struct {
		module []byte
		want   string
	}{
		"within the limits": {handmade(mostFunctions, []byte{0, opEnd}), passes},
		"most locals":       {handmade(1, locals(mostLocals)), passes},
		"2^32-1 locals":     {handmade(1, locals(1<<32-1)), "4294967295 parameters and locals, but may have at most 256"},
		"locals that wrap": {handmade(1, append(append(append([]byte{2}, appendU32(nil, 1<<32-1)...), typeI64),
			append(appendU32(nil, 2), typeI64, opEnd)...)), "4294967297 parameters and locals"},
		"most nesting":       {handmade(1, nested(mostNesting)), passes},
		"deep nesting":       {handmade(1, nested(mostNesting+1)), "nested more than 128 deep"},
		"most targets":       {handmade(1, branches(mostTargets)), passes},
		"most blocks":        {handmade(1, blocks(mostBlocks)), passes},
		"many blocks":        {handmade(1, blocks(mostBlocks+1)), "more than 512 blocks"},
		"many blocks in all": {handmade(17, blocks(mostBlocks)), "more than 8192 blocks"},
		"many targets":       {handmade(1, branches(mostTargets+1)), "a br_table of 1025 targets, but may have at most 1024"},
		"many functions": {
			handmade(mostFunctions+1, []byte{0, opEnd}),
			"it has 1025 functions, but may have at most 1024",
		},
		"much code": {
			handmade(1000, append(append([]byte{0}, bytes.Repeat([]byte{0x01}, 200)...), opEnd)),
			"but may have at most 131072",
		},
		"a table": {handmade(1, []byte{0, opEnd}, table(mostElements)), passes},
		"a large table": {
			handmade(1, []byte{0, opEnd}, table(1<<32-1)),
			"a table of 4294967295 elements, but may have at most 1024",
		},
		"two code sections": {append(handmade(1, []byte{0, opEnd}),
			appendSection(nil, section{id: sectionCode, content: []byte{0}})...), "damaged"},
		"a type not there": {handmade(1, []byte{0, opEnd}, section{id: sectionFunction, content: []byte{1, 7}}), "damaged"},
		"many type's places": {
			handmade(1, []byte{0, opEnd}, section{id: sectionType, content: appendU32(nil, 1<<32-1)}),
			"it has 4294967295 types",
		},
	} {
		if _, _, err := build(c.module); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v\nwant %s", name, err, c.want)
		}
	}
}

// TestSteps: a call takes a step for each instruction that it executes, on whichever way through the code.
func TestSteps(t *testing.T) {
	const get, set, add, lt, constant = opLocalGet, opLocalSet, 0x6a, 0x48, opI32Const
	// A local is 0: body returns code with one, of type i32.
	body := func(code ...byte) []byte { return append([]byte{1, 1, typeI32}, append(code, opEnd)...) }
	for name, c := range map[string]struct {
		code []byte
		want int64
	}{
		"nothing":              {body(), 0},
		"straight":             {body(constant, 5, set, 0), 2},
		"what generates none":  {body(opNop, opBlock, 0x40, constant, 1, opDrop, opEnd, opReturn), 1},
		"a branch taken":       {body(constant, 1, opIf, 0x40, constant, 1, set, 0, opElse, constant, 2, opDrop, opEnd), 4},
		"the other":            {body(constant, 0, opIf, 0x40, constant, 1, set, 0, opElse, constant, 2, opDrop, opEnd), 3},
		"br_if taken":          {body(opBlock, 0x40, constant, 1, opBrIf, 0, constant, 1, set, 0, opEnd, get, 0, set, 0), 4},
		"br_if not taken":      {body(opBlock, 0x40, constant, 0, opBrIf, 0, constant, 1, set, 0, opEnd, get, 0, set, 0), 6},
		"br over code":         {body(opBlock, 0x40, opBr, 0, constant, 1, set, 0, opEnd, constant, 1, set, 0), 3},
		"br_table":             {body(opBlock, 0x40, constant, 0, opBrTable, 0, 0, constant, 1, set, 0, opEnd), 2},
		"return in the middle": {body(constant, 1, opIf, 0x40, opReturn, opEnd, constant, 1, set, 0), 2},
		// local = local + 1 while local + 1 < 5
		"five rounds": {body(opLoop, 0x40, get, 0, constant, 1, add, 0x22, 0, constant, 5, lt, opBrIf, 0, opEnd), 5 * 7},
	} {
		m, err := meter(handmade(1, c.code))
		if err != nil {
			t.Fatal(name, err)
		}
		r := wazero.NewRuntimeWithConfig(t.Context(), config())
		module, err := r.Instantiate(t.Context(), m.code)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := module.ExportedFunction("init").Call(t.Context()); err != nil {
			t.Error(name, err)
		}
		if got := mostSteps - int64(module.ExportedGlobal(stepsGlobal).Get()); got != c.want {
			t.Errorf("%s: %d steps, want %d", name, got, c.want)
		}
		_ = r.Close(t.Context())
	}
}

// TestBytesTakeSteps: filling and copying memory takes steps by its length, so that a call's time is bounded.
func TestBytesTakeSteps(t *testing.T) {
	const source = `PAUSENET_CONTROLLER("")
HANDLER(init) { pn.rate = pn.line_rate; }
static char many[50000];
HANDLER(on_ack) {
	for (int i = 0; i < ROUNDS; i++) {
		FILL;
		__asm__ volatile("" ::"r"(many) : "memory");
	}
	__builtin_memset(many, 0, sizeof many);
}
`
	for _, c := range []struct {
		rounds, fill string
		ends         bool
	}{
		{"1000", "__builtin_memset(many, i, sizeof many)", true},
		{"2000", "__builtin_memset(many, i, sizeof many)", false},
		{"2000", "__builtin_memmove(many, many + 25000, 25000)", true},
		{"4000", "__builtin_memmove(many, many + 25000, 25000)", false},
	} {
		flow, _, err := build(compile(t, source, "-mbulk-memory", "-DROUNDS="+c.rounds, "-DFILL="+c.fill))
		if err == nil {
			err = play(flow)
		}
		if c.ends && err != nil || !c.ends && (err == nil || !strings.Contains(err.Error(), "1000000 steps")) {
			t.Errorf("%s rounds of %s: error %v", c.rounds, c.fill, err)
		}
	}
}
