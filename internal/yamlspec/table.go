package yamlspec

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// maxTableBytes bounds a table file: a million flows are some 40 MB.
const maxTableBytes = 256 << 20

// Row is a line of a table file: its fields, and the line as a whole for what is wrong with that.
type Row struct {
	Line   *Value
	Fields []*Value
}

// Rows are the lines of a table that have fields, in order: a plain text file of columns, separated by blanks or, if
// separator is not empty, by that. What follows a "#" is a comment. Fields are single values that know their place, so
// they are decoded and complained about like those of a YAML file.
func (r *Report) Rows(name string, data []byte, separator string) iter.Seq[Row] {
	s := r.open(name, nil)
	data = bytes.TrimPrefix(data, byteOrderMark)
	switch {
	case len(data) > maxTableBytes:
		s.problem(0, 0, 0, fmt.Sprintf("the file has %d bytes; a table has at most %d", len(data), maxTableBytes))
		return func(func(Row) bool) {}
	case !utf8.Valid(data):
		s.problem(0, 0, 0, "not a text file in UTF-8")
		return func(func(Row) bool) {}
	}
	s.lines = strings.Split(string(data), "\n")
	return func(yield func(Row) bool) {
		for i, line := range s.lines {
			text, _, _ := strings.Cut(line, "#")
			row := Row{Line: &Value{kind: scalar, source: s, line: i + 1, column: 1, width: 1}}
			row.Fields = s.fields(text, i+1, separator)
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

// fields are those of a line of a table; none if it is blank.
func (s *source) fields(text string, line int, separator string) []*Value {
	var fields []*Value
	add := func(word string, start int) {
		trimmed := strings.TrimSpace(word)
		start += utf8.RuneCountInString(word[:len(word)-len(strings.TrimLeft(word, " \t\r"))])
		width := utf8.RuneCountInString(trimmed)
		fields = append(fields, &Value{kind: scalar, text: trimmed, source: s, line: line, column: start, width: max(1, width)})
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if separator != "" {
		column := 1
		for _, word := range strings.Split(text, separator) {
			add(word, column)
			column += utf8.RuneCountInString(word) + utf8.RuneCountInString(separator)
		}
		return fields
	}
	column, begin, at := 1, -1, 0
	for i, c := range text + " " {
		switch blank := c == ' ' || c == '\t' || c == '\r'; {
		case !blank && begin < 0:
			begin, at = i, column
		case blank && begin >= 0:
			add(text[begin:i], at)
			begin = -1
		}
		column++
	}
	return fields
}
