// Package session serves the requests of the playground's page: check a scenario, run it, and return the results.
// Arguments and results are text, or values with a JSON form. Files are in the working directory, which a browser keeps
// in memory.
package session

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/observe"
	"github.com/pausenet/pausenet/experiments/results/replay"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/scenario/lint"
	"github.com/pausenet/pausenet/experiments/suite"

	// WebAssembly would make the page a fifth larger, and a tab has no compiler for it
	_ "github.com/pausenet/pausenet/controllerfile/star"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// Names of files in the working directory.
const (
	ScenarioFile   = "scenario.yaml"
	ControllerFile = "controller.star"
	ResultsFolder  = "results"
	ReplayFile     = "replay.bin" // of the run that was watched last
)

// Request holds the input to check or run.
type Request struct {
	Scenario string `json:"scenario"` // in YAML
	// Controller holds a congestion control in Starlark. It runs beside those of the scenario; empty: none.
	Controller string `json:"controller"`
	Quick      bool   `json:"quick"` // the scenario in its quick form, if it has one
}

// Mistake describes one mistake in a file. Lines and columns count from 1, in characters; for a mistake of the whole
// file they are 0.
type Mistake struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Width   int    `json:"width"` // characters to underline
	Message string `json:"message"`
}

// Checked holds the results of checking a scenario before it runs.
type Checked struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Fabric      string   `json:"fabric"`
	Controllers []string `json:"controllers"`
	Seed        uint64   `json:"seed"`
	Flows       int      `json:"flows"`
	Duration    int64    `json:"duration_ns"`
	HasQuick    bool     `json:"has_quick"`
	Warnings    []string `json:"warnings"`
	// Mistakes holds the mistakes with a position. Error has all of them, as the command line prints them; empty: the
	// scenario can run.
	Mistakes []Mistake `json:"mistakes"`
	Error    string    `json:"error"`

	scenario *scenario.Scenario
}

// Check reads a scenario and a controller, and returns their mistakes, and warnings about a valid scenario.
func Check(r Request) *Checked {
	c := &Checked{Controllers: []string{}, Warnings: []string{}, Mistakes: []Mistake{}}
	c.refuse(c.read(r))
	return c
}

func (c *Checked) read(r Request) error {
	reading := scenario.Reading{Quick: r.Quick}
	if err := os.WriteFile(ControllerFile, []byte(r.Controller), 0o600); err != nil {
		return err
	}
	if strings.TrimSpace(r.Controller) != "" {
		// Report only its own mistakes: the scenario would add that it cannot be read.
		if _, err := controllerfile.Read(ControllerFile); err != nil {
			return err
		}
		reading.Controllers = []string{ControllerFile}
	}
	s, err := reading.Parse(ScenarioFile, []byte(r.Scenario))
	if err != nil {
		return err
	}
	c.Controllers = s.Controllers
	if reading.Controllers != nil && !slices.Contains(s.Controllers, ControllerFile) {
		c.Controllers = append(slices.Clone(s.Controllers), ControllerFile)
	}
	c.Name, c.Description, c.Fabric, c.Seed = s.Name, s.Description, s.Topology.Summary(), s.Seed
	c.Flows, c.Duration, c.HasQuick = s.FlowCount(), s.Duration.Nanoseconds(), s.HasQuick
	c.Warnings = append(c.Warnings, lint.Warnings(s, c.Controllers)...)
	c.scenario = s
	return scenario.Check(s, c.Controllers)
}

// refuse records an error and its mistakes; nil changes nothing.
func (c *Checked) refuse(err error) {
	if err == nil {
		return
	}
	c.Error = err.Error()
	var problems yamlspec.Problems
	errors.As(err, &problems)
	for _, p := range problems {
		c.Mistakes = append(c.Mistakes, Mistake{
			File: p.File, Line: p.Line, Column: p.Column, Width: p.Width,
			Message: p.Message,
		})
	}
	c.Mistakes = append(c.Mistakes, controllerMistakes(err)...)
}

