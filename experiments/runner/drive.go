package runner

import (
	"context"
	"errors"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/blame"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// drive runs the engine. A panic of a congestion control ends the run like any other failure, with an
// engine.PanicError.
func (r *runner) drive(ctx context.Context, progress engine.Progress) (err error) {
	defer func() {
		recovered := recover()
		if recovered == nil {
			return
		}
		value, stack, ofController := blame.Of(recovered)
		p := r.engine.Panicked(value, stack)
		if p == nil || !ofController {
			panic(recovered) // a bug of pausenet
		}
		err = p
	}()
	return r.engine.Run(r.Scenario.Duration, r.Scenario.DrainTime(), watch(ctx, progress))
}

// keepStack writes the stack of a congestion control that panicked into the run's folder.
func (r *runner) keepStack(err error) {
	var p *engine.PanicError
	if errors.As(err, &p) && r.folder.Write(rundir.PanicFile, p.Stack) == nil {
		p.File = rundir.PanicFile
	}
}
