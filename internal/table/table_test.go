package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// row has a column of each type, and each option.
type row struct {
	Flow     int     `csv:"flow" doc:"number"`
	Tag      string  `csv:"tag,plain" doc:"name"`
	Size     int64   `csv:"size_bytes" unit:"bytes"`
	Again    bool    `csv:"again"`
	FCT      int64   `csv:"fct_ns,null" unit:"ns"`
	Cause    int     `csv:"cause,null"`
	Slowdown float64 `csv:"slowdown,null,digits=3"`
	Value    float64 `csv:"value"`
	Marks    int64   `csv:"marks,optional"`
	First    int64   `csv:"first_ns,null,optional"`
	Detail   string  `csv:"detail,optional"`
	ignored  int     //nolint:unused // a field without a tag
}

var rows = Of[row]("rows.csv", "rows of a test")

const oldHeader = "flow,tag,size_bytes,again,fct_ns,cause,slowdown,value"

func read(t *testing.T, text string) ([]row, error) {
	t.Helper()
	var all []row
	err := rows.Read(strings.NewReader(text), func(r *row) error {
		all = append(all, *r)
		return nil
	})
	return all, err
}

func write(t *testing.T, all []row) string {
	t.Helper()
	var b strings.Builder
	if err := rows.WriteAll(&b, Rows(all)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var some = []row{
	{0, "a", 60000, false, 123, 0, 1.23, -0.1, 7, 0, `so "quoted", with a comma`, 0},
	{1, "", math.MaxInt64, true, -1, -1, -1, 1e-300, 0, -1, "", 0},
	{2, "größer", 0, false, 0, 9, 0, 5, 0, 5, `"`, 0},
}

const someText = oldHeader + `,marks,first_ns,detail
0,a,60000,0,123,0,1.230,-0.1,7,0,"so ""quoted"", with a comma"
1,,9223372036854775807,1,,,,1e-300,0,,
2,größer,0,0,0,9,0.000,5,0,5,""""
`

// TestBytes pins the bytes written, which encoding/csv and Read both read back.
func TestBytes(t *testing.T) {
	text := write(t, some)
	if text != someText {
		t.Errorf("got\n%s\nwant\n%s", text, someText)
	}
	if all, err := read(t, text); err != nil || !slices.Equal(all, some) {
		t.Errorf("read %+v, %v", all, err)
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || records[1][10] != some[0].Detail {
		t.Errorf("encoding/csv reads %q, %v", records, err)
	}
}

// TestColumnsByName checks that columns may be inserted, appended and moved, and that optional ones may be missing.
func TestColumnsByName(t *testing.T) {
	old := slices.Clone(some)
	for i := range old {
		old[i].Marks, old[i].First, old[i].Detail = 0, -1, ""
	}
	change := func(text string, of func(fields []string) []string) string {
		in, out := csv.NewReader(strings.NewReader(text)), strings.Builder{}
		records, err := in.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		w := csv.NewWriter(&out)
		for _, fields := range records {
			_ = w.Write(of(fields))
		}
		w.Flush()
		return out.String()
	}
	for name, c := range map[string]struct {
		of   func(fields []string) []string
		want []row
	}{
		"a column in the middle": {func(f []string) []string { return slices.Insert(f, 4, "new, and quoted") }, some},
		"a column in front":      {func(f []string) []string { return slices.Insert(f, 0, "new") }, some},
		"a column at the end":    {func(f []string) []string { return append(f, "new") }, some},
		"columns in reverse":     {func(f []string) []string { slices.Reverse(f); return f }, some},
		"no optional columns":    {func(f []string) []string { return f[:8] }, old},
	} {
		text := change(someText, c.of)
		if got, err := read(t, text); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %+v, %v\nof %s", name, got, err, text)
		}
	}
	for k, name := range strings.Split(oldHeader, ",") {
		text := change(someText, func(f []string) []string { return slices.Delete(f, k, k+1) })
		if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), "line 1: column "+name+" is missing") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "line 1: the file is empty",
		"flow\n":                             "line 1: column tag is missing",
		oldHeader + ",tag\n":                 `line 1: two columns have the name "tag"`,
		oldHeader + "\n0,a,1,0,1,1,1\n":      "line 2: expected 8 fields, got 7: the file is damaged",
		oldHeader + "\n0,a,1,0,1,1,1,1,1,\n": "line 2: expected 8 fields, got 10: the file is damaged",
		oldHeader + "\n0,1,0,1,1,1,1\n":      "line 2: expected 8 fields, got 7: the file is damaged",
		oldHeader + "\n\n":                   "line 2: expected 8 fields, got 1: the file is damaged",
		oldHeader + "\n,a,1,0,1,1,1,1\n":     `line 2: flow is "", not a whole number`,
		oldHeader + "\n0,a,-1,0,1,1,1,1\n":   `line 2: size_bytes is "-1", not a whole number`,
		oldHeader + "\n0,a,9223372036854775808,0,1,1,1,1\n":                   `not a whole number`,
		oldHeader + "\n0,a,99999999999999999999,0,1,1,1,1\n":                  `not a whole number`,
		oldHeader + "\n0,a,1,2,1,1,1,1\n":                                     `line 2: again is "2", not 0 or 1`,
		oldHeader + "\n0,a,1,0,-1,1,1,1\n":                                    `line 2: fct_ns is "-1", not a whole number`,
		oldHeader + "\n0,a,1,0,1,1,-1,1\n":                                    `line 2: slowdown is "-1", not a number`,
		oldHeader + "\n0,a,1,0,1,1,1,NaN\n":                                   `line 2: value is "NaN", not a number`,
		oldHeader + "\n0,a,1,0,1,1,1,\n":                                      `line 2: value is "", not a number`,
		oldHeader + "\n0,a,1,0,1,1,1,1\n" + strings.Repeat("x", longestRow+1): "line 3: bufio.Scanner: token too long",
	} {
		_, err := read(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: got %v, want %s", text, err, want)
		}
	}
	stop := errors.New("stop")
	err := rows.Read(strings.NewReader(someText), func(r *row) error {
		if r.Flow == 1 {
			return stop
		}
		return nil
	})
	var at *LineError
	if !errors.Is(err, stop) || !errors.As(err, &at) || at.Line != 3 {
		t.Errorf("an error of each: %v", err)
	}
}

