//go:build linux

package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/image"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/orchestrator/lockstep"
	"github.com/pausenet/pausenet/orchestrator/nat"
	"github.com/pausenet/pausenet/orchestrator/netnames"
	"github.com/pausenet/pausenet/orchestrator/pidns"
	"github.com/pausenet/pausenet/orchestrator/wallclock"
	"github.com/pausenet/pausenet/topologies"
)

// Options holds the options of BringUp.
type Options struct {
	Name     string  // name for other terminals; empty if they cannot reach the fabric
	Slowdown float64 // 0 chooses a value for the machine
	Seed     uint64
	// Reread reads the scenario again, with additional settings.
	Reread func(sets []string) (*scenario.Scenario, error)
	// Line runs a line from another terminal until interrupted is closed. Complete returns completions of a line. If
	// nil, other terminals have no shell.
	Line     func(f *Fabric, line string, out io.Writer, interrupted <-chan struct{}) error
	Complete func(f *Fabric, line string) []string
	// Events opens the destination of events, a line of JSON each, from virtual time 0. nil means none.
	Events func() (io.WriteCloser, error)
	// Metrics holds the TCP address for metrics; empty for none.
	Metrics string
	// Record makes the fabric write the reason of its end to a file, for clients; see Record.
	Record bool
	// Owner identifies who brings the fabric up, so that others do not end it by mistake.
	Owner Owner
	// Plane selects the plane of the switches' pipelines: plane.Kernel (the default) or plane.Wasm.
	Plane string
	// Privileged gives programs on nodes all capabilities of root; see kernel.Location.
	Privileged bool
	// AllowFaults lets programs on nodes inject faults.
	AllowFaults bool
	// NetnsNames gives the nodes' network namespaces names for "ip netns": the fabric's and the node's, with "-" between.
	NetnsNames bool
	// Routing selects where switches' routes come from: RoutingShortest (the default) or RoutingKernel.
	Routing string
	// Clock selects what moves virtual time: ClockWall (the default) or ClockLockstep.
	Clock string
}

// Values of Options.Clock. In lock step, virtual time stands still while a program on a node runs. That needs
// plane.Wasm and the verbs library.
const ClockWall, ClockLockstep = "wall", "lockstep"

// BringUp builds a fabric and starts its clock.
func BringUp(made *Setup, o Options) (f *Fabric, err error) {
	start := time.Now()
	plan := made.Scenario.Topology
	if err := makeFolder(); err != nil { // before the nodes mount over it
		return nil, &runner.EnvironmentError{Err: fmt.Errorf("create the sockets' folder: %w", err)}
	}
	programs, err := pidns.New()
	if err != nil {
		return nil, &runner.EnvironmentError{Err: err}
	}
	defer func() {
		if err != nil {
			programs.End()
		}
	}()
	opened, err := kernel.OpenLive(cmp.Or(o.Plane, plane.Kernel), plan, made.Fabric())
	if err != nil {
		return nil, &runner.EnvironmentError{Err: kernel.Explain(err)}
	}
	f = &Fabric{
		Name: o.Name, Plan: plan, Made: made, options: o, plane: opened, programs: programs, done: make(chan struct{}),
		watch: newWatcher(plan),
		nodes: kernel.NewNodes(opened.Fabric(), programs, o.Privileged, []string{Folder, netnames.Folder}, libraries()...),
		ended: newEndedFlows(),
		sets:  map[string][]string{}, captures: map[int]*wires{},
		stopped: map[topologies.NodeID][]topologies.PortID{}, pending: map[place]*pendingEnd{},
		listing: scenario.NewListing(o.Seed),
		salts:   made.Scenario.Salts(o.Seed),
	}
	defer func() {
		if err != nil {
			f.verbs.Close()
			err = errors.Join(err, f.lockstep.Close(), f.names.Close(), opened.Close())
			f = nil
		}
	}()
	config := made.Engine(o.Seed)
	config.Plane, config.Observer = opened, f.watch
	e, err := engine.New(config)
	if err != nil {
		return f, err
	}
	f.watch.flows = e.Flows
	if o.Routing == RoutingKernel {
		if err := f.openControlPlane(e); err != nil {
			return f, err
		}
	}
	if f.PassCost, err = wallclock.PassCost(config); err != nil {
		return f, &runner.EnvironmentError{Err: err}
	}
	slowdown := o.Slowdown
	if o.Clock == ClockLockstep {
		slowdown = 1
	} else if slowdown == 0 {
		f.Chosen = true
		slowdown = max(wallclock.FittingSlowdown(plan, f.PassCost), wallclock.WakingSlowdown(shortestRTT(plan)))
	}
	if f.live, err = wallclock.New(e, opened, slowdown); err != nil {
		return f, err
	}
	if o.Clock == ClockLockstep {
		if err := f.lock(opened.(*kernel.ProcessPlane)); err != nil {
			return f, &runner.EnvironmentError{Err: err}
		}
	} else if f.Chosen {
		f.live.Adapt(shortestRTT(plan), f.watch.slowed)
	}
	if err := f.nodes.Prepare(); err != nil {
		if cache := new(image.CacheError); errors.As(err, &cache) {
			err = &runner.EnvironmentError{Err: err}
		}
		return f, errors.Join(err, f.nodes.Close())
	}
	if f.nat, err = nat.Open(nat.Config{Plan: plan, Namespace: opened.Fabric().Namespace}); err != nil {
		if problems := yamlspec.Problems(nil); !errors.As(err, &problems) { // not a port that the scenario's file publishes
			err = &runner.EnvironmentError{Err: err}
		}
		return f, errors.Join(err, f.nodes.Close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.nat.Close())
		}
	}()
	if err := f.serveVerbs(); err != nil {
		return f, &runner.EnvironmentError{Err: err}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	f.cancel = cancel
	if o.Name != "" {
		if err := f.listen(); err != nil {
			return f, err
		}
	}
	if o.NetnsNames {
		if err := f.nameNamespaces(); err != nil {
			f.hangUp()
			return f, err
		}
	}
	if o.Metrics != "" {
		if f.metrics, err = f.serveMetrics(o.Metrics); err != nil {
			f.hangUp()
			return f, err
		}
	}
	if o.Events != nil {
		if f.events, err = o.Events(); err != nil {
			f.hangUp()
			f.metrics.close()
			return f, err
		}
		r := &reader{events: make(chan Event, eventBacklog), before: map[dropPosition]int64{}}
		f.watch.readers = append(f.watch.readers, r)
		f.written = make(chan error, 1)
		go func() { f.written <- errors.Join(f.write(r, f.events, nil), f.events.Close()) }()
	}
	if o.Record {
		if err := f.remember(); err != nil {
			f.hangUp()
			f.metrics.close()
			return f, &runner.EnvironmentError{Err: err}
		}
	}
	f.BringUp = time.Since(start)
	go func() {
		f.err = f.live.Run(ctx)
		if errors.Is(f.err, context.Canceled) {
			f.err = context.Cause(ctx)
		}
		close(f.done)
	}()
	if err := f.startControlPlane(); err != nil {
		cancel(err)
		<-f.done
		f.hangUp()
		f.metrics.close()
		return f, errors.Join(err, f.control.close())
	}
	go func() {
		<-programs.Ended()
		cancel(fmt.Errorf("the fabric has ended: its namespace init, process %d, was killed, and all programs on nodes "+
			"with it", programs.InitPID()))
	}()
	return f, nil
}

