package star

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

var env = cc.Env{LineRate: 40 * units.Gbps, BaseRTT: 40 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}

// build returns a flow's controller of a source.
func build(source string, given map[string]string) (c cc.Controller, spec *cc.Spec, err error) {
	p, err := Read("x.star", []byte(source))
	if err != nil {
		return nil, nil, err
	}
	spec = controllerfile.Spec("x.star", []byte(source), p, nil)
	set, err := cc.Resolver{}.Resolve(spec, given, env)
	if err != nil {
		return nil, spec, err
	}
	c, err = spec.New(env, set)
	return c, spec, err
}

// play calls everything that a controller has, as a NIC does.
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
	for now := vtime.Time(0); now < 400*vtime.Microsecond; now += 10 * vtime.Microsecond {
		for range 5 {
			if c.Deadline() <= now {
				c.OnTimer(now)
			}
		}
		sent := int64(now / vtime.Nanosecond)
		s := &cc.Sample{
			Now: now, RTT: 50 * vtime.Microsecond, AckedBytes: 1000, AckSequence: sent, NextSend: sent + 50_000,
			CE:   now > 100*vtime.Microsecond,
			Hops: []wire.INTHop{{Rate: 40 * units.Gbps, Departed: now, TxBytes: sent, QueueBytes: 100}},
		}
		c.OnSent(now, 1000)
		c.OnAck(s)
		c.OnCNP(&cc.Sample{Now: now, CE: true, Received: 5, ReceivingRate: units.Gbps})
		c.OnCNM(&cc.Sample{Now: now, CNMFlows: 16, CNMRate: 40 * units.Gbps})
		c.OnNak(now)
		c.OnTimeout(now)
	}
	return nil
}

