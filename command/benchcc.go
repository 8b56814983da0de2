package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/ccbench"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
)

type benchCCFlags struct {
	ccbench.Options

	seeds  string
	out    string
	force  bool
	check  string
	sample string
	jobs   int
	format string
}

func newBenchCCCommand() *cobra.Command {
	var f benchCCFlags
	c := &cobra.Command{
		Use:   "cc",
		Short: "Rank congestion controllers on 60 scenarios",
		Long: `Run congestion controllers on 60 public scenarios, score each run against a
lower bound that no controller can beat, and print the ranking. The scenarios
cover incasts, short beside long flows, bursts, victims of PAUSE, collectives,
jobs, long links, failures, rival controllers, 25 to 800 Gb/s, several paths,
and packets of 256 B to 9 KB. docs/bench-cc.md describes them, and the score.

--held-out adds 60 scenarios of the same generators, drawn by a secret phrase,
and prints how well the two rankings agree.

With --out, the folder is an entry: tables of all runs, the public scenarios,
the controllers' files and a page. An interrupted command keeps the runs that
have ended; the same command runs the rest. --check repeats a sample of the
runs of such a folder, and exits with 1 if a result differs.`,
		Example: `  pausenet bench cc --out leaderboard
  pausenet bench cc --cc dcqcn,./mine.star --scenarios incast,mix-2
  pausenet bench cc --held-out "a secret phrase" --seeds 1..3 --out judged
  pausenet bench cc --check leaderboard --sample 50`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.Controllers, "cc", nil, "congestion controllers, separated by commas: `names`, files such as "+
		"./mine.star, or all (default: all built-in ones)")
	completeList(c, "cc", func(args []string) []string { return append(controllerWords(args), scenario.AllControllers) })
	flags.StringSliceVar(&f.Only, "scenarios", nil, "run only these `scenarios` or families, such as incast,mix-2")
	completeList(c, "scenarios", always(ccbench.Names()))
	flags.StringVar(&f.seeds, "seeds", "1", "repeat each run under these `seeds`, such as 1..3")
	flags.StringVar(&f.HeldOut, "held-out", "", "also run scenarios drawn by this secret `phrase`")
	flags.StringVar(&f.out, "out", "", "keep the results in this `folder` (default: print the ranking only)")
	flags.BoolVar(&f.force, "force", false, "discard results of another benchmark in the folder")
	jobsFlag(c, &f.jobs, "runs")
	flags.StringVar(&f.check, "check", "", "repeat runs of this `folder` and compare the results")
	flags.StringVar(&f.sample, "sample", "20", "`number` of runs that --check repeats, or all")
	formatFlag(c, &f.format, "markdown")
	completeFolder(c, "out")
	completeFolder(c, "check")
	completeNothing(c, "seeds", "held-out", "sample")
	return c
}

