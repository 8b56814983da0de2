package train

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// Options say how to train.
type Options struct {
	// Plane opens the runs' planes, as in runner.Options. It does not change the result.
	Plane plane.Opener
	// Seed decides the scenarios, the draws and the first parameters.
	Seed uint64
	// Rounds is how often pairs are drawn and trained on (LSTM), or the incast is run (Gains).
	Rounds int
	// Batch is the pairs of one step of the optimiser, Passes how often a round goes over its pairs. LSTM only.
	Batch, Passes int
	// Version is pausenet's, for the weights' provenance.
	Version string
	// Progress is told what is being done, a line each; nil: nobody.
	Progress func(line string)

	collect, unseen int // runs under each controller, for tests; 0: as many as it takes
}

// Validate says everything that is wrong with o, joined; nil if it can work.
func (o *Options) Validate() error {
	var errs []error
	for _, n := range []struct {
		value, most int
		name        string
	}{{o.Rounds, 10_000, "rounds"}, {o.Batch, trainPairs, "batch"}, {o.Passes, 10_000, "passes"}} {
		if n.value < 1 || n.value > n.most {
			errs = append(errs, fmt.Errorf("--%s %d: at least 1 and at most %d", n.name, n.value, n.most))
		}
	}
	return errors.Join(errs...)
}

// of returns the options of a run, whose samples come from one goroutine.
func (o *Options) of(controller string, seed uint64) runner.Options {
	return runner.Options{Controller: controller, Plane: o.Plane, Seed: seed, Processors: 1}
}

func (o *Options) tell(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}
