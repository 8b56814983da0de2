package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// byHand are files that may read CSV without package table, or name a table of a run's folder in a text. Whoever adds
// one says why.
var byHand = []string{
	"experiments/sweep/parquet.go", // the columns of sweep.csv are the sweep's parameters: it looks them up by name
	"experiments/scenario/spec.go", // names that no scenario may have
	"internal/testenv/table.go",    // rows for tests, by column name
}

// tableNames finds the tables of a run's folder.
var tableNames = regexp.MustCompile(`table\.Of\[\w+\]\("(\w+\.csv)"`)

// TestTablesAreTyped: no code but package table takes a row of a run's tables apart, so that no column is found by its
// number.
func TestTablesAreTyped(t *testing.T) {
	rows, err := os.ReadFile("../experiments/results/rundir/rows.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range tableNames.FindAllStringSubmatch(string(rows), -1) {
		names = append(names, m[1])
	}
	if len(names) < 12 {
		t.Fatalf("found only the tables %q", names)
	}
	for where, in := range folders(t, os.DirFS("..")) {
		for _, file := range in.files {
			name := path.Join(where, file)
			if slices.Contains(byHand, name) || where == "experiments/results/rundir" {
				continue
			}
			source, err := fs.ReadFile(os.DirFS(".."), name)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range untyped(t, name, string(source), names) {
				t.Error(problem)
			}
		}
	}
}

// TestTablesAreTypedHolds: readers of CSV, and names of tables, are found.
func TestTablesAreTypedHolds(t *testing.T) {
	for source, want := range map[string]string{
		`package x; import "encoding/csv"; var r = csv.NewReader(nil)`: "x.go:1 reads CSV: describe the table by a struct (internal/table)",
		`package x; var name = "flows.csv"`:                            "x.go:1 names flows.csv: use the table of experiments/results/rundir (rows.go)",
		`package x; import "encoding/csv"; var w = csv.NewWriter(nil)`: "",
		`package x; var text = "columns of flows.csv are"`:             "",
	} {
		if got := strings.Join(untyped(t, "x.go", source, []string{"flows.csv"}), "; "); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// untyped returns where a file reads CSV, or names a table.
func untyped(t *testing.T, name, source string, names []string) (problems []string) {
	t.Helper()
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		line := func() int { return positions.Position(n.Pos()).Line }
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "csv" && n.Sel.Name == "NewReader" {
				problems = append(problems, fmt.Sprintf("%s:%d reads CSV: describe the table by a struct (internal/table)", name,
					line()))
			}
		case *ast.BasicLit:
			if text := strings.Trim(n.Value, "\"`"); n.Kind == token.STRING && slices.Contains(names, text) {
				problems = append(problems, fmt.Sprintf("%s:%d names %s: use the table of experiments/results/rundir (rows.go)", name,
					line(), text))
			}
		}
		return true
	})
	return problems
}
