package keys

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
)

// Column describes a column of Markdown in addition to the standard ones.
type Column struct {
	Title string
	Cell  func(k *Key) string
}

// Markdown returns the table for documents: a row for each key with a description. More columns precede the meaning.
func (t Table) Markdown(more ...Column) string {
	var b strings.Builder
	row := func(key, fixed, values, meaning string, cell func(Column) string) {
		cells := []string{key, fixed, values}
		for _, c := range more {
			cells = append(cells, cell(c))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(append(cells, meaning), " | "))
	}
	row("key", "default", "values", "meaning", func(c Column) string { return c.Title })
	row("---", "---", "---", "---", func(Column) string { return "---" })
	for i := range t {
		k := &t[i]
		if k.Doc == "" {
			continue // a group without a description
		}
		fixed := k.Shown()
		if fixed == "" && k.Kind() != schema.Group {
			fixed = "none"
		}
		if text := fixed == "" || strings.Contains(fixed, " ") || fixed == "none" || fixed == requiredText; !text {
			fixed = "`" + fixed + "`"
		}
		row("`"+k.Name+"`", fixed, t.values(k), k.Doc, func(c Column) string { return c.Cell(k) })
	}
	return b.String()
}

// Merge returns the rows of several tables, those with the same name and meaning once, and a column with the names of
// the tables that have them: "all" names them together.
func Merge(all string, names []string, tables []Table) (merged Table, of Column) {
	in := map[string][]string{} // the tables of a row, by its name and meaning
	for i, t := range tables {
		for _, k := range t {
			if in[k.Name+k.Doc] == nil {
				merged = append(merged, k)
			}
			in[k.Name+k.Doc] = append(in[k.Name+k.Doc], "`"+names[i]+"`")
		}
	}
	return merged, Column{Title: "of", Cell: func(k *Key) string {
		if of := in[k.Name+k.Doc]; len(of) < len(tables) {
			return strings.Join(of, ", ")
		}
		return all
	}}
}

func (t Table) values(k *Key) string {
	var parts []string
	switch value := k.Value.(type) {
	case unread:
		parts = append(parts, value.shown)
	default:
		if words := k.Words(); words != nil {
			parts = append(parts, "`"+strings.Join(words, "`, `")+"`")
		} else {
			parts = append(parts, k.Kind().String())
		}
	}
	bounds := schema.Parameter{Min: k.Min, Max: k.Max}
	if text := bounds.Bounds(); text != "" {
		parts = append(parts, text)
	}
	if k.Kind() == schema.Group && k.Text() == off {
		parts = append(parts, "`"+off+"`")
	}
	if g, ok := k.Value.(*Group); ok && g.Short != "" {
		parts = append(parts, "or its `"+g.Short+"`")
	}
	if k.Word != "" {
		parts = append(parts, "`"+k.Word+"`")
	}
	return strings.Join(parts, ", ")
}
