// Package parquet writes tables of results as Apache Parquet files, which pandas, Polars, DuckDB, Spark and R read
// several times quicker than CSV, with the types of their columns.
//
// A file has the rows and columns of a CSV file, in its order: whole numbers as INT64, other numbers as DOUBLE, texts
// as STRING. What is empty there is null in a column of numbers, and an empty text in one of texts. It is made of the
// CSV file when that is written, and equal ones give equal bytes.
package parquet

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/table"
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
		null := w.columns[k].Null
		switch p := cell.(type) {
		case *string:
			w.Text(*p)
		case *float64:
			if null && *p < 0 {
				w.Nothing()
			} else {
				w.Fraction(*p)
			}
		case *int64:
			w.whole(*p, null)
		case *int:
			w.whole(int64(*p), null)
		case *bool:
			if *p {
				w.Whole(1)
			} else {
				w.Whole(0)
			}
		}
	}
	return w.End()
}

// whole gives a column of whole numbers its value. In a column with nulls, a negative number stands for none.
func (w *Writer) whole(v int64, null bool) {
	if null && v < 0 {
		w.Nothing()
	} else {
		w.Whole(v)
	}
}

// Write writes a file of a folder. rows gives its rows, in order.
func Write(folder *files.Folder, name string, columns []table.Column, rows func(w *Writer) error) error {
	f, err := folder.Create(name)
	if err != nil {
		return err
	}
	w := newWriter(f, columns)
	err = errors.Join(rows(w), w.Close(), f.Close())
	if err != nil {
		err = errors.Join(err, folder.Remove(name))
	}
	return err
}
