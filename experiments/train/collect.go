package train

import (
	"context"
	"fmt"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/lstm"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/vtime"
)

// untrained holds the constants of the PID control under which RTTs are collected: its gains before their training
// (thesis, section 3.5.3).
var untrained = map[string]string{"target": "5us", "kp": "-0.2", "ki": "-0.05", "kd": "0.1"}

// collectedUnder lists the controllers under which RTTs are collected (thesis, end of section 3.3.1).
var collectedUnder = []string{"timely", "pid"}

// sequence holds the RTTs, in us, of one flow: one per round trip, as its controller sees them.
type sequence []float64

// collect runs a scenario under a controller and is the RTTs of its flows.
func collect(ctx context.Context, o *Options, s *scenario.Scenario, controller string) ([]sequence, error) {
	s.ControllerSettings = map[string]map[string]string{"pid": untrained}
	flows := make([]sequence, len(s.Flows))
	sum, err := runner.Watch(ctx, s, o.runOptions(controller, s.Seed), runner.Watching{
		Sample: func(flow int, _, rtt vtime.Time) {
			flows[flow] = append(flows[flow], rtt.Microseconds())
		},
	})
	if err != nil {
		return nil, err
	}
	if sum.Verdict.Status == measure.Fail {
		return nil, fmt.Errorf("%s under %s: the run's verdict is FAIL: %v", s.Name, controller, sum.Verdict.Messages)
	}
	return flows, nil
}

// run holds one run's RTTs.
type run struct {
	scenario, controller string
	flows                []sequence
}

type runs []run

// gather makes count runs of random incasts under each controller; the scenarios' seeds begin after from.
func gather(ctx context.Context, o *Options, controllers []string, from uint64, count int) (runs, error) {
	var all runs
	for i := range count {
		for _, controller := range controllers {
			s, err := randomIncast(from + uint64(i) + 1)
			if err != nil {
				return nil, err
			}
			flows, err := collect(ctx, o, s, controller)
			if err != nil {
				return nil, err
			}
			all = append(all, run{s.Name, controller, flows})
			o.tell("%s under %s: %d RTTs", s.Name, controller, samples(flows))
		}
	}
	return all, nil
}

func samples(flows []sequence) (n int) {
	for _, q := range flows {
		n += len(q)
	}
	return n
}

// sequences returns the sequences of all flows of the runs.
func (r runs) sequences() (all []sequence) {
	for i := range r {
		all = append(all, r[i].flows...)
	}
	return all
}

// under returns the runs of one controller.
func (r runs) under(controller string) (some runs) {
	for i := range r {
		if r[i].controller == controller {
			some = append(some, r[i])
		}
	}
	return some
}

// names returns the names of the runs, as the weights' provenance lists them.
func (r runs) names() (names []string) {
	return lists.Map(r, func(e run) string { return e.scenario + " under " + e.controller })
}

// pairs returns the training pairs of a sequence: features of three samples, and the next sample as the label.
func (q sequence) pairs() []lstm.Pair {
	var pairs []lstm.Pair
	var series lstm.Series
	for _, rtt := range q {
		if series.Count == lstm.Steps {
			pairs = append(pairs, lstm.Pair{Features: series.Features, Label: series.Label(rtt)})
		}
		series.Add(rtt)
	}
	return pairs
}
