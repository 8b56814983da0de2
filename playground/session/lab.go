package session

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// Exercise holds an exercise as the page shows it.
type Exercise struct {
	Name    string     `json:"name"`
	Title   string     `json:"title"`
	Goal    string     `json:"goal"`
	Text    string     `json:"text"` // in Markdown
	Minutes int        `json:"minutes"`
	Points  lab.Points `json:"points"`
	// Files lists the files that a student starts with.
	Files  []ExerciseFile `json:"files"`
	Checks []Worth        `json:"checks"`
}

// ExerciseFile holds a file that a student starts with.
type ExerciseFile struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Given bool   `json:"given"` // the file is for measuring, and not submitted
}

// Worth holds a check and its points.
type Worth struct {
	Title  string     `json:"title"`
	Points lab.Points `json:"points"`
}

// exercises returns the exercises that come with the program.
func exercises() ([]Exercise, error) {
	var all []Exercise
	for _, name := range lab.Names() {
		e, err := lab.Builtin(name)
		if err != nil {
			return nil, err
		}
		text, err := e.Text()
		if err != nil {
			return nil, err
		}
		one := Exercise{Name: name, Title: e.Title, Goal: e.Goal, Text: text, Minutes: e.Minutes, Points: e.Total()}
		for _, file := range e.Started() {
			text, err := fs.ReadFile(e.Files, lab.StartFolder+"/"+file)
			if err != nil {
				return nil, err
			}
			one.Files = append(one.Files, ExerciseFile{Name: file, Text: string(text), Given: slices.Contains(e.Given, file)})
		}
		for i := range e.Checks {
			one.Checks = append(one.Checks, Worth{e.Checks[i].Title, e.Checks[i].Points})
		}
		all = append(all, one)
	}
	return all, nil
}

// submissionFolder names the folder with the files of a submission.
const submissionFolder = "submission"

// Submission holds a student's files for an exercise.
type Submission struct {
	Exercise string            `json:"exercise"`
	Files    map[string]string `json:"files"` // contents by name
}

// submit puts the files into a folder, and reads those that the exercise asks for.
func (h *Submission) submit() (*lab.Submission, error) {
	e, err := lab.Builtin(h.Exercise)
	if err != nil {
		return nil, fmt.Errorf("there is no exercise %q", h.Exercise)
	}
	if err := os.RemoveAll(submissionFolder); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(submissionFolder, 0o755); err != nil {
		return nil, err
	}
	for _, file := range e.Started() {
		text, written := h.Files[file]
		if !written {
			continue
		}
		if err := os.WriteFile(filepath.Join(submissionFolder, file), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	s := lab.Submit(e, submissionFolder)
	if !slices.ContainsFunc(e.Answers, func(q lab.Question) bool { return q.Predicted }) {
		return s, nil
	}
	// The page locks nothing: predictions count as they are.
	locked := filepath.Join(submissionFolder, lab.LockedFile)
	if err := os.WriteFile(locked, []byte(s.Sealed()), 0o600); err != nil {
		return nil, err
	}
	return lab.Submit(e, submissionFolder), nil
}

// Read returns the mistakes in the files of a submission. It runs nothing.
func (h Submission) Read() *Checked {
	c := &Checked{Name: h.Exercise, Controllers: []string{}, Warnings: []string{}, Mistakes: []Mistake{}}
	s, err := h.submit()
	if err != nil {
		c.Error = err.Error()
		return c
	}
	for _, mistake := range s.Mistakes {
		c.refuse(mistake)
	}
	return c
}

// Graded holds the result of grading a submission.
type Graded struct {
	*lab.Grade
	Stopped bool   `json:"stopped"`
	Failed  string `json:"failed"` // reason why there is no grade; empty if there is one, or if it was stopped
}

// Grade checks a submission as the command line does. It calls tell with the progress of its runs. Cancelling the
// context stops it without a grade.
func (h Submission) Grade(ctx context.Context, version string, tell func(Progress)) *Graded {
	s, err := h.submit()
	if err != nil {
		return &Graded{Failed: err.Error()}
	}
	g, err := s.Check(ctx, lab.Options{
		Results: ResultsFolder, Jobs: 1, Version: version, Command: "pausenet lab check " + h.Exercise,
		Begin: func(batch *suite.Suite) (func(), error) {
			durations := map[string]vtime.Time{}
			for i := range batch.Scenarios {
				durations[batch.Scenarios[i].Scenario.Name] = batch.Scenarios[i].Scenario.Duration
			}
			batch.Started = func(scenario, run string) (engine.Progress, func(*runner.Result, error)) {
				return telling(Progress{Run: scenario + " " + run, Duration: durations[scenario].Nanoseconds()}, tell)
			}
			return func() {}, nil
		},
	})
	switch {
	case ctx.Err() != nil:
		return &Graded{Stopped: true}
	case err != nil:
		return &Graded{Failed: err.Error()}
	}
	return &Graded{Grade: g}
}

// telling returns callbacks that report the progress of a run.
func telling(p Progress, tell func(Progress)) (engine.Progress, func(*runner.Result, error)) {
	tell(p)
	return func(now vtime.Time, _ *engine.Totals) {
			p.Now = now.Nanoseconds()
			tell(p)
		}, func(*runner.Result, error) {
			p.Ended = true
			tell(p)
		}
}
