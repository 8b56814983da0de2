package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/pausenet/pausenet/experiments/analysis/pairs"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/observe"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/workers"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// State names the state of a point.
type State string

// States of a point.
const (
	Waiting     State = "waiting"
	Running     State = "running"
	Kept        State = "kept"        // made before, and still valid
	Done        State = "done"        // made now
	Failed      State = "failed"      // not made: see Err
	Interrupted State = "interrupted" // not made, because the sweep was interrupted
)

// Outcome holds the result of a point.
type Outcome struct {
	State   State
	Err     error           // for a failed point
	Wall    time.Duration   // time to make it
	MadeBy  string          // see Runner.By
	Verdict measure.Verdict // set for a point that is done or kept, like the next two fields
	// Fingerprint holds the run's fingerprint.
	Fingerprint string
	Figures     map[string]float64 // by metric, in the metric's base unit; without metrics that the run does not have

	completed int // flows
	byTag     map[string]measure.FlowStatistics
}

// figure returns a metric of the run in its base unit; ok is false if the run has none.
func (o *Outcome) figure(m *measure.Metric) (v float64, ok bool) {
	if m.Tag == "" {
		v, ok = o.Figures[m.Name]
		return v, ok
	}
	flows, ok := o.byTag[m.Tag]
	if !ok {
		return 0, false
	}
	v = m.Of(nil, &flows)
	return v, !math.IsNaN(v)
}

// paired returns the outcome's run for a comparison by pairs.
func (o *Outcome) paired() pairs.Run {
	return pairs.Run{Broken: o.Verdict.Status == measure.Fail, Value: func(m *measure.Metric) (float64, int) {
		v, ok := o.figure(m)
		if !ok {
			v = math.NaN()
		}
		if m.Tag != "" {
			return v, o.byTag[m.Tag].Completed
		}
		return v, o.completed
	}}
}

// Complete reports whether the point has results.
func (o *Outcome) Complete() bool { return o.State == Done || o.State == Kept }

// Runner makes the points of a sweep, several at a time.
type Runner struct {
	Common
	Points []Point
	Jobs   int
	// By names the machine in times.csv.
	By string
	// Make makes a point, possibly in another process: only the files in the folder count. It may call progress from
	// another goroutine.
	Make func(ctx context.Context, job *Job, progress engine.Progress) error
	// Started, if set, is called when a point starts; it returns a function to call with the point's progress. Ended is
	// called with its outcome, also for kept points. Calls come from several goroutines.
	Started func(point int) engine.Progress
	Ended   func(point int, o *Outcome)

	manifest func(point int) (*rundir.Manifest, error) // of a point made elsewhere; nil: use the job's
}

// Common holds the settings that all points of a sweep share, a part of runner.Options.
type Common struct {
	Quick bool   `json:"quick,omitempty"` // the scenarios are in their quick form
	Plane string `json:"plane"`           // its name
	// Within belongs to the sweep; a point's files go to Within/<folder>/<controller>.
	Within     string `json:"within"`
	Version    string `json:"version"` // results of another version or build are not kept
	Build      string `json:"build"`
	Command    string `json:"command"`
	Processors int    `json:"processors"`
}

// Job holds everything needed to make one point. It can be sent to another process as JSON.
type Job struct {
	Common
	Scenario   string   `json:"scenario"`
	Sets       []string `json:"sets"`
	Files      []string `json:"controller_files,omitempty"` // see Point.Files
	Controller string   `json:"controller"`
	Directory  string   `json:"directory"`
	Hash       string   `json:"hash"`          // expected hash of the configuration
	Why        bool     `json:"why,omitempty"` // record why flows take their time
	// Recipe provides the scenario on a machine without its files; nil: the files exist.
	Recipe *scenario.Recipe `json:"recipe,omitempty"`
}

