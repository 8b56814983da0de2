package parquet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/testenv"
)

// TestEqualsCSV: a folder's Parquet files have the values of its CSV files, row by row and column by column, with their
// types.
func TestEqualsCSV(t *testing.T) {
	dir := t.TempDir()
	var many bytes.Buffer
	many.WriteString(rundir.Ports.Header() + "\n")
	for i := range 2*rowsInGroup + rowsAtOnce/2 {
		many.WriteString(strconv.Itoa(i*20000) + ",L" + strconv.Itoa(i%5) + ",L0-eth1,S1,3," + strconv.Itoa(i*i%99991) +
			",0," + strconv.Itoa(i%2) + ",9000000000\n")
	}
	for name, text := range map[string]string{
		"ports.csv": many.String(),
		"flows.csv": rundir.Flows.Header() + "\n0,f0,h0,h1,9223372036854775807,0,,,,0\n1,007,h0,h1,1,2,3,4,0.750000,5\n" +
			"2,,h0,h1,1,2,3,4,123456.789012,5\n",
		"links.csv":  rundir.Links.Header() + "\nL0,L0-eth1,S1,40000000000,1,2,0.500000,3,4,5,6,7.125,8\n",
		"events.csv": rundir.Events.Header() + "\n100,leaf0,leaf0-eth1,s0,storm,\"priority 3: paused, \"\"so\"\" to speak\"\n150,,,,reroute,\n",
		"panels.csv": rundir.Panels.Header() + "\n0,0,0,1\n0,1,5,1e-300\n0,1,6,0.1\n",
		"pfc.csv":    rundir.PFC.Header() + "\n",
		"why.csv":    rundir.Why.Header() + "\n0,send,0,pace,data,L0-eth1,f1,,,,,77\n0,send,1,pause,ack,L0-eth1,f1,3,ecn,L1-eth1,4,78\n",
		"causes.csv": rundir.Causes.Header() + "\n0,root,L0-eth1,,a=5;b=6\n1,pause,L0-eth1,0,\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	convert(t, dir)
	for _, table := range rundir.Tables {
		if _, err := os.Stat(filepath.Join(dir, table.Name)); err != nil {
			continue
		}
		compare(t, dir, table.Name, table.ParquetName())
	}
	first, err := os.ReadFile(filepath.Join(dir, "ports.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	convert(t, dir)
	if again, _ := os.ReadFile(filepath.Join(dir, "ports.parquet")); !bytes.Equal(first, again) {
		t.Error("the same table came to other bytes")
	}
	if len(first) > many.Len()/4 {
		t.Errorf("%d bytes of %d of CSV", len(first), many.Len())
	}
}

// TestSchemas pins the columns of the Parquet files and their types.
func TestSchemas(t *testing.T) {
	text := ""
	for _, of := range rundir.Tables {
		text += of.ParquetName() + " " + newWriter(io.Discard, of.Columns).to.Schema().String() + "\n"
	}
	testenv.Golden(t, "testdata/schemas.txt", text)
}

func convert(t *testing.T, dir string) {
	t.Helper()
	folder, err := files.OpenFolder(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if err := writeRun(folder, map[string]string{}); err != nil {
		t.Fatal(err)
	}
}

// compare reads both files of a table, each by a reader that is none of ours.
func compare(t *testing.T, dir, name, parquetName string) {
	t.Helper()
	plain, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	rows := csv.NewReader(plain)
	header, err := rows.Read()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, parquetName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := parquet.NewGenericReader[any](f)
	defer r.Close()
	fields := r.Schema().Fields()
	for k, field := range fields {
		if field.Name() != header[k] {
			t.Errorf("%s: column %d is %s, not %s", name, k, field.Name(), header[k])
		}
	}
	n := 0
	var got [1]parquet.Row
	for ; ; n++ {
		want, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if m, err := r.ReadRows(got[:]); m != 1 {
			t.Fatalf("%s: row %d is missing: %v", name, n, err)
		}
		for k, v := range got[0] {
			if !equal(v, want[k]) {
				t.Fatalf("%s: row %d: %s is %v, not %q", name, n, header[k], v, want[k])
			}
		}
		got[0] = got[0][:0]
	}
	if int64(n) != r.NumRows() {
		t.Errorf("%s: %d rows of %d", name, r.NumRows(), n)
	}
}

func equal(v parquet.Value, text string) bool {
	switch v.Kind() {
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10) == text
	case parquet.Double:
		number, err := strconv.ParseFloat(text, 64)
		return err == nil && math.Float64bits(number) == math.Float64bits(v.Double())
	case parquet.ByteArray:
		return string(v.ByteArray()) == text
	}
	return v.IsNull() && text == ""
}

// TestMistake checks that a damaged table is reported with its line, and leaves no file.
func TestMistake(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pfc.csv"), []byte(rundir.PFC.Header()+"\n1,a,b,c,three,pause\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := files.OpenFolder(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	err = writeRun(folder, map[string]string{})
	var place *rundir.FileError
	if !errors.As(err, &place) || place.Line != 2 {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pfc.parquet")); !errors.Is(err, os.ErrNotExist) {
		t.Error("pfc.parquet is there")
	}
}
