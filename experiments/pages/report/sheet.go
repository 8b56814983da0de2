package report

import (
	"fmt"
	"io"
)

// Sheet holds a page of texts, tables and line charts that does not describe a run, such as the grades of a class.
type Sheet struct {
	Kicker, Title, Lead, Version string
	Facts                        []Fact
	Parts                        []SheetPart
	Foot                         string
}

// SheetPart holds a section of a Sheet. Empty parts are left out.
type SheetPart struct {
	Title  string
	Texts  []string
	Failed bool // Texts describe a failure
	Table  *SheetTable
	Lines  *Lines
}

// SheetTable holds a table of texts.
type SheetTable struct {
	Caption string
	Heads   []string // heads of the columns; the first column names the rows
	Rows    []SheetRow
}

// SheetRow holds a row. Part, from 0 to 1, is drawn as a bar in its first cell; below 0: none.
type SheetRow struct {
	Cells []string
	Best  bool // the first cell stands out
	Part  float64
}

type sheetPart struct {
	SheetPart
	Legend  []legend
	Figures []figure
}

// WriteSheet writes the page. All texts are escaped.
func WriteSheet(w io.Writer, s *Sheet) error {
	page := newShell()
	d := &document{}
	d.begin(&page, s.Version, s.Title+" · "+s.Kicker, s.Kicker, s.Title)
	d.lineIf(`<p class="lead">{}</p>`, s.Lead)
	d.facts(s.Facts)
	d.line(`<main>`)
	for i := range s.Parts {
		part := sheetPart{SheetPart: s.Parts[i]}
		if part.Lines != nil {
			if err := part.charts(i, &page); err != nil {
				return fmt.Errorf("page %s: %w", s.Title, err)
			}
		}
		part.write(d, fmt.Sprintf("part%d", i))
	}
	return d.end(w, &page, s.Foot)
}

func (p *sheetPart) write(d *document, id string) {
	d.section(id, p.Title)
	if p.Failed && len(p.Texts) > 0 {
		d.put(`<div class="cards"><article class="card fail"><ul>`)
		for _, text := range p.Texts {
			d.put(`<li><pre>{}</pre></li>`, text)
		}
		d.line(`</ul></article></div>`)
	} else {
		for _, text := range p.Texts {
			d.line(`<p>{}</p>`, text)
		}
	}
	if len(p.Figures) > 0 {
		d.chartRow(p.Legend, "", p.Figures)
	}
	if p.Table != nil {
		d.tables(p.Table.table())
	}
	d.line(`</section>`)
}

func (t *SheetTable) table() table {
	out := table{Caption: t.Caption, Corner: t.Heads[0], Heads: t.Heads[1:], Texts: true}
	var rows []row
	for _, r := range t.Rows {
		shown := row{Label: r.Cells[0]}
		for i, text := range r.Cells[1:] {
			c := cell{Text: text, Words: true, Bar: -1}
			if i == 0 {
				c.Best = r.Best
				if r.Part >= 0 {
					c.Bar = 100 * r.Part
				}
			}
			shown.Cells = append(shown.Cells, c)
		}
		rows = append(rows, shown)
	}
	out.Bodies = []body{{Rows: rows}}
	return out
}

// charts gives the page the part's charts. Lines of one label look alike in all of them.
func (p *sheetPart) charts(at int, page *shell) error {
	styles := map[string]int{}
	for i := range p.Lines.Charts {
		c, err := p.Lines.Charts[i].chart(fmt.Sprintf("s%dc%d", at, i), func(label string) int {
			style, known := styles[label]
			if !known {
				style = len(styles)
				styles[label] = style
				p.Legend = append(p.Legend, legend{label, swatch(style)})
			}
			return style
		})
		if err != nil {
			return err
		}
		p.Figures = append(p.Figures, page.figure(p.Lines.Charts[i].Name, c))
	}
	return nil
}