// load reads the scenario.
func (j *Job) load() (*scenario.Scenario, error) {
	if j.Recipe != nil {
		return j.Recipe.Load()
	}
	return scenario.Reading{Quick: j.Quick, Sets: j.Sets, Controllers: j.Files}.Load(j.Scenario)
}

// unchanged reads the scenario. It returns an error if the configuration is not the expected one.
func (j *Job) unchanged() (*scenario.Scenario, error) {
	s, err := j.load()
	if err != nil {
		return nil, err
	}
	// this reads the files named by the congestion control's constants
	hash, err := scenario.ConfigurationHash(s, j.Controller, s.Seed)
	if err != nil {
		return nil, err
	}
	if hash != j.Hash {
		return nil, fmt.Errorf("%s or a controller file has changed since the sweep started: start the sweep again",
			j.Scenario)
	}
	return s, nil
}

// Portable returns the job for another machine, which does not have the scenario's files and chooses a folder of its
// own.
func (j *Job) Portable() (*Job, error) {
	s, err := j.unchanged()
	if err != nil {
		return nil, err
	}
	p := *j
	p.Recipe, p.Directory, p.Within = s.Recipe.Written(), "", ""
	for i := range p.Recipe.Sources {
		if f := &p.Recipe.Sources[i]; f.Size > 0 && f.Text == "" && f.Base64 == nil {
			return nil, fmt.Errorf("%s is larger than 1 MB, the limit for sending it to other machines: "+
				"make the sweep's parts with --shard on machines that have the file", f.Path)
		}
	}
	return &p, nil
}

// Run makes the point in this process, on the plane that open opens.
func (j *Job) Run(ctx context.Context, open plane.Opener, progress engine.Progress) error {
	s, err := j.unchanged()
	if err != nil {
		return err
	}
	o := runner.Options{
		Controller: j.Controller, Plane: open, Seed: s.Seed, Directory: j.Directory, Within: j.Within,
		Version: j.Version, Build: j.Build, Command: j.Command, Sets: j.Sets, Progress: progress,
		Processors: j.Processors, Anywhere: true,
	}
	if j.Why {
		o.Observers = []runner.NewObserver{observe.Why}
	}
	_, err = runner.Run(ctx, s, o)
	return err
}

// Run makes the missing points and returns the outcome of each. Failed points do not stop the others. If ctx is
// cancelled, it ends the running points and starts no others.
func (r *Runner) Run(ctx context.Context) []Outcome {
	outcomes := make([]Outcome, len(r.Points))
	var all errgroup.Group
	all.SetLimit(max(r.Jobs, 1))
	for i := range r.Points {
		outcomes[i].State = Waiting
	}
	for i := range r.Points {
		all.Go(func() error {
			outcomes[i] = r.point(ctx, i)
			if r.Ended != nil && outcomes[i].State != Waiting {
				r.Ended(i, &outcomes[i])
			}
			return nil // the outcome holds the error
		})
	}
	_ = all.Wait()
	return outcomes
}

// point makes a point's results, unless they exist.
func (r *Runner) point(ctx context.Context, i int) Outcome {
	if ctx.Err() != nil {
		return Outcome{State: Waiting}
	}
	job := r.Job(i)
	if o, err := job.Result(); err == nil && rundir.CheckSums(job.Directory) == nil { // otherwise make the point again
		o.State = Kept
		return o
	}
	var progress engine.Progress
	if r.Started != nil {
		progress = r.Started(i)
	}
	start := time.Now()
	made := r.Make(ctx, job, progress)
	wall := time.Since(start)
	// Only the files count: a run with a failed invariant is complete, and a process that reports success may have
	// left nothing.
	o, err := job.Result()
	o.Wall, o.MadeBy = wall, r.By
	switch {
	case err == nil:
		o.State = Done
	case ctx.Err() != nil:
		o.State = Interrupted
	case made != nil:
		o.State, o.Err = Failed, made
	default:
		o.State, o.Err = Failed, err
	}
	return o
}

