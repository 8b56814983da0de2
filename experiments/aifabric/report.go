package aifabric

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
)

// Report is what the tests came to.
type Report struct {
	Draft string   `json:"draft"`
	Quick bool     `json:"quick,omitempty"`
	Rows  []Row    `json:"rows"`
	Left  []string `json:"left_out,omitempty"` // cases that the topology is too small for
}

// Row is a value of a case of a test.
type Row struct {
	KPI     string `json:"kpi"`
	Test    string `json:"test"`
	Section string `json:"section"`
	Case    string `json:"case"`
	Bound   string `json:"bound,omitempty"`
	// Source is where the bound is from: "B" the draft's Appendix B, "P" the test's procedure, "O" ours.
	Source string `json:"bound_source,omitempty"`
	// Measured is absent if the run has no such value.
	Measured *float64 `json:"measured,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	Verdict  string   `json:"verdict"`
	Run      string   `json:"run"` // the run's scenario, which is its folder's name
}

// Verdicts.
const (
	Within     = "within"
	Acceptable = "acceptable" // as Appendix B has it, of the JCT ratio
	Beyond     = "beyond"
	Reported   = "reported"  // there is no bound
	None       = "none"      // the run has no such value
	Untrusted  = "untrusted" // the run's own verdict is FAIL
)

// row is a value as the report has it.
func (v *value) row(p *planned, r *run, x float64) Row {
	row := Row{KPI: v.kpi, Test: p.test.title, Section: p.test.section, Case: p.at.label, Unit: v.unit, Run: r.scenario.Name}
	if b := v.bound; b != nil {
		row.Bound, row.Source = b.text(v.unit), b.source
	}
	switch failed := r.summary.Verdict.Status == measure.Fail && !p.at.fails; {
	case math.IsNaN(x) || math.IsInf(x, 0):
		row.Verdict = None
	case failed:
		row.Measured, row.Verdict = &x, Untrusted
	default:
		row.Measured, row.Verdict = &x, v.bound.verdict(x)
	}
	return row
}

func (b *bound) verdict(x float64) string {
	switch {
	case b == nil:
		return Reported
	case b.least && x >= b.limit, !b.least && x <= b.limit:
		return Within
	case b.soft != 0 && (b.least && x >= b.soft || !b.least && x <= b.soft):
		return Acceptable
	}
	return Beyond
}

func (b *bound) text(unit string) string {
	op := "<= "
	if b.least {
		op = ">= "
	}
	text := op + number(b.limit)
	if b.soft != 0 {
		text += " (" + number(b.soft) + ")"
	}
	return withUnit(text, unit)
}

// number is a number of three digits, or all before the point.
func number(x float64) string {
	if a := math.Abs(x); a >= 100 || a == math.Trunc(a) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

func withUnit(text, unit string) string {
	if unit == "" {
		return text
	}
	return text + " " + unit
}

// Text is the measured value for people.
func (r *Row) Text() string {
	if r.Measured == nil {
		return "-"
	}
	return withUnit(number(*r.Measured), r.Unit)
}

func (r *Row) cells() []string {
	bound := "-"
	if r.Bound != "" {
		bound = fmt.Sprintf("%s [%s]", r.Bound, r.Source)
	}
	return []string{r.KPI, r.Case, r.Section, bound, r.Text(), r.Verdict}
}

var head = []string{"KPI", "case", "section", "bound", "measured", "verdict"}

// legend says what the table's letters mean.
func (r *Report) legend() []string {
	return append([]string{
		"Sections are of " + r.Draft + ". Bounds: [B] its Appendix B, which is indicative and no acceptance criterion; [P] the test's procedure; [O] pausenet's own.",
		"A verdict says where a value lies; the draft sets no criteria of passing.",
	}, r.Left...)
}

// WriteText writes a table for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	lines := [][]string{head}
	for i := range r.Rows {
		lines = append(lines, r.Rows[i].cells())
	}
	widths := make([]int, len(head))
	for _, cells := range lines {
		for k, cell := range cells {
			widths[k] = max(widths[k], len(cell))
		}
	}
	var b strings.Builder
	for i, cells := range lines {
		if i > 0 && (i == 1 || r.Rows[i-1].Section != r.Rows[i-2].Section) {
			fmt.Fprintf(&b, "\n%s %s\n", r.Rows[i-1].Section, r.Rows[i-1].Test)
		}
		var line strings.Builder
		for k, cell := range cells {
			fmt.Fprintf(&line, "%-*s  ", widths[k], cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Join(r.legend(), "\n"))
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes a table in Markdown.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n%s|\n", strings.Join(head, " | "), strings.Repeat("|---", len(head)))
	for i := range r.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r.Rows[i].cells(), " | "))
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Join(r.legend(), "\n"))
	_, err := io.WriteString(w, b.String())
	return err
}
