package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/table"
	"github.com/pausenet/pausenet/internal/workers"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Options holds the options of a run.
type Options struct {
	Controller string // or a variant of the scenario's
	// Plane opens the plane, such as the kernel's (kernel.Opener); nil: wasmplane.Open, the plane in this process.
	Plane plane.Opener
	Seed  uint64
	// Directory names the folder for the run's files; Run creates it.
	Directory string
	// Within names the part of Directory that the user gave. Run follows no link that leads out of it. Empty:
	// Directory.
	Within string
	// Export names a simulator whose result files are written, too (ExportHPCC); empty: none.
	Export string
	// Observers write further files about the run: see package observe.
	Observers []NewObserver
	// Version holds pausenet's version, Command the user's command, and Build distinguishes builds of one version; all
	// are written into the manifest.
	Version, Command, Build string
	// Sets lists the user's settings ("path=value"), for the manifest.
	Sets []string
	// CheckSets checks each of Sets that configures a mechanism: it repeats the scenario without it, up to the first
	// sample at which the two runs differ.
	CheckSets bool
	// Compared is true if the same settings also apply to runs under other congestion controls.
	Compared bool

	Progress engine.Progress
	// Processors sets the number of processors for the run; 0: all of the machine's, shared equally by concurrent runs
	// of a suite or sweep. Results do not depend on it. The kernel plane uses one, and so does a run with an observer
	// that needs frames in order.
	Processors int

	// Anywhere omits the time, the speed and the machine of the run from its files, so that equal runs on different
	// machines have equal files.
	Anywhere bool

	Replacing func() // called before files of an earlier run are removed
}

// Result holds the results of one run.
type Result struct {
	Scenario   *scenario.Scenario
	Controller string
	Summary    measure.Summary
	// Panels holds the points of the scenario's panels, one slice of series for each panel.
	Panels [][]rundir.Points
	// Unlike holds the fingerprint of the run that this one replaced, if that had the same configuration, seed and
	// version but another fingerprint; empty otherwise.
	Unlike string
	// Idle lists the user's settings that changed nothing, among the checked ones (Options.CheckSets).
	Idle []string
}

// Summaries returns the summaries of results, nil for a nil result.
func Summaries(results []*Result) []*measure.Summary {
	all := make([]*measure.Summary, len(results))
	for i, r := range results {
		if r != nil {
			all[i] = &r.Summary
		}
	}
	return all
}

// Run runs a scenario under one controller. If ctx is cancelled, it ends the run early, writes the measurements, marks
// them partial, and returns them with the context's error. After any other error, the files written so far remain.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (*Result, error) {
	r, err := newRunner(s, o)
	if err != nil {
		return nil, err
	}
	if r.folder, err = files.OpenFolder(cmp.Or(o.Within, o.Directory), o.Directory); err != nil {
		return nil, fmt.Errorf("cannot create the results' folder: %w", err)
	}
	defer r.folder.Close()
	if err := r.openPlane(); err != nil {
		return nil, err
	}
	defer r.startWorkers()()
	result, err := r.run(ctx)
	defer collect(r.Scenario.Topology)
	defer shutdown.Wait()() // for the kernel, which removes a fabric
	return result, errors.Join(environmental(err), r.plane.Close())
}

// collect frees memory that a large fabric no longer needs: at the start of the run the data of the setup, at its end
// the frames, before the manifest the other files', after the run the engine and the plane. The garbage collector alone
// would run only after the process has doubled in size.
func collect(plan *topologies.Plan) {
	const large = 10_000 // ports
	if len(plan.Ports) >= large {
		runtime.GC()
	}
}

// newRunner returns a run with checked settings.
func newRunner(s *scenario.Scenario, o Options) (*runner, error) {
	if len(o.Observers) > 0 || o.Export != "" { // they may need a flow for each message
		var err error
		if s, err = s.Unrolled(); err != nil {
			return nil, fmt.Errorf("observers and exports need a flow for each message: %w", err)
		}
	}
	u, err := scenario.NewSetup(s, o.Controller, o.Seed)
	if err != nil {
		return nil, err
	}
	r := &runner{Setup: u, options: o}
	return r, r.observe()
}

// workers returns the number of the engine's workers that the run can use.
func (r *runner) workers() int {
	if r.plane.Name() != plane.Wasm || slices.ContainsFunc(r.observers,
		func(o *Observer) bool { return o.OneProcessor }) {
		return 1
	}
	return max(1, min(workers.Share(r.options.Processors, 1), partition.Workers(r.Scenario.Topology)))
}

// startWorkers starts a pool of workers if the run can use several. It returns a function that ends them.
func (r *runner) startWorkers() (end func()) {
	size := r.workers()
	if size == 1 {
		return func() {}
	}
	pool := workers.New(size)
	r.workerPool = pool
	return pool.Close
}

