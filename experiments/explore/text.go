package explore

import (
	"slices"
	"strings"
	"sync"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Sections lists the keys of a family's file that a scenario does not have.
var Sections = []string{"search", "tune"}

// Setting holds the value of a path of a scenario, as --set has them.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// Template makes scenarios' texts from a family's file. Several goroutines may use it.
type Template struct {
	mu   sync.Mutex // the values of one file share a report
	root *yamlspec.Value
}

// NewTemplate returns the template of a family.
func NewTemplate(root *yamlspec.Value) *Template { return &Template{root: root} }

// Text returns the scenario with these settings, and with more items in its lists of flows and faults. It has neither
// the name nor the description of the family.
func (t *Template) Text(settings []Setting, flows, faults []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	root := t.root
	for _, s := range settings {
		root = root.Override(s.Path + "=" + s.Value)
	}
	var b strings.Builder
	done := map[string]bool{}
	list := func(key string, of *yamlspec.Value, more []string) {
		done[key] = true
		if of == nil && len(more) == 0 {
			return
		}
		b.WriteString(key + ":\n")
		for _, item := range of.Items() {
			b.WriteString("  - " + item.Flow() + "\n")
		}
		for _, item := range more {
			b.WriteString("  - " + item + "\n")
		}
	}
	root.Mapping().All(func(key, value *yamlspec.Value) {
		switch name := key.Raw(); {
		case slices.Contains(Sections, name), name == "name", name == "description":
		case name == "flows":
			list("flows", value, flows)
		case name == "faults":
			list("faults", value, faults)
		default:
			b.WriteString(key.Flow() + ": " + value.Flow() + "\n")
		}
	})
	if !done["flows"] {
		list("flows", nil, flows)
	}
	if !done["faults"] {
		list("faults", nil, faults)
	}
	return b.String()
}

// Blanked returns a family's file without its sections and some more keys, with every other line where it was, so that
// mistakes in the scenario have their positions.
func Blanked(data []byte, root *yamlspec.Value, more ...string) []byte {
	lines := strings.SplitAfter(string(data), "\n")
	from, blank := 0, false
	until := func(line int) {
		for i := from; blank && i < min(line, len(lines)); i++ {
			lines[i] = "\n"
		}
	}
	root.Mapping().All(func(key, _ *yamlspec.Value) {
		until(key.Line() - 1)
		from, blank = key.Line()-1, slices.Contains(Sections, key.Raw()) || slices.Contains(more, key.Raw())
	})
	until(len(lines))
	return []byte(strings.Join(lines, ""))
}

// Value returns the file's own value of a path; "" if it has none.
func (t *Template) Value(path string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.root.At(path); v.Path() == path {
		return v.Flow()
	}
	return ""
}
