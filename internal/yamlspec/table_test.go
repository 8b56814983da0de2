package yamlspec

import (
	"fmt"
	"strings"
	"testing"
)

// TestRows checks fields with their positions, separated by blanks and by commas. Comments and blank lines are not
// rows.
func TestRows(t *testing.T) {
	for _, c := range []struct{ name, text, separator, want string }{
		{"blanks", "# title\n\n  10\t20 # ten\r\n x\n", "", "[3:3 10][3:6 20]/[4:2 x]/"},
		{"commas", "a, b,,é,c\n,\n \n", ",", "[1:1 a][1:4 b][1:6 ][1:7 é][1:9 c]/[2:1 ][2:2 ]/"},
		{"empty", "", "", ""},
		{"no line end", "1 2", "", "[1:1 1][1:3 2]/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := new(Report)
			var b strings.Builder
			for row := range r.Rows("t.txt", []byte(c.text), c.separator) {
				for _, f := range row.Fields {
					fmt.Fprintf(&b, "[%d:%d %s]", f.line, f.column, f.Raw())
				}
				b.WriteByte('/')
			}
			if b.String() != c.want || r.Err() != nil {
				t.Errorf("got %q, want %q (%v)", b.String(), c.want, r.Err())
			}
		})
	}
}

// TestRowProblems checks that problems of a field or a row have its position.
func TestRowProblems(t *testing.T) {
	r := new(Report)
	for row := range r.Rows("t.txt", []byte("1 2\n  3 é4  5\n"), "") {
		if len(row.Fields) != 2 {
			row.Line.Errorf("%d columns", len(row.Fields))
			row.Fields[1].Errorf("this one")
		}
	}
	const want = `t.txt:2:3: 3 columns
  2 |   3 é4  5
    |   ^^^^^^^
t.txt:2:5: this one
  2 |   3 é4  5
    |     ^^`
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	r = new(Report)
	for range r.Rows("t.txt", []byte("\xff\xfe"), "") {
		t.Error("a row of a binary file")
	}
	if r.Err() == nil {
		t.Error("a binary file is no table")
	}
}

// TestLongLines checks that a line may be as long as the file, and that a problem in it shows only the part that it
// concerns.
func TestLongLines(t *testing.T) {
	r := new(Report)
	w := r.Words("words.txt", []byte(strings.Repeat("12 ", 1_000_000)+"x 12\n"))
	defer w.Close()
	n := 0
	for range 1_000_000 {
		if !w.Int(&n, "number", 0, 99) {
			t.Fatal(r.Err())
		}
	}
	if w.Int(&n, "number", 0, 99) {
		t.Error("x is a number")
	}
	head := "words.txt:1:3000001: \"x\" is not a number\n  1 | …"
	got := r.Err().Error()
	if !strings.HasPrefix(got, head) || !strings.Contains(got, " 12 12 x 12\n") || len(got) > 500 {
		t.Errorf("got\n%s", got)
	}
	lines := strings.Split(got, "\n")
	if at := strings.IndexByte(lines[2], '^'); at < 0 || []rune(lines[1])[at] != 'x' {
		t.Errorf("the caret is not below x:\n%s", got)
	}

	r = new(Report)
	for range r.Rows("table.csv", []byte("a,b\n"+strings.Repeat("1,", 100_000)+"\n3,4\n"), ",") {
		n++
	}
	if err := r.Err(); err == nil || !strings.HasPrefix(err.Error(),
		"table.csv:2:1: the line has 200000 bytes, but a table's line may have at most 65536") {
		t.Errorf("a line of a table: %v", err)
	}
}
