package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// Limits on the steps of a student's controller. The calls of a flow may take mostSteps beyond freeSteps each: enough
// for a program that reads the telemetry of five hops on each ACK, however long the flow is. Unlike a limit of time,
// these give the same grade on a slow machine.
const (
	mostSteps = 5_000_000
	freeSteps = 500
)

// mostEvents limits the events of a student's run for the same reason. A laptop needs half a minute for this many.
const mostEvents = 100_000_000

// made holds the result of a run, or the reason for a missing one.
type made struct {
	spent   *spent             // by the runs of its scenario
	results []*measure.Summary // by seed
	report  string
	folder  string   // of the first seed's files
	panels  []string // titles of its plots
	problem string
}

// runAll makes all runs that are possible. Runs of one scenario share a report.
func (s *Submission) runAll(ctx context.Context, o Options) (map[string]*made, error) {
	runs := map[string]*made{}
	batch := &suite.Suite{Jobs: o.Jobs, Options: runner.Options{
		Directory: o.Results, Version: o.Version, Command: o.Command,
	}}
	type at struct {
		run      *Run
		scenario int
		cc       string
	}
	var places []at
	index, took := map[string]int{}, map[string]*spent{}
	for i := range s.e.Runs {
		r := &s.e.Runs[i]
		if took[r.folder()] == nil {
			took[r.folder()] = new(spent)
		}
		runs[r.Name] = &made{spent: took[r.folder()], results: o.Made[r.Name]}
		if o.Made[r.Name] != nil && !s.e.plots(r.Name) {
			continue
		}
		if same := o.tried.run(s, r); same != nil {
			runs[r.Name] = same
			continue
		}
		if name := s.awaits(r.Name); o.Locked && name != "" {
			runs[r.Name].problem = "it waits for your prediction of " + name + ": pausenet lab predict locks it"
			continue
		}
		u, cc, err := s.setup(r, o.meter(took[r.folder()]))
		if err != nil {
			if !s.blames(r) {
				return nil, fmt.Errorf("exercise %s, run %s: %w", s.e.Name, r.Name, err)
			}
			runs[r.Name].problem = err.Error()
			continue
		}
		k, known := index[r.folder()]
		if !known {
			k = len(batch.Scenarios)
			index[r.folder()] = k
			batch.Scenarios = append(batch.Scenarios, suite.Scenario{Scenario: s.measuring(u, r), Seed: u.Seed})
			if seeds := s.e.Seeds[r.Scenario]; len(seeds) > 0 {
				batch.Scenarios[k].Seed = seeds[0]
				if len(seeds) > 1 {
					batch.Scenarios[k].Seeds = seeds
				}
			}
		}
		if of := &batch.Scenarios[k]; !slices.Contains(of.Controllers, cc) {
			of.Controllers = append(of.Controllers, cc)
		}
		places = append(places, at{r, k, cc})
	}
	if o.Begin != nil {
		end, err := o.Begin(batch)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batch.Started = bounded(batch.Started, cmp.Or(o.mostEvents, mostEvents), cancel)
	results, err := batch.Run(within)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var machine *runner.EnvironmentError
	if errors.As(err, &machine) {
		return nil, err
	}
	for _, p := range places {
		r, of := runs[p.run.Name], &batch.Scenarios[p.scenario]
		r.report, r.results = batch.ReportPath(of.Scenario.Name), nil
		for _, panel := range of.Scenario.Panels {
			r.panels = append(r.panels, panel.Title)
		}
		r.folder = batch.Locations(of)[slices.Index(of.Controllers, p.cc)].Path()
		for k, result := range results[p.scenario] {
			if of.Controllers[k%len(of.Controllers)] != p.cc {
				continue
			}
			if result == nil {
				r.problem = fmt.Sprintf("run %s failed: %v", p.run.Name, err)
				continue
			}
			r.results = append(r.results, &result.Summary)
		}
	}
	if context.Cause(within) != nil {
		for _, p := range places {
			*runs[p.run.Name] = made{spent: new(spent), problem: context.Cause(within).Error()}
		}
		return runs, nil
	}
	o.tried.keep(s, runs)
	if len(places) == 0 || err == nil || s.blamesAny() {
		return runs, nil
	}
	return nil, err
}

// bounded cancels runs that exceed a number of events. It also rejects runs that finish before the check.
func bounded(started func(scenario, controller string) (engine.Progress, func(*runner.Result, error)), most int64,
	cancel context.CancelCauseFunc,
) func(scenario, controller string) (engine.Progress, func(*runner.Result, error)) {
	end := func(events int64) {
		if events > most {
			cancel(fmt.Errorf("the run exceeds %d events, the limit of this exercise: does the controller retransmit without "+
				"end?", most))
		}
	}
	return func(scenario, controller string) (engine.Progress, func(*runner.Result, error)) {
		progress, ended := engine.Progress(nil), func(*runner.Result, error) {}
		if started != nil {
			progress, ended = started(scenario, controller)
		}
		return func(now vtime.Time, t *engine.Totals) {
				end(t.Events)
				if progress != nil {
					progress(now, t)
				}
			}, func(r *runner.Result, err error) {
				if r != nil {
					end(r.Summary.Speed.Events)
				}
				ended(r, err)
			}
	}
}

// plots reports whether checks compare a plot of a run, which its summary does not have.
func (e *Exercise) plots(run string) bool {
	return slices.ContainsFunc(e.Checks, func(c Check) bool { return c.Panel != "" && (c.Run == run || c.Like == run) })
}

// Common makes the runs of an exercise that do not depend on the student, which are the same for all submissions: none
// if the exercise has parameters.
func (e *Exercise) Common(ctx context.Context, o Options) (map[string][]*measure.Summary, error) {
	if len(e.parameters.written) > 0 {
		return nil, nil
	}
	return e.common(ctx, o)
}

// common makes the runs that do not depend on a student's files.
func (e *Exercise) common(ctx context.Context, o Options) (map[string][]*measure.Summary, error) {
	own := *e
	own.Runs = nil
	s := &Submission{e: e}
	for i := range e.Runs {
		if !s.blames(&e.Runs[i]) {
			own.Runs = append(own.Runs, e.Runs[i])
		}
	}
	// Skip checks: only the runs' figures matter here.
	s.e = &own
	runs, err := s.runAll(ctx, o)
	if err != nil {
		return nil, err
	}
	all := map[string][]*measure.Summary{}
	for name, r := range runs {
		all[name] = r.results
	}
	return all, nil
}

// blames reports whether a run uses a submitted file, so that an error is the student's.
func (s *Submission) blames(r *Run) bool {
	return s.e.changed(r.Scenario) != nil || r.With != "" || s.e.controller(r.CC) != nil
}

func (s *Submission) blamesAny() bool {
	for i := range s.e.Runs {
		if s.blames(&s.e.Runs[i]) {
			return true
		}
	}
	return false
}

// meter returns a meter that limits the steps of a run, and counts them.
func (o *Options) meter(took *spent) *controllerfile.Meter {
	if o.mostSteps > 0 {
		return &controllerfile.Meter{MostSteps: o.mostSteps, Took: took.took, OwnClock: true}
	}
	return &controllerfile.Meter{MostSteps: mostSteps, FreeSteps: freeSteps, Took: took.took, OwnClock: true}
}

// setup returns the checked scenario and controller of a run.
func (s *Submission) setup(r *Run, meter *controllerfile.Meter) (*scenario.Scenario, string, error) {
	cc := r.CC
	if names := s.e.controller(cc); names != nil {
		i := slices.IndexFunc(names, func(name string) bool { return s.programs[name] != nil })
		if i < 0 {
			return nil, "", fmt.Errorf("%s is missing or has mistakes", names[0])
		}
		cc = names[i]
	}
	u, err := s.scenario(r)
	if err != nil {
		return nil, "", err
	}
	if seeds := s.e.Seeds[r.Scenario]; len(seeds) > 0 {
		if u, err = u.WithSeed(seeds[0]); err != nil {
			return nil, "", err
		}
	}
	if u, err = s.with(u, meter); err != nil {
		return nil, "", err
	}
	names, err := u.ControllerNames([]string{cc})
	if err != nil {
		return nil, "", err
	}
	if err := scenario.Check(u, names, s.e.Seeds[r.Scenario]...); err != nil {
		return nil, "", err
	}
	return u, names[0], nil
}

// measuring returns a scenario whose runs measure the figures of the checks.
func (s *Submission) measuring(u *scenario.Scenario, of *Run) *scenario.Scenario {
	c := *u
	c.Name = of.folder()
	table := measure.PublishedTable{Title: s.e.Title}
	add := func(run string, row *measure.PublishedRow) {
		if r := s.e.run(run); row.Metric == "" || r == nil || r.folder() != of.folder() {
			return
		}
		one := *row
		one.Values = nil // measure only, without published values
		if one.RelativeTo == boundName {
			one.RelativeTo = ""
		}
		table.Rows = append(table.Rows, one)
	}
	for i := range s.e.Checks {
		add(s.e.Checks[i].Run, &s.e.Checks[i].Row)
		add(s.e.Checks[i].Row.RelativeTo, &s.e.Checks[i].Row)
	}
	for i := range s.e.Score {
		add(s.e.Score[i].Run, &s.e.Score[i].Row)
		add(s.e.Score[i].Row.RelativeTo, &s.e.Score[i].Row)
	}
	c.Published = append(slices.Clip(c.Published), table)
	return &c
}
