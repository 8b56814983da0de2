package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

var keep = flag.String("keep", "", "also write the pages to this directory, to look at")

func render(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// save writes the output of a test to a file for inspection.
func save(t *testing.T, name, content string) {
	t.Helper()
	dir := t.TempDir()
	if *keep != "" {
		dir = *keep
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wellFormed(t *testing.T, doc string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(doc))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %.200s", err, doc)
		}
	}
}

var (
	svgs   = regexp.MustCompile(`(?s)<svg.*?</svg>`)
	remote = regexp.MustCompile(`(?i)https?:|//[a-z]|url\((?:[^#]|$)|@import|<link|<img|<iframe|\bsrc=`)
	uses   = regexp.MustCompile(`\b(?:href="[^#]|xlink:href=)`)
	worded = regexp.MustCompile(`<div class="plot" data-chart="\d+"><p id="[^"]*">([^<]*)</p>`)
)

func TestPage(t *testing.T) {
	for name, r := range map[string]*Report{
		"two":   synthetic(),
		"one":   synthetic("dcqcn"),
		"four":  synthetic("dcqcn", "swift", "pcn", "dcon"),
		"eight": synthetic("dcqcn", "timely", "swift", "dctcp", "hpcc", "pcn", "lstm-pid", "dcon"),
	} {
		t.Run(name, func(t *testing.T) {
			page := render(t, r)
			save(t, name+".html", page)
			if want := len(r.Panels) * len(r.Runs); strings.Count(page, `data-chart="`) < want {
				t.Errorf("%d plots, want at least %d", strings.Count(page, `data-chart="`), want)
			}
			for _, s := range svgs.FindAllString(page, -1) {
				wellFormed(t, s)
			}
			for _, plot := range worded.FindAllStringSubmatch(page, -1) {
				if len(plot[1]) < 40 {
					t.Errorf("a plot has no description: %s", plot[0])
				}
			}
			ids := make(map[string]bool)
			for _, m := range regexp.MustCompile(`\bid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				if ids[m[1]] {
					t.Errorf("id %s twice", m[1])
				}
				ids[m[1]] = true
			}
			for _, ref := range regexp.MustCompile(`aria-labelledby="([^"]*)"|url\(#([^)]*)\)|href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
				for _, id := range strings.Fields(ref[1] + " " + ref[2] + " " + ref[3]) {
					if !ids[id] {
						t.Errorf("nothing has the id %s", id)
					}
				}
			}
			if m := remote.FindString(withoutScript(page)); m != "" {
				t.Errorf("the page refers to something outside: %s", m)
			}
			if uses.MatchString(withoutScript(page)) {
				t.Error("the page has a link")
			}
			if strings.Contains(withoutScript(page), "NaN") {
				t.Error("a value is NaN")
			}
		})
	}
}

// withoutScript removes the script, because only a browser knows its requests.
func withoutScript(page string) string {
	before, script, _ := strings.Cut(page, `<script type="module">`)
	_, behind, _ := strings.Cut(script, "</script>")
	return before + behind
}

func TestEqualInputEqualBytes(t *testing.T) {
	first, second := render(t, synthetic()), render(t, synthetic())
	if first != second {
		t.Error("two pages of the same report differ")
	}
}

func TestTinyGolden(t *testing.T) {
	svg := drawnAs(t, tiny(t), "svg")
	wellFormed(t, svg)
	if m := remote.FindString(strings.NewReplacer(`xmlns="http://www.w3.org/2000/svg"`, "",
		`xmlns:xlink="http://www.w3.org/1999/xlink"`, "").Replace(svg)); m != "" {
		t.Errorf("the drawing refers to something outside: %s", m)
	}
	testenv.Golden(t, filepath.Join("testdata", "tiny.svg"), svg)
}

// tiny returns a drawing of one panel that can be checked by hand.
func tiny(t *testing.T) *Drawing {
	t.Helper()
	figures, err := Figures(&Report{
		Scenario: "tiny", Runs: []Run{{Controller: "a&b", Verdict: Verdict{Status: Pass}}},
		Panels: []Panel{{Title: "Queue <0>", Unit: Bytes, Series: map[string][]Series{"a&b": {
			{
				Label: "port \"1\"", X: []int64{0, 10e6, 20e6, 30e6, 40e6}, Y: []float64{0, 320e3, 320e3, math.NaN(), 64e3},
				Step: true, Reference: &Level{300e3, "X_off"},
			},
			{Label: "port 2", X: []int64{0, 40e6}, Y: []float64{100e3, 200e3}},
		}}}},
		Spans: []Span{{10e6, 20e6, "burst"}},
	})
	if err != nil || len(figures) != 1 {
		t.Fatalf("%d figures: %v", len(figures), err)
	}
	return figures[0].Drawing
}

