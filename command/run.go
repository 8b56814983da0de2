package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/estimate"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/observe"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/results/parquet"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/scenario/lint"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

type runFlags struct {
	suite.Suite // the part that flags set directly; run adds the rest
	controllers []string
	plane       string
	quick       bool
	record      bool
	force       bool
	capture     []string
	perfetto    bool
	seeds       string
	format      string
	parquet     bool
	again       bool // a later run under --watch
	why         bool
	whyUpTo     int // record the reasons (as --why) of scenarios with at most this many flows

	results     [][]*runner.Result // results of the last run
	interrupted bool
}

func newRunCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SCENARIO...",
		Short: "Run scenarios, and write results and a report",
		Long: `Run each SCENARIO (the name of a built-in, or a file) once under each
congestion controller. The results go below the output folder:

  DIR/SCENARIO/report.html   all controllers side by side; open it in a browser
  DIR/SCENARIO/CC/           flows.csv, links.csv, ports.csv, pfc.csv,
                             rates.csv, panels.csv, summary.json, ...

With --seeds, a run's folder is DIR/SCENARIO/seed=N/CC, and the report shows
means over the seeds with 95 % confidence intervals.`,
		Example: `  pausenet run dcon-burst
  pausenet run mine.yaml --cc all
  pausenet run dcon-websearch --quick --seeds 1..5
  pausenet run incast --cc dcqcn,./mine.star --watch
  pausenet run dcon-burst --cc dcqcn --set switch.pfc.xoff=256KB --pcap L2:S1
  sudo pausenet run dcon-burst --plane kernel
  sudo pausenet run dcon-burst --plane both`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badInput(errors.New(`no scenario given. Try
  pausenet run dcon-burst    a built-in scenario
  pausenet list              all of them
  pausenet run mine.yaml     your own file (start from "pausenet show incast --source > mine.yaml")`))
			}
			if f.again {
				return f.watch(c, args, c.Flags().Changed("seed"))
			}
			return f.run(c, args, c.Flags().Changed("seed"))
		},
		ValidArgsFunction: completeScenarios,
	}
	flags := c.Flags()
	controllersFlag(c, &f.controllers)
	planeFlag(c, &f.plane, bothPlanes)
	flags.Var((*seedFlag)(&f.Seed), "seed", "random `seed` (default: the scenario's)")
	flags.StringVar(&f.seeds, "seeds", "", "repeat each run under these `seeds`, such as 1..5 or 1,7,9; reports show "+
		"means with 95 % confidence intervals")
	setFlag(c, &f.Sets)
	flags.BoolVar(&f.quick, "quick", false, "run the quick form of long scenarios, NAME-quick")
	jobsFlag(c, &f.Jobs, "runs")
	processorsFlag(c, &f.Processors, " (default: all, shared by the runs)")
	flags.StringVar(&f.Directory, "out", "results", "output `folder`")
	flags.StringSliceVar(&f.capture, "pcap", nil, "capture the links of these `ports`, node:peer,..., into capture.pcapng")
	flags.BoolVar(&f.perfetto, "perfetto", false,
		"also write trace.pftrace for ui.perfetto.dev: each PAUSE and its causes, queues, rates")
	figuresFlag(c, &f.Figures)
	flags.StringVar(&f.Export, "export", "",
		"also write results in the format of another simulator: `hpcc` (fct.txt and pfc.txt)")
	flags.BoolVar(&f.why, "why", false, "record where each flow's time goes, for pausenet why")
	flags.BoolVar(&f.record, "record", false,
		"also write record.bin: the queues of all ports over time, for pausenet view")
	flags.BoolVar(&f.force, "force", false, "overwrite results of other settings")
	flags.BoolVar(&f.again, "watch", false,
		"run again when a scenario's or controller's file is saved, and print what changed")
	formatFlag(c, &f.format)
	parquetFlag(c, &f.parquet)
	completeList(c, "pcap", portWords)
	completeFlag(c, "export", runner.ExportHPCC)
	completeFolder(c, "out")
	completeNothing(c, "seed", "seeds")
	return c
}

// manyFlows sets the number of flows from which their data dominate a run's memory.
const manyFlows = 500_000