func TestCheck(t *testing.T) {
	n := 0
	err := Of[checkedRow]("x.csv", "").Read(strings.NewReader("n\n1\n2\n"), func(*checkedRow) error { n++; return nil })
	if err == nil || err.Error() != "line 3: n is 2" || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
}

type checkedRow struct {
	N int `csv:"n"`
}

func (c *checkedRow) Check() error {
	if c.N > 1 {
		return fmt.Errorf("n is %d", c.N)
	}
	return nil
}

// TestReadCells: the values of a row, by column.
func TestReadCells(t *testing.T) {
	var got []string
	err := rows.ReadCells(strings.NewReader(someText), func(cells []any) error {
		line := ""
		for k, cell := range cells {
			line += fmt.Sprintf("%s=%v ", rows.Columns[k].Name, reflect.ValueOf(cell).Elem())
		}
		got = append(got, line)
		return nil
	})
	want := "flow=1 tag= size_bytes=9223372036854775807 again=true fct_ns=-1 cause=-1 slowdown=-1 value=1e-300 marks=0 first_ns=-1 detail= "
	if err != nil || len(got) != 3 || got[1] != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSchema(t *testing.T) {
	if got, want := rows.Columns[6], (Column{Name: "slowdown", Kind: Fraction, Null: true, digits: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if c := rows.Columns[2]; c.Unit != "bytes" || c.Kind != Whole || c.Null || rows.Columns[0].Doc != "number" ||
		rows.Columns[1].Kind != Text {
		t.Errorf("%+v", rows.Columns)
	}
	if rows.ParquetName() != "rows.parquet" {
		t.Error(rows.ParquetName())
	}
	for name, of := range map[string]func(){
		"an unknown option": func() {
			Of[struct {
				N int `csv:"n,none"`
			}]("", "")
		},
		"null for a text": func() {
			Of[struct {
				S string `csv:"s,null"`
			}]("", "")
		},
		"plain for a number": func() {
			Of[struct {
				N int `csv:"n,plain"`
			}]("", "")
		},
		"digits for a whole number": func() {
			Of[struct {
				N int `csv:"n,digits=3"`
			}]("", "")
		},
		"an unknown type": func() {
			Of[struct {
				N uint8 `csv:"n"`
			}]("", "")
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			of()
		}()
	}
}

// TestLineBreaks: a text with line breaks stays in one row.
func TestLineBreaks(t *testing.T) {
	all, err := read(t, write(t, []row{{Detail: "one\r\ntwo"}}))
	if err != nil || len(all) != 1 || all[0].Detail != "one  two" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestNoAllocation: neither reading nor writing allocates for a row.
func TestNoAllocation(t *testing.T) {
	text := func(n int) string {
		return oldHeader + "\n" + strings.Repeat("1,a,60000,1,123,,1.230000,0.5\n2,b,60000,0,,3,,1e-3\n", n)
	}
	allocations := func(text string) float64 {
		from := strings.NewReader(text)
		return testing.AllocsPerRun(10, func() {
			from.Reset(text)
			if err := rows.Read(from, func(*row) error { return nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(text(10)), allocations(text(10000)); many > few {
		t.Errorf("reading: %g allocations for 20 rows, %g for 20000", few, many)
	}
	w, err := rows.NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		_ = w.Write(&row{Flow: 7, Tag: "a", FCT: -1, Slowdown: 1.5, Value: 0.1})
	}); n > 0 {
		t.Errorf("writing: %g allocations a row", n)
	}
}

// TestManyTexts checks that a reader limits the number of texts that it keeps.
func TestManyTexts(t *testing.T) {
	var b strings.Builder
	b.WriteString(oldHeader + "\n")
	const n = 2*mostTexts + 10
	for i := range n {
		fmt.Fprintf(&b, "%d,t%d,0,0,,,,0\n", i, i)
	}
	all, err := read(t, b.String())
	if err != nil || len(all) != n || all[0].Tag != "t0" || all[n-1].Tag != fmt.Sprint("t", n-1) {
		t.Errorf("%d rows, %v", len(all), err)
	}
}

// FuzzRead checks that any file is read, or refused with the line of the mistake, and that rows read can be written and
// read again with equal results.
func FuzzRead(f *testing.F) {
	f.Add(someText)
	f.Add(oldHeader + "\n0,a,1,0,,,,0\n")
	f.Add(oldHeader + ",\"x,y\"\n0,a,1,0,,,,0,\"z\"\"\n")
	f.Add("flow,,,\n,,,")
	plain := strings.NewReplacer(",", " ", `"`, " ", "\r", " ")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := read(t, text)
		if err != nil {
			var at *LineError
			if !errors.As(err, &at) || at.Line < 1 || at.Line > strings.Count(text, "\n")+1 {
				t.Fatal(err)
			}
			return
		}
		if len(all) > strings.Count(text, "\n") {
			t.Errorf("%d rows", len(all))
		}
		for i := range all { // a carriage return at the end of a text may be the line's
			all[i].Tag, all[i].Detail = plain.Replace(all[i].Tag), strings.ReplaceAll(all[i].Detail, "\r", " ")
			all[i].Slowdown = -1 // three digits
		}
		if again, err := read(t, write(t, all)); err != nil || !slices.Equal(again, all) {
			t.Errorf("got %+v, %v\nwant %+v", again, err, all)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	text := oldHeader + "\n" + strings.Repeat("1,a,60000,1,123,,1.230000,0.5\n2,b,60000,0,,3,,1e-3\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	from := strings.NewReader(text)
	for b.Loop() {
		from.Reset(text)
		if err := rows.Read(from, func(*row) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	w, err := rows.NewWriter(io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(&row{Flow: 7, Tag: "a", FCT: 123, Slowdown: 1.5, Value: 0.1}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRest checks that a row written in two parts equals one written whole, however often its second part is repeated.
func TestRest(t *testing.T) {
	var b strings.Builder
	w, err := rows.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	want := someText[:strings.Index(someText, "\n")+1]
	for i := range some {
		rest := w.AppendRest([]byte("kept"), &some[i])[len("kept"):]
		for _, first := range []int64{0, 7, 7, math.MaxInt64} {
			if err := w.WriteRest(first, rest); err != nil {
				t.Fatal(err)
			}
			line := strings.Split(someText, "\n")[1+i]
			want += fmt.Sprint(first) + line[strings.Index(line, ","):] + "\n"
		}
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
