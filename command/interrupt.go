package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/internal/shutdown"
)

// endOnSignals has SIGINT, SIGTERM and SIGHUP end a command and those below it, whatever they are doing. A command that
// has something to keep takes its context from shutdown.Context. It is not for commands of live fabrics: events and
// capture end well on a signal, and the others have a terminal, where Ctrl-C ends what a line does, or are a program's,
// which it is for.
func endOnSignals(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			defer shutdown.Start(exitVerdict)()
			err := run(c, args)
			var e *exitError
			if shutdown.Begun() && errors.Is(err, context.Canceled) && !errors.As(err, &e) {
				err = &exitError{exitVerdict, errors.New("interrupted")}
			}
			return err
		}
	}
	for _, below := range c.Commands() {
		endOnSignals(below)
	}
}