// spoilt returns a report in which every text is malicious.
func spoilt(evil string) *Report {
	r := synthetic()
	r.Scenario, r.Description, r.Topology, r.Version, r.Plane, r.Command = evil, evil, evil, evil, evil, evil
	r.LookAt, r.Spans[0].Label = []string{evil}, evil
	for i := range r.Panels {
		p := &r.Panels[i]
		p.Title, p.Note, p.Unit = evil, evil, Unit(evil)
		for j := range r.Runs {
			for k := range p.Series[r.Runs[j].Controller] {
				s := &p.Series[r.Runs[j].Controller][k]
				s.Label, s.Reference = evil, &Level{1, evil}
			}
		}
	}
	run := &r.Runs[0]
	for i := range r.Panels {
		r.Panels[i].Series[evil] = r.Panels[i].Series[run.Controller]
		delete(r.Panels[i].Series, run.Controller)
	}
	run.Controller, run.Fingerprint, run.Verdict.Messages = evil, evil, []string{evil}
	run.Slowdowns[0].Tag, run.Summary.ByTag[0].Name = evil, evil
	return r
}

func TestTextIsEscaped(t *testing.T) {
	page := render(t, spoilt(`"><script>alert(1)</script>`))
	if strings.Contains(page, "<script>alert") {
		t.Error("text got out of its place")
	}
	for _, s := range svgs.FindAllString(page, -1) {
		wellFormed(t, s)
	}
}

func TestMistakes(t *testing.T) {
	for name, spoil := range map[string]func(*Report){
		"no runs":            func(r *Report) { r.Runs = nil },
		"twice":              func(r *Report) { r.Runs[1].Controller = r.Runs[0].Controller },
		"unknown verdict":    func(r *Report) { r.Runs[0].Verdict.Status = "MAYBE" },
		"lengths":            func(r *Report) { r.Panels[0].Series["dcon"][0].X = nil },
		"time goes back":     func(r *Report) { r.Panels[0].Series["dcon"][0].X[3] = -1 },
		"infinite":           func(r *Report) { r.Panels[0].Series["dcon"][0].Y[3] = math.Inf(1) },
		"unknown controller": func(r *Report) { r.Panels[0].Series["nobody"] = nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := synthetic()
			spoil(r)
			if _, err := Figures(r); Write(io.Discard, r) == nil || err == nil {
				t.Error("no error")
			}
		})
	}
}

// A report of nothing but runs must still be a page: a scenario may sample nothing, and a run may end at once.
func TestEmpty(t *testing.T) {
	testenv.WholeScenario(t)
	r := &Report{Scenario: "empty", Runs: []Run{
		{Controller: "a", Verdict: Verdict{
			Status:   Fail,
			Messages: []string{"no-drop: L2, port 3, at 20.013 ms: 1 frame lost"},
		}, Partial: true},
		{Controller: "b", Verdict: Verdict{Status: Pass}},
	}}
	render(t, r)
	r.Panels = []Panel{
		{Title: "none", Unit: Bytes},
		{Title: "log of none", Unit: Bytes, Log: true},
		{Title: "zero", Unit: "frames/s", Series: map[string][]Series{"a": {{Label: "x", X: []int64{5}, Y: []float64{0}}}}},
		{Title: "gap", Unit: "frames/s", Log: true, Series: map[string][]Series{"b": {{
			Label: "x", X: []int64{5},
			Y: []float64{math.NaN()},
		}}}},
	}
	page := render(t, r)
	save(t, "empty.html", page)
	figures, err := Figures(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		for _, format := range PictureFormats {
			drawnAs(t, f.Drawing, format)
		}
	}
	if strings.Contains(withoutScript(page), "NaN") || strings.Contains(withoutScript(page), "Inf") {
		t.Error("a number that is none got into the page")
	}
}

// TestManyMessages: a card shows the first messages of a verdict and folds the others away, none of them lost.
func TestManyMessages(t *testing.T) {
	r := synthetic()
	r.Runs[0].Verdict = Verdict{Status: Fail}
	for i := range 77 {
		r.Runs[0].Verdict.Messages = append(r.Runs[0].Verdict.Messages, fmt.Sprintf("message %d.", i))
	}
	page := render(t, r)
	open, folded, found := strings.Cut(page, "<details><summary>74 more</summary>")
	folded, _, ended := strings.Cut(folded, "</details>")
	if !found || !ended || strings.Count(open, "message ") != 3 || strings.Count(folded, "message ") != 74 ||
		!strings.Contains(folded, "message 76.") {
		t.Errorf("%d messages open, %d folded", strings.Count(open, "message "), strings.Count(folded, "message "))
	}
	if strings.Count(page, "<details>") != 1 {
		t.Error("a verdict of one message is folded")
	}
}

