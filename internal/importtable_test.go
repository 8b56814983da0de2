package internal

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

const mapDocument = "../docs/architecture.md"

// TestImportTable checks that the map in docs/architecture.md has every package of the import rules, with its allowed
// imports. With -update it writes the last column.
func TestImportTable(t *testing.T) {
	data, err := os.ReadFile(mapDocument)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- imports -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(data), begin)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no block %s", mapDocument, begin)
	}
	table, problems := importTable(table)
	for _, p := range problems {
		t.Errorf("%s: %s", mapDocument, p)
	}
	renewed := before + begin + table + end + after
	switch {
	case t.Failed() || renewed == string(data):
	case *testenv.Update:
		if err := os.WriteFile(mapDocument, []byte(renewed), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: go test ./internal -run %s -update", mapDocument, t.Name())
	}
}

// TestImportTableHolds checks that importTable reports a package that is missing, there twice or without a rule, and
// packages of one row with different rules.
func TestImportTableHolds(t *testing.T) {
	var rows []string
	for _, pkg := range slices.Sorted(maps.Keys(mayImport)) {
		rows = append(rows, "| `"+pkg+"` | words | stale |\n")
	}
	all := strings.Join(rows, "")
	table, problems := importTable(all)
	if len(problems) > 0 || strings.Contains(table, "stale") ||
		!strings.Contains(table, "| `ebpf/kernel` | words | `ebpf` |\n") {
		t.Errorf("%q\n%s", problems, table)
	}
	for _, c := range []struct{ table, want string }{
		{strings.Join(rows[1:], ""), "cmd has no row"},
		{all + rows[0], "cmd has two rows"},
		{all + "| `nowhere` | words | - |\n", "nowhere has no import rule"},
		{
			strings.Replace(strings.Join(rows[1:], ""), "| `ebpf` |", "| `ebpf`, `cmd` |", 1),
			"cmd has another import rule than ebpf",
		},
		{all + "| `ebpf` | words |\n", "want a row"},
	} {
		if _, problems := importTable(c.table); !slices.ContainsFunc(problems,
			func(p string) bool { return strings.Contains(p, c.want) }) {
			t.Errorf("%q, want %q", problems, c.want)
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// importTable returns the table of folders with its last column written from the import rules, and the problems of its
// first column.
func importTable(table string) (renewed string, problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| `") {
			renewed += line
			continue
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 3 {
			bad("%q: want a row of folder, content and allowed imports", line)
			continue
		}
		first := ""
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			pkg := strings.TrimSuffix(m[1], "/...")
			allowed, known := mayImport[pkg]
			switch {
			case !known:
				bad("%s has no import rule", pkg)
			case seen[pkg]:
				bad("%s has two rows", pkg)
			case first == "":
				first = pkg
			case !slices.Equal(allowed, mayImport[first]):
				bad("%s has another import rule than %s: give it a row of its own", pkg, first)
			}
			seen[pkg] = true
		}
		renewed += fmt.Sprintf("| %s | %s | %s |\n", cells[0], cells[1], importsOf(first))
	}
	for _, pkg := range slices.Sorted(maps.Keys(mayImport)) {
		if !seen[pkg] {
			bad("%s has no row", pkg)
		}
	}
	return renewed, problems
}

// importsOf returns the packages that a package may import, or the exceptions if they are fewer.
func importsOf(pkg string) string {
	allowed := mayImport[pkg]
	var other []string
	for _, p := range slices.Sorted(maps.Keys(mayImport)) {
		if p != pkg && !slices.Contains(allowed, p) && !slices.Contains(common, p) {
			other = append(other, p)
		}
	}
	list := func(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
	switch {
	case len(allowed) == 0:
		return "none"
	case len(other) < len(allowed):
		return "all except " + list(other)
	}
	return list(allowed)
}
