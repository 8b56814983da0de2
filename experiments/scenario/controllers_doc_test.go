package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

const controllersDocument = "../../docs/controllers.md"

// TestControllersDocument: docs/controllers.md has a section for every controller of the registry, the constants that
// the registry has, the files that it quotes as they are, and figures that exist. With -update the tables and the
// quoted files are written anew.
func TestControllersDocument(t *testing.T) {
	data, err := os.ReadFile(controllersDocument)
	if err != nil {
		t.Fatal(err)
	}
	document, named := renewBlocks(t, string(data))
	switch {
	case document == string(data):
	case *testenv.Update:
		if err := os.WriteFile(controllersDocument, []byte(document), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		is, should := strings.Split(string(data), "\n"), strings.Split(document, "\n")
		for i := range min(len(is), len(should)) {
			if is[i] != should[i] {
				t.Errorf("%s:%d: is %q, should be %q", controllersDocument, i+1, is[i], should[i])
				break
			}
		}
		t.Errorf("%s is stale: go test ./experiments/scenario -run %s -update", controllersDocument, t.Name())
	}
	headings := strings.Join(regexp.MustCompile(`(?m)^## .*$`).FindAllString(document, -1), "\n")
	for _, name := range cc.Names() {
		if !slices.Contains(named, name) || !strings.Contains(headings, "`"+name+"`") {
			t.Errorf("%s has no section for %s: write \"## `%[2]s`\" with \"<!-- constants: %[2]s -->\", then go test "+
				"./experiments/scenario -run %s -update",
				controllersDocument, name, t.Name())
		}
	}
	figures := regexp.MustCompile(`\]\((figures/controllers/[^)]+)\)`).FindAllStringSubmatch(document, -1)
	if len(figures) == 0 {
		t.Error("no figures")
	}
	for _, f := range figures {
		if _, err := os.Stat(filepath.Join(filepath.Dir(controllersDocument), f[1])); err != nil {
			t.Errorf("%v: make gallery draws it", err)
		}
	}
}

// marker begins a block that is written from elsewhere, and endMarker ends it. A block that is new has no end yet.
var marker = regexp.MustCompile(`^<!-- (constants|file): (\S+)(?: beyond (\S+))? -->$`)

const endMarker = "<!-- end -->"

// renewBlocks returns a document with its generated blocks renewed, and the controllers whose constants it shows.
func renewBlocks(t *testing.T, document string) (renewed string, named []string) {
	t.Helper()
	var out []string
	lines := strings.Split(document, "\n")
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		m := marker.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		for k := i + 1; k < len(lines) && !marker.MatchString(lines[k]) && !strings.HasPrefix(lines[k], "## "); k++ {
			if lines[k] == endMarker {
				i = k
				break
			}
		}
		if m[1] == "constants" {
			named = append(named, m[2])
			out = append(out, departureLine(t, m[2], m[3])...)
			out = append(out, constantsTables(t, m[2], m[3])...)
			out = append(out, endMarker)
			continue
		}
		file, err := os.ReadFile(filepath.Join("..", "..", m[2]))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, "```go")
		out = append(out, strings.Split(strings.TrimSpace(string(file)), "\n")...)
		out = append(out, "```", endMarker)
	}
	return strings.Join(out, "\n"), named
}

// departureLine describes what a change of a controller's rate does to a departure that is timed, if another controller
// differs.
func departureLine(t *testing.T, name, beyond string) []string {
	t.Helper()
	departure := func(name string) cc.Departure {
		spec, err := cc.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		return spec.Departure
	}
	if beyond != "" && departure(name) == departure(beyond) {
		return nil
	}
	return []string{fmt.Sprintf("A departure that is already timed: %s.", departure(name)), ""}
}

// shownPath describes the path for which relative defaults are computed.
var shownPath = cc.Env{LineRate: 40 * units.Gbps, BaseRTT: 40 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}

// constantsTables returns a controller's constants, or those that another lacks: one table, or one for each value of
// the constant that decides which of the others apply.
func constantsTables(t *testing.T, name, beyond string) []string {
	t.Helper()
	spec, err := cc.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	var known []cc.Parameter
	if beyond != "" {
		other, err := cc.Lookup(beyond)
		if err != nil {
			t.Fatal(err)
		}
		known = other.Parameters
	}
	var cases []string
	rows := map[string][]string{}
	for i := range spec.Parameters {
		p := &spec.Parameters[i]
		if slices.ContainsFunc(known, func(k cc.Parameter) bool { return k.Name == p.Name }) {
			continue
		}
		given := map[string]string{}
		if p.When != "" {
			given[spec.Selector] = p.When
		}
		settings, err := cc.Resolve(name, given, shownPath)
		if err != nil {
			t.Fatal(err)
		}
		if rows[p.When] == nil {
			cases = append(cases, p.When)
		}
		rows[p.When] = append(rows[p.When], constantRow(p, settings.Map()[p.Name]))
	}
	switch {
	case len(cases) == 0 && beyond == "":
		return []string{"It has no constants."}
	case len(cases) == 0:
		return []string{"It has no others."}
	}
	var lines []string
	for i, when := range cases {
		if i > 0 {
			lines = append(lines, "")
		}
		if when != "" {
			lines = append(lines, fmt.Sprintf("With `%s: %s`:", spec.Selector, when), "")
		}
		lines = append(lines, "| constant | default | at 40 Gbps, 40 us | kind | bounds | meaning |",
			"|---|---|---|---|---|---|")
		lines = append(lines, rows[when]...)
	}
	return lines
}

// constantRow returns a constant's row; here is its default on shownPath.
func constantRow(p *cc.Parameter, here string) string {
	kind, bounds := p.Kind.String(), ""
	switch {
	case p.Kind == cc.ChoiceKind:
		kind = "`" + strings.Join(p.Choices, "`, `") + "`"
	case p.Min != "" && p.Max != "":
		bounds = fmt.Sprintf("`%s` to `%s`", p.Min, p.Max)
	case p.Min != "":
		bounds = fmt.Sprintf("from `%s`", p.Min)
	case p.Max != "":
		bounds = fmt.Sprintf("up to `%s`", p.Max)
	}
	switch p.Kind {
	case cc.RateKind, cc.TimeKind, cc.SizeKind:
	default:
		here = "" // it depends on no path
	}
	if here == p.Default {
		here = ""
	}
	return fmt.Sprintf("| `%s` | `%s` | %s | %s | %s | %s |", p.Name, p.Default, here, kind, bounds, p.Doc)
}
