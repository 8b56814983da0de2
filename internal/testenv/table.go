package testenv

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Table holds a CSV file: its header line, and its rows by column.
type Table struct {
	Header string
	Rows   []map[string]string
}

// ReadTable reads a CSV file. All rows must have the same number of fields.
func ReadTable(t testing.TB, path string) Table {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	table := Table{Header: strings.Join(records[0], ",")}
	for _, r := range records[1:] {
		row := map[string]string{}
		for i, column := range records[0] {
			row[column] = r[i]
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// AddColumns changes the tables of a run's folder as if a later version had written them: each gets a column in the
// middle and one at the end.
func AddColumns(t testing.TB, folder string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.csv"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no table: %v", folder, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for i, fields := range records {
			middle, last := "inserted", "appended"
			if i > 0 {
				middle, last = "7, and quoted", ""
			}
			records[i] = append(slices.Insert(fields, len(fields)/2, middle), last)
		}
		var b strings.Builder
		if err := csv.NewWriter(&b).WriteAll(records); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Number parses a whole number of a row.
func Number(t testing.TB, row map[string]string, column string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(row[column], 10, 64)
	if err != nil {
		t.Fatalf("column %s of %v: %v", column, row, err)
	}
	return n
}

// ReadJSON parses a JSON file.
func ReadJSON(t testing.TB, path string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}