// spareMemory makes garbage collection more frequent for runs with many flows: at 40 % growth of the heap instead of
// 100 %. Two million flows then stay below 1 GB, at about 5 % more time. At 20 % if many flows are messages that exist
// only while they are open, or if there are many ports: little of their data has pointers to follow. GOGC in the
// environment takes precedence.
func spareMemory(batch *suite.Suite) {
	percent := 100
	for i := range batch.Scenarios {
		s := batch.Scenarios[i].Scenario
		switch rings, others := s.ByRule(); {
		case rings+others >= manyFlows || len(s.Topology.Ports) >= estimate.ManyPorts:
			percent = min(percent, 20)
		case s.FlowCount() >= manyFlows:
			percent = min(percent, 40)
		}
	}
	if _, set := os.LookupEnv("GOGC"); !set && percent < 100 {
		debug.SetGCPercent(percent)
	}
}

func (f *runFlags) run(c *cobra.Command, names []string, seedGiven bool) (failed error) {
	if err := notEmpty(c, "out"); err != nil {
		return err
	}
	both := f.plane == bothPlanes
	if both {
		f.plane = plane.Kernel
		defer func() { f.plane = bothPlanes }() // for --watch
	}
	name, err := choosePlane(f.plane)
	if err != nil {
		return err
	}
	if err := errors.Join(checkJobs(c, &f.Jobs), checkProcessors(c, name)); err != nil {
		return err
	}
	if f.Processors > 1 && len(f.capture) > 0 {
		return badInput(fmt.Errorf("--processors %d and --pcap: a capture needs one processor (leave one of the flags out)",
			f.Processors))
	}
	if err := results.CheckFigureFormats(f.Figures); err != nil {
		return badInput(fmt.Errorf("--figures: %w", err))
	}
	if f.seeds != "" && seedGiven {
		return badInput(errors.New("--seed and --seeds: use only one of them"))
	}
	if f.Export != "" && f.Export != runner.ExportHPCC {
		return badInput(fmt.Errorf("--export %q: expected %s", f.Export, runner.ExportHPCC))
	}
	made := f.Suite
	batch := &made
	batch.Plane, batch.Version, batch.Command, batch.CheckSets =
		kernel.Opener(name), version(), commandLine(os.Args), true
	for _, o := range []struct {
		wanted  bool
		observe runner.NewObserver
	}{{f.perfetto, observe.Perfetto}, {f.record, observe.Record}, {f.parquet, parquet.Observe}} {
		if o.wanted {
			batch.Observers = append(batch.Observers, o.observe)
		}
	}
	for _, name := range names {
		s, err := f.scenario(name, seedGiven)
		if err != nil {
			return badInput(err)
		}
		writeWarnings(stderr(), s.Scenario.Name, idleProcessors(c.Flags(), partition.Workers(s.Scenario.Topology)))
		for i := range batch.Scenarios {
			if batch.Scenarios[i].Scenario.Name == s.Scenario.Name {
				return badInput(fmt.Errorf("two scenarios are named %s: one would overwrite the other's results", s.Scenario.Name))
			}
		}
		switch why := s.Scenario.WhyFits(); {
		case f.why && why != nil:
			return badInput(why)
		case f.why || why == nil && f.whyUpTo > 0 && s.Scenario.FlowCount() <= f.whyUpTo:
			s.Observers = append(s.Observers, observe.Why)
		}
		if !c.Flags().Changed("jobs") {
			batch.Jobs = min(batch.Jobs, runsInMemory(s.Scenario))
		}
		writeWarnings(stderr(), s.Scenario.Name,
			memoryWarning(s.Scenario, min(batch.Jobs, len(s.Controllers)*max(1, len(s.Seeds)))))
		batch.Scenarios = append(batch.Scenarios, *s)
	}
	spareMemory(batch)
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
	if both && err == nil {
		defer func() {
			if failed == nil {
				failed = compareInProcess(ctx, stderr(), batch, results)
			}
		}()
	}
	f.results, f.interrupted = results, ctx.Err() != nil
	return f.conclude(c.OutOrStdout(), batch, results, err)
}

