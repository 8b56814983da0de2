package star

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/internal/splitmix"
)

// writer writes a program by random choices, which are 0 at their end: one that is read, most often, and does anything.
type writer struct {
	strings.Builder
	choices []byte
	depth   int
	names   []string // of what may be read
}

func (w *writer) below(n int) int {
	var b [2]byte
	at := copy(b[:], w.choices)
	w.choices = w.choices[at:]
	return int(binary.LittleEndian.Uint16(b[:])) % n
}

func (w *writer) of(all ...string) string { return all[w.below(len(all))] }

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, "%s%s\n", strings.Repeat("    ", w.depth), fmt.Sprintf(format, args...))
}

// number returns an expression, a number if nothing goes wrong.
func (w *writer) number(deep int) string {
	if deep <= 0 || len(w.choices) == 0 {
		return w.of("0", "1", "-1", "0.5", "3", "1e9", "1e18", "1e300", "never", "path.line_rate", "path.base_rtt",
			"params.gain", "40 * Mbps", "flow.rate", "flow.a", "flow.b", "len(flow.log)", w.of(w.names...))
	}
	sub := func() string { return w.number(deep - 1) }
	switch w.below(12) {
	case 0, 1, 2, 3, 4:
		return fmt.Sprintf("(%s %s %s)", sub(), w.of("+", "-", "*", "/", "//", "%"), sub())
	case 5:
		return fmt.Sprintf("%s(%s, %s)", w.of("min", "max"), sub(), sub())
	case 6:
		return fmt.Sprintf("%s(%s)", w.of("abs", "sqrt", "floor", "ceil", "int", "float", "round", "helper"), sub())
	case 7:
		return fmt.Sprintf("clamp(%s, %s, %s)", sub(), sub(), sub())
	case 8:
		return fmt.Sprintf("(%s if %s else %s)", sub(), w.truth(deep-1), sub())
	case 9:
		return fmt.Sprintf("sum([%s for i in range(%d)])", sub(), w.below(20))
	case 10:
		return fmt.Sprintf("flow.log[%s]", w.of("0", "-1", "len(flow.log) // 2", sub()))
	}
	return fmt.Sprintf("max(sorted(%s))", w.list(deep-1))
}

func (w *writer) list(deep int) string {
	return w.of("flow.log", "ROWS", fmt.Sprintf("[%s, %s]", w.number(deep), w.number(deep)),
		fmt.Sprintf("[x * 2 for x in flow.log if %s]", w.truth(deep)), "list(range(7))")
}

func (w *writer) truth(deep int) string {
	if deep <= 0 || len(w.choices) == 0 {
		return w.of("True", "flow.on", "params.fast", "not flow.on")
	}
	switch w.below(4) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", w.truth(deep-1), w.of("and", "or"), w.truth(deep-1))
	default:
		return fmt.Sprintf("%s %s %s", w.number(deep-1), w.of("<", "<=", "==", "!=", ">", ">="), w.number(deep-1))
	}
}

// statements writes some.
func (w *writer) statements(deep int) {
	for range 1 + w.below(4) {
		switch w.below(13) {
		case 0, 1, 2:
			w.line("flow.%s %s %s", w.of("a", "b"), w.of("=", "+=", "-=", "*=", "/="), w.number(2))
		case 3:
			w.line("flow.rate = clamp(%s, 10 * Mbps, path.line_rate)", w.number(2))
		case 4:
			w.line("flow.%s = %s", w.of("rate", "window", "timer"), w.number(2))
		case 5:
			w.line("flow.timer = %s + %s", w.names[0], w.of("1 * us", "path.base_rtt", "never", w.number(1)))
		case 6:
			w.line("flow.log.append(%s)", w.of(w.number(2), "flow.log", "[1, 2]", "None"))
		case 7:
			w.line("flow.log%s", w.of(".clear()", ".pop()", ".pop(0)", " = []", " = "+w.list(1), "[0] = "+w.number(1)))
		case 8:
			w.line("flow.on = %s", w.truth(2))
		case 9, 10, 11:
			if deep == 0 {
				w.line("pass")
				continue
			}
			w.line("%s", w.of("if "+w.truth(2)+":", "for i in range(9):", "for x in flow.log:", "while "+w.truth(2)+":"))
			w.depth++
			w.statements(deep - 1)
			w.depth--
		case 12:
			w.line("%s", w.of("x = "+w.number(2), "return", "fail(\"here\", "+w.number(1)+")",
				"a, b = "+w.number(1)+", "+w.number(1)))
		}
	}
}

