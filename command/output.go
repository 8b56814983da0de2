package command

import (
	"errors"
	"fmt"
	"io"
)

// output is the command's standard output. It keeps the first error: what prints need not look at each line's, and
// nobody takes a full disk's empty file for the whole answer.
type output struct {
	to   io.Writer
	err  error
	rest []byte // as in plain
}

// Write writes text, and nothing that a terminal would obey.
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

// failed adds to a command's error that its output could not be written. An error that stands already decides the exit
// code.
func (o *output) failed(err error) error {
	switch {
	case o.err == nil:
		return err
	case err == nil || errors.Is(err, o.err):
		return &exitError{exitEnvironment, fmt.Errorf("write the output: %w", o.err)}
	}
	return fmt.Errorf("%w\nwrite the output: %w", err, o.err)
}
