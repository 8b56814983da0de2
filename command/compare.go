package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/paired"
	"github.com/pausenet/pausenet/experiments/analysis/pairs"
	"github.com/pausenet/pausenet/experiments/compare"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

type compareFlags struct {
	compare.Subject
	seeds, plane, format, worst string
	metrics                     []string
	margin                      float64 // in percent
	all, plot                   bool
}

func newCompareCommand() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare A B [SCENARIO...]",
		Short: "Decide which of two controllers, settings or builds is better",
		Long: `Run A and B in the same scenarios under the same seeds, and decide by the pairs
of runs which is better in each metric. A and B are

  controllers  names, variants of the scenario, or files (./mine.star)
  settings     path=value, as for --set
  scenarios    names or files; then no SCENARIO follows
  programs     two builds of pausenet (./old/pausenet)

Without a SCENARIO and --over, compare uses ` + strconv.Itoa(len(compare.DefaultScenarios)) + ` built-in scenarios.

Each seed is a round: a pair of runs in each scenario. compare stops after the
round that decides the first metric. Its tests and intervals allow for that.
With --all it runs all rounds and uses the exact sign test. The p-values are
corrected for the number of metrics (Holm).

The exit code is 0 if A is not significantly worse in any metric, 1 if it is,
and 125 if a program cannot make a run. So you can find the commit that made
something worse with "git bisect run" (docs/compare.md).`,
		Example: `  pausenet compare dcqcn hpcc
  pausenet compare dcqcn ./mine.star incast dcon-burst --seeds 1..100
  pausenet compare host.ack_every=1 host.ack_every=4 incast --cc dcqcn
  pausenet compare dcqcn dcon --over dcon-figure-7b --metrics fct_mean,pauses
  pausenet compare dcqcn hpcc --over family.yaml --seeds 1..1000
  pausenet compare ./new/pausenet ./old/pausenet incast --all -o json`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			f.A, f.B, f.Scenarios = args[0], args[1], args[2:]
			return f.run(c)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) < 2 {
				return append(controllerWords(nil), scenario.BuiltinNames()...), cobra.ShellCompDirectiveDefault
			}
			return scenario.BuiltinNames(), cobra.ShellCompDirectiveDefault
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.Over, "over", "",
		"compare in the scenarios of a `source`: a folder, a sweep (each combination of its values), "+
			"a family for search (another scenario under each seed), or cc for the scenarios of bench cc")
	flags.StringVar(&f.seeds, "seeds", "",
		"random `seeds`, such as 1..100, one for each round (default: the sweep's, or 1..40)")
	flags.StringSliceVar(&f.metrics, "metrics", compare.DefaultMetrics, "`metrics` to compare, separated by commas, the "+
		"decisive one first; METRIC:TAG covers only flows with the tag")
	flags.Float64Var(&f.margin, "margin", 0, "`percent` by which values may differ and still count as equal")
	flags.BoolVar(&f.all, "all", false, "run all rounds, also after the first metric is decided")
	flags.StringVar(&f.worst, "worst", "", "write the generated scenario of the worst case to this `file`")
	flags.BoolVar(&f.NoPrograms, "no-programs", false, "refuse programs as A and B, for callers that must not start any")
	flags.BoolVar(&f.plot, "plot", false, "also draw each pair's ratio in the first metric")
	flags.StringVar(&f.Controller, "cc", "", "congestion controller or variant, by `name`, for sides that name none "+
		"(default: the scenario's first)")
	setFlag(c, &f.Sets)
	flags.BoolVar(&f.Quick, "quick", false, "use the quick form of scenarios that have one")
	planeFlag(c, &f.plane)
	jobsFlag(c, &f.Jobs, "runs")
	formatFlag(c, &f.format)
	completeBy(c, "over", completeSweeps)
	completeList(c, "metrics", always(measure.MetricNames()))
	completeController(c, func(args []string) []string { return controllerWords(args[min(len(args), 2):]) })
	completeNothing(c, "seeds", "margin")
	completeBy(c, "worst", cobra.FixedCompletions([]string{"yaml"}, cobra.ShellCompDirectiveFilterFileExt))
	return c
}

