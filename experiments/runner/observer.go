package runner

import (
	"errors"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Observer writes its own files about a run. The runner calls its functions between two events of the engine; nil
// functions are skipped. An observer must not change the run.
type Observer struct {
	// Files describes the observer's files for the manifest, by name. Complete may still add to it.
	Files map[string]string
	// Tracer receives each step of the engine; nil: none. At most one observer of a run has a tracer.
	Tracer engine.Tracer
	// OneProcessor restricts the run to one processor: the observer needs frames in order.
	OneProcessor bool

	Start    func(*Observed) error // before the first event
	Sample   func(now vtime.Time)
	Port     func(now vtime.Time, p PortSample)                                       // each sampled port, at each sample
	Rate     func(now vtime.Time, flow int, bitsPerSecond float64)                    // each sampled flow, at each sample
	PFC      func(now vtime.Time, port topologies.PortID, priority uint8, pause bool) // a PAUSE or RESUME leaves a port
	Paused   func(*Hold)                                                              // PFC has paused a port
	Resumed  func(*Hold)                                                              // and no longer does
	Fault    func(*engine.FaultEvent)
	End      func()       // after the last event
	Check    func() error // an invariant of the observer's; an error fails the run
	Write    func() error // after the run's own files are written
	Close    func() error // always, even if Start was not called
	Complete func() error // after all files are closed, if the run has reached its end
}

// NewObserver makes the observer of a run, or refuses a scenario.
type NewObserver func(*scenario.Setup) (*Observer, error)

// Observed gives an observer access to its run.
type Observed struct {
	*scenario.Setup
	Folder *files.Folder // nil in Watch
	Engine *engine.Engine
	Plane  plane.Plane
	run    *runner
}

// PortSample holds the state of a port at a sample, summed over the priorities of data.
type PortSample struct {
	Port           topologies.PortID
	Queue, Ingress uint64 // bytes
	Sent           int64  // bytes so far
	Marked         int64  // packets marked by ECN so far
}

// ReportFlow receives a sample of a flow: its controller's rate, 0 once the flow has finished, its goodput since the
// last sample, both in bit/s, and its last RTT.
type ReportFlow func(flow int, rate, goodput float64, rtt vtime.Time)

// SampleFlows returns a function to call at each sample. It reports each flow under way that of selects.
func (o *Observed) SampleFlows(of func(*scenario.Flow) bool) func(now vtime.Time, report ReportFlow) {
	s := flowSamples{interval: o.Scenario.Sample.Interval, waiting: o.run.starting(of)}
	return func(now vtime.Time, report ReportFlow) { s.sample(now, o.run.flows(), report) }
}

// FlowState describes a flow that has started.
type FlowState struct {
	Flow            int
	Start, Finished vtime.Time // Finished: vtime.Never until it ends
	Delivered       int64      // payload bytes
}

// EachStarted calls f with the flows that have started, in the order of their starts.
func (o *Observed) EachStarted(f func(*FlowState)) {
	flows, all := o.run.flows(), o.run.starting(func(*scenario.Flow) bool { return true })
	now := o.Engine.Now()
	for i, ok := all.before(now); ok; i, ok = all.before(now) {
		if flows.started(i) {
			f(&FlowState{i, flows.start(i), flows.finished(i), flows.delivered(i)})
		}
	}
}

// starting iterates over the flows that of selects.
func (r *runner) starting(of func(*scenario.Flow) bool) starting {
	return starting{scenario: r.Scenario, order: byStart(r.Scenario.Flows), of: of, started: &r.recorder.started}
}

// observers holds the observers of one run.
type observers []*Observer

// observe makes the run's observers.
func (r *runner) observe() error {
	for _, observer := range r.options.Observers {
		o, err := observer(r.Setup)
		if err != nil {
			return err
		}
		r.observers = append(r.observers, o)
	}
	return nil
}

// each calls f with each observer, and joins the errors.
func (all observers) each(f func(*Observer) error) error {
	errs := lists.Map(all, f)
	return errors.Join(errs...)
}

// call calls a function of an observer, if it has one.
func call(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func (r *runner) startObservers() error {
	return r.observers.each(func(o *Observer) error {
		if o.Start == nil {
			return nil
		}
		return o.Start(&Observed{r.Setup, r.folder, r.engine, r.plane, r})
	})
}

func (all observers) write() error { return all.each(func(o *Observer) error { return call(o.Write) }) }

func (all observers) check() error { return all.each(func(o *Observer) error { return call(o.Check) }) }

func (all observers) close() error { return all.each(func(o *Observer) error { return call(o.Close) }) }

func (all observers) complete() error {
	return all.each(func(o *Observer) error { return call(o.Complete) })
}

func (all observers) end() {
	for _, o := range all {
		if o.End != nil {
			o.End()
		}
	}
}

func (all observers) sample(now vtime.Time) {
	for _, o := range all {
		if o.Sample != nil {
			o.Sample(now)
		}
	}
}

func (all observers) port(now vtime.Time, p PortSample) {
	for _, o := range all {
		if o.Port != nil {
			o.Port(now, p)
		}
	}
}

func (all observers) rate(now vtime.Time, flow int, bitsPerSecond float64) {
	for _, o := range all {
		if o.Rate != nil {
			o.Rate(now, flow, bitsPerSecond)
		}
	}
}

func (all observers) pfc(now vtime.Time, port topologies.PortID, priority uint8, pause bool) {
	for _, o := range all {
		if o.PFC != nil {
			o.PFC(now, port, priority, pause)
		}
	}
}

func (all observers) paused(h *Hold) {
	for _, o := range all {
		if o.Paused != nil {
			o.Paused(h)
		}
	}
}

func (all observers) resumed(h *Hold) {
	for _, o := range all {
		if o.Resumed != nil && h != nil {
			o.Resumed(h)
		}
	}
}

func (all observers) fault(ev *engine.FaultEvent) {
	for _, o := range all {
		if o.Fault != nil {
			o.Fault(ev)
		}
	}
}
