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

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/workers"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// State is how far a point is.
type State string

// States of a point.
const (
	Waiting     State = "waiting"
	Running     State = "running"
	Kept        State = "kept"        // it had been made before, and is as it would be again
	Done        State = "done"        // it was made now
	Failed      State = "failed"      // it was not: Err says why
	Interrupted State = "interrupted" // it was not, since the sweep was ended
)

// Outcome is what a point came to.
type Outcome struct {
	State   State
	Err     error           // of a failed one
	Wall    time.Duration   // that making it took
	MadeBy  string          // as Runner.By
	Verdict measure.Verdict // of one that is done or kept, as are the next two
	// Fingerprint is the run's.
	Fingerprint string
	Figures     map[string]float64 // by metric, in the metric's base unit; one that the run has none of is absent

	byTag map[string]measure.FlowStatistics
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

// Complete says that there are results.
func (o *Outcome) Complete() bool { return o.State == Done || o.State == Kept }

// Runner makes the points of a sweep, side by side.
type Runner struct {
	Common
	Points []Point
	Jobs   int
	// By says who makes the points, in times.csv.
	By string
	// Make makes a point. It may do so in another process: nothing is taken from it but what it leaves in the folder. It
	// may call progress from another goroutine.
	Make func(ctx context.Context, job *Job, progress engine.Progress) error
	// Begun is told of a point as it begins, and what it returns of the point's progress; Ended of what it came to, kept
	// ones too. Calls come from several goroutines.
	Begun func(point int) engine.Progress
	Ended func(point int, o *Outcome)

	manifest func(point int) (*rundir.Manifest, error) // of one that another has made; nil: of the job
}

// Common is what the points of a sweep have in common, as in runner.Options.
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

// Job is all that it takes to make one point. It can be sent to another process as JSON.
type Job struct {
	Common
	Scenario   string   `json:"scenario"`
	Sets       []string `json:"sets"`
	Files      []string `json:"controller_files,omitempty"` // as Point.Files
	Controller string   `json:"controller"`
	Directory  string   `json:"directory"`
	Hash       string   `json:"hash"` // what the configuration must come to
	// Recipe is what the scenario is read from where its files are not; nil: they are there.
	Recipe *scenario.Recipe `json:"recipe,omitempty"`
}

func (j *Job) load() (*scenario.Scenario, error) {
	if j.Recipe != nil {
		return j.Recipe.Load()
	}
	return scenario.Reading{Quick: j.Quick, Sets: j.Sets, Controllers: j.Files}.Load(j.Scenario)
}

// Portable is the job for another machine, which has none of the scenario's files and gives it a folder of its own.
func (j *Job) Portable() (*Job, error) {
	s, err := j.load()
	if err != nil {
		return nil, err
	}
	// which reads what the congestion control's constants name
	hash, err := scenario.ConfigurationHash(s, j.Controller, s.Seed)
	if err != nil {
		return nil, err
	}
	if hash != j.Hash {
		return nil, fmt.Errorf("%s, or a congestion control's file, is no longer what it was as the sweep began: start the sweep again", j.Scenario)
	}
	p := *j
	p.Recipe, p.Directory, p.Within = s.Recipe.Written(), "", ""
	for i := range p.Recipe.Sources {
		if f := &p.Recipe.Sources[i]; f.Size > 0 && f.Text == "" && f.Base64 == nil {
			return nil, fmt.Errorf("%s is larger than 1 MB, which is not sent to other machines: make the sweep's parts with --shard where the file is", f.Path)
		}
	}
	return &p, nil
}

// Run makes the point in this process, on the plane that open opens.
func (j *Job) Run(ctx context.Context, open plane.Opener, progress engine.Progress) error {
	s, err := j.load()
	if err != nil {
		return err
	}
	hash, err := scenario.ConfigurationHash(s, j.Controller, s.Seed)
	if err != nil {
		return err
	}
	if hash != j.Hash {
		return fmt.Errorf("%s, or a congestion control's file, is no longer what it was as the sweep began: start the sweep again", j.Scenario)
	}
	_, err = runner.Run(ctx, s, runner.Options{
		Controller: j.Controller, Plane: open, Seed: s.Seed, Directory: j.Directory, Within: j.Within,
		Version: j.Version, Build: j.Build, Command: j.Command, Sets: j.Sets, Progress: progress,
		Processors: j.Processors, Anywhere: true,
	})
	return err
}

// Run makes the points that are not there yet, and returns what each came to. A point that fails does not keep the
// others from being made. When ctx is cancelled those that run are ended, and no other begins.
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
			return nil // an outcome has its own
		})
	}
	_ = all.Wait()
	return outcomes
}

// point sees to it that a point's results are there.
func (r *Runner) point(ctx context.Context, i int) Outcome {
	if ctx.Err() != nil {
		return Outcome{State: Waiting}
	}
	job := r.Job(i)
	if o, err := job.Result(); err == nil && rundir.CheckSums(job.Directory) == nil { // else the point is made again
		o.State = Kept
		return o
	}
	var progress engine.Progress
	if r.Begun != nil {
		progress = r.Begun(i)
	}
	start := time.Now()
	made := r.Make(ctx, job, progress)
	wall := time.Since(start)
	// What counts is what is there: a run that an invariant of its verdict failed is complete, and a process that says it
	// is fine may have left nothing.
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

// Job is what it takes to make the i-th point in its place.
func (r *Runner) Job(i int) *Job {
	p := &r.Points[i]
	j := &Job{
		Common: r.Common, Scenario: p.Scenario, Sets: p.Sets, Files: p.Files, Controller: p.Controller, Hash: p.Hash,
		Directory: filepath.Join(r.Within, p.Folder, p.Controller),
	}
	j.Processors = workers.Share(r.Processors, min(r.Jobs, len(r.Points)))
	return j
}

// Result is what the job's run came to, if its folder has a complete one of this configuration, program and plane.
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
		return Outcome{}, fmt.Errorf("%s: the run is of another configuration or program", j.Directory)
	}
	var sum measure.Summary
	if err := rundir.ReadJSON(filepath.Join(j.Directory, rundir.SummaryFile), &sum); err != nil {
		return Outcome{}, err
	}
	if sum.Fingerprint != m.Fingerprint {
		return Outcome{}, fmt.Errorf("%s: manifest and summary are of different runs", j.Directory)
	}
	switch sum.Verdict.Status {
	case measure.Pass, measure.Warn, measure.Fail:
	default:
		return Outcome{}, fmt.Errorf("%s: there is no verdict %q", j.Directory, Printable(string(sum.Verdict.Status)))
	}
	if strings.Trim(sum.Fingerprint, "0123456789abcdef") != "" {
		return Outcome{}, fmt.Errorf("%s: the fingerprint is not hexadecimal", j.Directory)
	}
	for _, texts := range [][]string{sum.Verdict.Messages, sum.Verdict.Notes} {
		for i, text := range texts {
			texts[i] = Printable(text)
		}
	}
	o := Outcome{Verdict: sum.Verdict, Fingerprint: sum.Fingerprint, Figures: map[string]float64{}, byTag: sum.ByTag}
	for i := range measure.Metrics {
		if v := measure.Metrics[i].Of(&sum, &sum.Flows); !math.IsNaN(v) {
			o.Figures[measure.Metrics[i].Name] = v
		}
	}
	return o, nil
}

// mostText is the length, in characters, to which Printable cuts a text.
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

// Err says what is wrong with a sweep's outcomes: points that were not made, and verdicts that are FAIL, each named;
// nil if there are none of either.
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
