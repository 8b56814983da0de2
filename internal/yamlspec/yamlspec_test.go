package yamlspec

import (
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// sample holds one of each kind of value for the tests.
type sample struct {
	name   string
	rate   units.Rate
	size   units.Bytes
	delay  vtime.Time
	count  int
	factor float64
	on     bool
	mode   string
	nodes  []string
}

func decodeSample(v *Value) (s sample) {
	m := v.Mapping()
	m.Need("name").String(&s.name)
	m.Get("rate").Rate(&s.rate)
	m.Get("size").Bytes(&s.size)
	m.Get("delay").Time(&s.delay)
	m.Get("count").Int(&s.count, 1, 10)
	m.Get("factor").Float(&s.factor)
	m.Get("on").Bool(&s.on)
	m.Get("mode").Choice(&s.mode, "red", "step")
	for _, n := range m.Get("nodes").Names() {
		s.nodes = append(s.nodes, n.Text)
	}
	m.Done()
	return s
}

func parseSample(t *testing.T, text string) (sample, string) {
	t.Helper()
	r := new(Report)
	s := decodeSample(r.Parse("spec.yaml", []byte(text)))
	if err := r.Err(); err != nil {
		return s, err.Error()
	}
	return s, ""
}

func TestDecode(t *testing.T) {
	s, problems := parseSample(t, `
base: &base {rate: 40Gbps, delay: 5us}
name: 12
<<: *base
delay: 7us
size: 22e6
count: 0x0A
factor: 1/256
on: true
mode: "red"
nodes: [H2..H4, R0, n08..n10]
`[1:])
	// base is an unknown key here, which is the only problem.
	if want := "spec.yaml:1:1: unknown key \"base\""; !strings.HasPrefix(problems, want) ||
		strings.Count(problems, "\n") != 2 {
		t.Errorf("problems %q, want only %q", problems, want)
	}
	if s.name != "12" || s.rate != 40*units.Gbps || s.delay != 7*vtime.Microsecond || s.size != 22*units.MB ||
		s.count != 10 || s.factor != 1.0/256 || !s.on || s.mode != "red" {
		t.Errorf("decoded %+v", s)
	}
	if want := []string{"H2", "H3", "H4", "R0", "n08", "n09", "n10"}; !slices.Equal(s.nodes, want) {
		t.Errorf("nodes %q, want %q", s.nodes, want)
	}
}

func TestAbsentKeepsDefaults(t *testing.T) {
	n := 7
	var none *Value
	if none.Int(&n, 0, 1) || n != 7 || none.Items() != nil || none.Has("x") || none.At("x.y") != nil || none.Raw() != "" {
		t.Error("an absent value decoded to something")
	}
	none.Errorf("nowhere")
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"all at once", "nam: a\nrate: 5 cows\nsize: [1]\ncount: 11\nfactor: x\non: yes\nmode: rad\nnodes: H9..H2\n", `
spec.yaml:1:1: missing key "name"
  1 | nam: a
    | ^^^
spec.yaml:1:1: unknown key "nam": did you mean "name"?
  1 | nam: a
    | ^^^
spec.yaml:2:7: "5 cows" is not a rate: write one like 40Gbps
  2 | rate: 5 cows
    |       ^^^^^^
spec.yaml:3:7: expected text, found a list
  3 | size: [1]
    |       ^
spec.yaml:4:8: 11 is outside 1..10
  4 | count: 11
    |        ^^
spec.yaml:5:9: "x" is not a number: write one like 0.5, 1/256 or 1%
  5 | factor: x
    |         ^
spec.yaml:6:5: "yes" is not one of true, false
  6 | on: yes
    |     ^^^
spec.yaml:7:7: "rad" is not one of red, step: did you mean "red"?
  7 | mode: rad
    |       ^^^
spec.yaml:8:8: sequence "H9..H2" runs backwards (write H2..H9)
  8 | nodes: H9..H2
    |        ^^^^^^`},
		{"bare time", "name: a\ndelay: 5\n", `
spec.yaml:2:8: time "5" has no unit: write 5us or 5ms
  2 | delay: 5
    |        ^`},
		{"twice", "name: a\nname: b\n", `
spec.yaml:2:1: key "name" is set twice (first in line 1): remove one
  2 | name: b
    | ^^^^`},
		{"syntax", "name: [a\n", `
spec.yaml:1:7: sequence end token ']' not found
  1 | name: [a
    |       ^`},
		{"not a mapping", "- a\n", `
spec.yaml:1:1: expected a mapping (key: value), found a list
  1 | - a
    | ^`},
		{"no anchor", "name: *a\n", `
spec.yaml:1:7: no anchor &a before this alias: define it first
  1 | name: *a
    |       ^`},
		{"second document", "name: a\n---\nname: b\n", `
spec.yaml:3:1: the file has a second document, but expected only a single one: remove it
  3 | name: b
    | ^^^^`},
		{"not text", "\xff\xfe", `
spec.yaml: the file is not text in UTF-8: save it in that encoding`},
		{"long line", "name: a\nnodes: [" + strings.Repeat("H, ", 100) + "H1..]\n", `
spec.yaml:2:309: "H1.." is not a sequence (expected a form such as H2..H15)
  2 | … H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H1..]
    |                                                                                                                     ^^^^`},
		{"unfinished word and wide characters", "name: été\ndela: 5us\n", `
spec.yaml:2:1: unknown key "dela": did you mean "delay"?
  2 | dela: 5us
    | ^^^^`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := parseSample(t, c.text); got != c.want[1:] {
				t.Errorf("got\n%s\nwant\n%s", got, c.want[1:])
			}
		})
	}
}

