package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

type sweepFlags struct {
	sets        []string
	controllers []string
	seeds       string
	metrics     []string
	plane       string
	jobs        int
	processors  int
	out         string
	figures     []string
	format      string
	quick       bool
	force       bool
}

func newSweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep SCENARIO|SWEEP|FILE",
		Short: "Run a scenario over values of its parameters, over seeds and controllers",
		Long: `sweep runs a scenario, a built-in's name or a file, at every combination of the values
given, side by side. SWEEP is a sweep that comes with the program (pausenet list); FILE may
also be a sweep's own, with the key sweep. It writes into the output folder:

  DIR/<point>/<cc>/    each point's results, as run writes them
  DIR/sweep.csv        a row a point: parameters, controller, seed, verdict, metrics
  DIR/sweep.html       a chart a metric, with 95 % confidence intervals over the seeds

Points that are finished are kept, and not made again by the next sweep into DIR, as long
as their configuration and the program are the same. Results of other settings are not
overwritten without --force. A point that fails, or is killed, is reported and keeps no
other from being made.`,
		Example: `  pausenet sweep dcon-burst --set flows.burst.interval=10us..30us:5us --seeds 1..5
  pausenet sweep dcon-burst --set switch.pfc.xoff=256KB,320KB --cc dcqcn,dcon --jobs 4
  pausenet sweep intensity.yaml
  pausenet sweep dcon-readings --quick`,
		Args:              cobra.ExactArgs(1),
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
		ValidArgsFunction: completeSweeps,
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.sets, "set", nil, "a parameter and its values, as `path=v1,v2` or path=a..b:step; with one value a setting of every point; may be repeated")
	controllersFlag(c, &f.controllers)
	flags.StringVar(&f.seeds, "seeds", "", "`seeds`, as 1..5 or 1,7,9 (default: the scenario's own)")
	flags.StringSliceVar(&f.metrics, "metrics", nil, "`metrics` that the table and the charts show; a name that there is not gets the list (default: fct_mean,fct_p99,slowdown_p99,goodput,pauses,pauses_between_switches)")
	planeFlag(c, &f.plane)
	flags.IntVar(&f.jobs, "jobs", 0, "`number` of points at the same time (default: as many as there are processors)")
	processorsFlag(c, &f.processors, " (default: all, shared by the points at the same time)")
	flags.StringVar(&f.out, "out", "", "`folder` of the sweep (default: results/sweep-NAME)")
	figuresFlag(c, &f.figures)
	c.Flags().BoolVar(&f.quick, "quick", false, "run the quick form of scenarios that have one")
	flags.BoolVar(&f.force, "force", false, "overwrite results that were made under other settings")
	completeList(c, "metrics", always(measure.MetricNames()))
	completeFolder(c, "out")
	completeNothing(c, "set", "seeds", "jobs")
	formatFlag(c, &f.format)
	return c
}

