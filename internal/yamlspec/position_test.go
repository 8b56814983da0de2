package yamlspec

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pausenet/pausenet/units"
)

// TestPositions checks that the text of the file at a value's position is the value, whatever precedes it in its line.
func TestPositions(t *testing.T) {
	for _, text := range []string{
		"a: [b, c]\n", "a: [ b , c ]\n", "a: ['b', \"cc\", d]\n", "- [b, c]\n- {x: [d, e], y: f}\n", "a: [é, \"ü\", z]\n",
		"a: [b,\tc, d]\n", "a:\t[b, c]\n", "a: [!!str b, c]\n", "a: !!seq [b, c]\n", "a: {b:\tc, d: e}\n",
		"a: &x [b, c]\ne: [*x, f]\n",
		"a: [b, # comment, c\n  c,\td]\n", "a: [\n  b, c,\n  d e, f\n]\n", "a:\r\n  - [b,\tc]\r\n  - [d, e]\r\n",
		"a: [bb, b, b]\n",
		"rows:\n  - {values: [-47%, ~, 5.0]}\n  - {values: [!!str 5 , 6 , 7]}\n",
	} {
		r := new(Report)
		root := r.Parse("f", []byte(text))
		if root == nil {
			t.Fatalf("%q: %v", text, r.Err())
		}
		lines := strings.Split(text, "\n")
		var check func(v *Value)
		check = func(v *Value) {
			for _, item := range v.items {
				check(item)
			}
			for _, f := range v.fields {
				check(f.key)
				check(f.value)
			}
			if v.kind != scalar {
				return
			}
			line, from := []rune(lines[v.line-1]), v.column-1
			if got := string(line[from:min(from+v.width, len(line))]); strings.Trim(got, `'"`) != v.text {
				t.Errorf("%q: %q has the position %d:%d, which shows %q", text, v.text, v.line, v.column, got)
			}
		}
		check(root)
	}
}

// TestPathPositions checks that all spellings of a path lead to one position, and that a path that Change would refuse
// has none.
func TestPathPositions(t *testing.T) {
	root := new(Report).Parse("f", []byte("a: {b: 1}\nflows:\n  - {tag: x, size: 1}\n  - {tag: y}\n  - {tag: x}\n"))
	for path, want := range map[string]string{
		"flows.0.size": "flows.0.size", "flows.x.size": "flows.0.size flows.2.size", "flows.y": "flows.1",
		"flows. x .size": "flows.0.size flows.2.size",
		"flows.3.size":   "", "flows.z": "", "a.b": "a.b", "a.c.d": "a.c.d", "new.c": "new.c", "a.b.c": "",
	} {
		if got := strings.Join(root.Paths(path), " "); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// TestLongKeys checks that a message does not repeat keys and values that are too long to read, and still explains the
// mistake.
func TestLongKeys(t *testing.T) {
	long := strings.Repeat("k", 900_000)
	for text, want := range map[string]string{
		long + ": 1":                                 "unknown key",
		"size: " + long:                              "is not a size",
		"size: " + strings.Repeat("é", 900_000):      "is not a size",
		`"` + strings.Repeat("k ", 450_000) + `": 1`: "unknown key",
	} {
		report := new(Report)
		m := report.Parse("x.yaml", []byte(text)).Mapping()
		var size units.Bytes
		m.Get("size").Bytes(&size)
		m.Done()
		err := report.Err()
		if err == nil || len(err.Error()) > 20_000 || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "…") || !utf8.ValidString(err.Error()) {
			t.Errorf("%s...: a message of %d bytes, %.200s", text[:10], len(err.Error()), err)
		}
	}
	path := "/" + strings.Repeat("folder/", 40) + "file.yaml"
	if got := abridge("cannot read " + path + ": no such file"); !strings.Contains(got, path) {
		t.Errorf("a path is cut: %s", got)
	}
}
