//go:build linux

package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	attached "github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/orchestrator/wallclock"
)

func newExecCommand() *cobra.Command {
	var fabric, up, clock string
	var faults bool
	c := &cobra.Command{
		Use:   "exec [flags] NODE COMMAND...",
		Short: "Run a program on a node of a live fabric",
		Long: `Run a program in the namespaces of a node, where the names of the fabric's
hosts resolve. All words after NODE belong to the program, its flags too. The
exit code is the program's; 128 plus the signal's number if a signal ended it; 1
if the fabric ended. SIGTERM is passed on to the program.

With --up a fabric comes up for this program, and ends with it. Then the exit
code is 1, too, if the program ended with 0 but the fabric's checks failed. So
a test of an RDMA program is one line of a CI job. --up needs no root.`,
		Example: `  sudo pausenet exec h1 ping -c 3 h2
  sudo pausenet exec --fabric lab h1 bash
  pausenet exec --up small h1 sh -c 'pausenet exec h2 rping -s -C 3 &
      sleep 1; rping -c -C 3 -a h2'`,
		Args:              programArguments,
		ValidArgsFunction: completeNodes(&fabric, false),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if err := errors.Join(needs(c, "clock", "up"), needs(c, "allow-faults", "up")); err != nil {
				return err
			}
			if c.Flags().Changed("up") {
				if c.Flags().Changed("fabric") {
					return badInput(errors.New("--up and --fabric: use only one of them"))
				}
				fabric = fmt.Sprintf("exec-%d", os.Getpid())
				end, err := upFor(c, fabric, up, "--clock", clock, fmt.Sprintf("--allow-faults=%v", faults))
				if err != nil {
					return err
				}
				defer func() { err = end(err) }()
			}
			client, err := dial(fabric)
			if err != nil {
				return err
			}
			defer client.Close()
			node, program := args[0], programOf(args)
			ignored := make(chan os.Signal, 1) // these signals reach the program, too, which would inherit signal.Ignore
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
	c.Flags().StringVar(&up, "up", "", "bring up this `topology` or scenario for the program, as up does")
	completeBy(c, "up", completeSubjects)
	c.Flags().StringVar(&clock, "clock", attached.ClockWall, "`clock` of the fabric of --up: wall or lockstep")
	completeFlag(c, "clock", attached.ClockWall, attached.ClockLockstep)
	c.Flags().BoolVar(&faults, "allow-faults", false,
		"let programs inject faults into the fabric of --up (pausenet fault)")
	return c
}

// upFor brings a fabric up in a process of its own, which ends with this one, even if this one is killed. end ends it:
// it prints the fabric's verdict, and returns err, or else the error of a failed verdict.
func upFor(c *cobra.Command, name, subject string, flags ...string) (end func(err error) error, err error) {
	path, err := os.Executable()
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	fabric := exec.Command(path, slices.Concat([]string{"up", "--name", name}, flags, []string{"--", subject})...)
	fabric.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's signals are for the program
	open, err := fabric.StdinPipe()                          // the fabric ends when its standard input does
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	var printed bytes.Buffer
	fabric.Stdout, fabric.Stderr = &printed, c.ErrOrStderr()
	if err := fabric.Start(); err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	over := make(chan struct{})
	go func() {
		_ = fabric.Wait()
		close(over)
	}()
	end = func(err error) error {
		open.Close()
		<-over
		_, _ = c.ErrOrStderr().Write(printed.Bytes())
		if code := fabric.ProcessState.ExitCode(); err == nil && code != 0 {
			return &exitError{max(code, exitVerdict), errors.New("the program ended with 0, but the fabric's checks failed")}
		}
		return err
	}
	for {
		client, err := attached.Dial(name)
		if err == nil {
			return end, client.Close()
		}
		if !errors.Is(err, attached.ErrNone) {
			return nil, end(clientError(err, exitEnvironment))
		}
		select {
		case <-over:
			return nil, &exitError{max(fabric.ProcessState.ExitCode(), exitVerdict), errors.New("the fabric did not come up")}
		case <-time.After(10 * time.Millisecond):
		}
	}
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
		local  *exec.ExitError
		remote *attached.ProgramEnded
	)
	if errors.Is(err, wallclock.ErrEnded) {
		return &exitError{exitVerdict, fmt.Errorf("%s: %w", name, err)}
	}
	var status syscall.WaitStatus
	switch {
	case errors.As(err, &remote):
		status = remote.Status
	case errors.As(err, &local):
		status, _ = local.Sys().(syscall.WaitStatus)
	default:
		return clientError(err, exitBadInput)
	}
	if status.Signaled() {
		return &exitError{128 + int(status.Signal()), fmt.Errorf("%s: %w", name, err)}
	}
	return &exitError{status.ExitStatus(), fmt.Errorf("%s: exit code %d", name, status.ExitStatus())}
}