// lock puts the fabric in lock step with the programs on its nodes.
func (f *Fabric) lock(p *kernel.ProcessPlane) (err error) {
	if err := p.Fabric().LengthenTCPTimers(); err != nil {
		return kernel.Explain(err)
	}
	if f.lockstep, err = lockstep.Open(f.programs.InitPID()); err != nil {
		return err
	}
	f.live.Lockstep(f.lockstep, func() uint64 { return p.Injected })
	return nil
}

// nameNamespaces names the nodes' network namespaces.
func (f *Fabric) nameNamespaces() (err error) {
	if f.names, err = netnames.Open(); err != nil {
		return &runner.EnvironmentError{Err: err}
	}
	for i := range f.Plan.Nodes {
		node := &f.Plan.Nodes[i]
		err := f.names.Give(f.Name+"-"+node.Name, f.plane.Fabric().Namespace(node.ID))
		if errors.Is(err, netnames.ErrTaken) {
			return fmt.Errorf("%w (choose another --name, or remove what killed fabrics left with \"pausenet clean\")", err)
		}
		if err != nil {
			return &runner.EnvironmentError{Err: err}
		}
	}
	return nil
}

// Close ends the fabric and returns the result of its final check.
func (f *Fabric) Close() (Verdict, error) {
	f.cancel(context.Canceled)
	if !f.halts() {
		return f.abandon(), nil
	}
	err := f.err
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	v := f.verdict()
	f.conclude(&v, err) // before the socket closes: a client that finds no socket reads the record
	f.hangUp()
	for _, w := range f.captures {
		w.end()
	}
	for _, r := range f.watch.readers {
		if r.wants(EventDrops) {
			f.reportDrops(r)
		}
		r.end(verdictEvent(v))
	}
	f.tell(v)
	f.metrics.close()
	if f.written != nil {
		if pipe, ok := f.events.(interface{ SetWriteDeadline(time.Time) error }); ok {
			// it may be full without a reader; a file has no deadline
			_ = pipe.SetWriteDeadline(time.Now().Add(lastTimeout))
		}
		if werr := <-f.written; werr != nil {
			err = errors.Join(err, fmt.Errorf("write the events: %w", werr))
		}
	}
	f.programs.End()
	err = errors.Join(err, f.control.close(), f.nat.Close())
	f.verbs.Close()
	err = errors.Join(err, f.lockstep.Close(), f.names.Close(), f.nodes.Close())
	if cerr := f.plane.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("remove the fabric: %w", cerr))
	}
	f.concluded(err)
	return v, err
}

const (
	// haltTimeout limits how long a step of the engine may take when the fabric ends. With farewell, a fabric that hangs
	// takes less than 2 s to end.
	haltTimeout = 1500 * time.Millisecond
	// farewell sets how long clients have to receive the verdict of a fabric whose engine does not stop.
	farewell = 200 * time.Millisecond
)

// halts waits for the engine to stop, and reports whether it did. A step may never return, for example in a
// controller with an endless loop.
func (f *Fabric) halts() bool {
	for steps := f.live.Steps(); ; steps = f.live.Steps() {
		select {
		case <-f.done:
			return true
		case <-time.After(haltTimeout):
			if f.live.Steps() == steps {
				return false
			}
		}
	}
}

// abandon ends a fabric whose engine does not stop, as far as possible: the namespaces end with the process. There
// is no final check.
func (f *Fabric) abandon() Verdict {
	v := Verdict{Status: measure.Fail, Clock: Clock{Slowdown: f.Slowdown()}}
	v.Reasons = []string{fmt.Sprintf("the engine did not stop within %v: does a congestion controller's "+
		"call never return?", haltTimeout)}
	f.conclude(&v, errors.New(v.Reasons[0]))
	f.hangUp()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		f.tell(v)
	}()
	select {
	case <-sent:
	case <-time.After(farewell):
	}
	f.programs.End()
	return v
}
