package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

type sweepFlags struct {
	sets        []string
	controllers []string
	seeds       string
	metrics     []string
	jobs        int
	processors  int
	out         string
	figures     []string
	format      string
	parquet     bool
	quick       bool
	force       bool
	shard       string
	serveFlags
}

func newSweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep SCENARIO|SWEEP|FILE",
		Short: "Run a scenario over parameter values, seeds and controllers",
		Long: `Run a scenario at every combination of the given parameter values, congestion
controllers and seeds, several points at a time. SWEEP is a built-in sweep
(pausenet list); FILE is a scenario, or a sweep with the key "sweep". The
results go into the output folder:

  DIR/POINT/CC/    results of each point, as "pausenet run" writes them
  DIR/sweep.csv    one row per point: parameters, controller, seed, metrics
  DIR/sweep.html   one chart per metric, with 95 % confidence intervals
  DIR/times.csv    how long each point took, and on which worker

Run the same command again to resume: finished points are kept as long as
their settings and the program are the same. Results of other settings are
overwritten only with --force. A point that fails is reported; the others
still run.

To use several machines without a server, run one part on each with --shard
i/n, and put the parts together with "pausenet sweep merge". To use a server,
start "pausenet sweep --serve" and run "pausenet worker" on the other
machines. Both give the same files as one machine, except times.csv
(docs/clusters.md).`,
		Example: `  pausenet sweep dcon-readings --quick
  pausenet sweep mine.yaml --set flows.0.size=100KB,1MB --seeds 1..5
  pausenet sweep dcon-burst --set flows.burst.interval=10us..30us:5us
  pausenet sweep dcon-burst --set switch.pfc.xoff=256KB,320KB --cc dcqcn,dcon
  pausenet sweep intensity.yaml --shard 1/4
  pausenet sweep intensity.yaml --serve :7422 --audit 2%`,
		Args:              f.arguments,
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
		ValidArgsFunction: completeSweeps,
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.sets, "set", nil, "a parameter and its values: `path=v1,v2` or path=a..b:step; repeatable. "+
		"One value applies to every point")
	controllersFlag(c, &f.controllers)
	flags.StringVar(&f.seeds, "seeds", "", "random `seeds`, such as 1..5 or 1,7,9 (default: the scenario's)")
	flags.StringSliceVar(&f.metrics, "metrics", nil, "`metrics` to show, separated by commas; a wrong name prints the "+
		"list; METRIC:TAG covers only "+
		"flows with the tag (default: fct_mean, fct_p99, slowdown_p99, goodput, pauses, "+
		"pauses_between_switches)")
	planeFlag(c, &f.plane)
	jobsFlag(c, &f.jobs, "points")
	processorsFlag(c, &f.processors, " (default: all, shared by the points)")
	flags.StringVar(&f.out, "out", "", "output `folder` (default: results/sweep-NAME)")
	figuresFlag(c, &f.figures)
	c.Flags().BoolVar(&f.quick, "quick", false, "run the quick form of scenarios that have one")
	flags.BoolVar(&f.force, "force", false, "overwrite results of other settings")
	completeList(c, "metrics", always(measure.MetricNames()))
	completeFolder(c, "out")
	flags.StringVar(&f.shard, "shard", "",
		"run only part `i/n`, such as 1/4 for the first of four; combine the parts with sweep merge")
	completeNothing(c, "set", "seeds", "shard")
	formatFlag(c, &f.format)
	parquetFlag(c, &f.parquet)
	f.serveFlags.add(c, "points")
	c.AddCommand(newSweepMergeCommand(), newSweepStatusCommand())
	return c
}

