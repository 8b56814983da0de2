//go:build linux

package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	attached "github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/orchestrator/wallclock"
)

func newExecCommand() *cobra.Command {
	var fabric string
	c := &cobra.Command{
		Use:   "exec [flags] NODE COMMAND...",
		Short: "Run a program on a node of a live fabric",
		Long: `Run a program in the namespaces of a node, where the names of the fabric's
hosts resolve. All words after NODE belong to the program, its flags too. The
exit code is the program's; 128 plus the signal's number if a signal ended it; 1
if the fabric ended. SIGTERM is passed on to the program.`,
		Example: `  sudo pausenet exec h1 ping -c 3 h2
  sudo pausenet exec --fabric lab h1 bash`,
		Args:              programArguments,
		ValidArgsFunction: completeNodes(&fabric, false),
		RunE: func(_ *cobra.Command, args []string) error {
			client, err := dial(fabric)
			if err != nil {
				return err
			}
			defer client.Close()
			node, program := args[0], programOf(args)
			ignored := make(chan os.Signal, 1) // signals are for the program, which would inherit Ignore
			signal.Notify(ignored, os.Interrupt, syscall.SIGQUIT)
			defer signal.Stop(ignored)
			// a signal to this process is meant for the program, which would otherwise keep running
			ended := make(chan os.Signal, 1)
			signal.Notify(ended, syscall.SIGTERM)
			defer signal.Stop(ended)
			return programError(program[0], client.Exec(node, program, ended))
		},
	}
	c.Flags().SetInterspersed(false)
	fabricFlag(c, &fabric)
	return c
}

// programOf returns the program and its arguments: the arguments of exec after the node and an optional --.
func programOf(args []string) []string {
	if len(args) > 1 && args[1] == "--" {
		return args[2:]
	}
	return args[min(1, len(args)):]
}

// programArguments checks that the arguments name a node and a program, and that no flag of exec is between them.
func programArguments(c *cobra.Command, args []string) error {
	if len(programOf(args)) == 0 {
		return cobra.MinimumNArgs(2)(c, nil)
	}
	if strings.HasPrefix(args[1], "-") && args[1] != "--" {
		return fmt.Errorf("%s: expected a program after the node; flags of exec come before the node", args[1])
	}
	return nil
}

// programError returns the error of an ended program, with the exit code of a shell: the program's own, or 128 plus
// the signal's number.
func programError(name string, err error) error {
	var (
		ended *exec.ExitError
		afar  *attached.ProgramEnded
	)
	if errors.Is(err, wallclock.ErrEnded) {
		return &exitError{exitVerdict, fmt.Errorf("%s: %w", name, err)}
	}
	var status syscall.WaitStatus
	switch {
	case errors.As(err, &afar):
		status = afar.Status
	case errors.As(err, &ended):
		status, _ = ended.Sys().(syscall.WaitStatus)
	default:
		return clientError(err, exitBadInput)
	}
	if status.Signaled() {
		return &exitError{128 + int(status.Signal()), fmt.Errorf("%s: %w", name, err)}
	}
	return &exitError{status.ExitStatus(), fmt.Errorf("%s: exit code %d", name, status.ExitStatus())}
}
