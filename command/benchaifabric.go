package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/aifabric"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies/spec"
)

type aiFabricFlags struct {
	aifabric.Options

	seeds      string
	out        string
	force      bool
	jobs       int
	processors int
	format     string
}

func newBenchAIFabricCommand() *cobra.Command {
	var f aiFabricFlags
	c := &cobra.Command{
		Use:   "ai-fabric",
		Short: "Run the tests of the IETF draft on benchmarking AI fabrics",
		Long: `Run the tests of the IETF draft
` + aifabric.Draft + ` that a fabric model can
answer, and print a table: each KPI with the draft's section, its bound and the
measured value. The tests cover bursts, UET's congestion controllers, packet
spraying, trimming, ECN marking accuracy, PFC under incast, the convergence of
DCQCN, PFC storms and deadlocks, ECMP imbalance, flowlets, the bus bandwidth of
collectives, the JCT ratio, two jobs on one fabric, and the failure of a link or
a spine. docs/ai-fabric.md describes them, and the tests that are left out.

With --seeds, rows show means with 95 % confidence intervals and the coefficient
of variation that the draft requires.

--set changes all scenarios, as it does for run: thresholds, or a controller's
constants. A test's own values take precedence.

The draft sets no acceptance criteria. The verdict of a row is "within" its
bound, "acceptable" (where the draft has a second value), "beyond", or
"reported" if there is no bound. The exit code does not depend on these, but it
is 1 if a run is broken ("untrusted").`,
		Example: `  pausenet bench ai-fabric --quick
  pausenet bench ai-fabric --seeds 1..5
  pausenet bench ai-fabric --topology pod.yaml --set switch.ecn.kmax=400KB
  pausenet bench ai-fabric -o markdown --out kpis > kpis.md`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.BoolVar(&f.Quick, "quick", false, "run fewer cases and shorter runs")
	flags.StringVar(&f.Topology, "topology", "",
		"run the tests that work on any topology on this one: `name` of a built-in, or a file")
	setFlag(c, &f.Sets)
	flags.Var((*seedFlag)(&f.Seed), "seed", "random `seed` (default: the scenarios')")
	flags.StringVar(&f.seeds, "seeds", "", "repeat each run under these `seeds`, such as 1..5: rows show means, 95 % "+
		"intervals and coefficients of variation")
	c.MarkFlagsMutuallyExclusive("seed", "seeds")
	flags.StringVar(&f.out, "out", "", "keep the runs in this `folder` (default: delete them)")
	flags.BoolVar(&f.force, "force", false, "overwrite results of other settings")
	jobsFlag(c, &f.jobs, "runs")
	processorsFlag(c, &f.processors, " (default: all, shared by the runs)")
	formatFlag(c, &f.format, "markdown")
	completeBy(c, "topology", func(
		*cobra.Command, []string, string,
	) ([]string, cobra.ShellCompDirective) {
		return spec.BuiltinNames(), cobra.ShellCompDirectiveDefault
	})
	completeFolder(c, "out")
	completeNothing(c, "seed", "seeds")
	return c
}

func (f *aiFabricFlags) run(c *cobra.Command) error {
	if err := errors.Join(notEmpty(c, "out"), notEmpty(c, "topology"), checkJobs(c, &f.jobs),
		checkProcessors(c, plane.Wasm)); err != nil {
		return err
	}
	if f.seeds != "" {
		seeds, err := seedsOf(f.seeds)
		if err != nil {
			return err
		}
		f.Seeds = seeds
	}
	bench, err := aifabric.New(f.Options)
	if err != nil {
		return badInput(err)
	}
	batch := &suite.Suite{
		Scenarios: bench.Scenarios, Jobs: f.jobs, Options: runner.Options{
			Directory: f.out, Processors: f.processors, Version: version(), Command: commandLine(os.Args), Sets: f.Sets,
		},
	}
	if f.out == "" {
		if batch.Directory, err = os.MkdirTemp("", "pausenet-ai-fabric-"); err != nil {
			return &exitError{exitEnvironment, err}
		}
		defer os.RemoveAll(batch.Directory)
	}
	unlock, err := claimResults(c, batch, f.force)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	progress := newProgress(os.Stderr)
	batch.Started = progress.start(batch)
	results, err := batch.Run(ctx)
	progress.wait()
	if f.out == "" && errors.Is(err, context.Canceled) {
		return &exitError{exitVerdict, errors.New("interrupted: no results kept (use --out FOLDER to keep them)")}
	}
	if err != nil {
		return runError(err)
	}
	report, err := bench.Report(results, batch)
	if err != nil {
		return runError(err)
	}
	switch f.format {
	case formatJSON, formatYAML:
		err = writeStructured(c.OutOrStdout(), f.format, report)
	case "markdown":
		err = report.WriteMarkdown(c.OutOrStdout())
	default:
		err = report.WriteText(people(c.OutOrStdout()))
	}
	for _, row := range report.Rows {
		if err == nil && row.Verdict == aifabric.Untrusted {
			return &exitError{exitVerdict, fmt.Errorf("run %s is broken: do not trust its numbers", row.Run)}
		}
	}
	return err
}
