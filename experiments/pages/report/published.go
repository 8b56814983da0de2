package report

import (
	"cmp"
	"slices"
)

// publishedAbreast limits the controllers side by side in a table of published values, with three columns each.
const publishedAbreast = 4

// publishedTables returns the tables of the sources, those with many controllers in parts.
func publishedTables(r *Report) []table {
	var tables []table
	for i := range r.Published {
		p := &r.Published[i]
		caption := p.Title
		if p.Source != "" {
			caption += " (" + p.Source + ")"
		}
		if p.Note != "" {
			caption += ". " + p.Note
		}
		from := 0
		for part := range slices.Chunk(p.Columns, publishedAbreast) {
			t := table{
				Caption: withUnits(caption), Corner: "Figure", Heads: part,
				Sub: []string{"published", "measured", "difference"},
			}
			rows := make([]row, 0, len(p.Rows))
			for _, of := range p.Rows {
				out := row{Label: of.Label, Unit: of.Unit}
				for _, c := range of.Cells[from : from+len(part)] {
					for _, text := range []string{c.Published, c.Measured, c.Difference} {
						text = cmp.Or(text, "–")
						out.Cells = append(out.Cells, cell{Text: text, Bar: -1})
					}
				}
				rows = append(rows, out)
			}
			t.Bodies = []body{{Rows: rows}}
			tables = append(tables, t)
			from += len(part)
		}
	}
	return tables
}