// Job returns the job of the i-th point.
func (r *Runner) Job(i int) *Job {
	p := &r.Points[i]
	j := &Job{
		Common: r.Common, Scenario: p.Scenario, Sets: p.Sets, Files: p.Files, Controller: p.Controller, Hash: p.Hash,
		Directory: filepath.Join(r.Within, p.Folder, p.Controller),
	}
	j.Processors = workers.Share(r.Processors, min(r.Jobs, len(r.Points)))
	return j
}

// Result returns the result of the job's run, if its folder holds a complete one of this configuration, program and
// plane.
func (j *Job) Result() (Outcome, error) {
	var m struct {
		Status      string `json:"status"`
		Hash        string `json:"configuration_sha256"`
		Version     string `json:"version"`
		Build       string `json:"build"`
		Plane       string `json:"plane"`
		Fingerprint string `json:"fingerprint"`
	}
	if err := rundir.ReadJSON(filepath.Join(j.Directory, rundir.ManifestFile), &m); err != nil {
		return Outcome{}, err
	}
	switch {
	case m.Status != rundir.StatusComplete:
		return Outcome{}, fmt.Errorf("%s: the run is %s", j.Directory, m.Status)
	case m.Hash != j.Hash || m.Version != j.Version || m.Build != j.Build || m.Plane != j.Plane:
		return Outcome{}, fmt.Errorf("%s: the run has another configuration or program", j.Directory)
	}
	var sum measure.Summary
	if err := rundir.ReadJSON(filepath.Join(j.Directory, rundir.SummaryFile), &sum); err != nil {
		return Outcome{}, err
	}
	if sum.Fingerprint != m.Fingerprint {
		return Outcome{}, fmt.Errorf("%s: manifest and summary belong to different runs", j.Directory)
	}
	switch sum.Verdict.Status {
	case measure.Pass, measure.Warn, measure.Fail:
	default:
		return Outcome{}, fmt.Errorf("%s: unknown verdict %q", j.Directory, Printable(string(sum.Verdict.Status)))
	}
	if strings.Trim(sum.Fingerprint, "0123456789abcdef") != "" {
		return Outcome{}, fmt.Errorf("%s: the fingerprint is not hexadecimal", j.Directory)
	}
	for _, texts := range [][]string{sum.Verdict.Messages, sum.Verdict.Notes} {
		for i, text := range texts {
			texts[i] = Printable(text)
		}
	}
	o := Outcome{
		Verdict: sum.Verdict, Fingerprint: sum.Fingerprint, Figures: map[string]float64{},
		completed: sum.Flows.Completed, byTag: sum.ByTag,
	}
	for i := range measure.Metrics {
		if v := measure.Metrics[i].Of(&sum, &sum.Flows); !math.IsNaN(v) {
			o.Figures[measure.Metrics[i].Name] = v
		}
	}
	return o, nil
}

// mostText limits the length, in characters, of a text from Printable.
const mostText = 1000

// Printable makes a text from elsewhere, such as a worker's, safe for a terminal: it cuts a long text and replaces
// control characters.
func Printable(text string) string {
	if short := []rune(text); len(short) > mostText {
		text = string(short[:mostText]) + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Err returns an error for outcomes that are no success: points that were not made, and verdicts that are FAIL, each
// named; nil if there are none.
func Err(points []Point, outcomes []Outcome) error {
	var errs []error
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", points[i].Name(), o.Err))
		case o.Complete() && o.Verdict.Status == measure.Fail && len(o.Verdict.Messages) > 0:
			errs = append(errs, fmt.Errorf("%s: broken: %s", points[i].Name(), o.Verdict.Messages[0]))
		case o.Complete() && o.Verdict.Status == measure.Fail:
			errs = append(errs, fmt.Errorf("%s: broken", points[i].Name()))
		}
	}
	return errors.Join(errs...)
}
