package explore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/observe"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/workers"
)

// Task describes a run.
type Task struct {
	Text       string // of the scenario
	File       string // name of its file, in whose folder it finds others; empty: the machine's
	Controller string
	Seed       uint64
	Why        bool // find the cause, too
}

// Outcome holds what a run came to.
type Outcome struct {
	Error       string             `json:"error,omitempty"` // why the scenario cannot run; then nothing else is set
	Values      map[string]float64 `json:"values,omitempty"`
	Hint        float64            `json:"hint,omitempty"` // of the first quantity
	Verdict     measure.Status     `json:"verdict,omitempty"`
	Completed   int                `json:"completed"` // flows
	Fingerprint string             `json:"fingerprint,omitempty"`
	Cause       *Cause             `json:"cause,omitempty"` // of a FAIL, and of a task with Why
}

// Value returns a measured quantity, NaN if the run has none.
func (o *Outcome) Value(name string) float64 {
	if v, ok := o.Values[name]; ok {
		return v
	}
	return math.NaN()
}

// Failed reports whether the run's numbers cannot be used.
func (o *Outcome) Failed() bool { return o.Error != "" || o.Verdict == measure.Fail }

// Options holds what does not change the result of a search or a tuning.
type Options struct {
	Folder   string // for the journal and the results
	Jobs     int    // runs at a time
	Version  string // of the program: another one starts anew
	Progress func(line string)
	// Elsewhere makes the runs; nil: this machine.
	Elsewhere Elsewhere
}

// Machine makes runs, several at a time, and keeps their outcomes.
type Machine struct {
	// File names the family's file. Paths in a scenario are relative to its folder.
	File       string
	Quantities []*Quantity
	Journal    *Journal
	Jobs       int
	// Scratch names a folder for the files of a run whose cause is wanted. The machine creates it when needed.
	Scratch string
	// Elsewhere, if set, makes the runs.
	Elsewhere Elsewhere

	flight  singleflight.Group // by key
	slots   chan struct{}
	runs    atomic.Int64
	started time.Duration // processor time of the process before
}

// Elsewhere makes runs on other machines.
type Elsewhere interface {
	// Make makes a run. It returns the folder of the results, which the caller removes, and who has made them.
	Make(ctx context.Context, name string, job *sweep.Job) (directory, by string, err error)
	// Settle waits until all results are as trusted as they will be. If its error has a method Without() []string,
	// the results by these makers are false.
	Settle(ctx context.Context) error
}

// Start makes the machine ready.
func (m *Machine) Start() {
	m.slots, m.started = make(chan struct{}, m.Jobs), workers.Used()
}

// Runs returns the number of runs made now, without those that the journal already had.
func (m *Machine) Runs() int { return int(m.runs.Load()) }

// Spent returns the processor time since Start; 0: the runs are made elsewhere.
func (m *Machine) Spent() time.Duration {
	if m.Elsewhere != nil {
		return 0
	}
	return workers.Used() - m.started
}

// Trusted calls a search that makes its runs with the machine. It repeats the search without the runs that turn out to
// be false.
func (m *Machine) Trusted(ctx context.Context, search func() error) error {
	for {
		err := search()
		if m.Elsewhere == nil {
			return err
		}
		settled := m.Elsewhere.Settle(ctx)
		var lies interface{ Without() []string }
		if !errors.As(settled, &lies) {
			return errors.Join(err, settled)
		}
		if err := m.Journal.Drop(lies.Without()); err != nil {
			return err
		}
	}
}

// Each calls f for 0..n-1, several at a time. The machine limits the runs under way, not the calls.
func (m *Machine) Each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// Run returns the outcome of a task. An error means that the search cannot continue. Calls for equal tasks share a run.
func (m *Machine) Run(ctx context.Context, t Task) (*Outcome, error) {
	key := t.key()
	o, err, _ := m.flight.Do(key, func() (any, error) {
		if o := m.Journal.find(key); o != nil {
			return o, nil
		}
		select {
		case m.slots <- struct{}{}:
			defer func() { <-m.slots }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		line := journalLine{Key: key}
		var err error
		if line.Outcome, line.By, err = m.run(ctx, t); err != nil {
			return nil, err
		}
		m.runs.Add(1)
		return line.Outcome, m.Journal.keep(&line)
	})
	if err != nil {
		return nil, err
	}
	return o.(*Outcome), nil
}

// key returns the task's key in the journal.
func (t *Task) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s %d %t", t.Text, t.File, t.Controller, t.Seed, t.Why))
	return hex.EncodeToString(sum[:12])
}

