package runner

import (
	"context"
	"errors"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// Watching holds functions that observe or control a run in progress, for code that learns from it. If the run uses
// several processors (Options.Processors), several goroutines call Sample and Controller at once.
type Watching struct {
	// Sample receives one RTT in each round trip of each flow.
	Sample func(flow int, now, rtt vtime.Time)
	// Controller creates a flow's controller in place of the congestion control's own.
	Controller func(flow int, env cc.Env, set cc.Settings) (cc.Controller, error)
	// NoRTT leaves RTTs out of the summary.
	NoRTT bool
	// Ordered makes the calls in order of virtual time, on one processor. Otherwise a call may have an earlier time than
	// the previous one, by a few cable delays. The results are equal, but with several switches the fingerprint differs,
	// because it hashes all events in order.
	Ordered bool
	// Ended, if set, is called with the engine when the run has ended, before its plane is closed.
	Ended func(e *engine.Engine)
}

// Watch runs a scenario without writing anything; o must have no Directory.
func Watch(ctx context.Context, s *scenario.Scenario, o Options, w Watching) (*measure.Summary, error) {
	r, err := newRunner(s, o)
	if err != nil {
		return nil, err
	}
	r.watching = &w
	if err := r.openPlane(); err != nil {
		return nil, err
	}
	defer r.startWorkers()()
	if err := r.build(); err != nil {
		return nil, errors.Join(err, r.plane.Close())
	}
	r.recorder.start(r.engine, rundir.Discard())
	if err := r.startObservers(); err != nil {
		return nil, errors.Join(err, r.observers.close(), r.plane.Close())
	}
	start := time.Now()
	runErr := r.drive(ctx, o.Progress)
	result := r.conclude(time.Since(start), runErr)
	if w.Ended != nil {
		w.Ended(r.engine)
	}
	return &result.Summary, errors.Join(environmental(runErr), r.observers.close(), r.plane.Close())
}
