package report

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
)

//go:embed bundle/page.css
var pageCSS string

//go:embed bundle/page.js
var pageJS string

// shell holds the common parts of all pages: the style, the script, and the charts that the script draws.
type shell struct {
	Style, Script markup
	Charts        []pageChart
}

func newShell() shell {
	return shell{markup(pageColours() + "\n" + pageCSS), markup(pageJS), []pageChart{}}
}

// figure gives the page a chart.
func (s *shell) figure(name string, c *chart) figure {
	s.Charts = append(s.Charts, c.forPage())
	return figure{Name: name, ID: c.id, Chart: len(s.Charts) - 1, Words: c.desc}
}

func (s *shell) figures(charts []*chart) []figure {
	return lists.Map(charts, func(c *chart) figure { return s.figure(c.title, c) })
}

// page holds the data for pagehtml.go.
type page struct {
	*Report
	shell
	// Contents lists the page's sections.
	Contents []anchor
	// Glance holds the headline's table; empty without a headline.
	Glance []table
	Cards  []card
	// MoreCards holds the cards whose checks are ok, if there are many runs. They are folded.
	MoreCards []card
	Rows      []plotRow
	Compare   table
	// Tail describes the time that the plots leave out.
	Tail string
	// Sources holds the tables of published values.
	Sources []table
	// Happened holds the tables of events.
	Happened []table
	// Differ holds the settings in which the runs differ, Same the others.
	Differ, Same []table
	// Flows holds charts that compare the controllers' lines in one plot; FlowLegend names those lines.
	Flows      []figure
	FlowLegend []legend
	Groups     []table
	Sections   []section
}

// anchor identifies a position in the page.
type anchor struct{ ID, Title string }

// section holds charts that compare the controllers' lines, and tables.
type section struct {
	ID, Title, Hint string
	Charts          []figure
	Tables          []table
	Folded          []table // tables that the reader can unfold
	Fold            string  // their summary
}

// card shows one run's verdict.
type card struct {
	Run
	Kind   string
	Prints []print
	// Said holds the first of the verdict's messages; More holds the others, which are folded. A broken invariant often
	// breaks at every frame.
	Said, More []string
	// Notes and MoreNotes hold the verdict's notes, likewise.
	Notes, MoreNotes []string
}

// mostSaid limits the messages that a card shows unfolded.
const mostSaid = 3

// print holds a fingerprint, with its seed if there are several.
type print struct {
	Seed   string
	Whole  string
	Short  string // the first digits
	SameAs string // the first earlier column with the same fingerprint; empty: none
}

type plotRow struct {
	Title, Note, Unit string
	Legend            []legend
	Figures           []figure
}

type legend struct {
	Label  string
	Swatch markup
}

// figure holds a chart with its heading. Ranges appear where the script will show values.
type figure struct {
	Name   string
	Window string // interval of the ranges, if it is not the whole run
	Ranges []rangeText
	ID     string // unique in the page
	Chart  int    // index in the page's charts
	Words  string // description for readers who cannot see it
}

type rangeText struct{ Label, Text string }

func newPage(r *Report) *page {
	p := &page{
		Report:   r,
		shell:    newShell(),
		Compare:  comparison(r),
		Groups:   groupTables(r),
		Sources:  publishedTables(r),
		Happened: eventTables(r),
		Tail:     r.tail(),
	}
	p.Glance = glance(r)
	for k, run := range r.Runs {
		said, noted := min(len(run.Verdict.Messages), mostSaid), min(len(run.Verdict.Notes), mostSaid)
		to := &p.Cards
		if len(r.Runs) > mostAbreast && run.Verdict.Status == Pass && !run.Partial {
			to = &p.MoreCards
		}
		*to = append(*to, card{
			run, strings.ToLower(string(run.Verdict.Status)), r.prints(k),
			run.Verdict.Messages[:said], run.Verdict.Messages[said:], run.Verdict.Notes[:noted], run.Verdict.Notes[noted:],
		})
	}
	for i := range r.Panels {
		plots := newPlots(r, i, r.Runs)
		row := plotRow{Title: plots.title, Note: r.Panels[i].Note}
		for _, item := range plots.legend {
			row.Legend = append(row.Legend, legend{item.Label, swatch(item.style)})
		}
		for k, c := range plots.charts {
			f := p.figure(plots.names[k], c)
			f.Window = r.windowName()
			for n, l := range c.lines {
				text := plots.ranges[k][n]
				if n == len(c.lines)-1 && text != noData {
					text = c.y.in.named(text) // once is enough
				}
				f.Ranges = append(f.Ranges, rangeText{l.label, text})
			}
			row.Figures = append(row.Figures, f)
		}
		p.Rows = append(p.Rows, row)
	}
	p.Same, p.Differ = settingTables(r)
	p.Flows = p.figures(slowdownCDFs(r))
	p.Sections = p.sections(r)
	for k, name := range r.names() {
		p.FlowLegend = append(p.FlowLegend, legend{name, swatch(k)})
	}
	p.Contents = p.contents()
	return p
}

