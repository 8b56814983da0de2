//go:build linux

package main

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/orchestrator"
)

// A live fabric ends with its process, and with it the programs that it started. What those started in turn, such as servers in the
// background, would go on and hold a namespace. The guard, a process of its own, ends them: its standard input is a pipe that ends with the
// fabric's process, in whatever way that does.

// newGuardCommand is the command of that process. No user needs to know it.
func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use: "guard PID", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[0])
			if err != nil {
				return badInput(err)
			}
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			if _, err := io.Copy(io.Discard, c.InOrStdin()); err != nil {
				return err
			}
			return orchestrator.CleanAfter(pid)
		},
	}
}

// guard starts it for this process. done has it know that there is nothing left to do but look.
func guard() (done func(), err error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "guard", strconv.Itoa(os.Getpid()))
	cmd.Args[0] = "pausenet"                             // tests are this program too, by that name
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is not for it
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() { _ = pipe.Close() }, cmd.Process.Release()
}