func (f *benchCCFlags) run(c *cobra.Command) error {
	if err := errors.Join(notEmpty(c, "out"), notEmpty(c, "check"), notEmpty(c, "held-out"),
		checkJobs(c, &f.jobs), excludes(c, "check", "cc", "scenarios", "seeds", "out", "force"),
		needs(c, "sample", "check"), needs(c, "force", "out")); err != nil {
		return err
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	if f.check != "" {
		return f.checkFolder(ctx, c.OutOrStdout())
	}
	var err error
	if f.Seeds, err = seedsOf(f.seeds); err != nil {
		return err
	}
	bench, err := ccbench.New(f.Options)
	if err != nil {
		return badInput(err)
	}
	var folder *ccbench.Folder
	results, save := &ccbench.Results{}, func() error { return nil }
	if f.out != "" {
		folder, results, err = ccbench.Open(f.out, bench, version(), commandLine(os.Args), f.force)
		var other *ccbench.OtherError
		var locked *files.LockedError
		switch {
		case errors.As(err, &other), errors.As(err, &locked):
			return badInput(err)
		case err != nil:
			return runError(err)
		}
		defer folder.Close()
		save = folder.SaveSometimes
	}
	total := bench.Runs()
	bars := newBars(os.Stderr)
	line := &benchCCLine{total: total}
	line.done.Store(int64(len(results.Rows)))
	if bars != nil {
		bars.add(line)
	}
	err = bench.Run(ctx, results, f.jobs, func() error { line.done.Add(1); return save() })
	if bars != nil {
		bars.close()
	}
	if err != nil {
		return f.interrupted(err, folder, len(results.Rows), total)
	}
	report := bench.Report(results, version())
	if folder != nil {
		if err := folder.Finish(report); err != nil {
			return runError(err)
		}
	}
	return f.write(c.OutOrStdout(), report)
}

// interrupted saves the runs that have ended, and returns the error to print.
func (f *benchCCFlags) interrupted(err error, folder *ccbench.Folder, made, total int) error {
	if folder == nil {
		if errors.Is(err, context.Canceled) {
			return &exitError{exitVerdict, errors.New("interrupted: no results kept (use --out FOLDER to keep them)")}
		}
		return runError(err)
	}
	if saving := folder.Save(); saving != nil {
		return runError(saving)
	}
	if errors.Is(err, context.Canceled) {
		return &exitError{exitVerdict, fmt.Errorf("interrupted: %s has %d of %d runs; the same command runs the rest", f.out,
			made, total)}
	}
	return runError(err)
}

// benchCCLine shows the runs that have ended.
type benchCCLine struct {
	done  atomic.Int64
	total int
}

func (l *benchCCLine) title() string    { return "runs" }
func (l *benchCCLine) part() float64    { return float64(l.done.Load()) / float64(max(l.total, 1)) }
func (l *benchCCLine) describe() string { return fmt.Sprintf(" %d of %d", l.done.Load(), l.total) }

func (f *benchCCFlags) write(w io.Writer, r *ccbench.Report) error {
	switch f.format {
	case formatJSON, formatYAML:
		return writeStructured(w, f.format, r)
	case "markdown":
		for i := range r.Halves {
			if _, err := fmt.Fprintf(w, "%s\n", r.Halves[i].Markdown()); err != nil {
				return err
			}
		}
		return nil
	}
	w = people(w)
	for i := range r.Halves {
		h := &r.Halves[i]
		seeds := "seed "
		if len(r.Seeds) > 1 {
			seeds = "seeds "
		}
		fmt.Fprintf(w, "%s, %s\n\n", count(h.Scenarios, h.Name+" scenario"), seeds+seedText(r.Seeds))
		lines := [][]string{{"rank", "controller", "score", "95 %", "ranks", "worst scenario", "its score"}}
		for _, e := range h.Ranking {
			lines = append(lines, []string{
				strconv.Itoa(e.Rank), e.Controller, fmt.Sprintf("%.2f", e.Score), fmt.Sprintf("%.2f-%.2f", e.Low, e.High),
				fmt.Sprintf("%d-%d", e.RankLow, e.RankHigh), e.Worst, fmt.Sprintf("%.1f", e.WorstScore),
			})
		}
		writeColumns(w, lines, 2)
		fmt.Fprintln(w)
	}
	for _, note := range r.Notes() {
		fmt.Fprintf(w, "  %s\n", note)
	}
	if f.out != "" {
		fmt.Fprintf(w, "  results: %s; page: %s\n", f.out, f.out+"/"+ccbench.PageFile)
	}
	return nil
}

func (f *benchCCFlags) checkFolder(ctx context.Context, w io.Writer) error {
	o := ccbench.CheckOptions{HeldOut: f.HeldOut, Jobs: f.jobs}
	if f.sample != "all" {
		n, err := strconv.Atoi(f.sample)
		if err != nil || n < 1 {
			return badInput(fmt.Errorf("--sample %s: expected a number of runs, or all", f.sample))
		}
		o.Sample = n
	}
	result, err := ccbench.Check(ctx, f.check, o)
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{exitVerdict, errors.New("interrupted: the check is not complete")}
	case errors.Is(err, fs.ErrNotExist):
		return badInput(fmt.Errorf("%w: %s is not a folder written by bench cc --out", err, f.check))
	case err != nil:
		return badInput(err)
	}
	if structured(f.format) {
		err = writeStructured(w, f.format, result)
	} else {
		for _, d := range result.Differences {
			fmt.Fprintf(w, "%s\n", d)
		}
		fmt.Fprintf(w, "%s: %d of %d runs repeated, %d differ\n", f.check, result.Checked, result.Runs,
			len(result.Differences))
	}
	if err == nil && len(result.Differences) > 0 {
		return &exitError{exitVerdict, fmt.Errorf("%d runs of %s differ (made by pausenet %s)", len(result.Differences),
			f.check,
			result.Version)}
	}
	return err
}
