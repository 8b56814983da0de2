// Package parquet writes tables of results as Apache Parquet files, which pandas, Polars, DuckDB, Spark and R read
// several times faster than CSV, with the types of their columns.
//
// A file has the rows and columns of a CSV file, in its order: whole numbers as INT64, other numbers as DOUBLE, texts
// as STRING. An empty field becomes null in a column of numbers, and an empty text in a column of texts. The Parquet
// file is made from the written CSV file; equal CSV files give equal bytes.
package parquet

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/table"
)

// rowsAtOnce rows are written at once. A row group is so large that readers can skip groups, and a writer needs about
// 10 MB.
const (
	rowsAtOnce  = 1024
	rowsInGroup = 1 << 17
)

// Observe writes a Parquet file beside each CSV file of a run that has reached its end.
func Observe(*scenario.Setup) (*runner.Observer, error) {
	var folder *files.Folder
	o := &runner.Observer{Files: map[string]string{}}
	o.Start = func(r *runner.Observed) error {
		folder = r.Folder
		return nil
	}
	o.Complete = func() error { return writeRun(folder, o.Files) }
	return o, nil
}

// writeRun writes the Parquet files, and adds their names to written. What it cannot end it removes.
func writeRun(folder *files.Folder, written map[string]string) error {
	for _, t := range rundir.Tables {
		if _, err := os.Lstat(filepath.Join(folder.Path(), t.Name)); errors.Is(err, os.ErrNotExist) {
			continue
		}
		err := Write(folder, t.ParquetName(), t.Columns,
			func(w *Writer) error { return rundir.ReadCells(folder, t, w.cells) })
		if err != nil {
			return err
		}
		written[t.ParquetName()] = t.Name + " in Parquet"
	}
	return nil
}

// cells writes a row: pointers to its values.
func (w *Writer) cells(cells []any) error {
	for k, cell := range cells {
		var v parquet.Value
		absent := false
		switch p := cell.(type) {
		case *string:
			v = w.text(*p)
		case *float64:
			v, absent = parquet.DoubleValue(*p), *p < 0
		case *int64:
			v, absent = parquet.Int64Value(*p), *p < 0
		case *int:
			v, absent = parquet.Int64Value(int64(*p)), *p < 0
		case *bool:
			v = parquet.Int64Value(0)
			if *p {
				v = parquet.Int64Value(1)
			}
		}
		if absent && w.columns[k].Null {
			v = parquet.NullValue()
		}
		w.add(v)
	}
	return w.End()
}

// Write writes a file of a folder. rows gives its rows, in order.
func Write(folder *files.Folder, name string, columns []table.Column, rows func(w *Writer) error) error {
	f, err := folder.Create(name)
	if err != nil {
		return err
	}
	err = errors.Join(write(f, columns, rows), f.Close())
	if err != nil {
		err = errors.Join(err, folder.Remove(name))
	}
	return err
}

func write(to io.Writer, columns []table.Column, rows func(w *Writer) error) error {
	w := newWriter(to, columns)
	err := rows(w)
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		err = w.to.Close()
	}
	return err
}

// Writer receives the values of a row, by column, and then a call of End.
type Writer struct {
	to      *parquet.GenericWriter[any]
	columns []table.Column
	rows    []parquet.Row
	n       int               // full rows
	texts   map[string][]byte // texts so far: tables have few different ones
}

func newWriter(to io.Writer, columns []table.Column) *Writer {
	t := schema{Group: parquet.Group{}}
	for _, c := range columns {
		var node parquet.Node
		switch c.Kind {
		case table.Text:
			node = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
		case table.Unsigned:
			node = parquet.Encoded(parquet.Uint(64), &parquet.DeltaBinaryPacked)
		case table.Fraction:
			node = parquet.Leaf(parquet.DoubleType)
		default:
			node = parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)
		}
		if c.Null {
			node = parquet.Optional(node)
		}
		t.Group[c.Name] = node
		t.fields = append(t.fields, parquet.Group{c.Name: node}.Fields()...)
	}
	return &Writer{
		to: parquet.NewGenericWriter[any](to, parquet.NewSchema("table", t), parquet.Compression(&parquet.Zstd),
			parquet.MaxRowsPerRowGroup(rowsInGroup),
			parquet.CreatedBy("pausenet", "", "")),
		columns: columns, rows: make([]parquet.Row, rowsAtOnce), texts: map[string][]byte{},
	}
}

// schema represents a group whose fields keep their order: the columns of a parquet.Group are sorted by name.
type schema struct {
	parquet.Group
	fields []parquet.Field
}

func (t schema) Fields() []parquet.Field { return t.fields }

// GoType returns a placeholder: rows are written by column.
func (t schema) GoType() reflect.Type { return reflect.TypeFor[map[string]any]() }

func (w *Writer) add(v parquet.Value) {
	row := &w.rows[w.n]
	k := len(*row)
	present := 0
	if w.columns[k].Null && !v.IsNull() {
		present = 1
	}
	*row = append(*row, v.Level(0, present, k))
}

// Unsigned gives a column of whole numbers up to 2^64-1 its value.
func (w *Writer) Unsigned(v uint64) { w.add(parquet.Int64Value(int64(v))) }

// Fraction gives one of other numbers its value.
func (w *Writer) Fraction(v float64) { w.add(parquet.DoubleValue(v)) }

// Nothing leaves a column of numbers empty.
func (w *Writer) Nothing() { w.add(parquet.NullValue()) }

// Text gives a column of texts its value.
func (w *Writer) Text(s string) { w.add(w.text(s)) }

func (w *Writer) text(s string) parquet.Value {
	b, known := w.texts[s]
	if !known {
		if len(w.texts) == 1<<16 {
			clear(w.texts)
		}
		b = []byte(s)
		w.texts[s] = b
	}
	return parquet.ByteArrayValue(b)
}

// End ends a row.
func (w *Writer) End() error {
	if w.n++; w.n == len(w.rows) {
		return w.flush()
	}
	return nil
}

func (w *Writer) flush() error {
	_, err := w.to.WriteRows(w.rows[:w.n])
	for i := range w.rows[:w.n] {
		w.rows[i] = w.rows[i][:0]
	}
	w.n = 0
	return err
}
