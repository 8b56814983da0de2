package rundir

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestColumnsOfDocs: docs/files.md describes every column. With -update it is written from the tables.
func TestColumnsOfDocs(t *testing.T) {
	const page, end = "../../../docs/files.md", "<!-- end -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), "<!-- columns: go test ./experiments/results/rundir -run TestColumnsOfDocs -update -->\n")
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no block of columns", page)
	}
	testenv.Golden(t, page, strings.TrimSuffix(string(data), rest)+describeColumns(t)+end+after)
}

func describeColumns(t *testing.T) string {
	var b strings.Builder
	for _, of := range Tables {
		fmt.Fprintf(&b, "\n### %s\n\n| column | type | unit | meaning |\n|---|---|---|---|\n", of.Name)
		for _, c := range of.Columns {
			if c.Doc == "" {
				t.Errorf("%s: column %s has no tag doc", of.Name, c.Name)
			}
			kind := c.Kind.String()
			if c.Null {
				kind += " or empty"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, kind, c.Unit, c.Doc)
		}
	}
	return b.String() + "\n"
}