func (f *sweepFlags) run(c *cobra.Command, name string) error {
	if err := notEmpty(c, "out"); err != nil {
		return err
	}
	if err := results.CheckFigureFormats(f.figures); err != nil {
		return badInput(fmt.Errorf("--figures: %w", err))
	}
	audit, err := f.serveFlags.check(c)
	if err != nil {
		return err
	}
	if err := checkJobs(c, &f.jobs); err != nil {
		return err
	}
	plane, err := choosePlane(f.plane)
	if err != nil {
		return err
	}
	if err := checkProcessors(c, plane); err != nil {
		return err
	}
	swept, err := f.sweep(name)
	if err != nil {
		return badInput(err)
	}
	points, err := swept.Points(f.jobs)
	if err != nil {
		return badInput(err)
	}
	whole, shard := points, sweep.Shard{}
	if c.Flags().Changed("shard") {
		if shard, err = sweep.ParseShard(f.shard); err != nil {
			return badInput(fmt.Errorf("--shard: %w", err))
		}
		if len(f.figures) > 0 {
			return badInput(errors.New("--figures has no effect with --shard (use it with \"pausenet sweep merge\")"))
		}
		if f.parquet {
			return badInput(errors.New("--parquet has no effect with --shard (use it with \"pausenet sweep merge\")"))
		}
		points = shard.Points(whole)
	}
	aside := f.out == ""
	if aside {
		f.out = sweepFolder(swept)
		if shard.Of > 0 {
			f.out += fmt.Sprintf("-shard-%d-of-%d", shard.Number, shard.Of)
		}
	}
	own, err := build()
	if err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("find this program's file in /proc, to start it for each point: %w",
			err)}
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	for i := range points {
		points[i].Warnings = append(points[i].Warnings, idleProcessors(c.Flags(), points[i].Workers)...)
	}
	writeWarnings(stderr(), swept.Name, sweep.Warnings(points))
	runner := &sweep.Runner{
		Points: points, Jobs: f.jobs, Make: startPoint, By: "this machine", Common: sweep.Common{
			Quick: swept.Quick, Within: f.out, Processors: f.processors, Plane: plane, Version: version(), Build: own,
			Command: f.command(name),
		},
	}
	if shard.Of > 0 {
		runner.By = "shard " + shard.String()
	}
	unlock, err := claimFolder(c.Context(), f.out, runner.Overwrites, f.force, aside)
	if err != nil {
		return err
	}
	defer unlock()
	if f.served() {
		outcomes, err := f.deal(ctx, runner, swept.Plan(runner), audit)
		if err != nil {
			return err
		}
		f.warnOfIdle(ctx, swept, points, outcomes)
		return f.show(c, swept, runner, outcomes, ctx.Err() != nil)
	}
	if shard.Of > 0 {
		all := *runner
		all.Points = whole
		if err := shard.Begin(f.out, swept.Plan(&all)); err != nil {
			return badInput(err)
		}
	}
	display := newSweepDisplay(os.Stderr, swept.Name, points)
	runner.Started, runner.Ended = display.started, display.ended
	outcomes := runner.Run(ctx)
	display.close()
	if shard.Of > 0 {
		return f.shardMade(c, swept, runner, outcomes, shard, ctx.Err() != nil)
	}
	f.warnOfIdle(ctx, swept, points, outcomes)
	return f.show(c, swept, runner, outcomes, ctx.Err() != nil)
}

// warnOfIdle warns of the user's settings that changed nothing.
func (f *sweepFlags) warnOfIdle(ctx context.Context, s *sweep.Sweep, points []sweep.Point, outcomes []sweep.Outcome) {
	if ctx.Err() != nil {
		return
	}
	for _, idle := range s.IdleSettings(ctx, points, outcomes, f.processors) {
		of := "all points are the same runs"
		if idle.Points < len(points) {
			of = "the first and the last point of each congestion control are the same runs"
		}
		fmt.Fprintf(stderr(), "pausenet: warning: --set %s had no effect: without it, %s, frame by frame\n", idle.Set, of)
	}
}

