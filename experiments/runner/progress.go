package runner

import (
	"context"
	"time"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// progressEvery sets the wall-clock time between two calls of a Progress.
const progressEvery = 100 * time.Millisecond

// watch returns a Watch that ends a run with the context's error when it is cancelled, and calls progress, which may
// be nil, with the run's progress.
func watch(ctx context.Context, progress engine.Progress) engine.Watch {
	next := time.Now()
	return func(now vtime.Time, t *engine.Totals) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if wall := time.Now(); progress != nil && wall.After(next) {
			next = wall.Add(progressEvery)
			progress(now, t)
		}
		return nil
	}
}
