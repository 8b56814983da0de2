package report

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
)

func (p *page) write(w io.Writer) error {
	d := &document{}
	d.begin(&p.shell, p.Version, p.Scenario+" · pausenet", "pausenet "+p.kind(), p.Scenario)
	d.lineIf(`<p class="lead">{}</p>`, withUnits(p.Description))
	d.facts(p.facts())
	d.put(`<nav aria-label="Contents"><ul>`)
	for _, a := range p.Contents {
		d.put(`<li><a href="#{}">{}</a></li>`, a.ID, a.Title)
	}
	d.line(`</ul></nav>`)
	d.line(`<main>`)
	if len(p.Problems) > 0 {
		d.problems("Not in this page", "warn", p.Problems)
	}
	p.writeGlance(d)
	if p.Compares {
		d.section("differ", "How the runs differ")
		for _, finding := range p.Findings {
			d.line(`<p>{}</p>`, rounded(finding))
		}
		d.tables(p.Differ...)
		d.line(`</section>`)
	}
	if len(p.Rows) > 0 {
		p.writePlots(d)
	}
	if len(p.Happened) > 0 {
		d.section("events", "Events")
		d.tables(p.Happened...)
		d.line(`</section>`)
	}
	if len(p.Sources) > 0 {
		d.section("published", "Published and measured")
		d.tables(p.Sources...)
		d.line(`</section>`)
	}
	p.writeNumbers(d)
	for i := range p.Sections {
		p.writeSection(d, &p.Sections[i])
	}
	p.writeSettings(d)
	if p.Command != "" {
		d.section("repeat", "How to repeat this")
		d.command(p.Command)
		d.line(`<p class="note">Equal fingerprints mean equal runs, frame by frame.</p>`)
		d.line(`</section>`)
	}
	if p.EarlierCommand != "" {
		d.section("earlier", "Compare with earlier results")
		d.command(p.EarlierCommand)
		d.line(`<p class="note"><a href="../{}/report.html">The report of the earlier results</a>, which had other settings.</p>`,
			url.PathEscape(p.Earlier))
		d.line(`</section>`)
	}
	foot := "Times are virtual. 1 KB is 1000 bytes. A run that failed or was interrupted is never marked as best"
	if len(p.Seeds) > 0 {
		foot += " and is excluded from means. If confidence intervals overlap, no value is marked"
	}
	return d.end(w, &p.shell, foot+".")
}

func (p *page) kind() string {
	if p.Compares {
		return "comparison"
	}
	return "report"
}

// facts returns the facts below the page's heading.
func (p *page) facts() (facts []Fact) {
	add := func(label, text string) {
		if text != "" {
			facts = append(facts, Fact{label, text})
		}
	}
	add("Fabric", withUnits(p.Topology))
	switch {
	case len(p.Seeds) > 0:
		seeds := lists.Map(p.Seeds, func(s uint64) string { return fmt.Sprint(s) })
		add("Seeds", strings.Join(seeds, ", ")+": means with 95 % confidence intervals (Student's t)")
	case !p.Compares:
		add("Seed", fmt.Sprint(p.Seed))
	}
	add("Plane", p.Plane)
	add("Version", p.Version)
	return facts
}

// problems writes a section about missing parts of a page.
func (d *document) problems(title, kind string, problems []string) {
	d.section("problems", title)
	d.put(`<div class="cards"><article class="card {}"><ul>`, kind)
	d.items(problems)
	d.line(`</ul></article></div>`)
	d.line(`</section>`)
}

// writeGlance writes the headline and the checks.
func (p *page) writeGlance(d *document) {
	d.section("glance", "At a glance")
	d.line(`<div class="beside">`)
	d.tables(p.Glance...)
	d.line(`<div class="checks">`)
	d.line(`<div class="cards">`)
	d.cards(p.Cards)
	d.line(`</div>`)
	if n := len(p.MoreCards); n > 0 {
		other := ""
		if len(p.Cards) > 0 {
			other = "other "
		}
		d.fold(fmt.Sprintf("%d %sruns: checks ok", n, other), func() {
			d.line(`<div class="cards">`)
			d.cards(p.MoreCards)
			d.put(`</div>`)
		})
	}
	d.line(`<p class="note">Checks say whether a run&#39;s numbers can be trusted, not whether they are good.</p>`)
	if len(p.LookAt) > 0 {
		d.line(`<section class="look" aria-labelledby="look">`)
		d.line(`<h2 id="look">What to look at</h2>`)
		for _, text := range p.LookAt {
			d.line(`<p>{}</p>`, withUnits(text))
		}
		d.line(`</section>`)
	}
	d.line(`</div>`)
	d.line(`</div>`)
	d.line(`</section>`)
}

