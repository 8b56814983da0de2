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
	Files []ExerciseFile `json:"files"`
	// Uploads lists the files that a student makes elsewhere: pictures and outputs of programs.
	Uploads  []string      `json:"uploads"`
	Predicts bool          `json:"predicts"` // some answers are predictions, which can be locked
	Checks   []ScoredCheck `json:"checks"`
}

// ExerciseFile holds a file that a student starts with.
type ExerciseFile struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Given bool   `json:"given"` // the file is for measuring, and not submitted
}

// ScoredCheck holds a check and its points.
type ScoredCheck struct {
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
		one := Exercise{
			Name: name, Title: e.Title, Goal: e.Goal, Text: text, Minutes: e.Minutes, Points: e.Total(),
			Uploads: slices.Concat(e.Pictures, e.Outputs), Predicts: predicts(e),
		}
		for _, file := range e.Started() {
			text, err := fs.ReadFile(e.Files, lab.StartFolder+"/"+file)
			if err != nil {
				return nil, err
			}
			one.Files = append(one.Files, ExerciseFile{Name: file, Text: string(text), Given: slices.Contains(e.Given, file)})
		}
		for i := range e.Checks {
			one.Checks = append(one.Checks, ScoredCheck{e.Checks[i].Title, e.Checks[i].Points})
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
	// Uploads holds the contents of pictures, outputs and locked predictions by name.
	Uploads map[string][]byte `json:"uploads"`
}

func predicts(e *lab.Exercise) bool {
	return slices.ContainsFunc(e.Answers, func(q lab.Question) bool { return q.Predicted })
}

// submit puts the files into a folder, and reads those that the exercise asks for. For practice, predictions that are
// not locked count as they are.
func (h *Submission) submit(practice bool) (*lab.Exercise, *lab.Submission, error) {
	e, err := lab.Builtin(h.Exercise)
	if err != nil {
		return nil, nil, fmt.Errorf("there is no exercise %q", h.Exercise)
	}
	if err := os.RemoveAll(submissionFolder); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(submissionFolder, 0o755); err != nil {
		return nil, nil, err
	}
	write := func(name string, data []byte) error {
		return os.WriteFile(filepath.Join(submissionFolder, name), data, 0o600)
	}
	for _, file := range slices.Concat(e.Started(), e.Pictures, e.Outputs, []string{lab.LockedFile}) {
		data, written := h.Uploads[file]
		if text, edited := h.Files[file]; edited {
			data, written = []byte(text), true
		}
		if written {
			if err := write(file, data); err != nil {
				return nil, nil, err
			}
		}
	}
	s := lab.Submit(e, submissionFolder)
	if _, locked := h.Uploads[lab.LockedFile]; practice && !locked && predicts(e) {
		if err := write(lab.LockedFile, []byte(s.Sealed())); err != nil {
			return nil, nil, err
		}
		s = lab.Submit(e, submissionFolder)
	}
	return e, s, nil
}

// Locked holds locked predictions.
type Locked struct {
	File  string `json:"file"`  // the content of predictions.yaml
	Error string `json:"error"` // reason why nothing is locked; empty if it is
}

// Lock locks the predictions of a submission, as pausenet lab predict does.
func (h Submission) Lock() *Locked {
	e, s, err := h.submit(false)
	if err == nil {
		s, err = lab.Lock(e, submissionFolder)
	}
	if err != nil {
		return &Locked{Error: err.Error()}
	}
	return &Locked{File: s.Sealed()}
}

// Read returns the mistakes in the files of a submission. It runs nothing.
func (h Submission) Read() *Checked {
	c := &Checked{Name: h.Exercise, Controllers: []string{}, Warnings: []string{}, Mistakes: []Mistake{}}
	_, s, err := h.submit(true)
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
	_, s, err := h.submit(true)
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