// TestVerdictNotes checks that a card has the verdict's notes beside its messages, those after the first folded.
func TestVerdictNotes(t *testing.T) {
	r := synthetic()
	r.Runs[0].Verdict = Verdict{Status: Pass}
	for i := range 5 {
		r.Runs[0].Verdict.Notes = append(r.Runs[0].Verdict.Notes, fmt.Sprintf("<%d>.", i))
	}
	page := render(t, r)
	open, folded, found := strings.Cut(page, "<details><summary>2 more notes</summary>")
	folded, _, _ = strings.Cut(folded, "</details>")
	if !found || strings.Count(open, "<li>&lt;") != 3 || strings.Count(folded, "<li>&lt;") != 2 {
		t.Errorf("%d notes open, %d folded", strings.Count(open, "<li>&lt;"), strings.Count(folded, "<li>&lt;"))
	}
}

// TestGlance checks that a page starts with the headline, and that its contents list all sections in order.
func TestGlance(t *testing.T) {
	r := synthetic()
	r.Runs[1].Partial = true
	page := render(t, r)
	contents, rest, _ := strings.Cut(page, "</nav>")
	headline, _, _ := strings.Cut(rest, "</table>")
	for _, want := range []string{
		`<h2 id="glance">`, "FCT mean", ">17.3\u00a0us</td>",
		`<th scope="row">checks</th><td>ok</td><td>incomplete (partial)</td>`,
	} {
		if !strings.Contains(headline, want) {
			t.Errorf("the headline has no %s", want)
		}
	}
	if strings.Contains(headline, `<h2 id="plots"`) || strings.Contains(page, ">PASS<") ||
		strings.Contains(page, ">WARN<") {
		t.Error("the headline does not come first, or a verdict is a grade")
	}
	var linked, titled []string
	for _, m := range regexp.MustCompile(`<a href="#([^"]*)">([^<]*)</a>`).FindAllStringSubmatch(contents, -1) {
		linked = append(linked, m[1]+" "+m[2])
	}
	for _, m := range regexp.MustCompile(`<h2 id="([^"]*)"[^>]*>([^<]*)</h2>`).FindAllStringSubmatch(page, -1) {
		titled = append(titled, m[1]+" "+m[2])
	}
	if len(linked) < 6 || !slices.Equal(linked, titled) {
		t.Errorf("contents %q, sections %q", linked, titled)
	}
	r.Headline[0].Cells = r.Headline[0].Cells[:1]
	if Write(io.Discard, r) == nil {
		t.Error("a headline without a cell for each run was accepted")
	}
}

// TestUnfinished checks that unfinished flows are counted by tag and size, also in groups without finished flows, which
// no other table shows.
func TestUnfinished(t *testing.T) {
	r := synthetic()
	const caption = "Flows unfinished at the end of the run; they have no FCT"
	if page := render(t, r); strings.Contains(page, caption) {
		t.Error("a table of nothing")
	}
	r.Runs[0].Summary.All.Unfinished = 7
	r.Runs[0].Summary.ByTag = append(r.Runs[0].Summary.ByTag, Group{"long", Flows{Unfinished: 7}})
	_, table, found := strings.Cut(render(t, r), caption)
	table, _, _ = strings.Cut(table, "</table>")
	if !found || !strings.Contains(table, `<th scope="row">long`) || !strings.Contains(table, ">7<") ||
		strings.Contains(table, "burst") {
		t.Errorf("%t: %s", found, table)
	}
}

// TestPublished checks published tables: those with many controllers are divided, missing values are dashes, and an
// inconsistent table is an error.
func TestPublished(t *testing.T) {
	r := synthetic()
	p := Published{
		Title: "Table 6", Source: "section 4", Note: "A note",
		Columns: []string{"dcqcn", "dcon", "a", "b", "c"},
	}
	for _, label := range []string{"FCT", "RTT"} {
		row := PublishedRow{Label: label, Unit: "us"}
		for i := range p.Columns {
			row.Cells = append(row.Cells, PublishedCell{
				Published: fmt.Sprintf("%s%d", label, i), Measured: "1",
				Difference: "+2 %",
			})
		}
		row.Cells[4].Measured, row.Cells[4].Difference = "", ""
		p.Rows = append(p.Rows, row)
	}
	r.Published = []Published{p}
	page := render(t, r)
	if n := strings.Count(page, "<caption><span>Table 6 (section 4). A note</span></caption>"); n != 2 {
		t.Errorf("%d tables, want 2", n)
	}
	for _, want := range []string{
		"<td class=\"group\">FCT0</td><td>1</td><td>&#43;2 %</td>",
		"<td class=\"group\">RTT4</td><td>–</td><td>–</td>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	r.Published[0].Rows[1].Cells = r.Published[0].Rows[1].Cells[:4]
	if Write(io.Discard, r) == nil {
		t.Error("a row without a cell for each column was accepted")
	}
}