// controllerMistakes returns the mistakes in the controller's file, from an error that may join several or from the
// error that ended a run.
func controllerMistakes(err error) (all []Mistake) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, controllerMistakes(e)...)
		}
		return all
	}
	var (
		mistake *controllerfile.Error
		ended   *engine.PanicError
	)
	if errors.As(err, &ended) {
		mistake, _ = ended.Value.(*controllerfile.Error)
	}
	if mistake != nil || errors.As(err, &mistake) {
		all = append(all, Mistake{File: mistake.File, Line: mistake.Line, Column: mistake.Column, Message: mistake.Message})
	}
	return all
}

// Progress describes how far a run is.
type Progress struct {
	Run      string `json:"run"`         // its controller, or scenario and controller
	Now      int64  `json:"now_ns"`      // of virtual time
	Duration int64  `json:"duration_ns"` // of the scenario; draining may take longer
	Ended    bool   `json:"ended"`
}

// Outcome holds the results of a scenario's runs.
type Outcome struct {
	*Checked
	// Runs holds the runs of the scenario's controllers, in their order, as far as they have results.
	Runs []Run `json:"runs"`
	// Report holds the path of the page that shows them; empty: none.
	Report  string `json:"report"`
	Stopped bool   `json:"stopped"`
	// Failed holds the reason why runs have no results, or only a part; empty if they succeeded or were stopped.
	Failed string `json:"failed"`
}

// Run holds the results of one controller.
type Run struct {
	Folder  string           `json:"folder"`
	Summary *measure.Summary `json:"summary"`
}

// Run runs a scenario under each of its controllers, and writes the results. It calls tell with the progress.
// Cancelling the context stops it: results so far are kept, and marked as partial.
func (r Request) Run(ctx context.Context, version string, tell func(Progress)) *Outcome {
	o := &Outcome{Checked: Check(r), Runs: []Run{}}
	if o.Error != "" {
		return o
	}
	one := suite.Scenario{Scenario: o.scenario, Controllers: o.Controllers, Seed: o.Seed}
	s := &suite.Suite{
		Scenarios: []suite.Scenario{one}, Jobs: 1, Options: runner.Options{
			Directory: ResultsFolder, Version: version, Command: o.command(r),
			Observers: []runner.NewObserver{observe.Record},
		},
		Started: func(_, controller string) (engine.Progress, func(*runner.Result, error)) {
			return telling(Progress{Run: controller, Duration: o.Duration}, tell)
		},
	}
	results, err := s.Run(ctx)
	for i, made := range results[0] {
		if made != nil {
			location := rundir.Location{
				Scenario: filepath.Join(ResultsFolder, o.Name), Seed: o.Seed,
				Controller: o.Controllers[i],
			}
			o.Runs = append(o.Runs, Run{filepath.ToSlash(location.Path()), &made.Summary})
		}
	}
	if s.Scenarios[0].Reported {
		o.Report = filepath.ToSlash(s.ReportPath(o.Name))
	}
	switch {
	case errors.Is(err, context.Canceled):
		o.Stopped = true
	case err != nil:
		o.Failed = err.Error()
		o.Mistakes = append(o.Mistakes, controllerMistakes(err)...)
	}
	return o
}

// Watched holds the replay of a run.
type Watched struct {
	File  string `json:"file"`  // its replay
	Error string `json:"error"` // reason why there is none; otherwise empty
}

// Watch writes the replay of the run in a folder.
func Watch(folder string) *Watched {
	data, _, err := replay.Read(folder, path.Base(folder))
	if err == nil {
		err = os.WriteFile(ReplayFile, data, 0o600)
	}
	if err != nil {
		return &Watched{Error: err.Error()}
	}
	return &Watched{File: ReplayFile}
}

// command returns the command line that repeats the run.
func (o *Outcome) command(r Request) string {
	command := "pausenet run " + ScenarioFile
	if !slices.Equal(o.Controllers, o.scenario.Controllers) {
		command += " --cc " + strings.Join(o.Controllers[:len(o.Controllers)-1], ",") + ",./" + ControllerFile
	}
	if r.Quick {
		command += " --quick"
	}
	return command
}
