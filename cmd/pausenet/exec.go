//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func newExecCommand() *cobra.Command {
	var fabric string
	c := &cobra.Command{
		Use:   "exec NODE -- COMMAND...",
		Short: "Run a program on a node of a live fabric",
		Long: `exec runs a program in the network namespace of a node, where the fabric's hosts have
their names, and exits with its code.`,
		Example: `  sudo pausenet exec h1 -- ping -c 3 h2
  sudo pausenet exec h1 -- bash`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: completeNodes(&fabric, false),
		RunE: func(_ *cobra.Command, args []string) error {
			client, err := dial(fabric)
			if err != nil {
				return err
			}
			defer client.Close()
			ignored := make(chan os.Signal, 1) // they are for the program, which would inherit Ignore
			signal.Notify(ignored, os.Interrupt, syscall.SIGQUIT)
			defer signal.Stop(ignored)
			err = client.Exec(args[0], args[1:])
			var ended *exec.ExitError
			switch {
			case errors.As(err, &ended) && ended.ExitCode() > 0:
				return &exitError{ended.ExitCode(), fmt.Errorf("%s: exit code %d", args[1], ended.ExitCode())}
			case errors.As(err, &ended):
				return &exitError{exitVerdict, fmt.Errorf("%s: %w", args[1], err)}
			}
			return badInput(err)
		},
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: flags of the command go behind --: write pausenet %s", err, c.Use)
	})
	fabricFlag(c, &fabric)
	return c
}
