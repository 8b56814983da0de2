package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// This package writes pages by Go code, without html/template: that package finds methods by name at run time, and for
// its sake the linker would keep every exported method in the program.

// markup holds HTML that needs no escaping.
type markup string

// document builds an HTML page.
type document struct{ strings.Builder }

// escaper replaces the characters that have a meaning in HTML's text or in an attribute's value in quotes.
var escaper = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;",
	">", "&gt;")

// put writes HTML, with a value in the place of each {}: markup unchanged, and any other value as escaped text.
func (d *document) put(html string, values ...any) {
	for _, v := range values {
		before, after, found := strings.Cut(html, "{}")
		if !found {
			panic(fmt.Sprintf("HTML without a place for %v: %q", v, html))
		}
		d.WriteString(before)
		if m, ok := v.(markup); ok {
			d.WriteString(string(m))
		} else {
			_, _ = escaper.WriteString(d, fmt.Sprint(v)) // a Builder does not fail
		}
		html = after
	}
	if strings.Contains(html, "{}") {
		panic(fmt.Sprintf("HTML without a value for %q", html))
	}
	d.WriteString(html)
}

// line writes HTML as put does, and ends the line.
func (d *document) line(html string, values ...any) {
	d.put(html, values...)
	d.WriteByte('\n')
}

// lineIf writes a line with a text, unless the text is empty.
func (d *document) lineIf(html, text string) {
	if text != "" {
		d.line(html, text)
	}
}

// items writes texts as the items of a list.
func (d *document) items(texts []string) {
	for _, text := range texts {
		d.put("<li>{}</li>", text)
	}
}

// section writes the start of a section with a heading.
func (d *document) section(id, title string) {
	d.line(`<section aria-labelledby="{}">`, id)
	d.line(`<h2 id="{}">{}</h2>`, id, title)
}

// begin writes a page up to its heading.
func (d *document) begin(s *shell, version, title, kicker, heading string) {
	d.line(`<!DOCTYPE html>`)
	d.line(`<html lang="en">`)
	d.line(`<head>`)
	d.line(`<meta charset="utf-8">`)
	d.line(`<meta name="viewport" content="width=device-width, initial-scale=1">`)
	d.line(`<meta http-equiv="Content-Security-Policy" ` +
		`content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">`)
	d.line(`<meta name="generator" content="pausenet {}">`, version)
	d.line(`<title>{}</title>`, title)
	d.line(`<style>`)
	d.line(`{}`, s.Style)
	d.line(`</style>`)
	d.line(`</head>`)
	d.line(`<body>`)
	d.line(`<header>`)
	d.line(`<p class="kicker">{}</p>`, kicker)
	d.line(`<h1>{}</h1>`, heading)
}

// facts writes facts, and ends the header.
func (d *document) facts(facts []Fact) {
	d.line(`<dl class="facts">`)
	for _, f := range facts {
		d.line(`<div><dt>{}</dt><dd>{}</dd></div>`, f.Label, f.Text)
	}
	d.line(`</dl>`)
	d.line(`</header>`)
}

// end adds the page's foot and its script, and writes the whole page to w.
func (d *document) end(w io.Writer, s *shell, foot string) error {
	charts, err := json.Marshal(s.Charts) // with < and > as \u003c and \u003e: no chart can end the script
	if err != nil {
		return err
	}
	d.line(`</main>`)
	d.line(`<footer><p>{}</p></footer>`, foot)
	d.line(`<script type="application/json" id="chart-data">{}</script>`, markup(charts))
	d.line(`<script type="module">`)
	d.line(`{}`, s.Script)
	d.line(`</script>`)
	d.line(`</body>`)
	d.line(`</html>`)
	_, err = io.WriteString(w, d.String())
	return err
}

func (d *document) tables(tables ...table) {
	for i := range tables {
		d.table(&tables[i])
	}
}

