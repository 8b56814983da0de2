package experiments

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parse resolves a scenario.
func parse(t testing.TB, text string, sets ...string) *Scenario {
	t.Helper()
	s, err := ParseScenario("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// outcome is a run and its files.
type outcome struct {
	testing.TB
	*Result
	dir string
}

// run runs a scenario under a controller on the kernel plane, unless o names another.
func run(t testing.TB, s *Scenario, controller string, o Options) *outcome {
	t.Helper()
	if o.Plane == "" {
		o.Plane = orchestrator.PlaneKernel
	}
	if o.Plane == orchestrator.PlaneKernel {
		testenv.NeedRoot(t)
	}
	if o.Seed == 0 {
		o.Seed = s.Seed
	}
	o.Controller, o.Directory = controller, filepath.Join(t.TempDir(), "run")
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return &outcome{t, r, o.Directory}
}

// table is a CSV file of the run's: its header as written, and its rows by column.
type table struct {
	header string
	rows   []map[string]string
}

func (o *outcome) table(name string) table {
	o.Helper()
	f, err := os.Open(filepath.Join(o.dir, name))
	if err != nil {
		o.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll() // which wants as many fields in each row
	if err != nil {
		o.Fatalf("%s: %v", name, err)
	}
	t := table{header: strings.Join(records[0], ",")}
	for _, r := range records[1:] {
		row := map[string]string{}
		for i, column := range records[0] {
			row[column] = r[i]
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (o *outcome) json(name string) map[string]any {
	o.Helper()
	data, err := os.ReadFile(filepath.Join(o.dir, name))
	if err != nil {
		o.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		o.Fatalf("%s: %v", name, err)
	}
	return v
}

// number reads a whole number of a row.
func number(t testing.TB, row map[string]string, column string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(row[column], 10, 64)
	if err != nil {
		t.Fatalf("column %s of %v: %v", column, row, err)
	}
	return n
}
