package command

import (
	"bytes"
	"strings"
	"testing"
)

// TestFoldLine checks that lines break between words and continue below their last cell, and that a text without a
// blank does not break.
func TestFoldLine(t *testing.T) {
	for _, c := range []struct {
		name, line string
		width      int
		want       string
	}{
		{"short", "  name  text", 12, "  name  text"},
		{"cell", "  name  some more text", 16, "  name  some\n        more\n        text"},
		{"sentence", "  a sentence of words", 12, "  a sentence\n    of words"},
		{"no room for the cell", "  a long label  text of it", 18, "  a long label\n    text of it"},
		{"long word", "see results/dcon-burst/report.html for it", 12, "see\n  results/dcon-burst/report.html\n  for it"},
		{"no blank", "results/dcon-burst/report.html", 12, "results/dcon-burst/report.html"},
		{"runes", "µµµµ µµµµ", 9, "µµµµ µµµµ"},
	} {
		if got := strings.Join(foldLine(c.line, c.width), "\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestFolded checks that lines are folded as a whole, in whatever pieces they are written.
func TestFolded(t *testing.T) {
	var b bytes.Buffer
	w := people(&b)
	text := "  key  " + strings.Repeat("word ", 20) + "end\nnext\n"
	for i := range text {
		if _, err := w.Write([]byte{text[i]}); err != nil {
			t.Fatal(err)
		}
	}
	want := "  key  " + strings.Repeat("word ", 14) + "\n       " + strings.Repeat("word ", 6) + "end\nnext\n"
	want = strings.ReplaceAll(want, "word \n", "word\n")
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestParagraphs checks that lines of paragraphs and items are joined, and no others.
func TestParagraphs(t *testing.T) {
	for text, want := range map[string]string{
		"# Head\nA line\nand another.\n\nNext":       "# Head\nA line and another.\n\nNext",
		"1. an item\n   goes on\n2. next\n- a\n  b":  "1. an item goes on\n2. next\n- a b",
		"| a |\n|---|\n| b |\nafter\nit":             "| a |\n|---|\n| b |\nafter it",
		"3. run\n\n   ```\n   a\n   b\n   ```\nx\ny": "3. run\n\n   ```\n   a\n   b\n   ```\nx y",
		"text\n```\na\n```":                          "text\n```\na\n```",
	} {
		if got := paragraphs(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