func (f *compareFlags) run(c *cobra.Command) error {
	if err := checkJobs(c, &f.Jobs); err != nil {
		return err
	}
	if err := needs(c, "worst", "over"); err != nil { // without it no scenario is generated
		return err
	}
	plane, err := choosePlane(f.plane)
	if err != nil {
		return err
	}
	f.Plane, f.Memory = kernel.Opener(plane), machine.AvailableMemory()
	comparison := compare.Comparison{A: f.A, B: f.B, Margin: f.margin / 100, All: f.all, Jobs: f.Jobs}
	if !(f.margin >= 0 && f.margin < 100) {
		return badInput(fmt.Errorf("--margin %g: expected a percentage from 0 to 100, such as 1", f.margin))
	}
	for _, name := range f.metrics {
		if err := sweep.CheckMetric(name); err != nil {
			return badInput(fmt.Errorf("--metrics: %w", err))
		}
		m := measure.MetricByName(name)
		if !pairs.Comparable(m) {
			return badInput(fmt.Errorf("--metrics %s: no value of %s is better than another (choose another metric)", name,
				m.Label))
		}
		comparison.Metrics = append(comparison.Metrics, m)
	}
	if f.seeds != "" {
		if f.Seeds, err = seedsOf(f.seeds); err != nil {
			return err
		}
	}
	if comparison.Cases, comparison.Seeds, err = f.Cases(); err != nil {
		return badInput(err)
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	if bars := newBars(os.Stderr); bars != nil {
		display := &compareDisplay{most: len(comparison.Seeds)}
		bars.pin(display)
		comparison.Progress = display.done
		defer func() {
			bars.clear()
			bars.close()
		}()
	}
	r, err := comparison.Run(ctx)
	var failed *compare.ProgramError
	switch {
	case errors.As(err, &failed):
		return &exitError{exitSkip, err}
	case r == nil:
		return runError(err)
	}
	return f.conclude(c.OutOrStdout(), r, err)
}

// conclude prints a result and decides the exit code.
func (f *compareFlags) conclude(w io.Writer, r *compare.Result, err error) error {
	text := func(w io.Writer) { writeComparison(w, r, f.plot, f.worst) }
	if err := writeResult(w, f.format, r, text); err != nil {
		return err
	}
	if worst := r.Worst(); f.worst != "" && worst != nil {
		if _, text, err := r.Commands(worst); text != "" && err == nil {
			if err := os.WriteFile(f.worst, []byte(text), 0o644); err != nil {
				return writeError(err)
			}
		}
	}
	lost := r.Lost()
	switch {
	case errors.Is(err, context.Canceled):
		return ended(fmt.Errorf("interrupted after %d of %s: the result covers these (run the command again to start over)",
			r.Rounds, count(r.Most, "round")))
	case len(r.Broken) > 0:
		return &exitError{exitVerdict, fmt.Errorf("broken runs (each counts as worse in its pair):\n  %s",
			strings.Join(r.Broken, "\n  "))}
	case len(lost) > 0:
		return &exitError{exitVerdict, fmt.Errorf("%s is significantly worse than %s in %s", r.A, r.B,
			strings.Join(lost, ", "))}
	}
	return nil
}

// writeComparison prints a comparison for people.
func writeComparison(w io.Writer, r *compare.Result, plot bool, file string) {
	writeParagraph(w, "bold", r.Sentence)
	fmt.Fprintln(w)
	lines := [][]string{slices.Concat([]string{""}, comparedHead, []string{"p", "answer"})}
	for i := range r.Measures {
		m := &r.Measures[i]
		answer := map[compare.Answer]string{
			compare.Better: "A", compare.Worse: "B", compare.Equal: "equal", compare.Undecided: "-",
		}[m.Answer]
		cells := comparedCells(m.Better, m.Equal, m.Worse, m.Ratio)
		lines = append(lines, slices.Concat([]string{m.Label}, cells, []string{paired.PText(m.Adjusted), answer}))
	}
	if len(lines) > 1 {
		writeColumns(w, lines, 1)
		writePerScenario(w, &r.Measures[0])
	}
	if plot {
		writeComparisonPlot(w, r)
	}
	fmt.Fprintln(w)
	writeParagraph(w, "", fmt.Sprintf("  A: %s; B: %s; %s", r.A, r.B, roundsText(r)))
	for _, note := range r.Notes {
		writeParagraph(w, "note", "  note: "+note)
	}
	if worst := r.Worst(); worst != nil {
		writeWorst(w, r, worst, file)
	}
}

// roundsText returns how many scenarios and seeds a comparison took, such as "6 scenarios; 8 of 40 seeds, which decide
// FCT p99". In a family, each seed is another scenario.
func roundsText(r *compare.Result) string {
	scenarios, unit, of := count(len(r.Scenarios), "scenario")+"; ", "seed", ""
	if r.Family && len(r.Scenarios) == 1 {
		scenarios, unit, of = "", "scenario", " of a family"
	}
	if r.State == compare.Decided && r.Rounds < r.Most {
		return fmt.Sprintf("%s%d of %s%s, which decide %s", scenarios, r.Rounds, count(r.Most, unit), of, r.Measures[0].Label)
	}
	return scenarios + count(r.Rounds, unit) + of
}

// writeWorst prints the commands that repeat the worst case. If its scenario is generated, they read it from file; if
// file is empty, writeWorst prints how to get it.
func writeWorst(w io.Writer, r *compare.Result, worst *compare.Extreme, file string) {
	commands, text, err := r.Commands(worst)
	switch {
	case err != nil || text != "" && file == "":
		writeParagraph(w, "", "  worst case: add --worst FILE.yaml to write its scenario")
		return
	case text != "":
		for side := range commands {
			commands[side][2] = file
		}
	}
	for _, command := range joinedRuns(commands) {
		writeParagraph(w, "", "  worst case: "+command)
	}
}

// comparedHead heads the columns of comparedCells.
var comparedHead = []string{"A better", "equal", "B better", "A / B", "95 % interval"}

// comparedCells returns numbers of pairs and their median ratio.
func comparedCells(better, equal, worse int, ratio compare.Interval) []string {
	return []string{
		strconv.Itoa(better), strconv.Itoa(equal), strconv.Itoa(worse), ratioText(ratio.Estimate),
		rangeText(ratio),
	}
}

// mostScenarios limits the printed scenarios of a comparison.
const mostScenarios = 20

// writePerScenario prints the pairs of each scenario in one measure, if there are several.
func writePerScenario(w io.Writer, m *compare.Measure) {
	if len(m.Scenarios) < 2 {
		return
	}
	fmt.Fprintln(w)
	lines := [][]string{append([]string{m.Label + " in"}, comparedHead...)}
	for _, s := range m.Scenarios[:min(len(m.Scenarios), mostScenarios)] {
		lines = append(lines, append([]string{s.Scenario}, comparedCells(s.Better, s.Equal, s.Worse, s.Ratio)...))
	}
	writeColumns(w, lines, 1)
	if more := len(m.Scenarios) - mostScenarios; more > 0 {
		fmt.Fprintf(w, "  and %d more (all with -o json)\n", more)
	}
}

// joinedRuns returns one command for both runs if they differ only in --cc, and two commands otherwise.
func joinedRuns(of [2][]string) []string {
	a, b := of[0], of[1]
	if at := slices.Index(a, "--cc") + 1; at > 0 && len(a) == len(b) {
		both := slices.Clone(a)
		if both[at] = b[at]; slices.Equal(both, b) {
			if a[at] != b[at] {
				both[at] = a[at] + "," + b[at]
			}
			return []string{programLine(both)}
		}
	}
	return []string{programLine(a), programLine(b)}
}

// programLine returns a command line for a shell that starts the program args[0].
func programLine(args []string) string {
	return quoted(args[0]) + strings.TrimPrefix(commandLine(args), "pausenet")
}

// ratioText formats a ratio; nil is infinite.
func ratioText(v *float64) string {
	if v == nil {
		return paired.RatioText(math.Inf(1))
	}
	return paired.RatioText(*v)
}

// rangeText formats the confidence interval of a ratio.
func rangeText(of compare.Interval) string {
	low, high := 0.0, math.Inf(1)
	if of.Low != nil {
		low = *of.Low
	}
	if of.High != nil {
		high = *of.High
	}
	return cmp.Or(paired.RangeText(low, high), "-")
}

// compareDisplay shows the progress of a comparison as a bar.
type compareDisplay struct {
	most   int
	rounds atomic.Int64
}

func (d *compareDisplay) done(rounds int) { d.rounds.Store(int64(rounds)) }

// title, part and describe implement barLine.
func (d *compareDisplay) title() string { return "compare" }

func (d *compareDisplay) part() float64 { return float64(d.rounds.Load()) / float64(d.most) }

func (d *compareDisplay) describe() string {
	return fmt.Sprintf(" %d of at most %s", d.rounds.Load(), count(d.most, "round"))
}