// mistakes lists typical mistakes in programs, with a part of the message for each. The documentation shows some of
// them.
func mistakes() []mistake {
	const start = "def init(flow):\n    flow.rate = path.line_rate\n    flow.n = 0\n    flow.log = []\n"
	onAck := func(lines ...string) string {
		return start + "def on_ack(flow, ack):\n    " + strings.Join(lines, "\n    ") + "\n"
	}
	return []mistake{
		{"empty", "# nothing\n", "is empty: a controller needs init"},
		{"no init", "def on_ack(flow, ack):\n    pass\n", "x.star:1:1: init is missing"},
		{"init without a rate", "def init(flow):\n    flow.n = 0\n", "x.star:1: in init: it does not set flow.rate"},
		{
			"misspelt handler", start + "def on_akc(flow, ack):\n    pass\n",
			`x.star:5:5: on_akc is never called: the functions that are called are ` +
				`init, preset, on_ack, on_cnp, on_cnm, on_nak, on_timeout, on_timer, on_sent; did you mean "on_ack"`,
		},
		{
			"too few arguments", start + "def on_ack(ack):\n    pass\n",
			"x.star:5:5: on_ack is called with (flow, ack): it needs 2 parameters, not 1",
		},
		{
			"no colon", "def init(flow)\n    flow.rate = 1\n",
			"x.star:1:15: got newline, want ':' (def, if, elif, else, for and while end in a colon)",
		},
		{
			"indentation", "def init(flow):\n    flow.rate = 1\n      flow.n = 2\n",
			"all lines of a block must start in the same column",
		},
		{"a Python import", "import math\n" + start, "x.star:1:1: import is not supported: a controller is one file"},
		{"math", onAck("flow.rate = math.sqrt(2)"), "x.star:6:17: math is not available: sqrt"},
		{"print", onAck("print(ack.rtt)"), "print is not available: rates.csv"},
		{"a file", onAck("open(1)"), "cannot use files, clocks or random numbers"},
		{"an undefined name", onAck("flow.rate = line_rat"), "unknown name line_rat"},
		{
			"a constant without its object", onAck("flow.rate = line_rate / 2"),
			"x.star:6:17: unknown name line_rate: use path.line_rate",
		},
		{
			"a constant of the path on the flow", onAck("flow.rate = flow.line_rate"),
			"x.star:6:21: in on_ack: flow has no .line_rate: use path.line_rate",
		},
		{
			"a misspelt constant of the path", onAck("flow.rate = path.linerate"),
			`unknown attribute path.linerate: expected line_rate, base_rtt, mtu, line_mtu; did you mean "line_rate"?`,
		},
		{"a parameter of none", onAck("flow.n = params.gan"), "unknown parameter gan: params has none"},
		{
			"a misspelt parameter", "params = {\"gain\": 0.5}\n" + onAck("flow.n = params.gan"),
			`unknown parameter gan: params has gain; did you mean "gain"?`,
		},
		{"a misspelt field", onAck("flow.n = ack.rttt"), "an ACK has no .rttt: it has now, rtt, acked_bytes"},
		{"another sample's field", onAck("flow.n = ack.flows"), "an ACK has no .flows, which belongs to on_cnm"},
		{
			"state that is not there", onAck("flow.n = flow.count"),
			"flow has no .count: the file never sets it, but log, moves, n, rate, timer, window",
		},
		{
			"a misspelt attribute of the flow", onAck("flow.counter = 1", "flow.n = flow.conter"),
			`flow has no .conter: the file never sets it, but counter, log, moves, n, rate, timer, window (did you mean .counter?)`,
		},
		{
			"a misspelt field of a hop", onAck("flow.n = ack.hops[0].tx_byte"),
			"x.star:6:25: in on_ack: a hop has no .tx_byte: it has rate, departed, tx_bytes, queue_bytes, elapsed, tx_delta, " +
				"queue_gradient (did you mean .tx_bytes?)",
		},
		{"a number's attribute", onAck("flow.n = ack.rtt.us"), "a number has no .us field or method"},
		{"a unit beside its number", onAck("if ack.rtt > 26us:", "    pass"), "x.star:6:18: write 26 * us: a unit is a name"},
		{"microseconds with a Greek letter", onAck("flow.n = 26µs"), "x.star:6:14: write 26 * us"},
		{"seconds", onAck("flow.n = 2s"), "write 2 * seconds"},
		{"another unit", onAck("flow.rate = 2.5 Gbps"), "x.star:6:17: write 2.5 * Gbps"},
		{
			"else if", onAck("if ack.ce:", "    pass", "else if ack.ue:", "    pass"),
			"x.star:8:5: write elif instead of else if",
		},
		{"is None", onAck("if flow.n is None:", "    pass"), "x.star:6:15: write == instead of is, as in x == None"},
		{"is not None", onAck("if flow.n is not None:", "    pass"), "write != instead of is not, as in x != None"},
		{"an f-string", onAck(`fail(f"rtt {ack.rtt}")`), `f-strings are not supported: fail takes values beside its text`},
		{
			"global", "count = 0\n" + onAck("global count", "count += 1"),
			"x.star:7:5: global is not supported: write flow.count, and set it in init",
		},
		{"try", onAck("try:", "    pass", "except:", "    pass"), "x.star:6:5: try is not supported: there are no exceptions"},
		{"raise", onAck("raise 5"), `raise is not supported: write fail("why", x)`},
		{"a class", "class Flow:\n    pass\n" + start, "x.star:1:1: class is not supported: keep a flow's state"},
		{"a power", onAck("flow.n = flow.n ** 2"), "** is not supported: write flow.n * flow.n for a square"},
		{"an increment", onAck("flow.n++"), "write flow.n += 1 instead of flow.n++"},
		{"and as in C", onAck("if ack.ce && ack.ue:", "    pass"), "write and instead of &&"},
		{"= in a condition", onAck("if flow.n = 5:", "    pass"), "write == to compare"},
		{"exp", onAck("flow.n = exp(-1)"), "x.star:6:14: exp is not available, because its last bits differ"},
		{
			"a variable of all flows", "count = 0\n" + onAck("count += 1"),
			"x.star:7:5: count is set outside of functions, so its value cannot change: write flow.count, and set flow.count in init",
		},
		{
			"a variable of all flows, spelled out", "count = 0\n" + onAck("count = count + 1"),
			"x.star:7:5: count is set outside of functions",
		},
		{
			"a handler in camel case", start + "def onAck(flow, ack):\n    pass\n",
			`x.star:5:5: onAck is never called: the functions that are called are init, preset, on_ack, on_cnp, on_cnm, ` +
				`on_nak, on_timeout, on_timer, on_sent; did you mean "on_ack"`,
		},
		{
			"tabs beside spaces", "def init(flow):\n    flow.rate = 1\n\tflow.n = 1\n",
			"x.star:3:1: this line is indented with a tab, and line 2 with spaces",
		},
		{
			"state that is not there yet", onAck("if flow.n == 0:", "    flow.n = flow.last", "flow.last = 1"),
			"x.star:7:22: in on_ack: flow.last has no value yet: set it in init",
		},
		{
			"a negative rate", onAck("flow.rate = flow.rate - path.line_rate * 2"),
			"x.star:6:9: in on_ack: the rate would be -4e+10 bps, but must be above 0",
		},
		{"NaN", onAck("flow.rate = never - never"), "x.star:6:9: in on_ack: the rate would be NaN"},
		{
			"Gbps for bps, too much", onAck("flow.rate = 40 * Gbps * Gbps"),
			"above the limit of 10Tbps (rates are in bits per second)",
		},
		{
			"a division by 0", onAck("flow.n = 1 / flow.n"),
			"x.star:6:16: in on_ack: floating-point division by zero: make sure that the divisor is not 0",
		},
		{
			"a remainder by 0", onAck("flow.n = 5 % flow.n"),
			"floating-point modulo by zero: make sure that the divisor is not 0",
		},
		{
			"None in a comparison", onAck("flow.n = None", "if flow.n > 5:", "    pass"),
			"NoneType > float not implemented: None is no number",
		},
		{
			"a list as a number", onAck("flow.n = flow.log * 2"),
			"unknown binary op: list * float: a list is no number (len(l), sum(l) and l[0] are)",
		},
		{"a negative window", onAck("flow.window = -1"), "the window would be -1 B"},
		{
			"a long list again and again", onAck("l = list(range(4000))", "for i in range(50):", "    max(l)"),
			"in on_ack: the call has taken 100000 steps",
		},
		{
			"a long list sorted again and again", onAck("l = list(range(1000))", "for i in range(20):", "    l = sorted(l)"),
			"in on_ack: the call has taken 100000 steps",
		},
		{
			"an endless loop", onAck("while True:", "    pass"),
			"x.star:6:5: in on_ack: the call has taken 100000 steps: is there an endless loop?",
		},
		{
			"an endless loop around another",
			onAck("x = 1", "while x > 0:", "    for i in range(20):", "        x = x + i", "    x = x * 2"),
			"x.star:7:5: in on_ack: the call has taken 100000 steps",
		},
		{
			"an endless loop in another",
			onAck("while True:", "    while True:", "        pass"),
			"x.star:7:9: in on_ack: the call has taken 100000 steps",
		},
		{
			"an endless loop that calls",
			start + "def f(x):\n    return x\ndef on_ack(flow, ack):\n    for i in [1, 2]:\n        while True:\n            f(i)\n",
			"x.star:9:9: in on_ack: the call has taken 100000 steps",
		},
		{
			"recursion", start + "def f(x):\n    return f(x)\ndef on_ack(flow, ack):\n    f(1)\n",
			"called recursively: a function cannot call itself",
		},
		{
			"no return", start + "def f(x):\n    x * 2\ndef on_ack(flow, ack):\n    flow.rate = f(ack.rtt)\n",
			"flow.rate must be a number, not None (a function without return gives None)",
		},
		{
			"a function that is not called", start + "def f():\n    return 1\ndef on_ack(flow, ack):\n    flow.rate = f\n",
			"not a function (did you mean to call it",
		},
		{"a timer that is past", start + "def on_ack(flow, ack):\n    flow.timer = ack.now\ndef on_timer(flow, now):\n" +
			"    flow.timer = now\n", "in on_timer: it leaves the timer at"},
		{"a sample that is kept", onAck("flow.n = ack"), "flow.n: an ACK is valid only during the call"},
		{
			"a list without end", onAck("while True:", "    flow.log.append(1)"),
			"a list holds at most 4096 items: remove old ones with pop(0)",
		},
		{
			"lists without end", onAck("l = []", "while len(l) < 3000:", "    l.append(1)", "flow.log.append(l)"),
			"x.star:5: in on_ack: the flow keeps more than 16384 items in lists",
		},
		{
			"a list of all flows", "seen = []\n" + onAck("seen.append(1)"),
			"lists outside of functions are shared by all flows",
		},
		{
			"an index beyond the end", onAck("flow.n = flow.log[0]"),
			"index out of range: the list has 0 items, the index is 0",
		},
		{
			"an index that is not whole", onAck("flow.log = [1, 2, 3]", "flow.n = flow.log[3 / 2]"),
			"// divides to whole numbers",
		},
		{"a repeated text", onAck(`x = "a" * 1000000000`), "strings work only in fail(...)"},
		{"a repeated list", onAck("x = [1] * 1000000000"), "x.star:6:9: a list cannot be multiplied: to repeat an item, write [0 for"},
		{"a great range", onAck("x = list(range(1000000000))"), "list takes a list"},
		{"a dictionary", onAck("x = {1: 2}"), "dictionaries are not supported"},
		{"bits", onAck("flow.n = 1 << 40"), "operator << is not supported"},
		{"a unit's name", onAck("us = 5"), "us is the name of a unit"},
		{
			"no constant at the top", "def f():\n    return 1\nx = f() / 0\n" + start,
			"x.star:3:9: floating-point division by zero",
		},
		{
			"a need that there is not", "needs = [\"ecn\"]\n" + start,
			`x.star:1:10: unknown need "ecn"`,
		},
		{
			"a need that is missing", "needs = [\"ECN\"]\n" + start + "def on_cnp(flow, cnp):\n    pass\n",
			`on_cnp is defined, but needs lacks "CNP": without it, receivers send no CNP`,
		},
		{
			"a rate without a unit", "params = {\"step\": rate(40)}\n" + start,
			`x.star:1:24: a rate needs a unit, as a string: "40Mbps"`,
		},
		{
			"a parameter of no kind", "params = {\"step\": speed(40)}\n" + start,
			"unknown kind of parameter: expected rate, time",
		},
		{"a default beyond its bounds", "params = {\"g\": number(2, min=0, max=1)}\n" + start, `x.star.g = "2": is above 1`},
		{"what the interpreter has of its own", onAck("x = str(ack.rtt)"), "unknown name str"},
		{"a dictionary by its constructor", onAck("x = dict(a=1)"), "unknown name dict"},
		{"a text by a constructor", onAck("x = repr"), "unknown name repr"},
		{"another fail", start + "def fail(x):\n    return x\n", "fail has a meaning in controllers"},
		{"fail", onAck(`fail("the RTT is", ack.rtt)`), "in on_ack: fail: the RTT is 50000000"},
		{"load", "load(\"other.star\", \"f\")\n" + start, "a controller is one file"},
	}
}

