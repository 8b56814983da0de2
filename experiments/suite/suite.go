package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/blame"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/workers"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// Suite runs scenarios under several controllers each, at most Jobs runs at a time.
type Suite struct {
	// Options apply to each run. Directory is the folder for all of them; the suite sets the fields that differ
	// between runs.
	runner.Options
	Scenarios []Scenario
	Jobs      int
	// Figures lists the formats (FigureFormats) in which each plot is written beside the reports. With svg, png and
	// pdf, each run's panels also become figure.svg, figure.png and figure.pdf in its folder.
	Figures []string
	// Started, if set, is called when a run starts. It returns functions that are called with the run's progress and
	// at its end. Several goroutines may call them.
	Started func(scenario, controller string) (engine.Progress, func(*runner.Result, error))
}

// Scenario describes one scenario of a suite.
type Scenario struct {
	Scenario    *scenario.Scenario
	Controllers []string
	Seed        uint64
	// Seeds replaces Seed: each run is made under each seed, and reports show means over them.
	Seeds     []uint64
	Observers []runner.NewObserver // in addition to the suite's
	Reported  bool                 // Run has written the report
}

// Locations returns the folders of a scenario's runs, by seed and then by controller.
func (s *Suite) Locations(c *Scenario) []rundir.Location {
	seeds := c.Seeds
	if len(seeds) == 0 {
		seeds = []uint64{c.Seed}
	}
	var locations []rundir.Location
	for _, seed := range seeds {
		for _, controller := range c.Controllers {
			locations = append(locations, rundir.Location{
				Scenario: filepath.Join(s.Directory, c.Scenario.Name), Seed: seed,
				Several: len(seeds) > 1, Controller: controller,
			})
		}
	}
	return locations
}

// processors returns the number of processors for each run.
func (s *Suite) processors() int {
	runs := 0
	for i := range s.Scenarios {
		runs += len(s.Locations(&s.Scenarios[i]))
	}
	return workers.Share(s.Processors, min(s.Jobs, runs))
}

// RunPath returns the folder of a scenario's run under a controller, if there is one seed.
func (s *Suite) RunPath(c *Scenario, controller string) string {
	return rundir.Location{
		Scenario: filepath.Join(s.Directory, c.Scenario.Name), Seed: c.Seed,
		Controller: controller,
	}.Path()
}

// ReportPath returns the path of a scenario's report.
func (s *Suite) ReportPath(scenario string) string {
	return filepath.Join(s.Directory, scenario, rundir.ReportFile)
}

// Run runs the suite. It returns the results in the order of scenarios, seeds and controllers, with nil for a failed
// run, and every error, joined. It writes each scenario's report as soon as that scenario's runs have ended, even if
// others fail. If a run panics, Run cancels the others and panics with the first panic: a *blame.Carried, from which
// its caller can recover.
func (s *Suite) Run(ctx context.Context) ([][]*runner.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var first atomic.Pointer[blame.Carried]
	carry := func() {
		if value := recover(); value != nil {
			first.CompareAndSwap(nil, blame.Carry(value))
			cancel()
		}
	}
	results := make([][]*runner.Result, len(s.Scenarios))
	errs := make([][]error, len(s.Scenarios))
	reports := make([]error, len(s.Scenarios))
	var all, reporting errgroup.Group // collects every error, not only the first
	all.SetLimit(max(s.Jobs, 1))
	for i := range s.Scenarios {
		scenario := &s.Scenarios[i]
		removeReport := sync.OnceFunc(func() { reports[i] = s.removeReport(scenario) })
		locations := s.Locations(scenario)
		results[i] = make([]*runner.Result, len(locations))
		errs[i] = make([]error, len(locations))
		var runs sync.WaitGroup
		for k := range locations {
			runs.Add(1)
			all.Go(func() error {
				defer runs.Done()
				defer carry()
				if errs[i][k] = ctx.Err(); errs[i][k] == nil {
					results[i][k], errs[i][k] = s.run(ctx, scenario, locations[k], removeReport)
				}
				return nil
			})
		}
		reporting.Go(func() error {
			defer carry()
			runs.Wait()
			reports[i] = errors.Join(reports[i], s.writeReport(scenario, results[i]), s.writePublished(scenario, results[i]))
			return nil
		})
	}
	_ = reporting.Wait()
	if p := first.Load(); p != nil {
		panic(p)
	}
	joined := errors.Join(reports...)
	for i := range errs {
		joined = errors.Join(joined, errors.Join(errs[i]...))
	}
	return results, joined
}

