package table

import (
	"io"
	"iter"
	"strconv"
)

// Writer writes the rows of a table, without allocating.
type Writer[Row any] struct {
	to      io.Writer
	columns []Column
	row     Row
	cells   []any // of row
	line    []byte
	number  int64  // the first column of the last WriteRest
	first   []byte // number and its comma; empty before the first WriteRest
}

// NewWriter writes the header. Each row is one call of to's Write.
func (t *Table[Row]) NewWriter(to io.Writer) (*Writer[Row], error) {
	w := &Writer[Row]{to: to, columns: t.Columns}
	w.cells = t.cells(&w.row)
	_, err := io.WriteString(to, t.Header()+"\n")
	return w, err
}

// Write writes a row.
func (w *Writer[Row]) Write(row *Row) error {
	w.line = w.append(w.line[:0], 0, row)
	_, err := w.to.Write(w.line)
	return err
}

// AppendRest appends the text that Write writes after the first column and its comma. A caller may keep it, and pass it
// to WriteRest for each row that differs in its first column only.
func (w *Writer[Row]) AppendRest(text []byte, row *Row) []byte { return w.append(text, 1, row) }

// WriteRest writes a row from the value of its first column, which must be a whole number, and the text from
// AppendRest.
func (w *Writer[Row]) WriteRest(first int64, rest []byte) error {
	if first != w.number || len(w.first) == 0 {
		w.number, w.first = first, append(strconv.AppendInt(w.first[:0], first, 10), ',')
	}
	w.line = append(append(w.line[:0], w.first...), rest...)
	_, err := w.to.Write(w.line)
	return err
}

// append appends the columns of a row from a given one on, and the end of the line.
func (w *Writer[Row]) append(line []byte, from int, row *Row) []byte {
	w.row = *row
	for k := from; k < len(w.cells); k++ {
		switch v := w.cells[k].(type) {
		case *int64:
			if *v >= 0 || !w.columns[k].Null {
				line = strconv.AppendInt(line, *v, 10)
			}
		case *string:
			if w.columns[k].plain {
				line = append(line, *v...)
			} else {
				line = appendText(line, *v)
			}
		case *int:
			if *v >= 0 || !w.columns[k].Null {
				line = strconv.AppendInt(line, int64(*v), 10)
			}
		case *bool:
			digit := byte('0')
			if *v {
				digit = '1'
			}
			line = append(line, digit)
		case *float64:
			line = w.columns[k].appendFraction(line, *v)
		}
		line = append(line, ',')
	}
	line[len(line)-1] = '\n'
	return line
}

// WriteAll writes the header and all rows.
func (t *Table[Row]) WriteAll(to io.Writer, rows iter.Seq[*Row]) error {
	w, err := t.NewWriter(to)
	if err != nil {
		return err
	}
	for row := range rows {
		if err := w.Write(row); err != nil {
			return err
		}
	}
	return nil
}

// Rows returns the rows of a slice.
func Rows[Row any](all []Row) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

func (c *Column) appendFraction(line []byte, v float64) []byte {
	switch {
	case c.Null && v < 0:
		return line
	case c.digits < 0:
		return strconv.AppendFloat(line, v, 'g', -1, 64)
	}
	return strconv.AppendFloat(line, v, 'f', c.digits, 64)
}

// appendText appends a text, in quotes if it has a comma or a quote. A row is a line, so a line break in a text becomes
// a space.
func appendText(line []byte, s string) []byte {
	if !needsQuotes(s) {
		return append(line, s...)
	}
	line = append(line, '"')
	for i := range len(s) {
		switch s[i] {
		case '\n', '\r':
			line = append(line, ' ')
		case '"':
			line = append(line, '"', '"')
		default:
			line = append(line, s[i])
		}
	}
	return append(line, '"')
}

func needsQuotes(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ',', '"', '\n', '\r':
			return true
		}
	}
	return false
}