// program returns a random program.
func program(choices []byte) string {
	w := &writer{choices: choices, names: []string{"1"}}
	w.line("params = {\"gain\": number(0.5, min=0, max=1), \"fast\": flag(True)}")
	w.line("ROWS = [1, 2, 3]")
	w.line("def helper(x):")
	w.line("    return x %s %s", w.of("+", "*", "-"), w.of("1", "x", "0.5"))
	w.line("def init(flow):")
	w.line("    flow.rate, flow.a, flow.b, flow.on, flow.log = path.line_rate, %s, 1, False, [0]", w.of("0", "1", "1e9"))
	for _, h := range []struct {
		takes string
		names []string
	}{
		{"on_ack(flow, ack)", []string{"ack.now", "ack.rtt", "ack.acked_bytes", "ack.next_send"}},
		{"on_cnp(flow, cnp)", []string{"cnp.now", "cnp.received"}},
		{"on_nak(flow, now)", []string{"now"}},
		{"on_timer(flow, now)", []string{"now"}},
		{"on_sent(flow, now, payload)", []string{"now", "payload"}},
	} {
		if len(w.choices) == 0 {
			break
		}
		w.names = h.names
		w.line("def %s:", h.takes)
		w.depth++
		w.statements(2)
		w.depth--
	}
	return w.String()
}

// twice reads and plays a program twice, holds one to the other, and says how far it came: 0 not read, 1 read, 2
// played.
func twice(t *testing.T, source string) (far int, err error) {
	once := func() (rate, window, timer float64, far int, err error) {
		c, _, err := build(source, nil)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		if err := play(c); err != nil {
			return 0, 0, 0, 1, err
		}
		return c.Rate(), float64(c.Window()), float64(c.Deadline()), 2, nil
	}
	rate, window, timer, far, err := once()
	r, w, d, second, other := once()
	var mistake *controllerfile.Error
	switch {
	case far != second || fmt.Sprint(err) != fmt.Sprint(other) || r != rate || w != window || d != timer:
		t.Errorf("%v, rate %v, window %v, timer %v, and again %v, %v, %v, %v, of\n%s", err, rate, window, timer, other, r, w,
			d, source)
	case err != nil && (!errors.As(err, &mistake) || mistake.Line == 0 &&
		!strings.Contains(err.Error(), "it leaves the timer at")):
		t.Errorf("no place: %v, of\n%s", err, source)
	}
	return far, err
}

var programCases = flag.Uint64("programs", 300, "how many programs TestPrograms plays")

// TestPrograms: random programs run, or come to a mistake with its place, and to the same one again.
func TestPrograms(t *testing.T) {
	var read, played uint64
	for i := range *programCases {
		var choices []byte
		for j := range 4 + i%40 {
			choices = binary.LittleEndian.AppendUint64(choices, splitmix.At(i, j))
		}
		far, _ := twice(t, program(choices))
		read += uint64(min(far, 1))
		played += uint64(far / 2)
	}
	if read < *programCases/2 || played < *programCases/10 {
		t.Errorf("of %d programs %d were read and %d played", *programCases, read, played)
	}
}

// FuzzProgram: as TestPrograms, for the fuzzer.
func FuzzProgram(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Add([]byte("the quick brown fox jumps over the lazy dog, and then another fox does, and a third, and a fourth"))
	f.Fuzz(func(t *testing.T, choices []byte) { _, _ = twice(t, program(choices)) })
}
