package experiments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/topologies"
)

// Suite is scenarios under several controllers each, run side by side as far as Jobs allows.
type Suite struct {
	Scenarios []SuiteScenario
	Directory string
	Jobs      int
	Plane     string
	Version   string
	Command   string
	Sets      []string
	// Figures says that each run's panels are drawn into figure.svg in its folder.
	Figures bool
	Export  string // as of Options
	// Started is told of each run as it begins; what it returns is told of the run's progress, and then of its end.
	// Both may be called from several goroutines.
	Started func(scenario, controller string) (orchestrator.Progress, func(*Result, error))
}

// SuiteScenario is one scenario of a suite.
type SuiteScenario struct {
	Scenario    *Scenario
	Controllers []string
	Seed        uint64
	Capture     []topologies.PortID
	Reported    bool // Run has written the report
}

// Folder is where a run's files go.
func (s *Suite) Folder(scenario, controller string) string {
	return filepath.Join(s.Directory, scenario, controller)
}

// ReportPath is where a scenario's report goes.
func (s *Suite) ReportPath(scenario string) string {
	return filepath.Join(s.Directory, scenario, "report.html")
}

// Run runs the suite. It returns the results in the order of scenarios and controllers, nil for a run that came to
// none, and every error, joined. Each scenario's report is written as soon as its runs have ended, whatever the others
// came to.
func (s *Suite) Run(ctx context.Context) ([][]*Result, error) {
	results := make([][]*Result, len(s.Scenarios))
	errs := make([][]error, len(s.Scenarios))
	slots := make(chan struct{}, max(s.Jobs, 1))
	var all sync.WaitGroup
	reports := make([]error, len(s.Scenarios))
	for i := range s.Scenarios {
		scenario := &s.Scenarios[i]
		if err := removeFiles(filepath.Join(s.Directory, scenario.Scenario.Name), "report.html", "published.json"); err != nil {
			reports[i] = err
		}
		results[i] = make([]*Result, len(scenario.Controllers))
		errs[i] = make([]error, len(scenario.Controllers))
		var runs sync.WaitGroup
		for k := range scenario.Controllers {
			slots <- struct{}{}
			if ctx.Err() != nil {
				<-slots
				errs[i][k] = ctx.Err()
				continue
			}
			runs.Add(1)
			go func() {
				defer runs.Done()
				defer func() { <-slots }()
				results[i][k], errs[i][k] = s.run(ctx, scenario, scenario.Controllers[k])
			}()
		}
		all.Add(1)
		go func() {
			defer all.Done()
			runs.Wait()
			reports[i] = errors.Join(reports[i], s.writeReport(scenario, results[i]), s.writePublished(scenario, results[i]))
		}()
	}
	all.Wait()
	joined := errors.Join(reports...)
	for i := range errs {
		joined = errors.Join(joined, errors.Join(errs[i]...))
	}
	return results, joined
}

func (s *Suite) run(ctx context.Context, c *SuiteScenario, controller string) (*Result, error) {
	var progress orchestrator.Progress
	ended := func(*Result, error) {}
	if s.Started != nil {
		progress, ended = s.Started(c.Scenario.Name, controller)
	}
	r, err := Run(ctx, c.Scenario, Options{
		Controller: controller, Plane: s.Plane, Seed: c.Seed, Directory: s.Folder(c.Scenario.Name, controller), Capture: c.Capture,
		Version: s.Version, Command: s.Command, Sets: s.Sets, Export: s.Export, Progress: progress,
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%s under %s: %w", c.Scenario.Name, controller, err)
	}
	ended(r, err)
	return r, err
}

func (s *Suite) writeReport(c *SuiteScenario, results []*Result) error {
	var have []*Result
	for _, r := range results {
		if r != nil {
			have = append(have, r)
		}
	}
	if len(have) == 0 {
		return nil
	}
	page, err := render(have, c.Seed, s.Version, s.Command)
	if err != nil {
		return fmt.Errorf("report of %s: %w", c.Scenario.Name, err)
	}
	if s.Figures {
		for _, r := range have {
			if err := s.writeFigure(r); err != nil {
				return fmt.Errorf("figure of %s under %s: %w", c.Scenario.Name, r.Controller, err)
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(s.Directory, c.Scenario.Name), 0o755); err != nil {
		return err
	}
	if err := WriteWhole(s.ReportPath(c.Scenario.Name), page); err != nil {
		return fmt.Errorf("report of %s: %w", c.Scenario.Name, err)
	}
	c.Reported = true
	return nil
}

// writePublished writes published.json if the scenario has published tables, and gives the summaries the claims that
// compare runs.
func (s *Suite) writePublished(c *SuiteScenario, results []*Result) error {
	all := claims(c.Scenario.Published, measurements(results))
	if len(all) == 0 {
		return nil
	}
	for _, r := range results {
		for i := range all {
			if r != nil && all[i].Controller == r.Controller && all[i].RelativeTo != "" {
				r.Summary.Published = append(r.Summary.Published, all[i])
			}
		}
	}
	folder := filepath.Join(s.Directory, c.Scenario.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return writeJSON(folder, "published.json", &PublishedFile{
		Scenario: c.Scenario.Name, Seed: c.Seed, Settings: append([]string{}, s.Sets...), Claims: all,
	})
}

// FigurePath is where a run's figure goes.
func (s *Suite) FigurePath(scenario, controller string) string {
	return filepath.Join(s.Folder(scenario, controller), "figure.svg")
}

func (s *Suite) writeFigure(r *Result) error {
	figure, err := renderFigure(r)
	if err != nil {
		return err
	}
	return WriteWhole(s.FigurePath(r.Scenario.Name, r.Controller), figure)
}