func (r *runner) openPlane() (err error) {
	open := r.options.Plane
	if open == nil {
		open = wasmplane.Open
	}
	if r.plane, err = open(r.Scenario.Topology, r.Features()); err != nil {
		return &EnvironmentError{err}
	}
	return nil
}

// EnvironmentError reports that this machine cannot run the fabric.
type EnvironmentError struct{ Err error }

func (e *EnvironmentError) Error() string { return e.Err.Error() }
func (e *EnvironmentError) Unwrap() error { return e.Err }

// environmental wraps an error caused by the machine as EnvironmentError.
func environmental(err error) error {
	var machine *plane.MachineError
	if errors.As(err, &machine) {
		return &EnvironmentError{err}
	}
	return err
}

// runner holds the state of one run.
type runner struct {
	*scenario.Setup
	options Options
	folder  *files.Folder // Directory, opened

	workerPool engine.WorkerPool // nil: a single worker
	plane      plane.Plane
	engine     *engine.Engine
	recorder   *recorder
	observers  observers
	watching   *Watching      // nil unless code learns from the run
	records    flowRecords    // of the flows, set at the end of the run
	linkRows   []measure.Link // likewise
	stopped    []int          // likewise: flows that can never end
	idle       []string       // likewise: the user's settings that changed nothing
	already    []string       // likewise: settings with the value that the scenario already has
	operations Operations

	newController func(number int) (cc.Controller, error)
	rtt           func(number int) hostagent.RTTCounter

	collectives []collectiveRun
}

func (r *runner) run(ctx context.Context) (*Result, error) {
	s := r.Scenario
	if err := r.build(); err != nil {
		return nil, err
	}
	m := newManifest(r)
	before := r.before()
	if err := m.Begin(r.folder); err != nil {
		return nil, fmt.Errorf("cannot create the results: %w", err)
	}
	defer shutdown.Finally(func() { _ = m.MarkPartial() })()
	if r.options.Replacing != nil {
		r.options.Replacing()
	}
	out, err := rundir.Create(r.folder)
	if err != nil {
		return nil, errors.Join(err, m.Abandon(r.folder))
	}
	if file := r.CC.File; file != nil {
		if err := r.folder.Write(file.Name, file.Content); err != nil {
			return nil, errors.Join(err, out.Close(), m.Abandon(r.folder))
		}
	}
	if s.DefaultPanels {
		r.recorder.overview = newOverview(s, r.recorder)
	}
	if r.options.CheckSets && s.Recipe != nil {
		r.recorder.checks = new(checkpoints)
	}
	r.recorder.start(r.engine, out)
	if r.options.Export == ExportHPCC {
		r.recorder.hpcc = &hpccTrace{}
	}
	if err := r.startObservers(); err != nil {
		return nil, errors.Join(err, r.observers.close(), out.Close(), m.Abandon(r.folder))
	}
	collect(s.Topology)
	start := time.Now()
	within, stop := context.WithCancel(ctx)
	defer stop()
	r.recorder.stop = stop
	driven := false
	defer func() {
		if !driven { // drive has panicked
			_ = errors.Join(out.Close(), r.observers.close())
		}
	}()
	runErr := r.drive(within, r.options.Progress)
	driven = true
	r.keepStack(runErr)
	wall := time.Since(start)
	r.engine.Trim()
	collect(s.Topology)
	if r.recorder.err != nil {
		runErr = fmt.Errorf("cannot write the results: %w", r.recorder.err)
	}
	if runErr == nil {
		r.idle = r.idleSettings(ctx)
	}
	result := r.conclude(wall, runErr)
	result.Idle = r.idle
	if of := r.recorder.overview; of != nil {
		var panels []scenario.Panel
		panels, result.Panels = of.panels(r.collectives)
		m.ChosePanels(r.ViewPanels(panels))
	}
	writeErr := errors.Join( // large files come last, so that a full disk still holds the others
		rundir.WriteJSON(r.folder, rundir.SummaryFile, &result.Summary),
		rundir.Write(r.folder, rundir.Links, table.Rows(r.linkRows)),
		writeCollectives(r.folder, r.collectives),
		out.Close(),
		r.writePanels(result.Panels),
		rundir.Write(r.folder, rundir.Flows, rundir.FlowRows(s, &r.records)),
		r.writeQPs(r.folder),
		r.writeRecovery(r.folder),
		r.export(),
		r.observers.write(),
		r.observers.close(),
	)
	if writeErr == nil && runErr == nil {
		writeErr = r.observers.complete()
	}
	r.linkRows = nil
	collect(s.Topology)
	r.nameFiles(m)
	m.Finish(&result.Summary)
	if before != nil && m.Repeats(before) && m.Fingerprint != before.Fingerprint {
		result.Unlike = before.Fingerprint
	}
	if writeErr != nil {
		m.Status = rundir.StatusPartial
	}
	if writeErr = errors.Join(writeErr, m.End(r.folder)); writeErr == nil && runErr == nil {
		writeErr = rundir.WriteSums(r.folder)
	}
	if writeErr != nil {
		writeErr = fmt.Errorf("cannot write the results: %w", writeErr)
	}
	return result, errors.Join(runErr, writeErr)
}

