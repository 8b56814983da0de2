package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/pairs"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/experiments/results/why"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/units"
)

// writeResults prints the measurements of a suite's runs: for each scenario a table of the measures by which its
// controllers differ most, and findings.
func writeResults(w io.Writer, suite *suite.Suite, made [][]*runner.Result) {
	for i := range suite.Scenarios {
		if i > 0 {
			fmt.Fprintln(w)
		}
		writeScenario(w, suite, &suite.Scenarios[i], made[i])
	}
}

func writeScenario(w io.Writer, suite *suite.Suite, s *suite.Scenario, made []*runner.Result) {
	name := s.Scenario.Name
	seeds := fmt.Sprintf("seed %d", s.Seed)
	if len(s.Seeds) > 1 {
		seeds = fmt.Sprintf("means over %d seeds with 95 %% confidence intervals", len(s.Seeds))
	}
	writeParagraph(w, "", fmt.Sprintf("%s: %s; %s", name, s.Scenario.Topology.Summary(), seeds))
	fmt.Fprintln(w)
	columns := make([]results.HeadlineColumn, len(s.Controllers))
	for k, controller := range s.Controllers {
		columns[k].Name = controller
		columns[k].Runs = make([]*measure.Summary, 0, max(1, len(s.Seeds)))
	}
	for k, location := range suite.Locations(s) {
		c := &columns[slices.Index(s.Controllers, location.Controller)]
		if made[k] == nil {
			c.Runs = append(c.Runs, nil)
			continue
		}
		c.Runs = append(c.Runs, &made[k].Summary)
	}
	writeHeadline(w, columns)
	if !slices.ContainsFunc(made, func(r *runner.Result) bool { return r != nil }) {
		return
	}
	writeFindings(w, made, len(s.Controllers))
	writeBySeed(w, columns)
	if len(s.Seeds) < 2 {
		writeSlowest(w, suite, s, made)
	}
	writePublished(w, measure.Compare(s.Scenario.Published, runner.Summaries(made)), len(suite.Sets) > 0)
	if s.Reported {
		fmt.Fprintf(w, "\n  report: %s\n", suite.ReportPath(name))
	}
	if folder := filepath.Join(suite.Directory, name); runfolders.Earlier(folder) != "" {
		fmt.Fprintf(w, "  compare: pausenet report %s %s\n", runfolders.Earlier(folder), folder)
	}
}

// writeBySeed compares each controller with the first by the pairs of runs with the same seed. The intervals of means
// would hide a difference, because they include the variation between seeds that all controllers share.
func writeBySeed(w io.Writer, columns []results.HeadlineColumn) {
	if len(columns[0].Runs) < 2 || len(columns) < 2 {
		return
	}
	first, head := columns[0], "\n"
	for _, c := range columns[1:] {
		metrics := measure.MetricsNamed([]string{"fct_p99", "fct_mean"})
		if text := pairs.BySeed(metrics, c.Runs, first.Runs).String(); text != "" {
			fmt.Fprint(w, head)
			writeParagraph(w, "", fmt.Sprintf("  %s against %s, by seed, %s", c.Name, first.Name, text))
			head = ""
		}
	}
}

// writeHeadline prints a table: rows of settings, the measures by which columns differ most, then their checks and
// fingerprints.
func writeHeadline(w io.Writer, columns []results.HeadlineColumn, settings ...[]string) {
	head, checks, prints := []string{""}, []string{"checks"}, []string{"fingerprint"}
	for _, c := range columns {
		head = append(head, c.Name)
		verdicts, print := measure.Verdicts{Runs: len(c.Runs)}, "-"
		partial := ""
		for _, s := range c.Runs {
			if s == nil {
				continue
			}
			verdicts.Add(s.Verdict.Status)
			print = short(s.Fingerprint)
			if s.Partial {
				partial = " (partial)"
			}
		}
		checks, prints = append(checks, verdicts.String()+partial), append(prints, print)
	}
	lines := append([][]string{head}, settings...)
	for _, row := range results.Headline(columns) {
		lines = append(lines, append([]string{row.Label}, row.Cells...))
	}
	lines, fingerprints := append(lines, checks), 0
	if !slices.ContainsFunc(columns, func(c results.HeadlineColumn) bool { return len(c.Runs) > 1 }) {
		lines, fingerprints = append(lines, prints), 1
	}
	if _, width := screenOf(w); tableWidth(lines) > width { // many columns are easier to compare as lines
		lines = transposed(lines[:len(lines)-fingerprints])
		lines[0][0] = "cc"
	}
	writeColumns(w, lines, 1)
}

