// Package parquet writes tables of results as Apache Parquet files, which pandas, Polars, DuckDB, Spark and R read several times quicker than CSV,
// with the types of their columns.
//
// A file has the rows and columns of a CSV file, in its order: whole numbers as INT64, other numbers as DOUBLE, texts as STRING. What is empty there is null
// in a column of numbers, and an empty text in one of texts. It is made of the CSV file when that is written, and equal ones give equal bytes.
package parquet

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/internal/files"
)

// rowsAtOnce are written at once. A row group has so many rows that a reader can skip some, and a writer needs some 10 MB.
const (
	rowsAtOnce  = 1024
	rowsInGroup = 1 << 17
)

// WriteRun writes a Parquet file beside each CSV file of a run's folder. What it cannot end it removes.
func WriteRun(folder *files.Folder) error {
	for _, table := range rundir.Tables() {
		if _, err := os.Lstat(filepath.Join(folder.Path(), table)); errors.Is(err, os.ErrNotExist) {
			continue
		}
		columns := rundir.ColumnsOf(table)
		err := Write(folder, rundir.ParquetName(table), columns, func(w *Writer) error {
			return rundir.ReadTable(folder, table, func(r *rundir.Row) error {
				last := len(columns) - 1
				for k, c := range columns {
					switch {
					case c.Kind == rundir.Text && k == last:
						w.Text(r.Quoted(k))
					case c.Kind == rundir.Text:
						w.Text(r.Text(k))
					case c.Empty && r.Empty(k):
						w.Nothing()
					case c.Kind == rundir.Fraction:
						w.Fraction(r.Number(k))
					default:
						w.Whole(r.Whole(k))
					}
				}
				if r.Err != nil {
					return r.Err
				}
				return w.End()
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Write writes a file of a folder. rows gives its rows, in order.
func Write(folder *files.Folder, name string, columns []rundir.Column, rows func(w *Writer) error) error {
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

func write(to io.Writer, columns []rundir.Column, rows func(w *Writer) error) error {
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

// Writer takes the values of a row, by column, then its End.
type Writer struct {
	to      *parquet.GenericWriter[any]
	columns []rundir.Column
	rows    []parquet.Row
	n       int               // rows that are full
	texts   map[string][]byte // those that were there: tables have few
}

func newWriter(to io.Writer, columns []rundir.Column) *Writer {
	t := table{Group: parquet.Group{}}
	for _, c := range columns {
		var node parquet.Node
		switch c.Kind {
		case rundir.Text:
			node = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
		case rundir.Unsigned:
			node = parquet.Encoded(parquet.Uint(64), &parquet.DeltaBinaryPacked)
		case rundir.Fraction:
			node = parquet.Leaf(parquet.DoubleType)
		default:
			node = parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)
		}
		if c.Empty {
			node = parquet.Optional(node)
		}
		t.Group[c.Name] = node
		t.fields = append(t.fields, parquet.Group{c.Name: node}.Fields()...)
	}
	return &Writer{
		to: parquet.NewGenericWriter[any](to, parquet.NewSchema("table", t), parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsInGroup),
			parquet.CreatedBy("pausenet", "", "")),
		columns: columns, rows: make([]parquet.Row, rowsAtOnce), texts: map[string][]byte{},
	}
}

// table is a group whose fields keep their order: the columns of a parquet.Group are sorted by name.
type table struct {
	parquet.Group
	fields []parquet.Field
}

func (t table) Fields() []parquet.Field { return t.fields }

// GoType is of no use: rows are given by column.
func (t table) GoType() reflect.Type { return reflect.TypeFor[map[string]any]() }

func (w *Writer) add(v parquet.Value) {
	row := &w.rows[w.n]
	k := len(*row)
	present := 0
	if w.columns[k].Empty && !v.IsNull() {
		present = 1
	}
	*row = append(*row, v.Level(0, present, k))
}

// Whole gives a column of whole numbers its value.
func (w *Writer) Whole(v int64) { w.add(parquet.Int64Value(v)) }

// Unsigned gives one of whole numbers up to 2^64-1 its value.
func (w *Writer) Unsigned(v uint64) { w.add(parquet.Int64Value(int64(v))) }

// Fraction gives one of other numbers its value.
func (w *Writer) Fraction(v float64) { w.add(parquet.DoubleValue(v)) }

// Nothing leaves a column of numbers empty.
func (w *Writer) Nothing() { w.add(parquet.NullValue()) }

// Text gives a column of texts its value.
func (w *Writer) Text(s string) {
	b, known := w.texts[s]
	if !known {
		if len(w.texts) == 1<<16 {
			clear(w.texts)
		}
		b = []byte(s)
		w.texts[s] = b
	}
	w.add(parquet.ByteArrayValue(b))
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
