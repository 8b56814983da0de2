package settings_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/settings"
)

// documents are where each table is.
var documents = map[string]string{"switch": "../docs/scenarios.md", "host": "../docs/scenarios.md", "fault": "../docs/faults.md", "occurrence": "../docs/faults.md"}

// TestDocuments: the documents have the tables as they are. With -update they are written anew.
func TestDocuments(t *testing.T) {
	for name, table := range tables() {
		document := documents[name]
		data, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		renewed := string(data)
		begin := fmt.Sprintf("<!-- settings: %s -->\n", name)
		before, rest, found := strings.Cut(renewed, begin)
		_, after, ended := strings.Cut(rest, "<!-- end -->\n")
		if !found || !ended {
			t.Fatalf("%s has no block %s", document, begin)
		}
		renewed = before + begin + rows(table, name) + "<!-- end -->\n" + after
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
}

// rows are a table as documents have it.
func rows(table settings.Table, name string) string {
	var b strings.Builder
	columns := []string{"key", "default", "values", "live", "meaning"}
	if name == "fault" {
		columns[3] = "of"
	}
	line := func(cells ...string) {
		if name == "host" || name == "occurrence" { // of which nothing is live
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
		if fixed != "" && !strings.Contains(fixed, " ") && fixed != "none" && fixed != "required" || strings.HasPrefix(fixed, "xoff -") {
			fixed = "`" + fixed + "`"
		}
		line("`"+s.Name+"`", fixed, values(s), of(s, name), s.Doc)
	}
	return b.String()
}

// of says whether a setting is live, or what a fault is of.
func of(s *settings.Setting, table string) string {
	if table != "fault" {
		return map[bool]string{true: "yes"}[s.Live]
	}
	for i := range settings.Faults {
		f := &settings.Faults[i]
		group, _, _ := strings.Cut(s.Name, ".")
		switch {
		case group == string(f.Kind):
			return map[bool]string{true: "host", false: "link"}[f.OfHost]
		case slices.Contains(f.Beside, s.Name):
			return "beside `" + string(f.Kind) + "`"
		}
	}
	return ""
}

// values are what a key takes.
func values(s *settings.Setting) string {
	var parts []string
	switch s.Kind {
	case schema.Choice, schema.Flag:
		parts = append(parts, "`"+strings.Join(s.Words(), "`, `")+"`")
	case schema.Group:
		if parts = append(parts, "mapping"); s.Text() == "off" {
			parts = append(parts, "`off`")
		}
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