// short returns the part of a fingerprint that tables show.
func short(fingerprint string) string { return fingerprint[:min(len(fingerprint), 12)] }

func transposed(lines [][]string) [][]string {
	turned := make([][]string, len(lines[0]))
	for i := range turned {
		for _, line := range lines {
			turned[i] = append(turned[i], line[i])
		}
	}
	return turned
}

// finding holds a message about runs, with those runs.
type finding struct {
	kind  string // "broken", "incomplete" or "note"; empty for the rest
	texts []string
	names []string // controllers of the runs
	seeds []string // seeds of the runs, if there are several
}

// text returns the finding's text. If texts differ in a figure, it has the range.
func (f *finding) text() string {
	all := lists.Map(f.texts, func(text string) []string { return figures.FindAllString(text, -1) })
	at := -1
	return figures.ReplaceAllStringFunc(f.texts[0], func(least string) string {
		at++
		most := least
		for _, own := range all {
			if size(own[at]) < size(least) {
				least = own[at]
			}
			if size(own[at]) > size(most) {
				most = own[at]
			}
		}
		if least == most {
			return least
		}
		return least + " to " + most
	})
}

// size returns a figure's value, comparable between figures of the same kind of unit.
func size(figure string) float64 {
	digits := strings.TrimRight(figure, "BGKMmnpsu")
	v, _ := strconv.ParseFloat(digits, 64) // an error: 0
	factor, known := map[string]float64{
		"KB": 1e3, "MB": 1e6, "GB": 1e9, "ps": 1e-12, "ns": 1e-9, "us": 1e-6,
		"ms": 1e-3,
	}[figure[len(digits):]]
	if !known {
		return v
	}
	return v * factor
}

// mostMessages limits the printed messages of a run, because a broken invariant often breaks at every frame.
const mostMessages = 5

