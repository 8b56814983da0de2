package planefuzz_test

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"runtime/debug"
	"slices"
	"time"

	_ "github.com/pausenet/pausenet/controllerfile/star"
	_ "github.com/pausenet/pausenet/controllerfile/wasm"
	"github.com/pausenet/pausenet/ebpf/wasm/reference"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/workers"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// timeout limits the time of one run, which takes tens of milliseconds.
const timeout = testenv.Hung

// run holds one scenario on one plane.
type run struct {
	scenario *scenario.Scenario
	setup    *scenario.Setup
	plane    plane.Plane
	engine   *engine.Engine
	pauses   pauseWatch
	workers  *fixedWorkers

	violations []string
	err        error
	wires      hash.Hash64 // over what the taps saw; nil: none
}

// newRun readies a scenario on a plane, under the scenario's first controller.
func newRun(s *scenario.Scenario, plane plane.Plane) (*run, error) {
	u, err := scenario.NewSetup(s, s.Controllers[0], s.Seed)
	if err != nil {
		return nil, err
	}
	r := &run{
		scenario: s, setup: u, plane: plane, pauses: newPauseWatch(s),
		workers: &fixedWorkers{size: 1 + int(s.Seed%4)},
	}
	if r.engine, err = engine.New(engine.Config{
		Plan: s.Topology, Plane: plane, Switches: scenario.SwitchSettings(u.Scenario, u.Needs), Hosts: u.Hosts(),
		Features: featuresOf(s), Seed: s.Seed, Observer: &r.pauses, Workers: r.workers,
	}); err != nil {
		return nil, err
	}
	operations := runner.AddOperations(r.engine, u.Scenario)
	for i := range len(s.Flows) + len(u.QPs) {
		f, size := &s.Flows[u.Flow(i)], units.Bytes(0)
		if i < len(s.Flows) {
			size = u.FirstSize(i)
		} else {
			size = u.QPs[i-len(s.Flows)].Size
		}
		ports := paths.FirstPorts(s.Seed<<32 ^ uint64(i))
		if s.Topology.Hash == topologies.HashHPCC {
			ports = paths.Ports{Source: uint16(s.Seed) + uint16(i), Destination: uint16(s.Seed >> 16)}
		}
		ports.Pair = f.Pair
		send, receive := operations.Of(u.Flow(i))
		r.engine.AddFlow(engine.FlowConfig{
			Source: f.Source, Destination: f.Destination, Size: int64(size), Start: f.Start, Send: send, Receive: receive,
			Ports: ports, Hosts: u.Flows[u.Flow(i)].Hosts, Traits: u.Flows[u.Flow(i)].Traits,
			NewController: u.NewController,
		})
	}
	prepare(r.engine, s)
	return r, nil
}

// workers are one to four workers, by the seed, that work whatever there is to do: on the wasm plane, and without taps.
type fixedWorkers struct {
	*workers.Pool // while the engine runs
	size          int
}

func (l *fixedWorkers) Size() int { return l.size }

func (l *fixedWorkers) Useful(int, int) int { return l.size }

// prepare applies a scenario's faults: everything that happens to the engine, equally on both planes, before it runs.
func prepare(e *engine.Engine, s *scenario.Scenario) { runner.ScheduleFaults(e, s, 0) }

// until runs on to the given time; a panic counts as an error of the run.
func (r *run) until(t vtime.Time) {
	if r.err != nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	r.workers.Pool = workers.New(r.workers.size)
	defer r.workers.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	r.err = r.engine.Run(t, 0, func(vtime.Time, *engine.Totals) error { return ctx.Err() })
}

// finish runs to the scenario's end and makes the final check.
func (r *run) finish() {
	r.until(r.scenario.Duration)
	for _, v := range r.engine.Check() {
		r.violations = append(r.violations, v.String())
	}
	r.pauses.end(r.engine.Now())
}

// tapAll hashes the frames on every wire.
func (r *run) tapAll() error {
	r.wires = fnv.New64a()
	for port := range r.scenario.Topology.Ports {
		if err := r.plane.Tap(port, func(frame []byte) {
			fmt.Fprintf(r.wires, "%d %d %d:", port, len(frame), r.engine.Now())
			r.wires.Write(frame)
		}); err != nil {
			return err
		}
	}
	return nil
}

func openWasm(s *scenario.Scenario) (plane.Plane, error) {
	return kernel.OpenPlane(plane.Wasm, s.Topology, fabricOptions(s))
}

func openWazero(s *scenario.Scenario) (plane.Plane, error) {
	return wasmplane.OpenAs(plane.Wazero, reference.Load, s.Topology, fabricOptions(s).Features)
}

// compareWithReference runs a scenario on the wasm plane and on its reference.
func compareWithReference(s *scenario.Scenario) ([]string, error) {
	var runs []*run
	for _, open := range []func(*scenario.Scenario) (plane.Plane, error){openWasm, openWazero} {
		plane, err := open(s)
		if err != nil {
			return nil, err
		}
		defer plane.Close()
		r, err := newRun(s, plane)
		if err != nil {
			return nil, err
		}
		r.finish()
		runs = append(runs, r)
	}
	return differences(runs[0], runs[1]), nil
}

