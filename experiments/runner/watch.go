package runner

import (
	"context"
	"errors"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/vtime"
)

// Watching is a run that somebody learns from while it goes on.
type Watching struct {
	Plane plane.Opener // as in Options
	Seed  uint64
	// Sample is told of one RTT a round trip of each flow.
	Sample func(flow int, now, rtt vtime.Time)
	// Controller makes a flow's controller in place of the congestion control's own.
	Controller func(flow int, env cc.Env, set cc.Settings) (cc.Controller, error)
	Progress   engine.Progress
	// Processors is how many the run may use at once; 0: one. With several, what is told of flows, and what makes their
	// controllers, is called by several goroutines at once.
	Processors int
	// Ended is told of the engine when the run has ended, before its plane is closed; nil: nobody is.
	Ended func(e *engine.Engine)
}

// Watch runs a scenario under a controller without writing anything.
func Watch(ctx context.Context, s *scenario.Scenario, controller string, w Watching) (*measure.Summary, error) {
	r, err := newRunner(s, Options{Controller: controller, Plane: w.Plane, Seed: w.Seed, Processors: w.Processors})
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
	runErr := r.drive(ctx, w.Progress)
	result := r.conclude(time.Since(start), runErr)
	if w.Ended != nil {
		w.Ended(r.engine)
	}
	return &result.Summary, errors.Join(environmental(runErr), r.observers.close(), r.plane.Close())
}
