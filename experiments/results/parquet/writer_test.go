package parquet

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pausenet/pausenet/internal/table"
)

// TestWriter writes random values, in numbers of rows beside the bounds of blocks and pages, and reads them by another
// implementation.
func TestWriter(t *testing.T) {
	columns := []table.Column{
		{Name: "whole", Kind: table.Whole},
		{Name: "maybe", Kind: table.Whole, Null: true},
		{Name: "unsigned", Kind: table.Unsigned},
		{Name: "fraction", Kind: table.Fraction, Null: true},
		{Name: "few", Kind: table.Text},
		{Name: "many", Kind: table.Text},
		{Name: "none", Kind: table.Fraction, Null: true},
	}
	for _, rows := range []int{0, 1, 7, 8, 9, 128, 129, 130, rowsInPage - 1, rowsInPage, rowsInPage + 1, rowsInGroup + 5} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(rows), 1))
			var b bytes.Buffer
			w := newWriter(&b, columns)
			var want []string
			whole := int64(0)
			for i := range rows {
				switch random.IntN(40) {
				case 0:
					whole = int64(random.Uint64()) // differences overflow
				case 1, 2, 3:
					whole += random.Int64N(1000)
				}
				w.Whole(whole)
				row := []any{whole}
				if random.IntN(100) < i/64%100 { // long and short runs
					w.Whole(math.MinInt64)
					row = append(row, int64(math.MinInt64))
				} else {
					w.Nothing()
					row = append(row, "<null>")
				}
				unsigned := random.Uint64() >> random.IntN(64)
				w.Unsigned(unsigned)
				fraction := math.Float64frombits(random.Uint64())
				w.Fraction(fraction)
				few, many := fmt.Sprint("text ", i/100%7), fmt.Sprintf("%x", random.Uint64())
				w.Text(few)
				w.Text(many)
				w.Nothing()
				want = append(want, fmt.Sprint(append(row, int64(unsigned), math.Float64bits(fraction), few, many, "<null>")...))
				if err := w.End(); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got := read(t, b.Bytes())
			if len(got) != len(want) {
				t.Fatalf("%d rows, want %d", len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("row %d: got %s, want %s", i, got[i], want[i])
				}
			}
		})
	}
}

// read returns the rows of a file as parquet-go reads them.
func read(t *testing.T, file []byte) (rows []string) {
	t.Helper()
	r := parquet.NewGenericReader[any](bytes.NewReader(file))
	defer r.Close()
	batch := make([]parquet.Row, 1000)
	for {
		n, err := r.ReadRows(batch)
		for _, row := range batch[:n] {
			var values []any
			for _, v := range row {
				switch {
				case v.IsNull():
					values = append(values, "<null>")
				case v.Kind() == parquet.Double:
					values = append(values, math.Float64bits(v.Double()))
				case v.Kind() == parquet.ByteArray:
					values = append(values, string(v.ByteArray()))
				default:
					values = append(values, v.Int64())
				}
			}
			rows = append(rows, fmt.Sprint(values...))
		}
		if err != nil || n == 0 {
			return rows
		}
	}
}

// TestStatistics checks the least and the largest values that a file names, by which readers skip row groups.
func TestStatistics(t *testing.T) {
	columns := []table.Column{
		{Name: "whole", Kind: table.Whole},
		{Name: "unsigned", Kind: table.Unsigned},
		{Name: "fraction", Kind: table.Fraction, Null: true},
		{Name: "text", Kind: table.Text},
		{Name: "nan", Kind: table.Fraction},
	}
	var b bytes.Buffer
	w := newWriter(&b, columns)
	for i, v := range []int64{3, -5, 7} {
		w.Whole(v)
		w.Unsigned(uint64(v))
		if i == 0 {
			w.Nothing()
		} else {
			w.Fraction(float64(v) / 2)
		}
		w.Text(fmt.Sprint("t", v))
		w.Fraction(math.NaN())
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	text := func(c parquet.ColumnChunk) string {
		least, most, known := c.(*parquet.FileColumnChunk).Bounds()
		return fmt.Sprintf("%v %v %v %d", known, least, most, c.(*parquet.FileColumnChunk).NullCount())
	}
	var got []string
	for _, c := range f.RowGroups()[0].ColumnChunks() {
		got = append(got, text(c))
	}
	want := []string{ // parquet-go prints the unsigned column's largest value, 2^64-5, as a signed number
		"true -5 7 0", "true 3 -5 0", "true -2.5 3.5 1", "true t-5 t7 0", "false <null> <null> 0",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