// TestByteOrderMark checks that the mark with which some editors start a file is not part of its text.
func TestByteOrderMark(t *testing.T) {
	r := new(Report)
	if root := r.Parse("spec.yaml", []byte("\ufeffname: pod\n")); !root.Has("name") {
		t.Error("the first key is not seen")
	}
	for row := range r.Rows("table.txt", []byte("\ufeff10 20\n"), "") {
		var first int
		if row.Fields[0].Int(&first, 0, 100); first != 10 {
			t.Errorf("the first field is %d, not 10", first)
		}
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: a\n")
	for i := range 3 * maxProblems {
		b.WriteString("key" + strings.Repeat("x", i) + ": 1\n")
	}
	_, got := parseSample(t, b.String())
	if !strings.HasSuffix(got, "spec.yaml: and 100 more problems") {
		t.Errorf("ends in %q", got[max(0, len(got)-60):])
	}
}

func TestHostileFiles(t *testing.T) {
	lol := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'l'; c++ {
		p := string(c - 1)
		lol += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+p+", ", 9) + "*" + p + "]\n"
	}
	for name, text := range map[string]string{
		"billion laughs": lol,
		"flow nesting":   strings.Repeat("[", 1<<20),
		"map nesting":    strings.Repeat("{a: ", 1<<18),
		"block nesting":  strings.Repeat("- ", 1<<20),
		"keys":           strings.Repeat("? ", 1<<20),
		"tags":           strings.Repeat("!!x ", 1<<18),
		"self":           "a: &a [*a]\n",
		"large":          strings.Repeat("#", maxBytes+1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := parseSample(t, text); got == "" {
				t.Error("accepted")
			}
		})
	}
}

func TestExpand(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"H0", "H0", ""},
		{"H2..H4", "H2 H3 H4", ""},
		{"H2..4", "H2 H3 H4", ""},
		{"h08..h11", "h08 h09 h10 h11", ""},
		{"a1b7..a1b8", "a1b7 a1b8", ""},
		{"h0.2..h2.2", "h0.2 h1.2 h2.2", ""},
		{"h0.1..h0.3", "h0.1 h0.2 h0.3", ""},
		{"h0.2..h1.3", "", "is not a sequence"},
		{"H..H3", "", "is not a sequence"},
		{"H1..R3", "", "is not a sequence"},
		{"H3..H1", "", "runs backwards (write H1..H3"},
		{"H0..H99999999", "", "has more than"},
		{"H0..H99999999999999999999", "", "has more than"},
	} {
		got, err := Expand(c.text)
		if (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("Expand(%q): error %v, want %q", c.text, err, c.err)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("Expand(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestOverride(t *testing.T) {
	const file = "name: a\ncount: 3\ninner: {x: 1}\nlist:\n  - {tag: f0, n: 1}\n  - {tag: f1, n: 2}\n  - {tag: f1, n: 3}\nword: w\nempty:\n"
	for _, c := range []struct{ set, at, want, problem string }{
		{"count=5", "count", "5", ""},
		{"inner.x=2", "inner.x", "2", ""},
		{"inner.y.z=2", "inner.y.z", "2", ""},
		{"empty.a=1", "empty.a", "1", ""},
		{"list.0.n=9", "list.0.n", "9", ""},
		{"list.f1.n=9", "list.2.n", "9", ""},
		{"list=[1, {a: b}]", "list.1.a", "b", ""},
		{"list.+={tag: f3, n: 7}", "list.3.n", "7", ""},
		{"list.+.n=8", "list.3.n", "8", ""},
		{"empty.+=1", "empty.0", "1", ""},
		{"more.+.a=1", "more.0.a", "1", ""},
		{"word.+=9", "", "", "--set: \"+\" is below \"w\", which is a single value (f.yaml line 8): remove it from the " +
			"path\n    | word.+=9\n    |      ^"},
		{"list.f2.n=9", "", "", "--set: no item \"f2\" in the list (f.yaml line 5): did you mean \"f0\"?\n    | list.f2.n=9\n    |      ^^"},
		{"list.3.n=9", "", "", "--set: index out of range: the list (f.yaml line 5) has only 3 items, choose from 0 to 2\n" +
			"    | list.3.n=9\n    |      ^"},
		{"word.x=9", "", "", "--set: \"x\" is below \"w\", which is a single value (f.yaml line 8): remove it from the " +
			"path\n    | word.x=9\n    |      ^"},
		{"count", "", "", "--set: a setting must be path=value, such as switch.pfc.xoff=256KB\n    | count\n    | ^^^^^"},
		{"count=", "", "", "--set: the value after the equals sign is missing\n    | count=\n    |      ^"},
		{"a..b=1", "", "", "--set: the path has an empty word: remove a dot or add the word\n    | a..b=1\n    |   ^"},
		{"count={a", "", "", "--set: could not find flow map content\n    | count={a\n    |        ^"},
	} {
		r := new(Report)
		root := r.Parse("f.yaml", []byte(file))
		changed := root.Override(c.set)
		if err := r.Err(); err != nil || c.problem != "" {
			if err == nil || err.Error() != c.problem {
				t.Errorf("%s: got\n%v\nwant\n%s", c.set, err, c.problem)
			}
			continue
		}
		if got := changed.At(c.at).Raw(); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.set, c.at, got, c.want)
		}
		if root.At("list.2.n").Raw() != "3" || root.At("count").Raw() != "3" || root.At("inner").Has("y") {
			t.Errorf("%s changed the original", c.set)
		}
	}
}