// show writes and prints the points' results.
func (f *sweepFlags) show(c *cobra.Command, swept *sweep.Sweep, runner *sweep.Runner, outcomes []sweep.Outcome,
	interrupted bool,
) (err error) {
	points := runner.Points
	written := swept.Write(f.out, runner, outcomes, f.figures)
	if written == nil && f.parquet {
		written = swept.WriteParquet(f.out)
	}
	if structured(f.format) {
		err = writeStructured(c.OutOrStdout(), f.format, swept.View(points, outcomes))
	} else {
		writeSweep(c.OutOrStdout(), swept, points, outcomes)
		if written == nil {
			fmt.Fprintf(c.OutOrStdout(), "\n  %s\n  %s\n", filepath.Join(f.out, "sweep.csv"), filepath.Join(f.out, "sweep.html"))
		}
	}
	if err := errors.Join(err, written); err != nil {
		return runError(err)
	}
	return sweepError(points, outcomes, interrupted)
}

// shardMade writes the files that a shard needs, and prints a summary.
func (f *sweepFlags) shardMade(c *cobra.Command, swept *sweep.Sweep, runner *sweep.Runner, outcomes []sweep.Outcome,
	shard sweep.Shard, interrupted bool,
) error {
	written := swept.WriteTimes(runner, outcomes)
	var err error
	if structured(f.format) {
		err = writeStructured(c.OutOrStdout(), f.format, swept.View(runner.Points, outcomes))
	} else {
		made := 0
		for i := range outcomes {
			if outcomes[i].Complete() {
				made++
			}
		}
		fmt.Fprintf(c.OutOrStdout(), "%s, shard %s: %d of %s in %s\n", swept.Name, shard, made,
			count(len(runner.Points), "point"), f.out)
	}
	if err := errors.Join(err, written); err != nil {
		return runError(err)
	}
	return sweepError(runner.Points, outcomes, interrupted)
}

// sweepFolder returns the default folder of a sweep.
func sweepFolder(s *sweep.Sweep) string {
	folder := filepath.Join("results", "sweep-"+s.Name)
	if s.Quick {
		folder += "-quick"
	}
	return folder
}

