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
	w.row = *row
	w.line = w.line[:0]
	for k, cell := range w.cells {
		if k > 0 {
			w.line = append(w.line, ',')
		}
		w.line = w.columns[k].append(w.line, cell)
	}
	w.line = append(w.line, '\n')
	_, err := w.to.Write(w.line)
	return err
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

// append appends the value that a cell points to.
func (c *Column) append(line []byte, cell any) []byte {
	switch v := cell.(type) {
	case *int64:
		return c.appendWhole(line, *v)
	case *int:
		return c.appendWhole(line, int64(*v))
	case *string:
		return appendText(line, *v)
	case *bool:
		if *v {
			return append(line, '1')
		}
		return append(line, '0')
	case *float64:
		switch {
		case c.Null && *v < 0:
			return line
		case c.digits < 0:
			return strconv.AppendFloat(line, *v, 'g', -1, 64)
		}
		return strconv.AppendFloat(line, *v, 'f', c.digits, 64)
	}
	return line
}

func (c *Column) appendWhole(line []byte, v int64) []byte {
	if c.Null && v < 0 {
		return line
	}
	return strconv.AppendInt(line, v, 10)
}

// appendText appends a text, in quotes if it has a comma or a quote. A row is a line, so a line break in a text becomes a space.
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
