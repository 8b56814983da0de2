package table

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// LineError reports a mistake in a line of a file.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error without its line.
func (e *LineError) Unwrap() error { return e.Err }

// checker is implemented by rows whose fields depend on each other.
type checker interface{ Check() error }

// Read calls each with every row. The row is valid until each returns, its texts longer. If the row has a method Check,
// Read calls it first. An error is a *LineError. Read allocates nothing for a row, but for texts that are new.
func (t *Table[Row]) Read(from io.Reader, each func(*Row) error) error {
	row := new(Row)
	check, checks := any(row).(checker)
	return t.read(from, t.cells(row), func() error {
		if checks {
			if err := check.Check(); err != nil {
				return err
			}
		}
		return each(row)
	})
}

// ReadCells calls each with the values of every row, by column: pointers to int, int64, bool, float64 or string. The
// pointers stay the same from row to row.
func (s *Schema) ReadCells(from io.Reader, each func(cells []any) error) error {
	cells := s.cells(s.newRow())
	return s.read(from, cells, func() error { return each(cells) })
}

// longestRow limits the bytes of a row.
const longestRow = 1 << 20

func (s *Schema) read(from io.Reader, cells []any, each func() error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 1<<16), longestRow)
	r := reader{texts: map[string]string{}}
	n := 0
	for lines.Scan() {
		n++
		var err error
		if n == 1 {
			err = r.header(s, cells, lines.Bytes())
		} else if err = r.row(lines.Bytes()); err == nil {
			err = each()
		}
		if err != nil {
			return &LineError{n, err}
		}
	}
	if err := lines.Err(); err != nil {
		return &LineError{n + 1, err}
	}
	if n == 0 {
		return &LineError{1, errors.New("the file is empty: the run was killed, or the disk was full")}
	}
	return nil
}

// reader reads lines into cells.
type reader struct {
	fields []field
	texts  map[string]string // texts read so far
	recent [1 << 12]string   // some of them, by hash
}

// field describes a field of each line. Without a cell it is ignored.
type field struct {
	column *Column
	cell   any
}

// header finds the columns of a table in the first line. Cells of missing columns get the value that they keep.
func (r *reader) header(s *Schema, cells []any, line []byte) error {
	places := map[string]int{}
	for more := true; more; {
		var name []byte
		name, line, more = cut(line)
		if _, twice := places[string(name)]; twice {
			return fmt.Errorf("two columns have the name %.100q: the file is damaged", name)
		}
		places[string(name)] = len(places)
	}
	r.fields = make([]field, len(places))
	for k := range s.Columns {
		c := &s.Columns[k]
		switch at, found := places[c.Name]; {
		case found:
			r.fields[at] = field{c, cells[k]}
		case !c.Optional:
			return fmt.Errorf("column %s is missing: another version of pausenet wrote the file, or the file is damaged", c.Name)
		case c.Null:
			_ = r.set(&field{c, cells[k]}, nil)
		}
	}
	return nil
}

func (r *reader) row(line []byte) error {
	rest, more := line, true
	for i := range r.fields {
		if !more {
			return r.damaged(line)
		}
		var value []byte
		value, rest, more = cut(rest)
		if f := &r.fields[i]; f.cell != nil {
			if err := r.set(f, value); err != nil {
				return cmp.Or(r.damaged(line), err)
			}
		}
	}
	if more {
		return r.damaged(line)
	}
	return nil
}

// damaged returns an error if a line has more or fewer fields than the header.
func (r *reader) damaged(line []byte) error {
	n := 0
	for rest, more := line, true; more; n++ {
		_, rest, more = cut(rest)
	}
	if n == len(r.fields) {
		return nil
	}
	return fmt.Errorf("expected %[2]d fields, got %[1]d: the file is damaged", n, len(r.fields))
}

// cut returns the first field of a line, and the rest after its comma. more is false for the last field.
func cut(line []byte) (value, rest []byte, more bool) {
	if len(line) > 0 && line[0] == '"' {
		return cutQuoted(line)
	}
	for i, c := range line {
		if c == ',' {
			return line[:i], line[i+1:], true
		}
	}
	return line, nil, false
}

// cutQuoted cuts off a field in quotes, in which a quote is doubled. Without a closing quote the field extends to the
// end of the line.
func cutQuoted(line []byte) (value, rest []byte, more bool) {
	for i := 1; i < len(line); i++ {
		if line[i] != '"' {
			continue
		}
		if i+1 < len(line) && line[i+1] == '"' {
			i++
			continue
		}
		after, rest, more := cut(line[i+1:])
		return append(bytes.ReplaceAll(line[1:i], []byte(`""`), []byte(`"`)), after...), rest, more
	}
	return line, nil, false
}

// set reads a value into a field's cell.
func (r *reader) set(f *field, value []byte) error {
	c := f.column
	if to, isText := f.cell.(*string); isText {
		*to = r.text(*to, value)
		return nil
	}
	if to, isFraction := f.cell.(*float64); isFraction {
		v, ok := c.fraction(value)
		if !ok {
			return fmt.Errorf("%s is %q, not a number", c.Name, value)
		}
		*to = v
		return nil
	}
	v, ok := c.whole(value)
	if !ok {
		return fmt.Errorf("%s is %q, not a whole number", c.Name, value)
	}
	switch to := f.cell.(type) {
	case *int64:
		*to = v
	case *int:
		*to = int(v)
	case *bool:
		if *to = v == 1; v > 1 {
			return fmt.Errorf("%s is %q, not 0 or 1", c.Name, value)
		}
	}
	return nil
}

// fraction returns a finite number, or -1 for an absent one.
func (c *Column) fraction(value []byte) (float64, bool) {
	if c.Null && len(value) == 0 {
		return -1, true
	}
	v, err := strconv.ParseFloat(string(value), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) && (v >= 0 || !c.Null)
}

// whole returns a whole number that is not negative, or -1 for an absent one.
func (c *Column) whole(value []byte) (int64, bool) {
	if len(value) == 0 || len(value) > 19 { // 19 digits do not overflow
		return -1, c.Null && len(value) == 0
	}
	v := uint64(0)
	for _, digit := range value {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		v = 10*v + uint64(digit-'0')
	}
	return int64(v), v <= math.MaxInt64
}

// mostTexts limits the texts that a reader keeps.
const mostTexts = 1 << 16

// text returns a text that equals value: last, one read before, or a new one. A table has few different texts, so most
// are recent.
func (r *reader) text(last string, value []byte) string {
	if last == string(value) {
		return last
	}
	hash := uint32(len(value))
	for _, c := range value {
		hash = 31*hash + uint32(c)
	}
	recent := &r.recent[hash%uint32(len(r.recent))]
	if *recent != string(value) {
		s, known := r.texts[string(value)]
		if !known {
			if len(r.texts) == mostTexts {
				clear(r.texts)
			}
			s = string(value)
			r.texts[s] = s
		}
		*recent = s
	}
	return *recent
}
