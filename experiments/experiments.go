// Package experiments runs scenarios from Go and reads their results. Its subpackages give more control: scenario reads
// scenarios, runner runs one, measure computes its numbers, and sweep and suite run many. See the examples.
package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/vtime"
)

// Options holds the options of a run. The zero value runs a scenario as its file says.
type Options struct {
	// Controller names a congestion control, a variant of the scenario, or a controller file. The default is the
	// scenario's first controller. A controller file needs its language to be imported:
	// import _ ".../controllerfile/star" for Starlark, controllerfile/wasm for WebAssembly.
	Controller string
	// Set overrides keys of the scenario, each as "path=value", as --set does on the command line.
	Set []string
	// Seed seeds everything random. The default, 0, stands for the scenario's seed.
	Seed uint64
	// Directory names the folder for the run's files, as read by `pausenet report`. Run replaces the files of an
	// earlier run. If it is empty, Run writes no files.
	Directory string
	// Plane opens the plane. The default is the plane in this process. kernel.Opener(plane.Kernel) gives equal results
	// and needs root and Linux.
	Plane plane.Opener
	// Processors sets the number of processors that the run uses, 1 to partition.MaxWorkers. The default, 0, stands for
	// all of the machine's. Results do not depend on it. The kernel plane uses one. With more than one, several
	// goroutines call the congestion controls of flows at different hosts at once.
	Processors int
}

// Result holds the results of a run. Use its numbers only if Trusted: a run whose verdict is FAIL returns no error.
type Result struct {
	*measure.Summary
	directory string
}

// Run runs a scenario, given by the name of a built-in or by a file's path. If ctx is cancelled, the run ends early:
// Run returns the results so far, marked Partial, together with ctx's error. Several runs may be in progress at once,
// in different directories.
func Run(ctx context.Context, nameOrPath string, o Options) (*Result, error) {
	s, err := o.reading().Load(nameOrPath)
	if err != nil {
		return nil, err
	}
	return run(ctx, s, o)
}

// RunText runs a scenario given as YAML. Paths in it are relative to the folder of filename, which also appears in
// messages.
func RunText(ctx context.Context, filename, text string, o Options) (*Result, error) {
	s, err := o.reading().Parse(filename, []byte(text))
	if err != nil {
		return nil, err
	}
	return run(ctx, s, o)
}

func (o *Options) reading() scenario.Reading {
	return scenario.Reading{Sets: o.Set, Controllers: []string{o.Controller}}
}

func run(ctx context.Context, s *scenario.Scenario, o Options) (*Result, error) {
	o.Controller = cmp.Or(o.Controller, s.Controllers[0])
	if o.Processors < 0 || o.Processors > partition.MaxWorkers {
		return nil, fmt.Errorf("%d processors: 1 to %d, or 0 for all", o.Processors, partition.MaxWorkers)
	}
	o.Seed = cmp.Or(o.Seed, s.Seed)
	names, err := s.ControllerNames([]string{o.Controller})
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("%q means %d congestion controls: a Run has one", o.Controller, len(names))
	}
	if err := scenario.Check(s, names, o.Seed); err != nil {
		return nil, err
	}
	if s, err = s.WithSeed(o.Seed); err != nil {
		return nil, err
	}
	of := runner.Options{
		Controller: names[0], Plane: o.Plane, Seed: o.Seed, Directory: o.Directory, Processors: o.Processors,
	}
	if o.Directory == "" {
		sum, err := runner.Watch(ctx, s, of, runner.Watching{})
		return resultOf(sum, ""), err
	}
	r, err := runner.Run(ctx, s, of)
	if r == nil {
		return nil, err
	}
	return resultOf(&r.Summary, o.Directory), err
}

func resultOf(s *measure.Summary, directory string) *Result {
	if s == nil {
		return nil
	}
	return &Result{s, directory}
}

// Flow holds the results of one flow.
type Flow struct {
	Number              int
	Tag                 string // empty: none
	Source, Destination string // hosts
	Size                int64  // payload bytes; 0: it sends until the run ends
	Start               vtime.Time
	Ended               bool
	FCT                 vtime.Time // flow completion time; 0 if it has not ended
	Ideal               vtime.Time // flow completion time without other flows
	Retransmitted       int64      // payload bytes
}

// Slowdown returns the flow's completion time over its ideal one; 0 if it has not ended.
func (f *Flow) Slowdown() float64 {
	if !f.Ended || f.Ideal == 0 {
		return 0
	}
	return float64(f.FCT) / float64(f.Ideal)
}

// errStopped ends a loop over flows early.
var errStopped = errors.New("stopped")

// EachFlow iterates over the run's flows, by number, and reads them from flows.csv in the run's directory as the loop
// proceeds, because there may be millions. If reading fails, the last pair holds the error.
func (r *Result) EachFlow() iter.Seq2[Flow, error] {
	return func(yield func(Flow, error) bool) {
		if r.directory == "" {
			yield(Flow{}, errors.New("the run was made without Options.Directory, so its flows were not kept"))
			return
		}
		err := rundir.Read(r.directory, rundir.Flows, func(row *rundir.FlowRow) error {
			f := Flow{
				Number: row.Number, Tag: row.Tag, Source: row.Source, Destination: row.Destination, Size: row.Size,
				Start: vtime.Time(row.Start) * vtime.Nanosecond, Ended: row.Finished(), Retransmitted: row.Retransmitted,
			}
			if f.Ended {
				f.FCT, f.Ideal = vtime.Time(row.FCT)*vtime.Nanosecond, vtime.Time(row.Ideal)*vtime.Nanosecond
			}
			if !yield(f, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(Flow{}, err)
		}
	}
}