type mistake struct{ name, source, want string }

// TestWarnings: numbers without their unit, and functions that nothing calls, are warned of; what is meant is not.
func TestWarnings(t *testing.T) {
	const start = "params = {\"wait\": time(\"55us\")}\ndef init(flow):\n    flow.rate = path.line_rate\n    flow.n = 0\n"
	const rtt = "50 is 50 ps here, as times are in picoseconds: write 50 * us, or 50 * ps if it is meant"
	for line, want := range map[string]string{
		"if ack.rtt > 50: pass":                    "x.star:6:18: " + rtt,
		"if 50 < ack.rtt: pass":                    "x.star:6:8: " + rtt,
		"if ack.rtt - path.base_rtt > 50: pass":    "x.star:6:34: " + rtt,
		"flow.timer = ack.now + 50":                "x.star:6:28: " + rtt,
		"flow.timer = max(50, ack.now * 2)":        "x.star:6:22: " + rtt,
		"if params.wait > 50: pass":                "x.star:6:22: " + rtt,
		"flow.rate = 40":                           "x.star:6:17: 40 is 40 bps here, as rates are in bits per second: write 40 * Gbps",
		"flow.rate += 40":                          "x.star:6:18: 40 is 40 bps",
		"flow.rate = max(40, flow.rate / 2)":       "x.star:6:21: 40 is 40 bps",
		"flow.window = 10":                         "a window of 10 is less than a packet, as windows are in bytes: write 10 * path.mtu, or",
		"flow.n += 1":                              "",
		"if flow.n > 5: pass":                      "",
		"if ack.rtt > 0: pass":                     "",
		"if ack.rtt > 50 * us: pass":               "",
		"if ack.rtt > 50 * ps: pass":               "",
		"if ack.rtt > 1.5 * path.base_rtt: pass":   "",
		"if ack.rtt / path.base_rtt > 2: pass":     "",
		"flow.rate = 40e9":                         "",
		"flow.rate = flow.rate * (1 - 0.5)":        "",
		"flow.window = 10 * path.mtu":              "",
		"flow.window = max(1000, flow.window - 1)": "",
	} {
		p, err := Read("x.star", []byte(start+"def on_ack(flow, ack):\n    "+line+"\n"))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := strings.Join(p.Declares().Warnings, "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", line, got, want)
		}
	}
	for source, want := range map[string]string{
		start + "def f(x):\n    return x\n":                        "x.star:5:5: f is never called",
		start + "def ack(flow, ack):\n    return x\nx = 5\n":       `x.star:5:5: ack is never called; did you mean "on_ack"`,
		start + "def f(x):\n    return x\nONE = f(1)\n":            "",
		start + "n = 5\ndef on_nak(flow, now):\n    n = 6\n":       "x.star:7:5: this n is a variable of the function",
		start + "def on_nak(flow, now):\n\tflow.rate = 1 * Gbps\n": "x.star:6:1: this line is indented with a tab, and line 3 with spaces",
	} {
		p, err := Read("x.star", []byte(source))
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := strings.Join(p.Declares().Warnings, "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", source, got, want)
		}
	}
}

