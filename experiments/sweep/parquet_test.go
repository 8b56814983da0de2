package sweep

import (
	"os"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// compareParquet compares sweep.parquet with the records of sweep.csv.
func compareParquet(t *testing.T, path string, records [][]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := parquet.NewGenericReader[any](f)
	defer r.Close()
	kinds := map[string]parquet.Kind{}
	for k, field := range r.Schema().Fields() {
		if field.Name() != records[0][k] {
			t.Errorf("column %d is %s, not %s", k, field.Name(), records[0][k])
		}
		kinds[field.Name()] = field.Type().Kind()
	}
	if kinds["switch.pfc.xoff"] != parquet.ByteArray || kinds["switch.pfc.xoff_bytes"] != parquet.Double ||
		kinds["seed"] != parquet.Int64 ||
		kinds["pauses"] != parquet.Double || kinds["verdict"] != parquet.ByteArray {
		t.Errorf("%v", kinds)
	}
	rows := make([]parquet.Row, len(records))
	if n, _ := r.ReadRows(rows); n != len(records)-1 {
		t.Fatalf("%d rows of %d", n, len(records)-1)
	}
	for i, row := range rows[:len(records)-1] {
		for k, v := range row {
			got := ""
			switch {
			case v.IsNull():
			case v.Kind() == parquet.Double:
				got = strconv.FormatFloat(v.Double(), 'f', -1, 64)
			case v.Kind() == parquet.Int64:
				got = strconv.FormatUint(v.Uint64(), 10)
			default:
				got = string(v.ByteArray())
			}
			if got != records[i+1][k] {
				t.Errorf("row %d: %s is %q, not %q", i, records[0][k], got, records[i+1][k])
			}
		}
	}
}