func (f *sweepFlags) run(c *cobra.Command, name string) error {
	if err := errors.Join(checkFormat(f.format), notEmpty(c, "out")); err != nil {
		return err
	}
	if err := results.CheckFigureFormats(f.figures); err != nil {
		return badInput(fmt.Errorf("--figures: %w", err))
	}
	if !c.Flags().Changed("jobs") {
		f.jobs = runtime.GOMAXPROCS(0)
	} else if err := atLeastOne(c.Flags(), "jobs"); err != nil {
		return err
	}
	plane, why, err := choosePlane(f.plane)
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
	if f.out == "" {
		f.out = filepath.Join("results", "sweep-"+swept.Name)
		if swept.Quick {
			f.out += "-quick"
		}
	}
	unlock, err := lockResultsFolder(c.Context(), f.out, f.out, dyingTimeout)
	if err != nil {
		return err
	}
	defer unlock()
	own, err := build()
	if err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("read this program's own file: %w", err)}
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	if why != "" {
		fmt.Fprintf(os.Stderr, "pausenet: %s plane: %s\n", plane, why)
	}
	for i := range points {
		points[i].Warnings = append(points[i].Warnings, idleProcessors(c.Flags(), points[i].Lanes)...)
	}
	writeWarnings(os.Stderr, swept.Name, sweep.Warnings(points))
	runner := &sweep.Runner{
		Points: points, Quick: swept.Quick, Directory: f.out, Jobs: f.jobs, Processors: f.processors, Plane: plane,
		Version: version(), Build: own, Command: commandLine(os.Args), Make: startPoint,
	}
	if !f.force {
		if err := refuseOverwriting(runner.Overwrites(), f.out); err != nil {
			return err
		}
	}
	display := newSweepDisplay(os.Stderr, swept.Name, points)
	runner.Begun, runner.Ended = display.begun, display.ended
	outcomes := runner.Run(ctx)
	display.close()
	written := swept.Write(f.out, runner, outcomes, f.figures)
	if f.format == "json" {
		err = writeJSON(c.OutOrStdout(), swept.View(points, outcomes))
	} else {
		writeSweep(c.OutOrStdout(), swept, points, outcomes)
		if written == nil {
			fmt.Fprintf(c.OutOrStdout(), "\n  %s\n  %s\n", filepath.Join(f.out, "sweep.csv"), filepath.Join(f.out, "sweep.html"))
		}
	}
	if err := errors.Join(err, written); err != nil {
		return runError(err)
	}
	return sweepError(points, outcomes, ctx.Err() != nil)
}

// sweep is what the command line asks for: what the flags say takes precedence over the sweep's file.
func (f *sweepFlags) sweep(name string) (*sweep.Sweep, error) {
	s, err := sweep.Load(name)
	if os.IsNotExist(err) {
		names := append(scenario.BuiltinSweepNames(), scenario.BuiltinNames()...)
		return nil, fmt.Errorf("%q is neither a built-in sweep, nor a built-in scenario, nor a file%s", name, yamlspec.Suggest(name, names))
	}
	if err != nil {
		return nil, err
	}
	s.Quick = f.quick
	errs := []error{s.Set(f.sets)}
	if f.seeds != "" {
		if s.Seeds, err = sweep.ParseSeeds(f.seeds); err != nil {
			errs = append(errs, fmt.Errorf("--seeds %s: %w", f.seeds, err))
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
		return &exitError{exitVerdict, errors.New("interrupted: finished points are kept, and the next sweep into this folder goes on from them")}
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
		list = append(list[:mostProblems], "and more: sweep.csv has them all")
	}
	return &exitError{code, fmt.Errorf("%d of %d points failed:\n  %s", n, len(points), strings.Join(list, "\n  "))}
}

// mostProblems is how many lines about failed points, or about equal ones, are printed.
const mostProblems = 20

// writeSweep prints a row a combination of parameters and controller, over the seeds.
func writeSweep(w io.Writer, s *sweep.Sweep, points []sweep.Point, outcomes []sweep.Outcome) {
	head := []string{}
	for _, p := range s.Varying() {
		head = append(head, p.Path)
	}
	head = append(append(head, "cc", "verdict"), s.MetricLabels()...)
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
	fmt.Fprintf(w, "%s: %s", s.Name, count(len(points), "point"))
	if kept > 0 {
		fmt.Fprintf(w, ", %d kept from before", kept)
	}
	if n := len(s.Seeds); n > 1 {
		fmt.Fprintf(w, "; means over %d seeds with 95 %% confidence intervals", n)
	}
	fmt.Fprintf(w, "\n\n")
	writeColumns(w, lines)
	writeDuplicates(w, sweep.Duplicates(points))
}

// writeDuplicates tells which points are the same run as an earlier one.
func writeDuplicates(w io.Writer, same []string) {
	if len(same) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, line := range same[:min(len(same), mostProblems)] {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if more := len(same) - mostProblems; more > 0 {
		fmt.Fprintf(w, "  and %d more: same_as in sweep.csv has them all\n", more)
	}
}

// completeSweeps offers the built-in sweeps and scenarios beside files.
func completeSweeps(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return append(scenario.BuiltinSweepNames(), scenario.BuiltinNames()...), cobra.ShellCompDirectiveDefault
}
