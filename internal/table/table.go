// Package table reads and writes CSV files whose columns are the fields of a struct. table.go takes the struct apart,
// read.go reads rows, and write.go writes them.
//
// A field is a column if it has the tag csv, which has the column's name and, after commas, its options:
//
//	type Row struct {
//		Flow     int     `csv:"flow" doc:"number of the flow, from 0"`
//		FCT      int64   `csv:"fct_ns,null" unit:"ns" doc:"flow completion time; empty: the flow has not finished"`
//		Slowdown float64 `csv:"slowdown,null,digits=6" doc:"FCT over the ideal FCT"`
//		Marks    int64   `csv:"marks,optional" doc:"data packets that arrived marked"`
//	}
//
//	var Flows = table.Of[Row]("flows.csv", "flows")
//
// The options are:
//
//   - null: the number may be absent. A number below 0 is written as an empty field, which is read as -1.
//   - optional: files may lack the column, since older programs did not write it. The field is then 0, or -1 with null.
//   - plain: the text has no comma, quote or line break. The writer does not look for them, which takes a fifth of its
//     time.
//   - digits=N: a float64 has N digits after the point. Without it, it has as many as it needs.
//
// Whole numbers (int, int64) are not negative, a bool is 0 or 1, and a float64 is finite. A reader finds columns by
// their names, so files may have them in any order, and others besides.
package table

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
)

// Kind selects the type of a column's values.
type Kind int

// Kinds of columns, and their types in Parquet.
const (
	Whole    Kind = iota // int64
	Unsigned             // uint64
	Fraction             // double
	Text                 // string
)

func (k Kind) String() string { return [...]string{"int64", "uint64", "double", "string"}[k] }

// Column describes a column.
type Column struct {
	Name     string
	Kind     Kind
	Null     bool // the number may be absent
	Optional bool // files may lack the column
	Unit     string
	Doc      string
	digits   int  // after the point; -1: as many as needed
	plain    bool // the text never needs quotes
}

// Schema describes a table.
type Schema struct {
	Name    string // of the file
	Title   string // description of its rows, in a few words
	Columns []Column

	fields []int      // of the struct, by column
	newRow func() any // a pointer to a struct
}

// Table describes a CSV file with one Row per row.
type Table[Row any] struct{ Schema }

// Of returns the table that a struct describes. It panics if a tag is wrong.
func Of[Row any](name, title string) *Table[Row] {
	t := &Table[Row]{Schema{Name: name, Title: title, newRow: func() any { return new(Row) }}}
	row := reflect.TypeFor[Row]()
	for i := range row.NumField() {
		if f := row.Field(i); f.Tag.Get("csv") != "" {
			t.Columns, t.fields = append(t.Columns, columnOf(f)), append(t.fields, i)
		}
	}
	return t
}

func columnOf(f reflect.StructField) Column {
	name, options, _ := strings.Cut(f.Tag.Get("csv"), ",")
	c := Column{Name: name, Unit: f.Tag.Get("unit"), Doc: f.Tag.Get("doc"), digits: -1}
	switch f.Type.Kind() {
	case reflect.Int, reflect.Int64, reflect.Bool:
	case reflect.Float64:
		c.Kind = Fraction
	case reflect.String:
		c.Kind = Text
	default:
		panic(fmt.Sprintf("table: field %s: type %s cannot be a column", f.Name, f.Type))
	}
	for option := range strings.SplitSeq(options, ",") {
		digits, isDigits := strings.CutPrefix(option, "digits=")
		switch n, err := strconv.Atoi(digits); {
		case option == "":
		case option == "optional":
			c.Optional = true
		case option == "null" && c.Kind != Text && f.Type.Kind() != reflect.Bool:
			c.Null = true
		case option == "plain" && c.Kind == Text:
			c.plain = true
		case isDigits && err == nil && c.Kind == Fraction:
			c.digits = n
		default:
			panic(fmt.Sprintf("table: field %s: option %q is unknown or does not apply to %s", f.Name, option, f.Type))
		}
	}
	return c
}

// Header returns the first line of the file, without its end.
func (s *Schema) Header() string {
	return strings.Join(lists.Map(s.Columns, func(c Column) string { return c.Name }), ",")
}

// ParquetName returns the name of the Parquet file with the same rows.
func (s *Schema) ParquetName() string { return strings.TrimSuffix(s.Name, ".csv") + ".parquet" }

// cells returns pointers to the fields of a row, by column.
func (s *Schema) cells(row any) []any {
	fields := reflect.ValueOf(row).Elem()
	cells := make([]any, len(s.fields))
	for k, i := range s.fields {
		cells[k] = fields.Field(i).Addr().Interface()
	}
	return cells
}
