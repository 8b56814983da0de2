package runner

import (
	"context"
	"errors"

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/internal/blame"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// drive runs the engine. A congestion control that panics ends the run as any other failure does: the error is an
// engine.PanicError then.
func (r *runner) drive(ctx context.Context, progress engine.Progress) (err error) {
	defer func() {
		recovered := recover()
		if recovered == nil {
			return
		}
		value, stack, outside := blame.Of(recovered)
		p := r.engine.Panicked(value, stack)
		if p == nil || !outside {
			panic(recovered) // a mistake of ours
		}
		err = p
	}()
	return r.engine.Run(r.Scenario.Duration, r.Scenario.DrainTime(), watch(ctx, progress))
}

// keepStack writes the stack of a congestion control that has panicked into the run's folder.
func (r *runner) keepStack(err error) {
	var p *engine.PanicError
	if errors.As(err, &p) && r.folder.Write(rundir.PanicFile, p.Stack) == nil {
		p.File = rundir.PanicFile
	}
}