// cards writes the verdicts of runs.
func (d *document) cards(cards []card) {
	for i := range cards {
		c := &cards[i]
		d.line(`<article class="card {}">`, c.Kind)
		d.put(`<h3>{}</h3><p class="badge">checks {}</p>`, c.Controller, c.Verdict.Word)
		if c.Partial {
			d.put(`<p class="badge partial">partial run</p>`)
		}
		d.line(``)
		d.lineIf(`<p class="print">{}</p>`, c.Note)
		d.messages(c.Said, `<ul>`, "")
		d.messages(c.More, `<ul>`, "more")
		d.messages(c.Notes, `<ul class="notes">`, "")
		d.messages(c.MoreNotes, `<ul class="notes">`, "more notes")
		if n := len(c.Prints); n > 3 {
			d.put(`<details><summary>{} fingerprints</summary>`, n)
			d.prints(c.Prints)
			d.line(`</details>`)
		} else {
			d.prints(c.Prints)
		}
		d.line(`</article>`)
	}
}

// messages writes a list of texts; with a name for them, folded behind their number and that name.
func (d *document) messages(texts []string, list markup, folded string) {
	if len(texts) == 0 {
		return
	}
	if folded != "" {
		d.put(`<details><summary>{} {}</summary>`, len(texts), folded)
	}
	d.put(`{}`, list)
	for _, text := range texts {
		d.put(`<li>{}</li>`, rounded(text))
	}
	d.put(`</ul>`)
	if folded != "" {
		d.put(`</details>`)
	}
	d.line(``)
}

// prints writes fingerprints.
func (d *document) prints(prints []print) {
	for _, f := range prints {
		d.put(`<p class="print">`)
		if f.Seed != "" {
			d.put(`{}: `, f.Seed)
		}
		d.put(`fingerprint <code title="{}">{}</code>`, f.Whole, f.Short)
		if f.SameAs != "" {
			d.put(` <b>as {}</b>`, f.SameAs)
		}
		d.line(`</p>`)
	}
}

// writePlots writes the plots over time, a row of plots for each measure.
func (p *page) writePlots(d *document) {
	d.line(`<section aria-labelledby="plots">`)
	d.line(`<div class="bar-head"><h2 id="plots">Over time</h2>`)
	seed := ""
	if len(p.Seeds) > 0 {
		seed = fmt.Sprintf("Seed %d. ", p.Seed)
	}
	d.line(`<p class="hint">{}{}Within a row, all controllers share both scales.`+
		`<span class="js"> Point at a plot to read values in all of them; drag to zoom in, double-click to zoom out. `+
		`With keys: Tab to a plot, arrows, + and −.</span></p>`, seed, p.Tail)
	d.line(`<button id="reset" type="button" hidden>Show all of the run</button></div>`)
	d.line(`<div{}>`, class(len(p.Runs) == 1, "solo"))
	for i := range p.Rows {
		r := &p.Rows[i]
		d.line(`<section class="row" aria-label="{}">`, r.Title)
		d.line(`<div class="row-head"><h3>{}</h3>`, r.Title)
		d.legends(r.Legend, `</div>`)
		d.lineIf(`<p class="note">{}</p>`, withUnits(r.Note))
		d.line(`<div class="cols n{}">`, len(r.Figures))
		for k := range r.Figures {
			f := &r.Figures[k]
			d.chart(f, func() { d.ranges(f) })
		}
		d.line(`</div>`)
		d.line(`</section>`)
	}
	d.line(`</div>`)
	d.line(`</section>`)
}

// ranges writes the range of each of a chart's lines.
func (d *document) ranges(f *figure) {
	if f.Window != "" {
		d.put(`<span>{}:</span>`, f.Window)
	}
	for _, r := range f.Ranges {
		d.put(`<span>{} <em>{}</em></span>`, r.Label, r.Text)
	}
	if len(f.Ranges) == 0 {
		d.put(`<span>no data</span>`)
	}
}

// writeNumbers writes the measures of whole runs.
func (p *page) writeNumbers(d *document) {
	d.section("numbers", "Numbers")
	d.line(`<div class="beside">`)
	d.tables(p.Compare)
	d.put(`<div class="spread">`)
	d.line(``)
	if len(p.Flows) > 0 {
		d.legends(p.FlowLegend, "")
		d.charts(p.Flows)
	}
	d.tables(p.Groups...)
	d.line(`</div>`)
	d.line(`</div>`)
	d.line(`</section>`)
}

func (p *page) writeSection(d *document, s *section) {
	d.section(s.ID, s.Title)
	d.lineIf(`<p class="note">{}</p>`, s.Hint)
	d.line(`<div class="spread">`)
	if len(s.Charts) > 0 {
		d.legends(p.FlowLegend, "")
		d.charts(s.Charts)
	}
	d.tables(s.Tables...)
	d.line(`</div>`)
	if len(s.Folded) > 0 {
		d.fold(s.Fold, func() {
			d.put(`<div class="spread">`)
			d.tables(s.Folded...)
			d.put(`</div>`)
		})
	}
	d.line(`</section>`)
}

func (p *page) writeSettings(d *document) {
	if len(p.Same)+len(p.Differ) == 0 {
		return
	}
	d.section("settings", "Settings")
	if len(p.Differ) > 0 && !p.Compares {
		d.fold("Where the runs differ", func() { d.tables(p.Differ...) })
	}
	if len(p.Same) > 0 {
		summary := "The same in all runs"
		if len(p.Runs) == 1 {
			summary = "All settings that affect the results"
		}
		d.fold(summary, func() { d.tables(p.Same...) })
	}
	d.line(`</section>`)
}
