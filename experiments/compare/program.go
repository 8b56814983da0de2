package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
)

// ProgramError reports that a build of the program did not make a run.
type ProgramError struct {
	Program string
	Err     error
}

func (e *ProgramError) Error() string { return fmt.Sprintf("%s: %v", e.Program, e.Err) }
func (e *ProgramError) Unwrap() error { return e.Err }

// program returns how to run a scenario with a build of the program. Without a controller the run has the scenario's
// first, as that build reads the scenario.
func (s *Subject) program(path string, from source) Run {
	run := path
	if filepath.Base(run) == run { // otherwise exec searches PATH
		run = "." + string(filepath.Separator) + run
	}
	return Run{
		Make: func(ctx context.Context, seed uint64) (*measure.Summary, error) {
			sum, err := s.runProgram(ctx, run, from, seed)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				return nil, &ProgramError{path, err}
			}
			return sum, nil
		},
		Command: func(seed uint64) []string { return s.command(run, from, s.Controller, seed) },
		Text:    from.text,
	}
}

// runProgram runs another build for one run, in a folder of its own, and returns the run's summary.
func (s *Subject) runProgram(ctx context.Context, program string, from source, seed uint64) (*measure.Summary, error) {
	folder, err := os.MkdirTemp("", "pausenet-compare-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if from.text != nil {
		text, err := from.text(seed)
		from.path = filepath.Join(folder, filepath.Base(from.path))
		if err = errors.Join(err, os.WriteFile(from.path, []byte(text), 0o600)); err != nil {
			return nil, err
		}
	}
	args := s.command(program, from, s.Controller, seed)
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, args[0], append(args[1:], "--out", folder, "-o", "json")...)
	c.Stdout, c.Stderr = &out, &errs
	c.Env = append(os.Environ(), "GOMAXPROCS=1") // several runs are in progress at once
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	failed := c.Run()
	var runs []measure.Summary
	if err := json.Unmarshal(out.Bytes(), &runs); err != nil || len(runs) == 0 {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		switch {
		case lines[0] != "":
			return nil, errors.New(lines[0])
		case failed != nil:
			return nil, failed
		}
		return nil, fmt.Errorf("%s printed no summary of the run", strings.Join(c.Args, " "))
	}
	return &runs[0], nil // of a broken run, too: its verdict says so
}