// command returns the command that repeats the sweep: all flags that affect results, but not the folder, processes
// and machines.
func (f *sweepFlags) command(name string) string {
	args := []string{"pausenet", "sweep", name}
	add := func(flag, value string) {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	for _, set := range f.sets {
		add("--set", set)
	}
	add("--cc", strings.Join(f.controllers, ","))
	add("--seeds", f.seeds)
	add("--metrics", strings.Join(f.metrics, ","))
	if f.plane != "auto" && f.plane != plane.Wasm { // auto means wasm
		add("--plane", f.plane)
	}
	if f.quick {
		args = append(args, "--quick")
	}
	return commandLine(args)
}

// sweep builds the sweep from the command line. Flags take precedence over the sweep's file.
func (f *sweepFlags) sweep(name string) (*sweep.Sweep, error) {
	s, err := sweep.Load(name)
	if os.IsNotExist(err) {
		names := append(scenario.BuiltinSweepNames(), scenario.BuiltinNames()...)
		return nil, fmt.Errorf("no built-in sweep, built-in scenario or file %q%s", name,
			spelling.Suggest(name, names))
	}
	if err != nil {
		return nil, err
	}
	s.Quick = f.quick
	errs := []error{s.Set(f.sets)}
	if f.seeds != "" {
		if s.Seeds, err = seedsOf(f.seeds); err != nil {
			errs = append(errs, err)
		}
	}
	if len(f.controllers) > 0 {
		s.Controllers = f.controllers
	}
	if len(f.metrics) > 0 {
		s.Metrics = f.metrics
	}
	return s, errors.Join(errs...)
}

// sweepError decides the exit code of a sweep.
func sweepError(points []sweep.Point, outcomes []sweep.Outcome, interrupted bool) error {
	wrong := sweep.Err(points, outcomes)
	if interrupted {
		return &exitError{exitVerdict, errors.New("interrupted: finished points are kept (run the same command again to " +
			"continue)")}
	}
	if wrong == nil {
		return nil
	}
	code := exitVerdict
	for i := range outcomes {
		var e *exitError
		if errors.As(outcomes[i].Err, &e) && e.code == exitEnvironment {
			code = exitEnvironment
		}
	}
	list := strings.Split(wrong.Error(), "\n")
	n := 0
	for i := range outcomes {
		if o := &outcomes[i]; o.Err != nil || o.Complete() && o.Verdict.Status == measure.Fail {
			n++
		}
	}
	if len(list) > mostProblems {
		list = append(list[:mostProblems], "and more (all in sweep.csv)")
	}
	return &exitError{code, fmt.Errorf("%d of %d points failed:\n  %s", n, len(points), strings.Join(list, "\n  "))}
}

// mostProblems limits the printed lines about failed points and about equal points.
const mostProblems = 20

// writeSweep prints one row per combination of parameters and controller, over the seeds.
func writeSweep(w io.Writer, s *sweep.Sweep, points []sweep.Point, outcomes []sweep.Outcome) {
	head := []string{}
	for _, p := range s.Varying() {
		head = append(head, p.Path)
	}
	head = append(append(head, "cc", "checks"), s.MetricLabels()...)
	lines := [][]string{head}
	for _, row := range s.Rows(points, outcomes) {
		line := append(append([]string{}, row.Values...), row.Controller, row.Verdicts.String())
		for k, e := range row.Estimates {
			line = append(line, s.Text(k, e))
		}
		lines = append(lines, line)
	}
	kept := 0
	for i := range outcomes {
		if outcomes[i].State == sweep.Kept {
			kept++
		}
	}
	title := fmt.Sprintf("%s: %s", s.Name, count(len(points), "point"))
	if kept > 0 {
		title += fmt.Sprintf(", %d kept from an earlier run", kept)
	}
	if n := len(s.Seeds); n > 1 {
		title += fmt.Sprintf("; means over %d seeds with 95 %% confidence intervals", n)
	}
	writeParagraph(w, "", title)
	fmt.Fprintln(w)
	writeColumns(w, lines, len(s.Varying())+2)
	for i, line := range s.Compared(points, outcomes) {
		if i == 0 {
			fmt.Fprintln(w)
		}
		if i == mostProblems {
			writeParagraph(w, "", "  and more (see sweep.html)")
			break
		}
		writeParagraph(w, "", "  "+line)
	}
	writeReasons(w, points, outcomes)
	writeDuplicates(w, sweep.Duplicates(points))
	for _, path := range s.Idle(points, outcomes) {
		fmt.Fprintln(w)
		writeParagraph(w, "", fmt.Sprintf("  %s had no effect: points that differ only in it are equal, frame by frame",
			path))
	}
}

// writeReasons prints why points are incomplete or broken: one line per reason, with its first point and the number
// of others.
func writeReasons(w io.Writer, points []sweep.Point, outcomes []sweep.Outcome) {
	var reasons []string
	first, others := map[string]int{}, map[string]int{}
	for i := range outcomes {
		v := &outcomes[i].Verdict
		if !outcomes[i].Complete() || v.Status == measure.Pass {
			continue
		}
		for _, text := range v.Messages {
			reason := v.Status.Word() + ": " + text
			if _, known := first[reason]; known {
				others[reason]++
				continue
			}
			reasons, first[reason] = append(reasons, reason), i
		}
	}
	for k, reason := range reasons {
		if k == 0 {
			fmt.Fprintln(w)
		}
		if k == mostProblems {
			writeParagraph(w, "", "  and more (see each point's summary.json)")
			break
		}
		point := points[first[reason]].Name()
		if n := others[reason]; n > 0 {
			point += fmt.Sprintf(" and %d more", n)
		}
		writeParagraph(w, "", fmt.Sprintf("  %s %s", point, reason))
	}
}

// completeSweeps completes built-in sweeps, scenarios and files.
func completeSweeps(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return append(scenario.BuiltinSweepNames(), scenario.BuiltinNames()...), cobra.ShellCompDirectiveDefault
}
