package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/experiments/why"
	"github.com/pausenet/pausenet/units"
)

// writeResults prints a table a scenario: one row a run.
func writeResults(w io.Writer, suite *suite.Suite, results [][]*runner.Result) {
	for i := range suite.Scenarios {
		s := suite.Scenarios[i].Scenario
		if len(suite.Scenarios[i].Seeds) > 1 {
			writeRepetitions(w, suite, i, results[i])
			continue
		}
		fmt.Fprintf(w, "%s: %s; seed %d\n\n", s.Name, s.Topology.Summary(), suite.Scenarios[i].Seed)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  cc\tverdict\tflows done\tFCT mean\tFCT p99\tslowdown p99\tPAUSE\tbetween switches\tECN marks\tCNPs\tCNMs\tdrops\twall")
		any, longest := false, 8
		for _, r := range results[i] {
			if r == nil {
				continue
			}
			any, longest = true, max(longest, len(r.Controller))
			sum := &r.Summary
			verdict := string(sum.Verdict.Status)
			if sum.Partial {
				verdict += " (partial)"
			}
			fmt.Fprintf(t, "  %s\t%s\t%d/%d\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1fs\n",
				r.Controller, verdict, sum.Flows.Completed, sum.Flows.Count,
				span(sum.Flows, sum.Flows.FCT.Mean), span(sum.Flows, sum.Flows.FCT.P99), ratio(sum.Flows),
				sum.PFC.Pauses, sum.PFC.SwitchPauses, sum.ECNMarks, sum.CNPs, sum.CNMs, sum.Drops.Frames, sum.Speed.WallSeconds)
		}
		t.Flush()
		if !any {
			continue
		}
		fmt.Fprintln(w)
		for _, r := range results[i] {
			if r == nil {
				continue
			}
			writeMessages(w, r.Controller, r)
			writeNotes(w, r)
			writeSpread(w, r, longest)
			writeImbalance(w, r, longest)
			writeSteps(w, r, longest)
		}
		for _, r := range results[i] {
			if r != nil {
				fmt.Fprintf(w, "  %-*s fingerprint %s\n", longest, r.Controller, r.Summary.Fingerprint)
			}
		}
		if suite.Why {
			writeSlowest(w, suite, i, results[i], longest)
		}
		writePublished(w, measure.Compare(s.Published, runner.Summaries(results[i])), len(suite.Sets) > 0)
		if suite.Scenarios[i].Reported {
			fmt.Fprintf(w, "\n  report: %s\n", suite.ReportPath(s.Name))
		}
		if i < len(suite.Scenarios)-1 {
			fmt.Fprintln(w)
		}
	}
}

// writeRepetitions prints a scenario's runs under several seeds: one row a controller.
func writeRepetitions(w io.Writer, suite *suite.Suite, i int, made []*runner.Result) {
	s := &suite.Scenarios[i]
	fmt.Fprintf(w, "%s: %s; means over %d seeds with 95 %% confidence intervals\n\n", s.Scenario.Name, s.Scenario.Topology.Summary(), len(s.Seeds))
	lines := [][]string{append([]string{"cc", "verdict"}, results.RepetitionLabels...)}
	for _, r := range results.Repeat(s.Controllers, len(s.Seeds), runner.Summaries(made)) {
		lines = append(lines, append([]string{r.Controller, r.Verdicts.String()}, r.Cells...))
	}
	writeColumns(w, lines)
	any, told := false, map[string]bool{}
	for _, r := range made {
		if r == nil {
			continue
		}
		any = true
		// Seeds mostly have the same to say, but for its numbers: once is enough.
		what := r.Controller + ": " + figures.ReplaceAllString(strings.Join(r.Summary.Verdict.Messages, "; "), "#")
		if told[what] || len(r.Summary.Verdict.Messages) == 0 {
			continue
		}
		if len(told) == 0 {
			fmt.Fprintln(w)
		}
		told[what] = true
		writeMessages(w, fmt.Sprintf("%s seed=%d", r.Controller, r.Summary.Seed), r)
	}
	if !any {
		return
	}
	writePublished(w, measure.Compare(s.Scenario.Published, runner.Summaries(made)), len(suite.Sets) > 0)
	if s.Reported {
		fmt.Fprintf(w, "\n  report: %s\n", suite.ReportPath(s.Scenario.Name))
	}
	if i < len(suite.Scenarios)-1 {
		fmt.Fprintln(w)
	}
}

// figures matches a number in a message, with its unit.
var figures = regexp.MustCompile(`[0-9][0-9.]*([KMG]?B|[mnup]?s)?\b`)

// mostMessages is how many messages of a verdict are printed. An invariant that breaks once often breaks at every frame.
const mostMessages = 5

func writeMessages(w io.Writer, name string, r *runner.Result) {
	messages := r.Summary.Verdict.Messages
	for _, m := range messages[:min(len(messages), mostMessages)] {
		fmt.Fprintf(w, "  %s %s: %s\n", name, r.Summary.Verdict.Status, m)
	}
	if more := len(messages) - mostMessages; more > 0 {
		fmt.Fprintf(w, "  %s %s: and %d more, in its summary.json\n", name, r.Summary.Verdict.Status, more)
	}
}