func (m *Machine) run(ctx context.Context, t Task) (o *Outcome, by string, err error) {
	s, err := m.load(t)
	if err != nil {
		return &Outcome{Error: err.Error()}, "", nil
	}
	if m.Elsewhere != nil {
		return m.elsewhere(ctx, s, t)
	}
	options := runner.Options{Controller: t.Controller, Seed: t.Seed, Processors: 1}
	var sum *measure.Summary
	var cause *Cause
	if t.Why {
		sum, cause, err = m.explained(ctx, s, options)
	} else if sum, err = runner.Watch(ctx, s, options, runner.Watching{}); err == nil {
		cause = failure(s, sum)
	}
	if err != nil {
		return nil, "", err
	}
	return m.outcome(s, sum, cause), "", nil
}

// elsewhere makes a run on another machine, and measures its results.
func (m *Machine) elsewhere(ctx context.Context, s *scenario.Scenario, t Task) (o *Outcome, by string, err error) {
	job := sweep.Job{Scenario: s.Name, Controller: t.Controller, Recipe: s.Recipe.Written(), Why: t.Why &&
		s.WhyFits() == nil}
	job.Recipe.Settings = append(slices.Clone(job.Recipe.Settings), fmt.Sprintf("seed=%d", t.Seed))
	if job.Hash, err = scenario.ConfigurationHash(s, t.Controller, t.Seed); err != nil {
		return nil, "", err
	}
	directory, by, err := m.Elsewhere.Make(ctx, fmt.Sprintf("%s,seed=%d %s", t.key(), t.Seed, t.Controller), &job)
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(directory)
	var sum measure.Summary
	if err := rundir.ReadJSON(filepath.Join(directory, rundir.SummaryFile), &sum); err != nil {
		return nil, "", err
	}
	cause := failure(s, &sum)
	if t.Why {
		if !job.Why {
			directory = "" // it has no record
		}
		cause = causeOf(s, &sum, directory)
	}
	return m.outcome(s, &sum, cause), by, nil
}

func (m *Machine) load(t Task) (*scenario.Scenario, error) {
	s, err := scenario.Reading{Controllers: []string{t.Controller}}.Parse(cmp.Or(t.File, m.File), []byte(t.Text))
	if err == nil {
		err = scenario.Check(s, []string{t.Controller}, t.Seed)
	}
	if err != nil {
		return nil, err
	}
	return s.WithSeed(t.Seed)
}

// outcome measures a run.
func (m *Machine) outcome(s *scenario.Scenario, sum *measure.Summary, cause *Cause) *Outcome {
	o := &Outcome{
		Values: map[string]float64{}, Verdict: sum.Verdict.Status, Completed: sum.Flows.Completed,
		Fingerprint: sum.Fingerprint, Cause: cause,
	}
	for i, q := range m.Quantities {
		if v := q.of(s, sum); !math.IsNaN(v) {
			o.Values[q.Name] = v
		}
		if i == 0 && q.hint != nil {
			o.Hint = q.hint(sum)
		}
	}
	return o
}

// explained makes a run with the record of causes, in a folder that is removed afterwards.
func (m *Machine) explained(ctx context.Context, s *scenario.Scenario, options runner.Options) (
	*measure.Summary, *Cause, error,
) {
	if s.WhyFits() != nil { // the run is too large for a record
		sum, err := runner.Watch(ctx, s, options, runner.Watching{})
		if err != nil {
			return nil, nil, err
		}
		return sum, causeOf(s, sum, ""), nil
	}
	if err := os.MkdirAll(m.Scratch, 0o755); err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp(m.Scratch, "run")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(folder)
	options.Directory, options.Observers = filepath.Join(folder, "why"), []runner.NewObserver{observe.Why}
	r, err := runner.Run(ctx, s, options)
	if err != nil {
		return nil, nil, err
	}
	return &r.Summary, causeOf(s, &r.Summary, options.Directory), nil
}

// Text returns a number with three digits and the quantity's unit.
func (q *Quantity) Text(value float64) string {
	if math.IsNaN(value) {
		return "none"
	}
	return q.Kind.Text(value)
}