// TestMistakes: what students write that is wrong gets a message with its place and what to do.
func TestMistakes(t *testing.T) {
	for _, c := range mistakes() {
		t.Run(c.name, func(t *testing.T) {
			err := tried(c.source)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s\nof\n%s", err, c.want, c.source)
			}
			var mistake *controllerfile.Error
			if err != nil && !errors.As(err, &mistake) && !strings.Contains(c.want, " = ") {
				t.Errorf("%v has no place", err)
			}
		})
	}
}

// tried holds the result of a program.
func tried(source string) error {
	flow, _, err := build(source, nil)
	if err == nil {
		err = play(flow)
	}
	return err
}

// TestDocumentedMistakes: the documentation's table has the mistakes and their messages, word by word.
func TestDocumentedMistakes(t *testing.T) {
	text, err := os.ReadFile("../../docs/controllers-from-files.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| ([^|`]+) \\| `([^`]+)` \\| `(mine\\.star:[^`]+)` \\|$").FindAllStringSubmatch(string(text), -1)
	if len(rows) < 15 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		i := slices.IndexFunc(mistakes(), func(c mistake) bool { return c.name == row[1] })
		if i < 0 {
			t.Errorf("no mistake is called %q", row[1])
			continue
		}
		c := mistakes()[i]
		if !strings.Contains(c.source, row[2]) {
			t.Errorf("%s: %s is not in\n%s", c.name, row[2], c.source)
		}
		if got := strings.ReplaceAll(fmt.Sprint(tried(c.source)), "x.star", "mine.star"); got != row[3] {
			t.Errorf("%s: the documentation has\n%s, and it is\n%s", c.name, row[3], got)
		}
	}
}

