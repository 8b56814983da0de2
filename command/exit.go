package command

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Exit codes. They are part of the command line's contract.
const (
	exitFine        = 0
	exitVerdict     = 1   // the run's verdict failed, or it was interrupted; a line of a shell's input failed
	exitBadInput    = 2   // wrong usage, or a file with mistakes
	exitEnvironment = 3   // not root, kernel too old, ...: the message gives advice
	exitSkip        = 125 // a build that compare runs cannot make a run; git bisect skips such a commit
)

// exitError adds an exit code to an error.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// badInput marks err as the user's mistake; nil stays nil.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitBadInput, err}
}

// writeError marks an error of writing a file as the environment's, unless the file's folder does not exist.
func writeError(err error) error {
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return badInput(err)
	}
	return &exitError{exitEnvironment, fmt.Errorf("%w: free some space or choose another place with -o", err)}
}

// exit prints err, if any, and returns the exit code. An error without a code comes from cobra, which checks flags
// and arguments.
func exit(stderr io.Writer, err error) int {
	if err == nil {
		return exitFine
	}
	fmt.Fprintf(stderr, "pausenet: %v\n", err)
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitBadInput
}
