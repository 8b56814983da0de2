package train

import (
	"context"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/vtime"
)

// Gains before the training, and at the end of the thesis' training (section 3.5.3, figure 13).
var (
	FirstGains     = cc.PIDGains{P: -0.2, I: -0.05, D: 0.1}
	PublishedGains = cc.PIDGains{P: -0.358, I: -0.060, D: 0.040}
)

// GainsRounds sets the number of incasts in which the gains are trained. The gains never converge, they only move less
// and less. After one incast its long flows are where the thesis' training ended.
const GainsRounds = 1

// GainsResult holds the results of the training of the gains, by flow, those with the most updates first.
type GainsResult struct{ Flows []TrainedFlow }

// TrainedFlow holds one flow's gains.
type TrainedFlow struct {
	Flow    int
	Updates int
	Gains   cc.PIDGains
	// Path holds the gains at the start, then at growing intervals of updates, and at the end of each round.
	Path []GainsStep
}

// GainsStep holds the gains after a number of updates.
type GainsStep struct {
	Updates int
	Gains   cc.PIDGains
}

// pathDensity sets the approximate number of points of a path for each doubling of the updates.
const pathDensity = 32

// Gains trains the PID control's gains while the thesis' incast runs under it, with a target of 5 us. Each flow trains
// its own gains and keeps them from round to round. The thesis does not say whether flows share their gains: if they
// do, there are five times as many updates in an incast, and Kp ends at -0.54.
func Gains(ctx context.Context, o *Options) (*GainsResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r := &GainsResult{}
	var training []cc.PIDTraining
	for round := range o.Rounds {
		s, err := thesisIncast()
		if err != nil {
			return nil, err
		}
		if training == nil {
			training = make([]cc.PIDTraining, len(s.Flows))
			r.Flows = make([]TrainedFlow, len(s.Flows))
			for i := range training {
				training[i].Gains = FirstGains
				r.Flows[i] = TrainedFlow{Flow: i, Path: []GainsStep{{0, FirstGains}}}
			}
		}
		s.ControllerSettings = map[string]map[string]string{"pid": untrained}
		sum, err := runner.Watch(ctx, s, o.runOptions("pid", o.Seed), runner.Watching{
			Sample: func(flow int, _, _ vtime.Time) {
				f := &r.Flows[flow]
				if last := f.Path[len(f.Path)-1].Updates; training[flow].Updates >= last+max(1, last/pathDensity) {
					f.note(&training[flow])
				}
			},
			Controller: func(flow int, _ cc.Env, set cc.Settings) (cc.Controller, error) {
				return training[flow].Controller(set)
			},
		})
		if err != nil {
			return nil, err
		}
		if sum.Verdict.Status == measure.Fail {
			return nil, fmt.Errorf("%s: the run's verdict is FAIL: %v", s.Name, sum.Verdict.Messages)
		}
		updates := 0
		for i := range r.Flows {
			r.Flows[i].note(&training[i])
			updates += training[i].Updates
		}
		o.tell("round %d of %d: %d updates in all", round+1, o.Rounds, updates)
	}
	slices.SortStableFunc(r.Flows, func(a, b TrainedFlow) int { return b.Updates - a.Updates })
	return r, nil
}

// note adds the gains as they are now to the path.
func (f *TrainedFlow) note(t *cc.PIDTraining) {
	f.Updates, f.Gains = t.Updates, t.Gains
	if f.Path[len(f.Path)-1].Updates < t.Updates {
		f.Path = append(f.Path, GainsStep{t.Updates, t.Gains})
	}
}