// TestLanguage checks the results of programs.
func TestLanguage(t *testing.T) {
	const source = `"""A controller that computes."""
params = {"a": 1 / 4, "mode": choice("fast", ["slow", "fast"]), "on": flag(True), "wait": time("2rtt"), "n": integer(3)}
ROWS = [1, 2, 3]

def init(flow):
    """Sets everything."""
    flow.rate = 1 * Gbps
    flow.x = 0
    flow.l = [i * 2 for i in range(4) if i != 1]

def on_ack(flow, ack):
    a, b = 7 // 2, 7 % 4
    a, b = b, a
    total = 0
    for i in [1, 2]:
        total += i
    first, second = pair()
    total += first * 10 + second * 100
    if params.mode == "fast" and params.mode != "slow" and params.on:
        total += 1000
    flow.l.append(sum(ROWS))
    flow.l[0] = flow.l.pop(1)
    flow.x = total + a + b + len(flow.l) + sum(flow.l) + max(sorted([3, 1, 2])) + min(4, 9) + params.a + int(-2.5) + params.n
    flow.timer = ack.now + params.wait
    flow.rate = flow.x

def pair():
    return 1, 2
`
	c, spec, err := build(source, map[string]string{"a": "1/2"})
	if err != nil {
		t.Fatal(err)
	}
	c.OnAck(&cc.Sample{Now: 5})
	// total: 1 + 2, + 10 + 200, + 1000; a and b: 3 and 3; the list: [0, 4, 6] and 6, of which 4 is popped and goes first:
	// [4, 6, 6].
	if want := 1213.0 + 6 + 3 + 16 + 3 + 4 + .5 - 2 + 3; c.Rate() != want {
		t.Errorf("rate %v, want %v", c.Rate(), want)
	}
	if c.Deadline() != 5+80*vtime.Microsecond || c.Window() != 0 || c.Retimes() {
		t.Errorf("deadline %v, window %d", c.Deadline(), c.Window())
	}
	if !spec.Needs.ACK || spec.Needs.ECN || spec.HasWindow || spec.Name != "x.star" || len(spec.File.SHA256) != 64 {
		t.Errorf("%+v", spec)
	}
}

