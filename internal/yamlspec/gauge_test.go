package yamlspec

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/lexer"
)

// many counts so many entries that their square takes seconds.
const many = 1 << 14

// entries holds files of n equal parts. None may take time that grows with the square of its length.
var entries = map[string]func(n int) string{
	"keys":              numbered("", "k%d: 1\n", ""),
	"the same key":      repeated("", "a: 1\n", ""),
	"keys with notes":   numbered("", "# note\nk%d: 1 # note\n", ""),
	"explicit keys":     numbered("", "? k%d\n: 1\n", ""),
	"keys of a flow":    numbered("a: {", "k%d: 1, ", "}\n"),
	"merged keys":       numbered("x: &x {", "k%d: 1, ", "}\ny: {<<: *x}\n"),
	"merges":            repeated("x: &x {a: 1}\ny:\n  <<: [", "*x, ", "]\n"),
	"items":             repeated("a:\n", "- 1\n", ""),
	"items of mappings": repeated("a:\n", "- a: 1\n  b: 2\n", ""),
	"items of flows":    repeated("a:\n", "- {a: 1, b: [2]}\n", ""),
	"nested items":      repeated("a:\n", "- a:\n  - b:\n    - c: 1\n", ""),
	"a flow":            repeated("a: [", "1, ", "]\n"),
	"pairs of a flow":   repeated("a: [", "a: 1, ", "]\n"),
	"empty keys":        numbered("", "k%d:\n", ""),
	"empty items":       repeated("a:\n", "-\n", ""),
	"empty in a flow":   numbered("a: {", "k%d: , ", "}\n"),
	"a set":             numbered("a: {", "k%d, ", "}\n"),
	"documents":         repeated("", "---\na: 1\n", ""),
	"ends of documents": repeated("a: 1\n", "...\n", ""),
	"anchors":           numbered("a:\n", "- &a%d 1\n", ""),
	"tags":              repeated("a:\n", "- !!int 1\n", ""),
	"notes":             repeated("", "# note\n", "a: 1\n"),
	"lines of a text":   repeated("a: |\n", "  text\n", ""),
	"texts":             repeated("a:\n", "- |\n  text\n", ""),
}

func repeated(before, entry, after string) func(n int) string {
	return func(n int) string { return before + strings.Repeat(entry, n) + after }
}

func numbered(before, entry, after string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(before)
		for i := range n {
			fmt.Fprintf(&b, entry, i)
		}
		return b.String() + after
	}
}

// TestReadingTakesNoSquare checks that reading any text moves and copies no more than in proportion to its length. The
// test sees copies by their allocations: so many keys took 1 GB, and 40 000 took a minute. Moves within a list allocate
// nothing: only the gauge counts them.
func TestReadingTakesNoSquare(t *testing.T) {
	for name, text := range entries {
		var before, after runtime.MemStats
		long := text(many)
		runtime.ReadMemStats(&before)
		r := new(Report)
		m := r.Parse("long.yaml", []byte(long)).Mapping()
		m.Get("a")
		m.Done()
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 256<<20 {
			t.Errorf("%s: %d bytes were allocated to read %d", name, made, len(long))
		}
		g := &gauge{tokens: lexer.Tokenize(long)}
		at, why := g.refuse()
		if g.keys+g.moves > 2*maxSteps+keySteps*many {
			t.Errorf("%s: %d steps were let pass", name, g.keys+g.moves)
		}
		if at != nil && (r.Err() == nil || !strings.Contains(r.Err().Error(), why)) {
			t.Errorf("%s: no error: %v", name, r.Err())
		}
	}
}

// TestGauge checks which files are refused.
func TestGauge(t *testing.T) {
	for _, c := range []struct {
		entries string
		n       int
		want    string
	}{
		{"keys", maxKeys, ""},
		{"keys", maxKeys + 2, "spec.yaml:4097:6: too many keys: a mapping may have 4096 keys, and fewer if several mappings are that large"},
		{"keys with notes", maxKeys, ""},
		{"explicit keys", maxKeys + 2, "too many keys"},
		{"items of mappings", many, ""},
		{"items of flows", many, ""},
		{"nested items", many, ""},
		{"keys of a flow", many, ""},
		{"a flow", many, ""},
		{"notes", many, ""},
		{"texts", many, ""},
		{"empty keys", 1000, ""},
		{"empty keys", many, "too many empty values or documents"},
		{"empty items", many, "too many empty values or documents"},
		{"empty in a flow", many, "too many empty values or documents"},
		{"a set", many, "too many empty values or documents"},
		{"documents", many, "too many empty values or documents for a file of this length"},
	} {
		r := new(Report)
		r.Parse("spec.yaml", []byte(entries[c.entries](c.n)))
		got := ""
		if err := r.Err(); err != nil && strings.Contains(err.Error(), "too many") {
			got, _, _ = strings.Cut(err.Error(), "\n")
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%d %s: %q, want %q", c.n, c.entries, got, c.want)
		}
	}
}
