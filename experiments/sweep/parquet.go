package sweep

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/parquet"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/table"
)

// Names of the sweep's table, as CSV and as Parquet.
const (
	tableFile   = "sweep.csv"
	parquetFile = "sweep.parquet"
)

// WriteParquet writes sweep.parquet, with the contents of sweep.csv in typed columns, into the sweep's folder. A
// parameter's column holds numbers if all its values are numbers, and texts otherwise.
func (s *Sweep) WriteParquet(directory string) error {
	folder, err := files.OpenFolder(directory, directory)
	if err != nil {
		return fmt.Errorf("cannot write the results: %w", err)
	}
	defer folder.Close()
	path := filepath.Join(directory, tableFile)
	rows, err := readTable(path)
	if err == nil && len(rows) == 0 {
		err = &rundir.FileError{Path: path, Line: 1, Err: io.ErrUnexpectedEOF}
	}
	if err == nil {
		columns := tableColumns(rows[0], rows[1:])
		err = parquet.Write(folder, parquetFile, columns,
			func(w *parquet.Writer) error { return writeRows(w, columns, rows[1:]) })
	}
	if err != nil {
		return fmt.Errorf("cannot write the results: %w", err)
	}
	return nil
}

func readTable(path string) ([][]string, error) {
	f, err := files.Open(path, rundir.CSVFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return csv.NewReader(f).ReadAll()
}

func tableColumns(header []string, rows [][]string) []table.Column {
	metrics := []string{}
	for i := range measure.Metrics {
		metrics = append(metrics, measure.Metrics[i].Column())
	}
	controller := slices.Index(header, "controller") // parameters come before it
	columns := make([]table.Column, len(header))
	for k, name := range header {
		c := table.Column{Name: name, Kind: table.Text}
		switch {
		case name == "seed" && k > controller:
			c.Kind = table.Unsigned
		case k > controller && (slices.Contains(metrics, name) || strings.Contains(name, ":")):
			c.Kind, c.Null = table.Fraction, true
		case k > 0 && k < controller && !slices.ContainsFunc(rows, func(row []string) bool { return !isNumber(row[k]) }):
			c.Kind, c.Null = table.Fraction, true
		}
		columns[k] = c
	}
	return columns
}

// isNumber reports whether a text fits a column of numbers.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || text == ""
}

func writeRows(w *parquet.Writer, columns []table.Column, rows [][]string) error {
	for _, row := range rows {
		for k, text := range row {
			var err error
			switch columns[k].Kind {
			case table.Unsigned:
				var v uint64
				v, err = strconv.ParseUint(text, 10, 64)
				w.Unsigned(v)
			case table.Fraction:
				if text == "" {
					w.Nothing()
					continue
				}
				var v float64
				v, err = strconv.ParseFloat(text, 64)
				w.Fraction(v)
			default:
				w.Text(text)
			}
			if err != nil {
				return errors.Join(fmt.Errorf("%s: column %s", tableFile, columns[k].Name), err)
			}
		}
		if err := w.End(); err != nil {
			return err
		}
	}
	return nil
}