// TestFlow checks that a value on one line has the same meaning as before.
func TestFlow(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\nb: [x, 'y, z', {c: ~}]\n", `{a: 1, b: [x, "y, z", {c: ~}]}`},
		{
			"name: a-b\nset:\n  g: 1/256\n  rate: min(1Gbps, line/2)\n  part: 5%\n",
			`{name: a-b, set: {g: 1/256, rate: "min(1Gbps, line/2)", part: 5%}}`,
		},
		{"a: \"say \\\"no\\\"\\n: # &x\"\nb: ''\n", `{a: "say \"no\"\n: # \u0026x", b: ""}`},
		{"[]\n", "[]"},
	} {
		r := new(Report)
		got := r.Parse("f.yaml", []byte(c.text)).Flow()
		if got != c.want {
			t.Errorf("%q is %s, want %s", c.text, got, c.want)
		}
		if again := r.Parse("f.yaml", []byte(got)).Flow(); again != got || r.Err() != nil {
			t.Errorf("%s read again is %s: %v", got, again, r.Err())
		}
	}
}

// An anchored part that is used twice changes only where the setting points.
func TestOverrideLeavesAliases(t *testing.T) {
	r := new(Report)
	root := r.Parse("f.yaml", []byte("a: &x {n: 1}\nb: *x\n")).Override("a.n=2")
	if a, b := root.At("a.n").Raw(), root.At("b.n").Raw(); a != "2" || b != "1" {
		t.Errorf("a.n %s, b.n %s, want 2, 1", a, b)
	}
}

// A key that the decoder asks for twice is listed once.
func TestKnownKeysAreListedOnce(t *testing.T) {
	r := new(Report)
	m := r.Parse("f.yaml", []byte("colour: red\n")).Mapping()
	for _, key := range []string{"start", "size", "start"} {
		m.Get(key)
	}
	m.Done()
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), `unknown key "colour" (expected start, size)`) {
		t.Errorf("%v", err)
	}
}

func TestOverrideProblemsPointIntoTheSetting(t *testing.T) {
	r := new(Report)
	root := r.Parse("f.yaml", []byte("name: a\n")).Override("rate=fast").Override("colour.x=1")
	decodeSample(root)
	const want = `--set: "fast" is not a rate: write one like 40Gbps
    | rate=fast
    |      ^^^^
--set: unknown key "colour" (expected name, rate, size, delay, count, factor, on, mode, nodes)
    | colour.x=1
    | ^^^^^^`
	if got := r.Err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTab checks that the error about indentation by tabs names the remedy.
func TestTab(t *testing.T) {
	r := new(Report)
	r.Parse("x.yaml", []byte("a:\n\t- b\n"))
	if err := r.Err(); err == nil || !strings.HasPrefix(err.Error(),
		"x.yaml:2:1: YAML does not allow tabs here: indent with spaces\n") {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "a: 1", "name: a\nnodes: [H2..H4]", "a: &a {b: *a}", "<<: {a: 1}\n", "- - - a", "? a\n: b", "a: |\n  x\n",
		"%YAML 1.2\n---\na: !!str 1\n...",
		"{[a]: b, ? c}", "a: 'x", "\t- a", "a: \"\\x\"", "&a a: *a", "*a : b", "a: b\n---\nc: d", "<<: [*a, b]", "# c",
		"a: ~\nb: .inf\nc: -.nan",
	} {
		f.Add(seed, "a.b=1")
	}
	f.Add("a: [1, {tag: x}]", "a.x.n={y: [1")
	f.Fuzz(func(t *testing.T, text, set string) {
		r := new(Report)
		root := r.Parse("fuzz.yaml", []byte(text))
		if root == nil {
			if r.Err() == nil {
				t.Error("no tree and no problem")
			}
			return
		}
		decodeSample(root.Override(set))
		if err := r.Err(); err != nil && err.Error() == "" {
			t.Error("an empty problem")
		}
	})
}