// writePanels writes panels.csv, if there are any.
func (r *runner) writePanels(panels [][]rundir.Points) error {
	if len(panels) == 0 {
		return nil
	}
	return rundir.Write(r.folder, rundir.Panels, rundir.PanelRows(panels))
}

// before returns the manifest of the run that this one replaces, or nil.
func (r *runner) before() *rundir.Manifest {
	path := filepath.Join(r.options.Directory, rundir.ManifestFile)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	m := new(rundir.Manifest)
	if rundir.ReadJSON(path, m) != nil {
		return nil
	}
	return m
}

// build creates the engine with the scenario's flows.
func (r *runner) build() (err error) {
	s := r.Scenario
	r.recorder = newRecorder(s, r.workers())
	r.recorder.more, r.recorder.observers = r.More(), r.observers
	config := engine.Config{
		Plan: s.Topology, Plane: r.plane, Switches: scenario.SwitchSettings(s, r.Needs), Hosts: r.Hosts(),
		Features: r.Features(), Seed: r.Seed, Observer: r.recorder, Workers: r.workerPool,
		Ordered: r.watching != nil && r.watching.Ordered,
	}
	for _, o := range r.observers {
		if o.Tracer != nil {
			config.Tracer = o.Tracer
		}
	}
	r.engine, err = engine.New(config)
	if err != nil {
		return err
	}
	r.recorder.engine = r.engine
	r.addFlows()
	ScheduleFaults(r.engine, s, 0)
	return nil
}

func (r *runner) addFlows() {
	r.operations = AddOperations(r.engine, r.Scenario)
	r.newController = r.controller // one for all flows
	if r.watching == nil || !r.watching.NoRTT {
		r.rtt = r.rttOf
	}
	r.engine.Reserve(r.Scenario.Entries() + len(r.QPs))
	draws := func(int, int) uint64 { return 0 }
	if r.Hosts().Entropy != hostagent.EntropyFlow {
		draws = r.Scenario.Draws(r.Seed)
	}
	add := func(flow, qp int, size units.Bytes, ports paths.Ports) {
		c := r.flowConfig(flow)
		c.Size, c.Start, c.Ports, c.Entropy = int64(size), r.Scenario.Flows[flow].Start, ports, draws(flow, qp)
		c.Send, c.Receive = r.operations.Of(flow)
		r.engine.AddFlow(c)
	}
	for i := range r.Scenario.Entries() {
		add(i, 0, r.FirstSize(i), r.Flows[i].Ports)
	}
	qp := 0
	for i := range r.QPs { // a flow's QPs are consecutive
		q := &r.QPs[i]
		if qp++; i > 0 && r.QPs[i-1].Flow != q.Flow {
			qp = 1
		}
		add(int(q.Flow), qp, q.Size, q.Ports)
	}
	r.addMessages(draws)
}

// rttOf returns the receiver of the RTTs of an engine flow.
func (r *runner) rttOf(number int) hostagent.RTTCounter {
	flow := r.Flow(number)
	f := &flowRTT{all: r.recorder.rtt}
	if r.watching != nil && r.watching.Sample != nil {
		f.tell = func(now, rtt vtime.Time) { r.watching.Sample(flow, now, rtt) }
	}
	return f
}

func (r *runner) controller(number int) (cc.Controller, error) {
	flow := r.Flow(number)
	if r.watching == nil || r.watching.Controller == nil || r.Of(flow).CC != r.CC {
		return r.NewController(number)
	}
	return r.NewControllerBy(flow, func(env cc.Env, set cc.Settings) (cc.Controller, error) {
		return r.watching.Controller(flow, env, set)
	})
}

// conclude makes the final check of a run that has ended, or that runErr ended.
func (r *runner) conclude(wall time.Duration, runErr error) *Result {
	defer shutdown.Wait()() // for sums over millions of flows
	result := &Result{Scenario: r.Scenario, Controller: r.Name, Panels: r.recorder.panels()}
	r.recorder.congestion.look(r.engine.Now())
	r.recorder.expireAll(r.engine.Now()) // before observers see the end
	r.observers.end()
	for _, number := range r.engine.StoppedFlows() {
		r.stopped = append(r.stopped, r.Flow(number))
	}
	slices.Sort(r.stopped)
	r.stopped = slices.Compact(r.stopped)
	result.Summary = r.summarise(wall)
	result.Summary.Verdict = r.verdict(&result.Summary, runErr)
	result.Summary.Partial = runErr != nil
	result.Summary.TakeFigures(r.Scenario.Published, &r.records, r.engine.Now())
	result.Summary.TakeClaims(r.Scenario.Published)
	return result
}