// writeNotes prints what to know of a run's numbers though nothing is off.
func writeNotes(w io.Writer, r *runner.Result) {
	for _, n := range r.Summary.Verdict.Notes {
		fmt.Fprintf(w, "  %s note: %s\n", r.Controller, n)
	}
}

// writeSpread prints how far PAUSE spread, if it went farther than to the root's neighbours, and which flows were its victims.
func writeSpread(w io.Writer, r *runner.Result, width int) {
	spread, victims := &r.Summary.PFC.Spread, &r.Summary.Victims
	if spread.Depth < 2 && victims.Count == 0 {
		return
	}
	fmt.Fprintf(w, "  %-*s PAUSE spread %s: %s; victim flows: %d", width, r.Controller, count(spread.Depth, "hop"),
		strings.Join(spread.Chain, " to "), victims.Count)
	if tags := slices.Sorted(maps.Keys(victims.ByTag)); len(tags) > 0 {
		fmt.Fprintf(w, " (%s)", strings.Join(tags, ", "))
	}
	fmt.Fprintln(w)
}

// writeImbalance prints how evenly equal-cost ports were loaded.
func writeImbalance(w io.Writer, r *runner.Result, width int) {
	tiers := r.Summary.Imbalance
	if len(tiers) == 0 {
		return
	}
	parts := make([]string, len(tiers))
	for i := range tiers {
		t := &tiers[i]
		parts[i] = fmt.Sprintf("tier %d max/mean %.2f, Jain %.2f", t.Tier, t.MaxOverMean, t.Jain)
	}
	fmt.Fprintf(w, "  %-*s load over equal-cost ports: %s\n", width, r.Controller, strings.Join(parts, "; "))
}

// mostCollectives is how many kinds of collectives of a run are printed.
const mostCollectives = 8

// writeSteps prints what jobs and collectives took, beside their limits.
func writeSteps(w io.Writer, r *runner.Result, width int) {
	all, limit := r.Summary.Collectives, "limit"
	if len(r.Scenario.Faults) > 0 {
		limit = "limit without faults"
	}
	for i := range r.Summary.Jobs {
		j := &r.Summary.Jobs[i]
		alone := func(c measure.CollectiveSummary) bool { return c.Tag == j.Tag && c.Count == 1 && c.Completed == 1 }
		if j.Compute == 0 && slices.ContainsFunc(all, alone) { // it says the same
			continue
		}
		if j.JCT == 0 {
			fmt.Fprintf(w, "  %-*s %s: %d of %d operations had not ended\n", width, r.Controller, j.Tag, j.Unfinished, j.Operations)
			continue
		}
		fmt.Fprintf(w, "  %-*s %s: job completion time %s, %s %s; exposed communication %.1f %%\n", width, r.Controller, j.Tag,
			duration(float64(j.JCT)), limit, duration(float64(j.Limit)), 100*j.ExposedShare)
	}
	for i := range all[:min(len(all), mostCollectives)] {
		c := &all[i]
		if c.Completed == 0 || c.Bus == 0 {
			continue
		}
		fmt.Fprintf(w, "  %-*s %s: %d of %d %s by %s, %v, %d ranks: mean %s, %s %s; bus bandwidth %.1f Gb/s\n", width, r.Controller, c.Tag,
			c.Completed, c.Count, c.Kind, c.Algorithm, units.Bytes(c.Size), c.Ranks, duration(c.Time.Mean), limit, duration(float64(c.Limit)), c.Bus/1e9)
	}
	if more := len(all) - mostCollectives; more > 0 {
		fmt.Fprintf(w, "  %-*s and %d more kinds of collectives, in its summary.json\n", width, r.Controller, more)
	}
}

// writeSlowest prints what the slowest flow of each run spent most of its time on, and by which command there is more.
func writeSlowest(w io.Writer, suite *suite.Suite, i int, results []*runner.Result, width int) {
	more := ""
	for _, r := range results {
		if r == nil {
			continue
		}
		path := suite.RunPath(&suite.Scenarios[i], r.Controller)
		run, flow, err := why.ReadSlowest(path)
		switch {
		case err != nil: // the record has just been written: what is wrong with it why tells
			fmt.Fprintf(w, "  %-*s why: %v\n", width, r.Controller, err)
		case flow != nil:
			fmt.Fprintf(w, "  %-*s slowest: %s\n", width, r.Controller, run.Top(flow))
			more = cmp.Or(more, commandLine([]string{"", "why", path, strconv.Itoa(flow.Number)}))
		}
	}
	if more != "" {
		fmt.Fprintf(w, "  %-*s %s\n", width, "more:", more)
	}
}

// span prints a time of flows, if any have ended.
func span(f measure.FlowStatistics, ns float64) string {
	if f.Completed == 0 {
		return "-"
	}
	return duration(ns)
}

// duration prints nanoseconds for a person.
func duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.3fs", ns/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.3fms", ns/1e6)
	default:
		return fmt.Sprintf("%.2fus", ns/1e3)
	}
}

func ratio(f measure.FlowStatistics) string {
	if f.Completed == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", f.Slowdown.P99)
}

// commandLine is the user's command, quoted where a shell needs it.
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
