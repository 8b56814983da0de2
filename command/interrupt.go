package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/internal/shutdown"
)

// endOnSignals makes SIGINT, SIGTERM and SIGHUP end a command and its subcommands at any point. A command with
// results to keep takes its context from shutdown.Context instead. Commands of live fabrics do not use it: events
// and capture handle signals, and the others pass them to a terminal or a program.
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