// contents returns the page's sections, in its order.
func (p *page) contents() (all []anchor) {
	add := func(shown bool, id, title string) {
		if shown {
			all = append(all, anchor{id, title})
		}
	}
	add(true, "glance", "At a glance")
	add(len(p.LookAt) > 0, "look", "What to look at")
	add(p.Compares, "differ", "How the runs differ")
	add(len(p.Rows) > 0, "plots", "Over time")
	add(len(p.Happened) > 0, "events", "Events")
	add(len(p.Sources) > 0, "published", "Published and measured")
	add(true, "numbers", "Numbers")
	for i := range p.Sections {
		add(true, p.Sections[i].ID, p.Sections[i].Title)
	}
	add(len(p.Same)+len(p.Differ) > 0, "settings", "Settings")
	add(p.Command != "", "repeat", "How to repeat this")
	add(p.EarlierCommand != "", "earlier", "Compare with earlier results")
	return all
}

// mostAbreast limits the runs side by side in the headline. More runs appear in rows below.
const mostAbreast = 8

// glance returns the headline, with the checks below it.
func glance(r *Report) []table {
	if len(r.Headline) == 0 {
		return nil
	}
	t := table{
		Caption: "Completion times, and the measures in which the runs differ most", Corner: "Measure", Heads: r.names(),
		Bodies: []body{{}},
	}
	if len(r.Runs) == 1 {
		t.Caption = "The most important measures"
	}
	add := func(label string, cells []string) {
		out := row{Label: label}
		for _, text := range cells {
			out.Cells = append(out.Cells, cell{Text: withUnits(text), Bar: -1})
		}
		t.Bodies[0].Rows = append(t.Bodies[0].Rows, out)
	}
	for _, row := range r.Headline {
		add(row.Label, row.Cells)
	}
	checks := make([]string, len(r.Runs))
	for i := range r.Runs {
		checks[i] = r.Runs[i].Verdict.Word
		if r.Runs[i].Partial {
			checks[i] += " (partial)"
		}
	}
	add("checks", checks)
	if len(r.Runs) > mostAbreast {
		t = t.turned()
		t.Corner = "Run"
	}
	return []table{t}
}

// sections returns the sections after the numbers of the whole runs, without empty ones.
func (p *page) sections(r *Report) []section {
	var kept []section
	for _, s := range []section{
		{
			ID: "sizes", Title: "Flow completion times", Hint: "Slowdown is a flow's completion time (FCT) divided by its FCT " +
				"alone on the same path.",
			Charts: p.figures(slices.Concat(bySize(r), fctCDFs(r))), Folded: sizeBinTables(r),
			Fold: "Slowdown by flow size in finer parts",
		},
		{ID: "pfc", Title: "Flow control", Tables: slices.Concat(spreadTable(r), pausedTables(r))},
		{
			ID: "links", Title: "Links", Charts: p.figures(linkCharts(r)),
			Tables: slices.Concat(utilisationTable(r), imbalanceTable(r)),
			Folded: busyTables(r), Fold: "Busiest and most congested links",
		},
		{ID: "recovery", Title: "Losses and repairs", Tables: slices.Concat(dropTable(r), lossyTable(r), recoveryTable(r))},
		{ID: "collectives", Title: "Jobs and collectives", Tables: stepsTables(r)},
		{ID: "fairness", Title: "Fairness", Tables: fairnessTable(r)},
	} {
		if len(s.Charts)+len(s.Tables)+len(s.Folded) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// prints returns the fingerprints of a column's runs.
func (r *Report) prints(column int) []print {
	all := r.Runs[column].Repeats
	if len(all) == 0 {
		all = r.Runs[column : column+1]
	}
	var prints []print
	for i := range all {
		if all[i].Fingerprint == "" {
			continue
		}
		p := print{Whole: all[i].Fingerprint, Short: all[i].Fingerprint}
		if len(p.Short) > 16 {
			p.Short = p.Short[:16]
		}
		if len(r.Runs[column].Repeats) > 0 {
			p.Seed = fmt.Sprintf("seed %d", all[i].Seed)
		}
		for k := range r.Runs[:column] {
			if p.SameAs == "" && slices.ContainsFunc(r.Runs[k].counted(),
				func(other *Run) bool { return other.Fingerprint == p.Whole }) {
				p.SameAs = r.Runs[k].Controller
			}
		}
		prints = append(prints, p)
	}
	return prints
}

// swatch returns a sample of a line.
func swatch(style int) markup {
	return markup(fmt.Sprintf(`<svg class="swatch" viewBox="0 0 30 8" aria-hidden="true">`+
		`<path %s stroke-width="2" d="M0 4h30"/></svg>`, styleOf(style)))
}
