package settings_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/settings"
)

const document = "../docs/scenarios.md"

// TestDocument: docs/scenarios.md has the tables as they are. With -update they are written anew.
func TestDocument(t *testing.T) {
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	renewed := string(data)
	for name, table := range tables() {
		begin := fmt.Sprintf("<!-- settings: %s -->\n", name)
		before, rest, found := strings.Cut(renewed, begin)
		_, after, ended := strings.Cut(rest, "<!-- end -->\n")
		if !found || !ended {
			t.Fatalf("%s has no block %s", document, begin)
		}
		renewed = before + begin + rows(table, name == "switch") + "<!-- end -->\n" + after
	}
	switch {
	case renewed == string(data):
	case *testenv.Update:
		if err := os.WriteFile(document, []byte(renewed), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: go test ./settings -run %s -update", document, t.Name())
	}
}

// rows are a table as documents have it.
func rows(table settings.Table, live bool) string {
	var b strings.Builder
	columns := []string{"key", "default", "values", "live", "meaning"}
	line := func(cells ...string) {
		if !live {
			cells = append(cells[:3:3], cells[4])
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	line(columns...)
	line("---", "---", "---", "---", "---")
	for i := range table {
		s := &table[i]
		if s.Doc == "" {
			continue // a group without a word of its own
		}
		fixed := s.Default
		if fixed == "" {
			fixed = s.Text()
		}
		if !strings.Contains(fixed, "`") && fixed != "none" {
			fixed = "`" + fixed + "`"
		}
		line("`"+s.Name+"`", fixed, values(s), map[bool]string{true: "yes"}[s.Live], s.Doc)
	}
	return b.String()
}

// values are what a key takes.
func values(s *settings.Setting) string {
	var parts []string
	switch s.Kind {
	case schema.Choice, schema.Flag:
		parts = append(parts, "`"+strings.Join(s.Words(), "`, `")+"`")
	case schema.Group:
		parts = append(parts, "`off`, mapping")
	default:
		parts = append(parts, s.Kind.String())
	}
	if bounds := s.Bounds(); bounds != "" {
		parts = append(parts, bounds)
	}
	if s.Word != "" {
		parts = append(parts, "`"+s.Word+"`")
	}
	return strings.Join(parts, ", ")
}