// bothPlanes is the value of --plane that runs in the kernel, and then in this process for comparison.
const bothPlanes = "both"

// compareInProcess repeats a suite's runs in this process, without keeping their files, and compares the fingerprints.
func compareInProcess(ctx context.Context, w io.Writer, batch *suite.Suite, inKernel [][]*runner.Result) error {
	folder, err := os.MkdirTemp("", "pausenet-planes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	again := *batch
	again.Scenarios = slices.Clone(batch.Scenarios)
	again.Directory, again.Plane, again.Figures, again.Export, again.Observers, again.Started =
		folder, kernel.Opener(plane.Wasm), nil, "", nil, nil
	for i := range again.Scenarios {
		again.Scenarios[i].Observers = nil
	}
	inProcess, err := again.Run(ctx)
	if err != nil {
		return runError(err)
	}
	equal := 0
	var differ []error
	for i := range inKernel {
		for k, r := range inKernel[i] {
			if other := inProcess[i][k]; r.Summary.Fingerprint != other.Summary.Fingerprint {
				differ = append(differ, fmt.Errorf("%s under %s, seed %d: fingerprint %s in the kernel, %s in this process",
					r.Scenario.Name, r.Controller, r.Summary.Seed, r.Summary.Fingerprint, other.Summary.Fingerprint))
				continue
			}
			equal++
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("the planes differ, which is a bug (pausenet doctor checks the machine): %w",
			errors.Join(differ...))
	}
	fmt.Fprintf(w, "planes: kernel and wasm have equal fingerprints in %s\n", count(equal, "run"))
	return nil
}

// claimResults claims the folders of a suite's results.
func claimResults(c *cobra.Command, batch *suite.Suite, force bool) (unlock func(), err error) {
	location := claim{
		lock: func() (func(), error) { return lockResults(c.Context(), batch) }, overwrites: batch.Overwrites,
		folder: batch.Directory,
		force:  force, aside: !c.Flags().Changed("out"),
	}
	return location.take()
}

// claimFolder claims the folder of a sweep's results.
func claimFolder(ctx context.Context, folder string, overwrites func() error, force,
	aside bool,
) (unlock func(), err error) {
	location := claim{
		lock:       func() (func(), error) { return lockResultsFolder(ctx, folder, folder, dyingTimeout) },
		overwrites: overwrites, folder: folder, force: force, aside: aside,
	}
	return location.take()
}

// claim describes folders of results to be written to.
type claim struct {
	lock       func() (unlock func(), err error)
	overwrites func() error // returns a rundir.OverwriteError if the folders have results of other settings
	folder     string       // folder of all results
	force      bool         // overwrite results of other settings
	aside      bool         // move results of other settings aside, as the user did not name the folder
}

// take locks the folders. If they have results of other settings, take moves them aside or returns an error.
func (c *claim) take() (unlock func(), err error) {
	if unlock, err = c.lock(); err != nil || c.force {
		return unlock, err
	}
	err = c.overwrites()
	if err == nil {
		return unlock, nil
	}
	unlock()
	var other *rundir.OverwriteError
	switch isOther := errors.As(err, &other); {
	case isOther && c.aside:
		for _, folder := range other.Folders() {
			moved, err := runfolders.MoveAside(folder)
			if errors.Is(err, fs.ErrNotExist) { // another run has already moved it
				continue
			}
			if err != nil {
				return nil, &exitError{exitEnvironment, fmt.Errorf(
					"cannot move earlier results: %w (choose another folder with --out)", err)}
			}
			fmt.Fprintf(stderr(), "note: the earlier results are now in %s (%s)\n", moved, other.Settings(folder))
		}
		return c.take()
	case isOther:
		return nil, elsewhere(other, c.folder)
	}
	return nil, badInput(err)
}

// elsewhere returns err with the advice to use another folder than this one, or to overwrite its results.
func elsewhere(err *rundir.OverwriteError, folder string) error {
	return badInput(fmt.Errorf("%w\nwrite elsewhere, such as --out %s, or overwrite with --force", err,
		runfolders.FreshFolder(folder)))
}

func (f *runFlags) scenario(name string, seedGiven bool) (*suite.Scenario, error) {
	loaded, err := scenario.Reading{
		Memory: machine.AvailableMemory(), Quick: f.quick, Sets: f.Sets,
		Controllers: f.controllers,
	}.Load(name)
	if err != nil {
		return nil, notScenario(name, f.Directory, err)
	}
	s := &suite.Scenario{Scenario: loaded, Controllers: loaded.Controllers, Seed: loaded.Seed}
	if seedGiven {
		if loaded, err = loaded.WithSeed(f.Seed); err != nil {
			return nil, err
		}
		s.Scenario, s.Seed = loaded, f.Seed
	}
	if f.seeds != "" {
		seeds, err := seedsOf(f.seeds)
		if err != nil {
			return nil, err
		}
		if loaded, err = loaded.WithSeed(seeds[0]); err != nil {
			return nil, err
		}
		s.Scenario, s.Seed = loaded, seeds[0]
		if len(seeds) > 1 {
			s.Seeds = seeds
		}
	}
	if len(f.controllers) > 0 {
		if s.Controllers, err = loaded.ControllerNames(f.controllers); err != nil {
			return nil, err
		}
	}
	var captured []topologies.PortID
	for _, port := range f.capture {
		ids, err := scenario.FindPorts(loaded.Topology, port)
		if err != nil {
			return nil, fmt.Errorf("--pcap: %w", err)
		}
		captured = append(captured, ids...)
	}
	if len(captured) > 0 {
		s.Observers = append(s.Observers, observe.Capture(captured))
	}
	writeWarnings(stderr(), loaded.Name, lint.Warnings(loaded, s.Controllers))
	if err := scenario.Check(loaded, s.Controllers, s.Seeds...); err != nil {
		return nil, err
	}
	return s, nil
}

// seedsOf parses --seeds.
func seedsOf(text string) ([]uint64, error) {
	seeds, err := sweep.ParseSeeds(text)
	if err != nil {
		return nil, badInput(fmt.Errorf("--seeds: %w", err))
	}
	if len(seeds) == 1 && seeds[0] > 1 {
		fmt.Fprintf(stderr(), "pausenet: --seeds %d is one seed, %d; for seeds 1 to %d write 1..%d\n", seeds[0],
			seeds[0], seeds[0], seeds[0])
	}
	return seeds, nil
}

// notScenario returns an error that says what the name is, if it is no scenario's but that of a topology, sweep,
// controller, file or folder of results; otherwise err.
func notScenario(name, results string, err error) error {
	if _, unknown := scenario.BuiltinSource(name); unknown == nil {
		return err
	}
	topologyError := func(topology string) error {
		return fmt.Errorf("%s is a topology, but run needs a scenario (name it in one with \"topology: %s\", or bring it "+
			"up live with \"pausenet up %s\")", name, topology, name)
	}
	_, noTopology := spec.BuiltinSource(name)
	_, noSweep := scenario.BuiltinSweepSource(name)
	_, noController := cc.Lookup(name)
	switch folder := filepath.Join(results, name); {
	case noController == nil:
		return fmt.Errorf("%s is a congestion controller (separate several by commas: --cc dcqcn,%s)", name, name)
	case noTopology == nil:
		return topologyError(name)
	case noSweep == nil:
		return fmt.Errorf("%s is a sweep (try \"pausenet sweep %s\")", name, name)
	case scenario.IsFile(name + ".yaml"):
		return fmt.Errorf("no built-in scenario %q (the file is %s.yaml)", name, name)
	case isFolder(folder):
		return fmt.Errorf("no built-in scenario %q (show the results in %s with \"pausenet report %s\" or \"pausenet "+
			"view %s\")", name, folder, folder, folder)
	}
	if files.IsStream(name) {
		return err
	}
	if _, data, unread := scenario.ReadSpec(name); unread == nil && !isScenario(data) {
		if plan, parsed := spec.Parse(name, data); parsed == nil {
			return topologyError(plan.Name)
		}
	}
	return err
}

// runView represents a run in structured output: its folder, and its summary.json.
type runView struct {
	Folder string `json:"folder"`
	*measure.Summary
}

// conclude prints the results of runs and decides the exit code.
func (f *runFlags) conclude(w io.Writer, suite *suite.Suite, results [][]*runner.Result, err error) error {
	if structured(f.format) {
		all := []runView{}
		for i, scenario := range results {
			for k, location := range suite.Locations(&suite.Scenarios[i]) {
				if r := scenario[k]; r != nil {
					all = append(all, runView{location.Path(), &r.Summary})
				}
			}
		}
		if err := writeStructured(w, f.format, all); err != nil {
			return err
		}
	} else {
		writeResults(w, suite, results)
	}
	writeUnlike(stderr(), results)
	writeIdle(stderr(), results)
	if err != nil {
		return runError(err)
	}
	for _, scenario := range results {
		for _, r := range scenario {
			if r == nil || r.Summary.Verdict.Status == measure.Fail {
				return &exitError{exitVerdict, errors.New("a run is broken: do not trust its numbers")}
			}
		}
	}
	return nil
}

// writeUnlike warns of runs whose fingerprint differs from that of an earlier run with the same settings.
func writeUnlike(w io.Writer, results [][]*runner.Result) {
	for _, scenario := range results {
		for _, r := range scenario {
			if r == nil || r.Unlike == "" {
				continue
			}
			writeWarnings(w, fmt.Sprintf("%s under %s, seed %d", r.Scenario.Name, r.Controller, r.Summary.Seed),
				[]string{fmt.Sprintf("replaced results of the same settings, seed and version whose fingerprint differs (%s, now "+
					"%s): either the program was rebuilt from uncommitted changes, or it is not deterministic, "+
					"which is a bug", r.Unlike, r.Summary.Fingerprint)})
		}
	}
}

// writeIdle warns of settings without effect on any of a scenario's runs under several controllers. Under one
// controller, the verdict reports them.
func writeIdle(w io.Writer, results [][]*runner.Result) {
	for _, scenario := range results {
		made := slices.DeleteFunc(slices.Clone(scenario), func(r *runner.Result) bool { return r == nil })
		if len(made) < 2 {
			continue
		}
		for _, set := range made[0].Idle {
			if !slices.ContainsFunc(made, func(r *runner.Result) bool { return !slices.Contains(r.Idle, set) }) {
				writeWarnings(w, made[0].Scenario.Name, []string{fmt.Sprintf(
					"--set %s had no effect: each run is the same without it, frame by frame", set)})
			}
		}
	}
}

// runError decides the exit code of a failed run.
func runError(err error) error {
	var (
		environment *runner.EnvironmentError
		tooLarge    *kernel.TooLargeError
	)
	switch {
	case errors.As(err, &tooLarge):
		return badInput(err)
	case errors.Is(err, context.Canceled):
		return &exitError{exitVerdict, errors.New("interrupted: the results so far are kept, marked partial")}
	case errors.As(err, &environment):
		return &exitError{exitEnvironment, err}
	case errors.Is(err, syscall.EMFILE):
		return &exitError{exitEnvironment, fmt.Errorf("%w: raise this process's limit on open files (ulimit -n)",
			cmp.Or(fileError(err), err))}
	case errors.Is(err, syscall.EFBIG):
		return &exitError{exitEnvironment, fmt.Errorf("%w: raise this process's limit on file sizes (ulimit -f)",
			cmp.Or(fileError(err), err))}
	case errors.Is(err, syscall.ENOSPC):
		return &exitError{exitEnvironment, fmt.Errorf("%w: free some space or choose another folder with --out",
			cmp.Or(fileError(err), err))}
	case fileError(err) != nil:
		return &exitError{exitEnvironment, fmt.Errorf("%w: choose another folder with --out", fileError(err))}
	}
	return &exitError{exitVerdict, err}
}

// fileError returns the first error of a file in err, or nil. It omits the others, because a folder's error occurs at
// every file in it.
func fileError(err error) error {
	var (
		file    *os.PathError
		link    *os.LinkError
		refused *files.Error
	)
	switch {
	case errors.As(err, &refused):
		err = refused
	case errors.As(err, &file):
		err = file
	case errors.As(err, &link):
		err = link
	default:
		return nil
	}
	return fmt.Errorf("write the results: %w", err)
}
