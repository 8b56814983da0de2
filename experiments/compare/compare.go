// Package compare runs two alternatives, A and B, under the same scenarios and seeds, and decides by pairs of runs
// which is better. An alternative is a congestion control, a setting, a scenario, or a build of the program.
//
// Files: sides.go reads the alternatives and scenarios, compare.go runs the pairs, measures.go evaluates them, words.go
// puts the result into sentences, program.go runs another build. Package paired has the statistics.
package compare

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/pausenet/pausenet/experiments/analysis/paired"
	"github.com/pausenet/pausenet/experiments/analysis/pairs"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/blame"
)

// Run describes one side of a case: how to run it, and the words after "pausenet" that repeat the run for people.
type Run struct {
	Make    func(ctx context.Context, seed uint64) (*measure.Summary, error)
	Command func(seed uint64) []string
	// Text generates the scenario's file, which Command needs; nil: the scenario is a built-in or a user's file.
	Text func(seed uint64) (string, error)
}

// Case describes a scenario under both sides.
type Case struct {
	Name   string
	Runs   [2]Run
	Family bool // each seed draws another scenario
}

// Comparison describes a comparison: a round runs a pair of each case under one seed.
type Comparison struct {
	A, B    string // names for people
	Cases   []Case
	Seeds   []uint64 // one for each round
	Metrics []*measure.Metric
	Margin  float64 // relative difference up to which a pair counts as equal
	// All runs all rounds, whatever the first ones show. Otherwise the comparison stops after the round that decides
	// the first metric.
	All  bool
	Jobs int // number of runs at a time; results do not depend on it
	// Progress, if set, is called after each round with the number of rounds that have ended.
	Progress func(rounds int)
}

// pairOfRuns holds the two runs of a case under a seed.
type pairOfRuns struct {
	made [2]made
	done [2]chan struct{}
}

// made holds what is kept of a run.
type made struct {
	values      []float64 // by metric; NaN: the run has no such value
	completed   []int     // by metric: completed flows of those that it covers
	fingerprint string
	broken      string // the first message of a run whose verdict is FAIL
	err         error
}

// Run runs the pairs and returns the result. If ctx is cancelled, the result covers the rounds that have ended, and the
// error is the context's. Several runs are in progress at once, also of later rounds, but the rounds are evaluated in
// order, so that the result does not depend on their speed.
func (c *Comparison) Run(ctx context.Context) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rounds := make([][]pairOfRuns, len(c.Seeds))
	for r := range rounds {
		rounds[r] = make([]pairOfRuns, len(c.Cases))
		for i := range rounds[r] {
			rounds[r][i].done = [2]chan struct{}{make(chan struct{}), make(chan struct{})}
		}
	}
	var panicked atomic.Pointer[blame.Carried]
	var running errgroup.Group
	running.SetLimit(max(c.Jobs, 1))
	started := make(chan struct{})
	go func() {
		defer close(started)
		for r := range rounds {
			for i := range rounds[r] {
				for side := range 2 {
					running.Go(func() error {
						p := &rounds[r][i]
						defer close(p.done[side])
						defer func() {
							if value := recover(); value != nil {
								panicked.CompareAndSwap(nil, blame.Carry(value))
								p.made[side].err = errors.New("panic")
							}
						}()
						p.made[side] = c.make(ctx, &c.Cases[i].Runs[side], c.Seeds[r])
						return nil // made has the error
					})
				}
			}
		}
	}()
	e := c.newEvaluation()
	err := c.evaluate(e, rounds)
	cancel()
	<-started
	_ = running.Wait()
	if p := panicked.Load(); p != nil {
		panic(p)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	return e.result(), err
}

// make makes a run.
func (c *Comparison) make(ctx context.Context, run *Run, seed uint64) made {
	if err := ctx.Err(); err != nil {
		return made{err: err}
	}
	s, err := run.Make(ctx, seed)
	if err != nil {
		return made{err: err}
	}
	return c.keep(s)
}

// keep returns what the comparison needs of a summary.
func (c *Comparison) keep(s *measure.Summary) made {
	m := made{
		fingerprint: s.Fingerprint, values: make([]float64, len(c.Metrics)), completed: make([]int, len(c.Metrics)),
	}
	if s.Verdict.Status == measure.Fail {
		m.broken = "its verdict is FAIL"
		if len(s.Verdict.Messages) > 0 {
			m.broken = s.Verdict.Messages[0]
		}
	}
	for i, metric := range c.Metrics {
		m.values[i], m.completed[i] = pairs.Value(s, metric)
	}
	return m
}

// evaluate evaluates the rounds in order until the first metric is decided or none is left.
func (c *Comparison) evaluate(e *evaluation, rounds [][]pairOfRuns) error {
	for r := range rounds {
		for i := range rounds[r] {
			for side := range 2 {
				<-rounds[r][i].done[side]
				if err := rounds[r][i].made[side].err; err != nil {
					if errors.Is(err, context.Canceled) {
						e.stopped = Interrupted
						return err
					}
					return fmt.Errorf("%s with %s, seed %d: %w", c.Cases[i].Name, e.names[side], c.Seeds[r], err)
				}
			}
		}
		for i := range rounds[r] {
			e.add(i, c.Seeds[r], &rounds[r][i].made)
		}
		e.look()
		if c.Progress != nil {
			c.Progress(r + 1)
		}
		if !c.All && e.decided() {
			e.stopped = Decided
			return nil
		}
	}
	return nil
}

// design returns the statistical design.
func (c *Comparison) design() paired.Design {
	if c.All {
		return paired.Fixed
	}
	return paired.Sequential
}
