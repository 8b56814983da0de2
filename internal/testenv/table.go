package testenv

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Table is a CSV file: its header as written, and its rows by column.
type Table struct {
	Header string
	Rows   []map[string]string
}

// ReadTable reads a CSV file, whose rows have as many fields each.
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

// Number reads a whole number of a row.
func Number(t testing.TB, row map[string]string, column string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(row[column], 10, 64)
	if err != nil {
		t.Fatalf("column %s of %v: %v", column, row, err)
	}
	return n
}

// ReadJSON reads a file of JSON.
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