// FuzzRead: whatever a file has in it, it is read and played, or refused with a mistake of the file.
func FuzzRead(f *testing.F) {
	f.Add("def init(flow):\n    flow.rate = path.line_rate\ndef on_ack(flow, ack):\n" +
		"    flow.rate = min(path.line_rate, flow.rate + ack.rtt)\n")
	f.Add("params = {\"g\": number(1/2, min=0, max=1)}\nneeds = [\"ECN\", \"CNP\"]\ndef init(flow):\n  flow.rate = 1e9\n" +
		"  flow.l = [1, 2]\ndef on_cnp(flow, cnp):\n  flow.l.append(params.g)\n")
	f.Add("def init(flow):\n  flow.rate = 5\n  flow.f = [[x for x in range(9)] for y in [1, 2]]\n" +
		"def on_timer(flow, now):\n  while True:\n    pass\n")
	f.Add("x = lambda a, b=2: (a, b)\ndef init(flow):\n  flow.rate, flow.q = x(3)\n")
	f.Fuzz(func(t *testing.T, source string) {
		c, _, err := build(source, nil)
		if err == nil {
			_ = play(c)
		}
	})
}

// TestMeter: what calls take is told, and bounded over all calls of a flow.
func TestMeter(t *testing.T) {
	source := "def init(flow):\n    flow.rate = path.line_rate\n" +
		"def on_nak(flow, now):\n    for i in range(100):\n        flow.rate = 10 * Mbps\n"
	p, err := Read("x.star", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	calls, steps := 0, uint64(0)
	meter := &controllerfile.Meter{
		MostSteps: 10_000,
		FreeSteps: 3000, // more than a call takes: a flow may have any number of them
		Took:      func(n uint64) { calls, steps = calls+1, steps+n },
	}
	spec := controllerfile.Spec("x.star", []byte(source), p, meter)
	settings, err := cc.Resolver{}.Resolve(spec, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.New(env, settings)
	if err != nil {
		t.Fatal(err)
	}
	for now := vtime.Time(1); now < 100; now++ {
		c.OnNak(now)
	}
	meter.FreeSteps = 100
	calls, steps = 0, 0
	defer func() {
		e, ok := recover().(*controllerfile.Error)
		if !ok || !strings.Contains(e.Error(), "x.star: the calls of a flow have taken more than 10000 steps in all beyond 100 for each call") {
			t.Errorf("%v", e)
		}
		each := steps / uint64(calls)
		if each < 300 || each > 3000 || calls != int(meter.MostSteps/(each-meter.FreeSteps))+1 {
			t.Errorf("%d calls, %d steps", calls, steps)
		}
	}()
	for now := vtime.Time(1); now < 1000; now++ {
		c.OnNak(now)
	}
	t.Error("nothing ended it")
}
