//go:build linux

package command

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pausenet/pausenet/command/shell"
	"github.com/pausenet/pausenet/experiments/live"
)

func newShellCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "shell [NAME]",
		Short: "Open another shell of a live fabric",
		Long: `Open a shell of a live fabric that runs in the background (up --detach) or in
another terminal. exit leaves the fabric up; down ends it.

If standard input is not a terminal, the shell runs all its lines, and the exit
code is 1 if any fails.`,
		Example: `  sudo pausenet up leafspine --name lab --detach
  sudo pausenet shell lab
  echo pingall | sudo pausenet shell lab`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFabrics,
		RunE: func(c *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			a := &shell.Attached{
				Out: onScreen(c.OutOrStdout()), Programs: os.Stdout,
				Dial: func() (*live.Client, error) { return dial(name) },
			}
			if err := a.Attach(); err != nil {
				return clientError(err, exitEnvironment)
			}
			defer a.Close()
			name = a.Name() // later connections reach this fabric, even if another comes up
			return useAttached(a)
		},
	}
}

// useAttached runs an attached shell until it ends.
func useAttached(a *shell.Attached) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		if err := a.Lines(os.Stdin); err != nil {
			return &exitError{exitVerdict, err}
		}
		return nil
	}
	a.In = os.Stdin
	defer keepTerminal()()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(ended)
	ignored := make(chan os.Signal, 1) // Ctrl-C ends the running line, not this process
	signal.Notify(ignored, os.Interrupt)
	defer signal.Stop(ignored)
	fmt.Fprintf(a.Out, "attached to %s: help lists the commands; exit or Ctrl-D leaves it up\n", a.Name())
	typed := make(chan error, 1)
	go func() { typed <- a.Terminal() }()
	select {
	case err := <-typed:
		return badInput(err)
	case <-ended:
		return nil
	case <-a.Done():
		fmt.Fprintln(a.Out)
		if r := live.Ended(a.Name()); r != nil {
			return &exitError{exitVerdict, errors.New(r.String())}
		}
		return &exitError{exitVerdict, errors.New("the fabric has ended")}
	}
}
