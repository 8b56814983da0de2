package aifabric

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/interval"
)

// Report holds the results of the tests.
type Report struct {
	Draft string `json:"draft"`
	Quick bool   `json:"quick,omitempty"`
	// Iterations counts how often each run was made, under as many seeds.
	Iterations int      `json:"iterations"`
	Rows       []Row    `json:"rows"`
	Left       []string `json:"left_out,omitempty"` // cases that need a larger topology
}

// Row holds a value of a case of a test.
type Row struct {
	KPI     string `json:"kpi"`
	Test    string `json:"test"`
	Section string `json:"section"`
	Case    string `json:"case"`
	Bound   string `json:"bound,omitempty"`
	// Source tells where the bound comes from: "B" the draft's Appendix B, "P" the test's procedure, "O" this project.
	Source string `json:"bound_source,omitempty"`
	// Measured holds the mean over the iterations that have such a value; absent if none has.
	Measured *float64 `json:"measured,omitempty"`
	// Half holds half the width of the mean's 95 % confidence interval, and CV the coefficient of variation (the
	// standard deviation over the mean), in per cent. Both need several iterations. A mean of 0 has no CV.
	Half *float64 `json:"measured_ci95,omitempty"`
	CV   *float64 `json:"cv_percent,omitempty"`
	// Iterations counts the iterations that have such a value.
	Iterations int    `json:"iterations"`
	Unit       string `json:"unit,omitempty"`
	Verdict    string `json:"verdict"`
	Run        string `json:"run"` // name of the run's scenario and folder
}

// Verdicts.
const (
	Within     = "within"
	Acceptable = "acceptable" // acceptable by Appendix B, for the JCT ratio
	Beyond     = "beyond"
	Reported   = "reported"  // without a bound
	None       = "none"      // the run does not have this value
	Untrusted  = "untrusted" // the run's own verdict is FAIL
)

// row returns the report's row of a value of a case's runs, given by seed; nil for runs that were not made. The verdict
// applies to the mean.
func (v *value) row(p *planned, runs, first []*run) (Row, error) {
	row := Row{KPI: v.kpi, Test: p.test.title, Section: p.test.section, Case: p.at.label, Unit: v.unit}
	if b := v.bound; b != nil {
		row.Bound, row.Source = b.text(v.unit), b.source
	}
	failed := false
	var all []float64
	for k, r := range runs {
		if r == nil {
			continue
		}
		row.Run = r.scenario.Name
		x, err := v.read(r, first[k])
		if err != nil {
			return row, fmt.Errorf("%s: %w", r.scenario.Name, err)
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		all = append(all, x)
		failed = failed || r.summary.Verdict.Status == measure.Fail && !p.at.fails
	}
	row.Iterations = len(all)
	if len(all) == 0 {
		row.Verdict = None
		return row, nil
	}
	e := interval.Of(all)
	row.Measured, row.Verdict = &e.Mean, v.bound.verdict(e.Mean)
	if failed {
		row.Verdict = Untrusted
	}
	if len(all) > 1 {
		row.Half = &e.Half
		if e.Mean != 0 {
			_, deviation := stat.MeanStdDev(all, nil)
			cv := 100 * deviation / math.Abs(e.Mean)
			row.CV = &cv
		}
	}
	return row, nil
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

// number formats a number with three digits, or with all digits before the point.
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

// Text formats the measured value for people.
func (r *Row) Text() string {
	if r.Measured == nil {
		return "-"
	}
	if r.Half != nil {
		return withUnit(number(*r.Measured)+" ± "+number(*r.Half), r.Unit)
	}
	return withUnit(number(*r.Measured), r.Unit)
}

// cells returns a row's texts. If there are several iterations, they include the coefficient of variation and, if some
// iterations lack the value, the number of those that have it.
func (r *Report) cells(row *Row) []string {
	bound := "-"
	if row.Bound != "" {
		bound = fmt.Sprintf("%s [%s]", row.Bound, row.Source)
	}
	cells := []string{row.KPI, row.Case, row.Section, bound, row.Text()}
	if cv := r.variation(row); cv != "" {
		cells = append(cells, cv)
	}
	return append(cells, row.Verdict)
}

// variation returns a row's coefficient of variation and, if some iterations lack the value, the number of those that
// have it; "" if there is one iteration.
func (r *Report) variation(row *Row) string {
	if r.Iterations <= 1 {
		return ""
	}
	cv := "-"
	if row.CV != nil {
		cv = number(*row.CV) + " %"
	}
	if row.Iterations < r.Iterations {
		cv += fmt.Sprintf(" (of %d)", row.Iterations)
	}
	return cv
}

func (r *Report) head() []string {
	head := []string{"KPI", "case", "section", "bound", "measured"}
	if r.Iterations > 1 {
		head = append(head, "CV")
	}
	return append(head, "verdict")
}

// legend explains the letters of the table.
func (r *Report) legend() []string {
	var lines []string
	if r.Iterations > 1 {
		lines = append(lines, fmt.Sprintf("Means over %d iterations, one a seed, with 95 %% confidence intervals. "+
			"CV is the coefficient of variation (standard deviation over mean), of which the draft recommends less than 5 %%.",
			r.Iterations))
	}
	return append(append(lines,
		"Sections are those of "+r.Draft+
			". Bounds: [B] its appendix B, which is indicative; [P] the test's procedure; [O] pausenet's own.",
		"A verdict compares a value with its bound. The draft sets no acceptance criteria.",
	), r.Left...)
}

// WriteText writes a table for a terminal: the rows of a section and a case below each other.
func (r *Report) WriteText(w io.Writer) error {
	kpi, value := 0, 0
	for i := range r.Rows {
		kpi, value = max(kpi, utf8.RuneCountInString(r.Rows[i].KPI)), max(value, utf8.RuneCountInString(r.Rows[i].Text()))
	}
	var b strings.Builder
	section, of := "", ""
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Section != section || i == 0 {
			fmt.Fprintf(&b, "\n%s %s\n", row.Section, row.Test)
			section, of = row.Section, ""
		}
		if row.Case != of {
			fmt.Fprintf(&b, "  %s\n", row.Case)
			of = row.Case
		}
		verdict := row.Verdict
		if row.Bound != "" {
			verdict += fmt.Sprintf(" %s [%s]", row.Bound, row.Source)
		}
		if cv := r.variation(row); cv != "" {
			verdict = "CV " + cv + ", " + verdict
		}
		fmt.Fprintf(&b, "    %-*s  %-*s  %s\n", kpi, row.KPI, value, row.Text(), verdict)
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Join(r.legend(), "\n"))
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

// WriteMarkdown writes a table in Markdown.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n%s|\n", strings.Join(r.head(), " | "), strings.Repeat("|---", len(r.head())))
	for i := range r.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r.cells(&r.Rows[i]), " | "))
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Join(r.legend(), "\n"))
	_, err := io.WriteString(w, b.String())
	return err
}
