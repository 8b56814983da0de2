package command

import (
	"bytes"
	"testing"
)

// TestPlain checks that control characters are shown instead of obeyed, and that text in any language stays as it is,
// even if a write ends within a character.
func TestPlain(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\tb\n", "a\tb\n"},
		{"größer → 東京 🙂", "größer → 東京 🙂"},
		{"\x1b[31mred\x1b]0;title\a", `\u001b[31mred\u001b]0;title\u0007`},
		{"over\rwritten\x08\x7f", `over\u000dwritten\u0008\u007f`},
		{"c1 \u009b31m", `c1 \u009b31m`},
		{"turned \u202e", `turned \u202e`},
		{"no \xff\x9b text", "no \ufffd\ufffd text"},
	} {
		for cut := 0; cut <= len(c.text); cut++ {
			var b bytes.Buffer
			o := &output{to: &b}
			for _, part := range []string{c.text[:cut], c.text[cut:]} {
				if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if b.String() != c.want {
				t.Errorf("%q, cut at %d: %q, want %q", c.text, cut, b.String(), c.want)
			}
		}
		var b bytes.Buffer
		if _, err := raw(&output{to: &b}).Write([]byte(c.text)); err != nil || b.String() != c.text {
			t.Errorf("raw: %q, %v", b.String(), err)
		}
	}
}
