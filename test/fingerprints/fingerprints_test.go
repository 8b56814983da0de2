package fingerprints_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/vtime"
)

var allOnKernel = flag.Bool("fingerprints.kernel", false, "run all rows in TestKernel, not some of them")

func TestMain(m *testing.M) {
	testenv.CollectLess()
	m.Run()
}

// cuts are the times at which long built-ins end here. Flows that would start later do not.
var cuts = map[string]vtime.Time{
	"allreduce-16":       2 * vtime.Millisecond,
	"allreduce-storm":    3 * vtime.Millisecond,
	"convergence-2":      30 * vtime.Millisecond,
	"convergence-8":      30 * vtime.Millisecond,
	"dcon-burst":         8 * vtime.Millisecond,
	"dcon-datamining":    2 * vtime.Millisecond,
	"dcon-interval":      6 * vtime.Millisecond,
	"dcon-qcnm":          vtime.Millisecond,
	"dcon-size":          6 * vtime.Millisecond,
	"dcon-websearch":     vtime.Millisecond,
	"dcon-window":        vtime.Millisecond,
	"ecn-thresholds":     vtime.Millisecond,
	"irn-fattree":        300 * vtime.Microsecond,
	"load-balancing":     300 * vtime.Microsecond,
	"lstm-fattree":       120 * vtime.Microsecond,
	"lstm-incast":        6 * vtime.Millisecond,
	"spray-failure":      vtime.Millisecond,
	"spray-reorder":      400 * vtime.Microsecond,
	"tcd-fattree":        500 * vtime.Microsecond,
	"tcd-fattree-hadoop": 200 * vtime.Microsecond,
	"tcd-victims":        4 * vtime.Millisecond,
}

// additions are congestion controls that are made of another, beside those that the registry names.
var additions = []string{"dcqcn+win", "timely+win"}

// onKernel are the scenarios whose rows TestKernel runs.
var onKernel = []string{"credits", "incast", "trim"}

// file is the committed table.
const file = "table.txt"

// refused stands in the table for the fingerprint of a congestion control that does not go with the scenario.
const refused = "refused"

// row is one run of the table.
type row struct {
	scenario *scenario.Scenario
	name     string // of the scenario
	run      string // congestion control or variant
}

func (r row) key() string { return r.name + " " + r.run }

// rows returns the runs of the table.
func rows(t *testing.T) (rows []row) {
	t.Helper()
	for _, name := range scenario.BuiltinNames() {
		s, err := scenario.Reading{Quick: true}.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if cut := cuts[name]; cut > 0 && cut < s.Duration {
			s.Duration, s.Drain = cut, false
		}
		for _, controller := range s.Controllers {
			rows = append(rows, row{s, name, controller})
		}
	}
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios in testdata", err)
	}
	for _, file := range files {
		s, err := scenario.Load(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, controller := range slices.Concat(cc.Names(), additions) {
			rows = append(rows, row{s, strings.TrimSuffix(filepath.Base(file), ".yaml"), controller})
		}
	}
	return rows
}

// fingerprints runs rows on a plane, several at once, and returns their fingerprints by key.
func fingerprints(t *testing.T, plane string, rows []row) map[string]string {
	t.Helper()
	found := map[string]string{}
	var mutex sync.Mutex
	t.Run(plane, func(t *testing.T) {
		for _, r := range rows {
			t.Run(r.name+"/"+r.run, func(t *testing.T) {
				t.Parallel()
				text := refused
				if scenario.Check(r.scenario, []string{r.run}, r.scenario.Seed) == nil {
					sum, err := runner.Watch(context.Background(), r.scenario, runner.Options{
						Controller: r.run, Plane: kernel.Opener(plane), Seed: r.scenario.Seed,
					}, runner.Watching{})
					if err != nil {
						t.Fatal(err)
					}
					text = sum.Fingerprint
				}
				mutex.Lock()
				defer mutex.Unlock()
				found[r.key()] = text
			})
		}
	})
	return found
}

// read returns the table's fingerprints by key.
func read(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] != "#" {
			table[words[0]+" "+words[1]] = words[2]
		}
	}
	return table
}

// write writes the table.
func write(t *testing.T, table map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Scenario, congestion control or variant, fingerprint.\n")
	for _, key := range slices.Sorted(maps.Keys(table)) {
		name, run, _ := strings.Cut(key, " ")
		fmt.Fprintf(&b, "%-19s %-17s %s\n", name, run, table[key])
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// differences lists the rows whose fingerprints are not the table's. The table may have more rows, unless all were run.
func differences(table, found map[string]string, all bool) (lines []string) {
	for _, key := range slices.Sorted(maps.Keys(found)) {
		switch want, known := table[key]; {
		case !known:
			lines = append(lines, fmt.Sprintf("%s: %s, not in the table", key, found[key]))
		case want != found[key]:
			lines = append(lines, fmt.Sprintf("%s: got %s, want %s", key, found[key], want))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if _, ran := found[key]; all && !ran {
			lines = append(lines, key+": in the table, and no such run")
		}
	}
	return lines
}

// TestTable compares every built-in under each of its controllers, and the scenarios of testdata under every congestion
// control, with the table.
func TestTable(t *testing.T) {
	testenv.WholeScenario(t)
	found := fingerprints(t, plane.Wasm, rows(t))
	if t.Failed() {
		return
	}
	if *testenv.Update {
		write(t, found)
		return
	}
	if lines := differences(read(t), found, true); len(lines) > 0 {
		t.Errorf("%d of %d fingerprints have changed: frames do something else in these runs:\n  %s\nIf that is meant, run\n  "+
			"go test ./test/fingerprints -update\nand say in the commit which have changed and why.",
			len(lines), len(found), strings.Join(lines, "\n  "))
	}
}

// TestKernel compares runs on the kernel plane with the same table: some of them, or all with -fingerprints.kernel.
func TestKernel(t *testing.T) {
	testenv.WholeScenario(t)
	testenv.NeedRoot(t)
	if *testenv.Update {
		t.Skip("TestTable writes the table")
	}
	some := slices.DeleteFunc(rows(t), func(r row) bool { return !*allOnKernel && !slices.Contains(onKernel, r.name) })
	if lines := differences(read(t), fingerprints(t, plane.Kernel, some), false); len(lines) > 0 {
		t.Errorf("%d of %d fingerprints on the kernel plane are not those of table.txt:\n  %s", len(lines), len(some),
			strings.Join(lines, "\n  "))
	}
}

// TestDifferences shows that each kind of change is told.
func TestDifferences(t *testing.T) {
	got := differences(map[string]string{"a x": "1", "a y": "2", "a z": "3"},
		map[string]string{"a x": "1", "a y": "4", "b x": "5"}, true)
	want := []string{"a y: got 4, want 2", "b x: 5, not in the table", "a z: in the table, and no such run"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
