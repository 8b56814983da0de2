package yamlspec

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pausenet/pausenet/internal/files"
)

// Limits on a table file. A million flows take some 40 MB, or 100 MB with all columns of flows.csv.
const (
	maxTableBytes = 128 << 20
	maxTableLine  = 64 << 10 // for tables; words have no limit
)

// TableFile limits the files that Rows and Words read.
var TableFile = files.Kind{Name: "a table", Most: maxTableBytes}

// Row represents a line of a table file: its fields, and the line as a whole for problems that concern it.
type Row struct {
	Line   *Value
	Fields []*Value
}

// Rows returns the lines of a table that have fields, in order. A table is plain text in columns, separated by blanks
// or, if it is not empty, by separator. "#" starts a comment. Fields are single values with positions, so they are
// decoded and reported like those of a YAML file.
func (r *Report) Rows(name string, data []byte, separator string) iter.Seq[Row] {
	s := r.table(name, data)
	return func(yield func(Row) bool) {
		for number, text := range s.content() {
			row := Row{Line: &Value{kind: scalar, source: s, line: number, column: 1, width: 1}}
			if len(text) > maxTableLine {
				row.Line.Errorf("the line has %d bytes, but a table's line may have at most %d", len(text), maxTableLine)
				continue
			}
			row.Fields = slices.Collect(s.fields(text, number, separator))
			if len(row.Fields) == 0 {
				continue
			}
			first, last := row.Fields[0], row.Fields[len(row.Fields)-1]
			row.Line.column, row.Line.width = first.column, last.column+last.width-first.column
			if !yield(row) {
				return
			}
		}
	}
}

// table opens the text of a table file, or returns nil if the file cannot be one.
func (r *Report) table(name string, data []byte) *source {
	data = bytes.TrimPrefix(data, byteOrderMark)
	switch {
	case len(data) > maxTableBytes:
		r.Problem(name, fmt.Sprintf("the file has %d bytes, but a table may have at most %d", len(data), maxTableBytes))
	case !utf8.Valid(data):
		r.Problem(name, "the file is not text in UTF-8: save it in that encoding")
	default:
		return r.open(name, string(data))
	}
	return nil
}

// content returns the numbers and texts of a table's lines, without comments.
func (s *source) content() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		if s == nil {
			return
		}
		number := 0
		for line := range strings.SplitSeq(s.text, "\n") {
			number++
			text, _, _ := strings.Cut(line, "#")
			if !yield(number, text) {
				return
			}
		}
	}
}

// fields returns the fields of a table's line; none if it is blank.
func (s *source) fields(text string, line int, separator string) iter.Seq[*Value] {
	if strings.TrimSpace(text) == "" {
		return func(func(*Value) bool) {}
	}
	field := func(word string, start int) *Value {
		trimmed := strings.TrimSpace(word)
		start += utf8.RuneCountInString(word[:len(word)-len(strings.TrimLeft(word, " \t\r"))])
		width := utf8.RuneCountInString(trimmed)
		return &Value{kind: scalar, text: trimmed, source: s, line: line, column: start, width: max(1, width)}
	}
	if separator != "" {
		return func(yield func(*Value) bool) {
			column := 1
			for word := range strings.SplitSeq(text, separator) {
				if !yield(field(word, column)) {
					return
				}
				column += utf8.RuneCountInString(word) + utf8.RuneCountInString(separator)
			}
		}
	}
	return func(yield func(*Value) bool) {
		column, begin, at := 1, -1, 0
		for i, c := range text {
			switch blank := c == ' ' || c == '\t' || c == '\r'; {
			case !blank && begin < 0:
				begin, at = i, column
			case blank && begin >= 0:
				if !yield(field(text[begin:i], at)) {
					return
				}
				begin = -1
			}
			column++
		}
		if begin >= 0 {
			yield(field(text[begin:], at))
		}
	}
}
