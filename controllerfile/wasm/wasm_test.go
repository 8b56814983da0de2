package wasm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

var env = cc.Env{LineRate: 40 * units.Gbps, BaseRTT: 40 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}

const examples = "../../examples/controllers/"

func module(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(examples + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// build returns a flow's controller of a module.
func build(content []byte) (cc.Controller, *cc.Spec, error) {
	p, err := Read("x.wasm", content)
	if err != nil {
		return nil, nil, err
	}
	spec := controllerfile.Spec("x.wasm", content, p, nil)
	set, err := cc.Resolver{}.Resolve(spec, nil, env)
	if err != nil {
		return nil, spec, err
	}
	c, err := spec.New(env, set)
	return c, spec, err
}

// play calls everything that a controller has.
func play(c cc.Controller) (err error) {
	defer func() {
		if v := recover(); v != nil {
			mistake, ok := v.(*controllerfile.Error)
			if !ok {
				panic(v)
			}
			err = mistake
		}
	}()
	for now := vtime.Time(0); now < 200*vtime.Microsecond; now += 10 * vtime.Microsecond {
		if c.Deadline() <= now {
			c.OnTimer(now)
		}
		sent := int64(now / vtime.Nanosecond)
		c.OnSent(now, 1000)
		c.OnAck(&cc.Sample{
			Now: now, RTT: 50 * vtime.Microsecond, AckedBytes: 1000, AckSequence: sent,
			NextSend: sent + 50_000,
		})
		c.OnCNP(&cc.Sample{Now: now, CE: true})
		c.OnCNM(&cc.Sample{Now: now, CNMFlows: 16, CNMRate: 40 * units.Gbps})
		c.OnNak(now)
		c.OnTimeout(now)
	}
	return nil
}

// stackAbove is a flag without effect, which makes compile put the stack where clang 14 puts it.
const stackAbove = "-DSTACK_ABOVE"

// compile returns a compiled controller in C. It skips the test on machines without clang for wasm32.
func compile(t *testing.T, source string, flags ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.c"),
		[]byte("#include \"pausenet.h\"\nstruct flow { double n; };\n"+source), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "x.wasm")
	args := append([]string{
		"--target=wasm32", "-O2", "-nostdlib", "-I" + examples, "-Wl,--no-entry,-z,stack-size=8192",
		"-o", out, filepath.Join(dir, "x.c"),
	}, flags...)
	if !slices.Contains(flags, stackAbove) {
		args = append(args, "-Wl,--stack-first")
	}
	if text, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
		t.Skipf("clang: %v\n%s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestMistakes: errors of a module include a remedy.
func TestMistakes(t *testing.T) {
	const plain = "PAUSENET_CONTROLLER(\"\")\nHANDLER(init) { pn.rate = pn.line_rate; }\n"
	for _, c := range []struct {
		name, source, want string
		flags              []string
	}{
		{
			name: "an import", source: plain + "int clock_gettime(int);\nHANDLER(on_nak) { flow.n = clock_gettime(1); }\n",
			flags: []string{"-Wl,--allow-undefined"},
			want:  "it imports clock_gettime of env, but a controller may import nothing",
		},
		{
			name: "a misspelt handler", source: plain + "HANDLER(onAck) { flow.n = 1; }\n",
			want: "it exports onAck, which is never called: did you mean on_ack?",
		},
		{name: "no init", source: "PAUSENET_CONTROLLER(\"\")\n", want: "it does not export init"},
		{
			name: "no declaration", source: "PAUSENET_EXPORT(init) void init(void) {}\n",
			want: "it does not export pausenet_abi",
		},
		{
			name: "arguments", source: plain + "PAUSENET_EXPORT(on_ack) void on_ack(double x) { flow.n = x; }\n",
			want: "on_ack must have no parameters",
		},
		{
			name: "no rate", source: "PAUSENET_CONTROLLER(\"\")\nHANDLER(init) { }\n",
			want: "in init: it does not set the rate",
		},
		{
			name: "an endless loop", source: plain + "HANDLER(on_ack) { volatile double x = 0; for (;;) x = x + 1; }\n",
			want: "in on_ack: the call has taken 1000000 steps",
		},
		{
			name: "recursion", source: plain + "__attribute__((noinline)) double f(double x) { return x > 1e9 ? x : f(x + 1) * 1.5 + pn.now; }\n" +
				"HANDLER(on_ack) { flow.n = f(pn.now); }\n",
			want: "in f, called by on_ack: the call has taken 1000000 steps",
		},
		{
			name: "NaN", source: plain + "HANDLER(on_ack) { pn.rate = 0 / (pn.now - pn.now); }\n",
			want: "in on_ack: the rate would be NaN",
		},
		{name: "a negative rate", source: plain + "HANDLER(on_ack) { pn.rate = -1; }\n", want: "the rate would be -1 bps"},
		{name: "a trap", source: plain + "HANDLER(on_ack) { __builtin_trap(); }\n", want: "in on_ack: the code aborted"},
		{
			name: "a wild pointer", source: plain + "HANDLER(on_ack) { *(volatile double *)0x7fffff00 = 1; }\n",
			want: "is outside the module's memory",
		},
		{
			name: "a variable outside of the flow", source: plain +
				"static double marks;\nHANDLER(on_ack) { marks += 1; if (marks > 100) pn.rate = marks; }\n",
			want: "in on_ack: it changed a variable, at ",
		},
		{
			name:   "a variable outside of the flow, with its name",
			source: plain + "static double marks;\nHANDLER(on_ack) { marks += 1; if (marks > 100) pn.rate = marks; }\n",
			flags:  []string{"-g"},
			want:   "in on_ack: it changed the variable marks, which all flows share: a flow's state belongs in struct flow; move marks there",
		},
		{
			name: "the stack above the variables", source: plain, flags: []string{stackAbove},
			want: "its stack is above its variables",
		},
		{
			name: "a trap with its line", source: plain + "HANDLER(on_ack) {\n\tif (pn.now > 0)\n\t\t__builtin_trap();\n}\n",
			flags: []string{"-g"}, want: "x.wasm: x.c:7:3: in on_ack: the code aborted: a trap (a failed assertion, __builtin_trap, panic)",
		},
		{
			name: "a trap with the line of a function", flags: []string{"-g"},
			source: plain + "__attribute__((noinline)) static void check(double x) {\n\tif (x > 5)\n\t\t__builtin_trap();\n" +
				"\tflow.n = x;\n}\nHANDLER(on_ack) { for (int i = 0; i < 9; i++) check(i + pn.now); }\n",
			want: "x.wasm: x.c:7:3: in check, called by on_ack: the code aborted",
		},
		{
			name: "an endless loop with its line", source: plain +
				"HANDLER(on_ack) {\n\tvolatile double x = 0;\n\tflow.n = x;\n\tfor (;;)\n\t\tx = x + 1;\n}\n",
			flags: []string{"-g"},
			want:  "x.wasm: x.c:9:",
		},
		{name: "a wild pointer with its line", source: plain +
			"HANDLER(on_ack) {\n\n\t*(volatile double *)0x7fffff00 = 1;\n}\n", flags: []string{"-g"}, want: "x.wasm: x.c:7:"},
		{
			name: "much memory", source: plain + "static double much[1 << 20];\n" +
				"HANDLER(on_ack) { much[(int)pn.now] = pn.rate; flow.n = much[(int)pn.rtt]; }\n",
			want: "pages of memory, but may have at most 16",
		},
		{
			name: "a wrong declaration", source: "PAUSENET_CONTROLLER(\"needs = ['ecn']\")\nHANDLER(init) { pn.rate = 1; }\n",
			want: `x.wasm (pausenet_declare):1:10: unknown need "ecn"`,
		},
		{
			name: "code in a declaration", source: "PAUSENET_CONTROLLER(\"x = 5\")\nHANDLER(init) { pn.rate = 1; }\n",
			want: "expected only declarations here",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			flow, _, err := build(compile(t, c.source, c.flags...))
			if err == nil {
				err = play(flow)
			}
			var mistake *controllerfile.Error
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &mistake) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	for name, c := range map[string]struct{ content, want string }{
		"no module":     {"hello", "x.wasm: not a WebAssembly module"},
		"half a module": {string(module(t, "timely.wasm")[:900]), "damaged"},
		"nothing in it": {"\x00asm\x01\x00\x00\x00", "it exports no functions"},
	} {
		if _, _, err := build([]byte(c.content)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVersions: on_ack receives the bytes in flight, and what has changed at the hops since the last ACK. Modules of
// earlier versions, whose block ends before these fields, run, and their flow's state is unchanged.
func TestVersions(t *testing.T) {
	const source = "PAUSENET_CONTROLLER(\"\")\nHANDLER(init) { pn.rate = pn.line_rate; flow.n = 7; }\n"
	header, err := os.ReadFile(filepath.Join(examples, "pausenet.h"))
	if err != nil {
		t.Fatal(err)
	}
	old := t.TempDir() // its header takes precedence over the examples'
	version := func(replace ...string) string {
		text := string(header)
		for i := 0; i < len(replace); i += 2 {
			if !strings.Contains(text, replace[i]) {
				t.Fatalf("pausenet.h has no %q", replace[i])
			}
			text = strings.ReplaceAll(text, replace[i], replace[i+1])
		}
		if err := os.WriteFile(filepath.Join(old, "pausenet.h"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "-iquote" + old
	}
	ack := func(module []byte) float64 {
		t.Helper()
		c, _, err := build(module)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []cc.INTHop{{TxBytes: 1280}, {Departed: vtime.Microsecond, TxBytes: 2560, QueueBytes: 800}} {
			h.Rate = 40 * units.Gbps
			c.OnAck(&cc.Sample{Now: h.Departed, InFlight: 1234567, Hops: []cc.INTHop{h}})
		}
		return c.Rate()
	}
	const inFlight = "HANDLER(on_ack) { pn.rate = pn.in_flight + flow.n; }\n"
	if got := ack(compile(t, source+"HANDLER(on_ack) { pn.rate = 1 + pn.since[0].elapsed + pn.since[0].tx_delta + "+
		"pn.since[0].queue_gradient / 8 + pn.hops[0].departed; }\n")); got != 1+2e6+1280+800e6 {
		t.Errorf("version 3: %v", got)
	}
	const thirdOnly, thirdABI = "struct { double elapsed, tx_delta, queue_gradient; } since[5];", "{ return 3; }"
	if got := ack(compile(t, source+inFlight, version(thirdOnly, "", thirdABI, "{ return 2; }"))); got != 1234567+7 {
		t.Errorf("version 2: %v", got)
	}
	first := version(thirdOnly, "", "double in_flight;", "", thirdABI, "{ return 1; }")
	if got := ack(compile(t, source+"HANDLER(on_ack) { pn.rate = flow.n; }\n", first)); got != 7 {
		t.Errorf("version 1: the flow's state is %v, want 7", got)
	}
	for _, other := range []string{"0", "4"} {
		_, err := Read("x.wasm", compile(t, source, version(thirdABI, "{ return "+other+"; }")))
		if err == nil || !strings.Contains(err.Error(), "it uses version "+other+
			" of the interface, but this pausenet has version 3") {
			t.Errorf("version %s: %v", other, err)
		}
	}
}

// TestFrames: wazero's message as a panic of Rust has it. Offsets are those of the file: code from 40 on was 13 before,
// and from 60 on 20.
func TestFrames(t *testing.T) {
	moved := moves{{0, 0}, {40, 13}, {60, 20}}
	frames := moved.frames("wasm error: unreachable\nwasm stack trace:\n\t.rust_begin_unwind()\n\t\t0x50: f:1\n" +
		"\t.core::panicking::panic_bounds_check(i32,i32)\n\t\t0x3d: f:1\n" +
		"\t.on_ack()\n\t\t0x2a: f:1\n\t.$12()\n\t\t0x5: f:1")
	want := []frame{{"rust_begin_unwind", 40}, {"core::panicking::panic_bounds_check", 21}, {"on_ack", 15}, {"$12", 5}}
	if !slices.Equal(frames, want) || blamed(frames) != want[2] || blamed(frames[:2]) != want[0] {
		t.Errorf("%v, blamed %v", frames, blamed(frames))
	}
	if moved.was(59) != 20 { // what was put in between is where the code after it was
		t.Errorf("%d", moved.was(59))
	}
}

// TestFlowsAtTheSameTime: flows of one module that are called at the same time give the results of separate calls.
func TestFlowsAtTheSameTime(t *testing.T) {
	first, spec, err := build(module(t, "dcqcn.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := cc.Resolver{}.Resolve(spec, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	if err := play(first); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c, err := spec.New(env, set)
			if err == nil {
				err = play(c)
			}
			if err != nil || c.Rate() != first.Rate() || c.Deadline() != first.Deadline() {
				t.Errorf("%v: rate %v and timer %v, want %v and %v", err, c.Rate(), c.Deadline(), first.Rate(), first.Deadline())
			}
		})
	}
	all.Wait()
}

// TestCallsAllocateNothing, once instances are there.
func TestCallsAllocateNothing(t *testing.T) {
	c, _, err := build(module(t, "dcqcn.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	s := &cc.Sample{Now: 5, CE: true}
	if n := testing.AllocsPerRun(200, func() { c.OnCNP(s); c.OnSent(6, 1000) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// FuzzRead: whatever a file has in it, it is read and played, or refused with a mistake of the file.
func FuzzRead(f *testing.F) {
	f.Add(module(f, "timely.wasm"))
	f.Add(module(f, "dcqcn.wasm"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, _, err := build(content)
		var mistake *controllerfile.Error
		if err == nil {
			_ = play(c)
		} else if !errors.As(err, &mistake) && !strings.Contains(err.Error(), "x.wasm") {
			t.Errorf("%v", err)
		}
	})
}

func BenchmarkOnSent(b *testing.B) {
	c, _, err := build(module(b, "dcqcn.wasm"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.OnSent(5, 1000)
	}
}