func (d *document) table(t *table) {
	d.put(`<div class="scroll" tabindex="0" role="region" aria-label="{}"><table`, t.Caption)
	switch {
	case len(t.Sub) > 0:
		d.put(` class="sub"`)
	case t.Texts:
		d.put(` class="texts"`)
	case t.Turned:
		d.put(` class="turned"`)
	}
	d.line(`>`)
	d.line(`<caption><span>{}</span></caption>`, t.Caption)
	d.line(`<thead>`)
	if len(t.Sub) > 0 {
		d.put(`<tr><th scope="col" rowspan="2">{}</th>`, t.Corner)
		for _, head := range t.Heads {
			d.put(`<th scope="colgroup" class="group" colspan="{}">{}</th>`, len(t.Sub), head)
		}
		d.line(`</tr>`)
		d.put(`<tr>`)
		for range t.Heads {
			for i, sub := range t.Sub {
				d.put(`<th scope="col"{}>{}</th>`, class(i == 0, "group"), sub)
			}
		}
	} else {
		d.put(`<tr><th scope="col">{}</th>`, t.Corner)
		for _, head := range t.Heads {
			d.put(`<th scope="col">{}</th>`, head)
		}
	}
	d.line(`</tr>`)
	d.line(`</thead>`)
	for _, b := range t.Bodies {
		d.line(`<tbody>`)
		if b.Heading != "" {
			d.line(`<tr class="heading"><th scope="rowgroup" colspan="{}">{}</th></tr>`, t.span(), b.Heading)
		}
		for _, r := range b.Rows {
			d.row(t, &r)
		}
		d.line(`</tbody>`)
	}
	d.line(`</table></div>`)
}

func (d *document) row(t *table, r *row) {
	d.put(`<tr><th scope="row">{}`, r.Label)
	if r.Unit != "" {
		d.put(` <span class="unit">{}</span>`, r.Unit)
	}
	d.put(`</th>`)
	for i, c := range r.Cells {
		name := t.class(i, c)
		d.put(`<td{}>{}`, class(name != "", name), c.Text)
		if c.Change != "" {
			d.put(` <small>{}</small>`, c.Change)
		}
		if c.Best {
			d.put(`<span class="sr"> (best)</span>`)
		}
		if c.Bar >= 0 {
			d.put(`<i class="bar"><i style="width:{}%"></i></i>`, fmt.Sprintf("%.1f", c.Bar))
		}
		d.put(`</td>`)
	}
	d.line(`</tr>`)
}

// class returns the attribute for one of the style's classes; empty if it does not apply.
func class(applies bool, name string) markup {
	if !applies {
		return ""
	}
	return markup(` class="` + name + `"`)
}

// legends writes the samples of lines and their labels, and then a text in the same line.
func (d *document) legends(legends []legend, after string) {
	d.put(`<ul class="legend">`)
	for _, l := range legends {
		d.put(`<li>{}{}</li>`, l.Swatch, l.Label)
	}
	d.line(`</ul>` + after)
}

// charts writes charts without values in their headings, which the script fills in.
func (d *document) charts(figures []figure) {
	for i := range figures {
		d.chart(&figures[i], func() {})
	}
}

// chartRow writes charts beside each other, below their common legend. classes holds further classes of the row, each
// followed by a space.
func (d *document) chartRow(legends []legend, classes string, figures []figure) {
	d.line(`<section class="row" aria-label="Charts">`)
	d.legends(legends, "")
	d.line(`<div class="cols {}n{}">`, classes, len(figures))
	d.charts(figures)
	d.line(`</div>`)
	d.line(`</section>`)
}

// chart writes a chart. values writes the values in its heading for readers without the script.
func (d *document) chart(f *figure, values func()) {
	d.line(`<figure>`)
	d.put(`<figcaption><b>{}</b> <span class="values">`, f.Name)
	values()
	d.line(`</span></figcaption>`)
	d.line(`<div class="plot" data-chart="{}"><p id="{}">{}</p></div>`, f.Chart, f.ID, f.Words)
	d.line(`</figure>`)
}

// fold writes a summary that unfolds what body writes.
func (d *document) fold(summary string, body func()) {
	d.put(`<details class="fold"><summary>{}</summary>`, summary)
	body()
	d.line(`</details>`)
}

func (d *document) command(line string) { d.line(`<pre tabindex="0"><code>{}</code></pre>`, line) }