// featuresOf returns the features of a scenario's fabric. Its routes may change even if this case changes none: others
// share the fabric.
func featuresOf(s *scenario.Scenario) plane.Features {
	var f plane.Features
	if u, err := scenario.NewSetup(s, s.Controllers[0], s.Seed); err == nil {
		f = u.Features()
	}
	f.Reroute = true
	return f
}

// fit ends the case when it is long enough: by the wasm plane, after about c.Hops frame-hops; with c.Finish it may run
// on until every flow has ended. Flows that would start later are left out, and so are stops.
func fit(c *testCase) error {
	s, err := c.scenario()
	if err != nil {
		return err
	}
	plane, err := openWasm(s)
	if err != nil {
		return err
	}
	r, err := newRun(s, plane)
	if err != nil {
		return errors.Join(err, plane.Close())
	}
	const parts = 32
	slice := max(c.Duration/parts, 1)
	end := c.Duration
	if c.Finish {
		end = 6 * c.Duration
	}
	at, last := vtime.Time(0), false
	for r.err == nil && at < end && r.engine.Hops < c.Hops && !last {
		last = at >= c.Duration && r.engine.OpenFlows() == 0 // one more: what is on its way arrives
		at += slice
		r.until(at)
	}
	c.Duration = at
	c.Flows = slices.DeleteFunc(c.Flows, func(f flow) bool { return f.Start >= c.Duration })
	if len(c.Flows) == 0 {
		return errEmpty
	}
	for i := range c.Flows {
		if f := &c.Flows[i]; f.Stop >= c.Duration { // as a scenario cannot say
			f.Stop = 0
		}
	}
	return plane.Close()
}

// errEmpty reports that no flow of a case starts.
var errEmpty = errors.New("the case has no flow")

// result holds the results of a case on both planes.
type result struct {
	differences []string
	broken      []string // invariants broken on both planes, that settings cannot break
	features    []string
	fingerprint string // on the kernel plane
	hops        int64
	kernel      time.Duration // of the run in the kernel, without bringing the fabric up
	wasm        time.Duration
}

func (r *result) failed() bool { return len(r.differences)+len(r.broken) > 0 }

// compare runs a scenario on both planes, and again if taps or the wasm plane's reference are to be compared too. An
// error says that it could not be run, which is no difference.
func compare(s *scenario.Scenario, pool *pool, taps, reference bool) (*result, error) {
	plane, err := openWasm(s)
	if err != nil {
		return nil, err
	}
	defer plane.Close()
	wasm, err := newRun(s, plane)
	if err != nil {
		return nil, err
	}
	result := new(result)
	start := time.Now()
	wasm.finish()
	result.wasm = time.Since(start)

	k, err := pool.get(s)
	if err != nil {
		return nil, err
	}
	kernel, err := newRun(s, k.plane)
	if err != nil {
		return nil, err
	}
	start = time.Now()
	kernel.finish()
	result.kernel = time.Since(start)
	result.differences = differences(kernel, wasm)
	result.broken = broken(kernel)
	result.fingerprint, result.hops = kernel.engine.Fingerprint(), kernel.engine.Hops
	result.features = features(kernel)
	if kernel.err != nil {
		// The fabric's tables are gone with it.
		return result, pool.discard(k, true)
	}
	if reference && !result.failed() {
		result.features = append(result.features, "wazero compared")
		if result.differences, err = compareWithReference(s); err != nil {
			return result, err
		}
	}
	if taps && !result.failed() {
		result.features = append(result.features, "wires compared")
		result.differences, err = compareWires(s, kernel)
	}
	return result, err
}

// compareWires runs a scenario on new planes with a tap on every wire, and compares with a run without.
func compareWires(s *scenario.Scenario, plain *run) ([]string, error) {
	var runs []*run
	for _, name := range []string{plane.Kernel, plane.Wasm} {
		plane, err := kernel.OpenPlane(name, s.Topology, fabricOptions(s))
		if err != nil {
			return nil, err
		}
		defer plane.Close()
		r, err := newRun(s, plane)
		if err != nil {
			return nil, err
		}
		if err := r.tapAll(); err != nil {
			return nil, err
		}
		r.finish()
		runs = append(runs, r)
	}
	d := differences(runs[0], runs[1])
	if a, b := runs[0].wires.Sum64(), runs[1].wires.Sum64(); a != b {
		d = append(d, fmt.Sprintf("what the taps saw: %x, %x", a, b))
	}
	if a, b := plain.engine.Fingerprint(), runs[0].engine.Fingerprint(); a != b {
		d = append(d, fmt.Sprintf("fingerprint without taps and with: %s, %s", a, b))
	}
	return d, nil
}

// choices reports whether the topology leaves ECMP a choice.
func choices(plan *topologies.Plan) bool {
	return slices.ContainsFunc(plan.Routes().Groups, func(g []topologies.PortID) bool { return len(g) > 1 })
}
