package train

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// Options holds the options of a training.
type Options struct {
	// Plane opens the runs' planes, as in runner.Options. It does not change the result.
	Plane plane.Opener
	// Seed determines the scenarios, the random draws and the initial parameters.
	Seed uint64
	// Rounds sets the number of rounds. A round draws training pairs and trains on them (LSTM), or runs the incast once
	// (Gains).
	Rounds int
	// Batch sets the number of pairs in one step of the optimiser, Passes how often a round repeats its pairs. Used by
	// LSTM only.
	Batch, Passes int
	// Version holds pausenet's version, for the weights' provenance.
	Version string
	// Progress is called with each line of progress; nil: no calls.
	Progress func(line string)

	// For tests:
	collect, unseen int    // runs under each controller; 0: collectRuns, unseenRuns
	trial           string // checksum to use as the result of Trial; empty: call Trial
}

// Validate returns all mistakes in o, joined; nil if there are none.
func (o *Options) Validate() error {
	var errs []error
	for _, n := range []struct {
		value, most int
		name        string
	}{{o.Rounds, 10_000, "rounds"}, {o.Batch, trainPairs, "batch"}, {o.Passes, 10_000, "passes"}} {
		if n.value < 1 || n.value > n.most {
			errs = append(errs, fmt.Errorf("--%s %d: expected 1 to %d", n.name, n.value, n.most))
		}
	}
	return errors.Join(errs...)
}

// runOptions returns the options of a run. Processors is 1, because a single goroutine must record the samples.
func (o *Options) runOptions(controller string, seed uint64) runner.Options {
	return runner.Options{Controller: controller, Plane: o.Plane, Seed: seed, Processors: 1}
}

func (o *Options) tell(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}
