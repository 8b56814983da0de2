package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.String("update", "", "file of pausenet bench --out: put its tables into docs/performance.md")

// TestDocument checks that docs/performance.md includes each table.
func TestDocument(t *testing.T) {
	const path = "../../docs/performance.md"
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r Result
	if *update != "" {
		text, err := os.ReadFile(*update)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
	}
	renewed, err := r.Renew(string(document))
	if err != nil {
		t.Fatal(err)
	}
	if *update == "" {
		return
	}
	if err := os.WriteFile(path, []byte(renewed), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestTables checks that a result's tables replace those of a document, and that tables without measurements stay.
func TestTables(t *testing.T) {
	r := &Result{
		Machine: Machine{System: "Linux 6", Go: "go1", Processors: 2, Load: 0.5, Rounds: 3},
		Hops: []Hop{
			{
				Workload: "a", Nanoseconds: 200,
				Kernel: &Kernel{Nanoseconds: 4000, Bare: 3200, Ratio: 1.25, Least: 1.2, Most: 1.3},
			},
			{Workload: "b", Nanoseconds: 250},
		},
		Processors: []Hop{
			{Workload: "c", Processors: 1, Hops: 1e6, WallNanoseconds: 300, Nanoseconds: 310},
			{Workload: "c", Processors: 2, Hops: 1e6, WallNanoseconds: 150, Nanoseconds: 340},
		},
		Runs: []Process{{Name: "d", Hosts: 1000, Seconds: 1.26, WallSeconds: 1.5, Peak: 20e6}},
	}
	document := "one\n<!-- bench machine -->\n<!-- end -->\n"
	for name := range titles {
		begin, end := section(name)
		document += begin + "old " + name + "\n" + end
	}
	got, err := r.Renew(document + "last\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"one\n<!-- bench machine -->\nLinux 6, go1, 2 processors, load 0.5 before it began; medians of 3.\n<!-- end -->\n",
		"<!-- bench hops -->\n| workload | wasm plane | kernel plane | bare pass | ratio |\n|---|---|---|---|---|\n" +
			"| a | 200 ns: 5.0 million a CPU-second | 4000 ns: 250 000 a CPU-second | 3200 ns | 1.25 (1.20 to 1.30) |\n" +
			"| b | 250 ns: 4.0 million a CPU-second | - | - | - |\n<!-- end -->\n",
		"| c | 1 | 300 ms | 1.00 | 310 ms |\n| c | 2 | 150 ms | 2.00 | 340 ms |\n<!-- end -->\n",
		"| 1000 | d | 1.3 s | 1.5 s | 20 MB | 20 KB |\n<!-- end -->\n",
		"<!-- bench start -->\nold start\n<!-- end -->\n",
		"last\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if _, err := r.Renew("<!-- bench hops -->\n<!-- end -->\n"); err == nil {
		t.Error("a document without the other places is taken")
	}
}

// TestProcess checks the measured cost of a process, and the error of one that fails.
func TestProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Program: self}
	p, err := o.process(context.Background(), "no tests", 3, "-test.run=^$")
	if err != nil || p.Name != "no tests" || p.WallSeconds <= 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := o.process(context.Background(), "", 1, "-test.nonsense"); err == nil ||
		!strings.Contains(err.Error(), "-test.nonsense") {
		t.Errorf("%v", err)
	}
}

// section returns the lines before and after a table of a document.
func section(name string) (begin, end string) {
	return "<!-- bench " + name + " -->\n", "<!-- end -->\n"
}

// Renew replaces the tables of a document, and their descriptions, by the result's. A table without measurements stays
// as it is. It fails if the document lacks a table.
func (r *Result) Renew(document string) (string, error) {
	tables := map[string]string{"machine": fmt.Sprintf(
		"%s, %s, %d processors, load %.1f before it began; medians of %d.\n",
		r.Machine.System, r.Machine.Go, r.Machine.Processors, r.Machine.Load, r.Machine.Rounds)}
	for name := range titles {
		tables[name] = r.Table(name)
	}
	names := make([]string, 0, len(tables))
	for name := range tables {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	for _, name := range names {
		begin, end := section(name)
		before, rest, found := strings.Cut(document, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			return "", fmt.Errorf("the document has no %q, or nothing that ends it", strings.TrimSpace(begin))
		}
		if tables[name] != "" {
			document = before + begin + tables[name] + end + after
		}
	}
	return document, nil
}
