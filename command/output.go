package command

import (
	"errors"
	"fmt"
	"io"
)

// output wraps the command's standard output. It records the first error, so that callers need not check each write,
// and a full disk is reported at the end.
type output struct {
	to   io.Writer
	err  error
	rest []byte // incomplete character, as in plain
}

// Write writes text without control characters.
func (o *output) Write(p []byte) (int, error) {
	var shown []byte
	shown, o.rest = plain(append(o.rest, p...))
	if _, err := o.send(shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (o *output) send(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	o.err = err
	return n, err
}

// failed adds an output error to a command's error, whose exit code takes precedence.
func (o *output) failed(err error) error {
	switch {
	case o.err == nil:
		return err
	case err == nil || errors.Is(err, o.err):
		return &exitError{exitEnvironment, fmt.Errorf("write the output: %w", o.err)}
	}
	return fmt.Errorf("%w\nwrite the output: %w", err, o.err)
}
