package sweep

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/internal/interval"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/units"
)

// shownIn returns the contents of sweep.html: a chart for each metric, with the first varying parameter on its axis,
// and a line for each combination of controller and other parameters' values. Without such a parameter, the
// controllers are on the axis.
func (s *Sweep) shownIn(r *Runner, outcomes []Outcome) *report.Sweep {
	rows := s.Rows(r.Points, outcomes)
	out := &report.Sweep{
		Name: s.Name, Description: s.Description, Version: r.Version, Command: r.Command, Facts: s.facts(r),
		Problems: problemsOf(r.Points, outcomes), Equal: Duplicates(r.Points),
		Compared: s.Compared(r.Points, outcomes),
	}
	varying := s.Varying()
	labels := shortest(varying)
	position := func(row *Row) string { return row.Controller }
	label := func(*Row) string { return "all points" }
	out.X.Title, out.X.Column = "controller", "controller"
	if len(varying) > 0 {
		out.X.Title = inWords(varying[0].Path)
		position = func(row *Row) string { return row.Values[0] }
		label = func(row *Row) string {
			words := []string{row.Controller}
			for k := 1; k < len(varying); k++ {
				words = append(words, labels[k]+"="+row.Values[k])
			}
			return strings.Join(words, ", ")
		}
	}
	for i := range rows {
		if name := position(&rows[i]); !slices.Contains(out.X.Names, name) {
			out.X.Names = append(out.X.Names, name)
		}
	}
	if len(varying) > 0 {
		out.X.Values, out.X.Unit = numbersOf(out.X.Names)
		sortPositions(&out.X)
		out.X.Column = varying[0].Path + unitSuffixes[out.X.Unit]
	}
	for i := range rows {
		if name := label(&rows[i]); !slices.Contains(out.Lines, name) {
			out.Lines = append(out.Lines, name)
		}
	}
	for k, m := range s.shown() {
		metric := report.SweepMetric{Title: m.Label, Column: m.Column(), Unit: reportUnit(m.Kind)}
		for range out.Lines {
			metric.Lines = append(metric.Lines, make([]interval.Estimate, len(out.X.Names)))
		}
		for i := range rows {
			line, at := slices.Index(out.Lines, label(&rows[i])), slices.Index(out.X.Names, position(&rows[i]))
			metric.Lines[line][at] = rows[i].Estimates[k]
		}
		out.Metrics = append(out.Metrics, metric)
	}
	return out
}

// acronyms lists parts of settings' names that are written in capitals.
var acronyms = []string{
	"pfc", "xoff", "xon", "ecn", "cnp", "cnm", "tcd", "cbfc", "rtt", "mtu", "qps", "ack", "bdp",
	"ip",
}

// inWords returns a parameter's path in words: "switch.pfc.xoff_to_xon" is "PFC XOFF to XON", "flows.burst.interval"
// is "burst interval".
func inWords(path string) string {
	section, rest, found := strings.Cut(path, ".")
	if !found {
		rest = section
	}
	words := strings.FieldsFunc(rest, func(c rune) bool { return c == '.' || c == '_' })
	for i, word := range words {
		if slices.Contains(acronyms, word) {
			words[i] = strings.ToUpper(word)
		}
	}
	return strings.Join(words, " ")
}

// unitSuffixes end the names of columns of CSV files.
var unitSuffixes = map[report.Unit]string{
	report.Nanoseconds: "_ns", report.Bytes: "_bytes",
	report.BitsPerSecond: "_bps",
}

func (s *Sweep) facts(r *Runner) []report.Fact {
	facts := []report.Fact{{Label: "Scenario", Text: strings.Join(s.Scenarios, ", ")}}
	if s.Quick {
		facts = append(facts, report.Fact{Label: "Quick", Text: "the scenarios' quick form, if they have one"})
	}
	for _, p := range s.Parameters {
		facts = append(facts, report.Fact{Label: p.Path, Text: strings.Join(p.Values, ", ")})
	}
	if len(s.Seeds) > 0 {
		texts := lists.Map(s.Seeds, func(seed uint64) string { return strconv.FormatUint(seed, 10) })
		facts = append(facts, report.Fact{Label: "Seeds", Text: strings.Join(texts, ", ")})
	}
	return append(facts,
		report.Fact{Label: "Points", Text: strconv.Itoa(len(r.Points))},
		report.Fact{Label: "Plane", Text: r.Plane}, report.Fact{Label: "Version", Text: r.Version})
}

// Describe writes the sweep for people.
func (s *Sweep) Describe(w io.Writer, points []Point) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "sweep %s\n", s.Name)
	if s.Description != "" {
		fmt.Fprintf(t, "  %s\n", s.Description)
	}
	for _, f := range s.facts(&Runner{Points: points}) {
		if f.Text != "" {
			fmt.Fprintf(t, "  %s\t%s\n", strings.ToLower(f.Label), f.Text)
		}
	}
	var controllers []string
	for i := range points {
		if c := points[i].Controller; !slices.Contains(controllers, c) {
			controllers = append(controllers, c)
		}
	}
	fmt.Fprintf(t, "  controllers\t%s\n  metrics\t%s\n", strings.Join(controllers, ", "),
		strings.Join(s.MetricLabels(), "; "))
	return t.Flush()
}

// problemsOf returns the points that no estimate includes, each with the reason.
func problemsOf(points []Point, outcomes []Outcome) []string {
	var problems []string
	for i := range points {
		name, o := points[i].Name(), &outcomes[i]
		switch {
		case o.Err != nil:
			problems = append(problems, fmt.Sprintf("%s: %v", name, o.Err))
		case !o.Complete():
			problems = append(problems, name+": not made, because the sweep was interrupted")
		case o.Verdict.Status == measure.Fail:
			problems = append(problems, fmt.Sprintf("%s: checks %s: %s", name, measure.Fail.Word(),
				strings.Join(o.Verdict.Messages, "; ")))
		}
	}
	return problems
}

// reportUnit returns the unit of a kind of metric in charts.
func reportUnit(k measure.Kind) report.Unit {
	switch k.Name {
	case measure.KindTime.Name:
		return report.Nanoseconds
	case measure.KindRate.Name:
		return report.BitsPerSecond
	case measure.KindSize.Name:
		return report.Bytes
	}
	return report.None
}

// numbersOf returns the values of a parameter as numbers of one unit, or nil if some are none.
func numbersOf(texts []string) ([]float64, report.Unit) {
	for _, kind := range []struct {
		unit  report.Unit
		parse func(string) (float64, error)
	}{
		{report.None, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }},
		{report.Nanoseconds, func(s string) (float64, error) { t, err := units.ParseTime(s); return t.Seconds() * 1e9, err }},
		{report.Bytes, func(s string) (float64, error) { n, err := units.ParseBytes(s); return float64(n), err }},
		{report.BitsPerSecond, func(s string) (float64, error) { r, err := units.ParseRate(s); return float64(r), err }},
	} {
		values := make([]float64, len(texts))
		known := true
		for i, text := range texts {
			v, err := kind.parse(text)
			values[i], known = v, known && err == nil
		}
		if known {
			return values, kind.unit
		}
	}
	return nil, report.None
}

// sortPositions sorts the positions of a numeric axis in ascending order.
func sortPositions(x *report.SweepAxis) {
	if x.Values == nil {
		return
	}
	order := make([]int, len(x.Values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if x.Values[a] < x.Values[b] {
			return -1
		}
		return 1
	})
	names, values := make([]string, len(order)), make([]float64, len(order))
	for i, from := range order {
		names[i], values[i] = x.Names[from], x.Values[from]
	}
	x.Names, x.Values = names, values
}