// writeFindings prints broken and incomplete runs, notes, the spread of PAUSE, and collectives. Runs with equal
// messages share a line, as do notes that differ only in figures and, under several seeds, all lines of a
// controller.
func writeFindings(w io.Writer, made []*runner.Result, controllers int) {
	several := len(made) > controllers
	var all []finding
	index := map[string]int{}
	add := func(r *runner.Result, kind, text string) {
		key := kind + ":" + text
		switch masked := figures.ReplaceAllString(text, "\x00"); {
		case several:
			key = strings.Join([]string{kind, r.Controller, masked}, ":")
		case kind == "note":
			key = kind + ":" + masked
		}
		i, known := index[key]
		if !known {
			i = len(all)
			index[key] = i
			all = append(all, finding{kind: kind})
		}
		f := &all[i]
		if f.texts = append(f.texts, text); !slices.Contains(f.names, r.Controller) {
			f.names = append(f.names, r.Controller)
		}
		if several {
			f.seeds = append(f.seeds, strconv.FormatUint(r.Summary.Seed, 10))
		}
	}
	for _, r := range made {
		if r == nil {
			continue
		}
		kind, messages := r.Summary.Verdict.Status.Word(), r.Summary.Verdict.Messages
		for _, m := range messages[:min(len(messages), mostMessages)] {
			add(r, kind, m)
		}
		if more := len(messages) - mostMessages; more > 0 {
			add(r, kind, fmt.Sprintf("and %d more (see summary.json)", more))
		}
		for _, n := range r.Summary.Verdict.Notes {
			add(r, "note", n)
		}
		if spread := &r.Summary.PFC.Spread; spread.Depth >= 2 {
			add(r, "", fmt.Sprintf("PAUSE spread %s: %s", count(spread.Depth, "hop"), strings.Join(spread.Chain, " to ")))
		}
		for _, line := range jobLines(r) {
			add(r, "", line)
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(w)
	}
	for _, f := range all {
		names := strings.Join(f.names, ", ")
		if len(f.names) == controllers && controllers > 1 && !several {
			names = "all"
		}
		if several && len(f.seeds) < len(made)/controllers {
			names += " seed=" + strings.Join(f.seeds, ",")
		}
		if f.kind != "" {
			names += " " + f.kind
		}
		writeParagraph(w, f.kind, fmt.Sprintf("  %s: %s", names, f.text()))
	}
}

// figures matches a number in a message, with its unit.
var figures = regexp.MustCompile(`[0-9][0-9.]*([KMG]?B|[mnup]?s)?\b`)

// mostCollectives limits the printed kinds of collectives of a run.
const mostCollectives = 8

// jobLines returns a line for each job and kind of collective, with its time and lower bound.
func jobLines(r *runner.Result) (lines []string) {
	all, limit := r.Summary.Collectives, "limit"
	if len(r.Scenario.Faults) > 0 {
		limit = "limit without faults"
	}
	for i := range r.Summary.Jobs {
		j := &r.Summary.Jobs[i]
		alone := func(c measure.CollectiveSummary) bool { return c.Tag == j.Tag && c.Count == 1 && c.Completed == 1 }
		if j.Compute == 0 && slices.ContainsFunc(all, alone) { // the collective's line has the same time
			continue
		}
		if j.JCT == 0 {
			lines = append(lines, fmt.Sprintf("%s: %d of %d operations unfinished", j.Tag, j.Unfinished, j.Operations))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: job completion time %s, %s %s; exposed communication %.1f %%", j.Tag,
			duration(float64(j.JCT)), limit, duration(float64(j.Limit)), 100*j.ExposedShare))
	}
	for i := range all[:min(len(all), mostCollectives)] {
		c := &all[i]
		if c.Completed == 0 || c.Bus == 0 {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %d of %d %s by %s, %v, %d ranks: mean %s, %s %s; bus bandwidth %s", c.Tag,
			c.Completed, c.Count, c.Kind, c.Algorithm, units.Bytes(c.Size), c.Ranks, duration(c.Time.Mean), limit,
			duration(float64(c.Limit)), gigabits(c.Bus)))
	}
	if more := len(all) - mostCollectives; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more kinds of collectives (see summary.json)", more))
	}
	return lines
}

// writeSlowest prints the main cause of each run's slowest flow, and the command that prints more.
func writeSlowest(w io.Writer, suite *suite.Suite, s *suite.Scenario, made []*runner.Result) {
	more := ""
	for _, r := range made {
		if r == nil {
			continue
		}
		path := suite.RunPath(s, r.Controller)
		if _, err := os.Lstat(filepath.Join(path, rundir.Why.Name)); err != nil { // not recorded
			continue
		}
		run, flow, err := why.ReadSlowest(path)
		switch {
		case err != nil: // the record cannot be read
			writeParagraph(w, "", fmt.Sprintf("  %s why: %v", r.Controller, err))
		case flow != nil:
			writeParagraph(w, "", fmt.Sprintf("  %s slowest: %s", r.Controller, run.Top(flow)))
			more = cmp.Or(more, commandLine([]string{"", "why", path, strconv.Itoa(flow.Number)}))
		}
	}
	if more != "" {
		fmt.Fprintf(w, "  more: %s\n", more)
	}
}

// duration formats nanoseconds for people.
func duration(ns float64) string { return measure.KindTime.Text(ns) }

// commandLine returns the user's command, quoted for a shell.
func commandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if i == 0 {
			a = "pausenet"
		}
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?[]#~`!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}

// writeDuplicates lists points whose run equals an earlier one's.
func writeDuplicates(w io.Writer, same []string) {
	if len(same) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, line := range same[:min(len(same), mostProblems)] {
		writeParagraph(w, "", "  "+line)
	}
	if more := len(same) - mostProblems; more > 0 {
		fmt.Fprintf(w, "  and %d more (see same_as in sweep.csv)\n", more)
	}
}

// gigabits formats a rate for people.
func gigabits(bps float64) string { return measure.KindRate.Text(bps) }