// folder opens a scenario's folder.
func (s *Suite) folder(c *Scenario) (*files.Folder, error) {
	return files.OpenFolder(s.Directory, filepath.Join(s.Directory, c.Scenario.Name))
}

// removeReport removes pages and figures that an earlier command wrote about runs that are about to be replaced.
func (s *Suite) removeReport(c *Scenario) error {
	folder, err := s.folder(c)
	if err != nil {
		return err
	}
	err = folder.Remove(rundir.ReportFile, rundir.PublishedFile, rundir.RunsFile)
	if info, none := os.Lstat(filepath.Join(folder.Path(), rundir.FiguresFolder)); none == nil && info.IsDir() {
		figures, opened := folder.Sub(rundir.FiguresFolder)
		if opened == nil {
			opened = errors.Join(figures.RemoveAny(results.IsFigure), figures.Close())
		}
		err = errors.Join(err, opened)
	}
	return errors.Join(err, folder.Close())
}

func (s *Suite) run(ctx context.Context, c *Scenario, at rundir.Location, replacing func()) (*runner.Result, error) {
	o := s.Options
	o.Controller, o.Seed, o.Directory, o.Within = at.Controller, at.Seed, at.Path(), s.Directory
	o.Observers, o.Processors = slices.Concat(s.Observers, c.Observers), s.processors()
	o.Compared, o.Replacing = len(c.Controllers) > 1, replacing
	ended := func(*runner.Result, error) {}
	if s.Started != nil {
		o.Progress, ended = s.Started(c.Scenario.Name, filepath.ToSlash(at.Below()))
	}
	r, err := runner.Run(ctx, c.Scenario, o)
	if err != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%s under %s: %w", c.Scenario.Name, filepath.ToSlash(at.Below()), err)
	}
	if r != nil { // drop what a suite of many runs need not keep: points, which are in files, and each seed's flows
		r.Scenario, r.Panels = c.Scenario, nil
	}
	ended(r, err)
	return r, err
}

// writeReport writes the report from the runs' files, as pausenet report does.
func (s *Suite) writeReport(c *Scenario, made []*runner.Result) error {
	list := &rundir.Runs{Scenario: c.Scenario.Name, Version: s.Version, Command: s.Command}
	var have []rundir.Location
	for k, location := range s.Locations(c) {
		if made[k] != nil {
			have = append(have, location)
			list.Runs = append(list.Runs, filepath.ToSlash(location.Below()))
		}
	}
	if len(have) == 0 {
		return nil
	}
	folder, err := s.folder(c)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := results.Write(folder, s.Directory, have, list, s.Figures, len(c.Scenario.Panels) > 0 ||
		c.Scenario.DefaultPanels); err != nil {
		return fmt.Errorf("report of %s: %w", c.Scenario.Name, err)
	}
	c.Reported = true
	return rundir.WriteJSON(folder, rundir.RunsFile, list)
}

// writePublished writes published.json if the scenario has published tables, and adds claims that compare runs to the
// summaries.
func (s *Suite) writePublished(c *Scenario, results []*runner.Result) error {
	runs := runner.Summaries(results)
	all := measure.Claims(c.Scenario.Published, measure.Measurements(runs))
	if len(all) == 0 {
		return nil
	}
	for _, r := range runs {
		if r != nil {
			r.TakeRelativeClaims(c.Scenario.Published, runs)
		}
	}
	folder, err := s.folder(c)
	if err != nil {
		return err
	}
	defer folder.Close()
	file := &measure.Published{
		Scenario: c.Scenario.Name, Seed: c.Seed, Settings: append([]string{}, s.Sets...),
		Claims: all,
	}
	if len(c.Seeds) > 1 {
		file.Seeds = c.Seeds
	}
	return rundir.WriteJSON(folder, rundir.PublishedFile, file)
}
