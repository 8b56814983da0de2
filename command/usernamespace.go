//go:build linux

package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// withoutRoot has the switches run in the fabric's process, as the kernel loads no eBPF programs from user namespaces.
// It refuses what only the machine's root may do.
func (f *upFlags) withoutRoot(c *cobra.Command) error {
	switch {
	case c.Flags().Changed("plane") && f.plane == plane.Kernel:
		return &exitError{exitEnvironment, errors.New(
			"--plane kernel needs root for eBPF programs: " + useSudo +
				", or leave --plane out (the switches then run in this process)")}
	case f.nat:
		return &exitError{exitEnvironment, errors.New("--nat needs root for the machine's routes and firewall: " + useSudo)}
	case f.names:
		return &exitError{exitEnvironment, errors.New("--netns-names needs root: /run/netns is the machine's (use sudo, or " +
			"leave it out)")}
	}
	f.plane = plane.Wasm
	return nil
}

const useSudo = "run it with sudo"

// inUserNamespace runs this command again in a user namespace of its own, for users who are not root: they are root
// there, over namespaces and interfaces that they create.
func inUserNamespace() error {
	path, err := os.Executable()
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	again := exec.Command(path, os.Args[1:]...)
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGTERM, // of this thread
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The terminal sends its signals to both processes; others are passed on.
	passed := make(chan os.Signal, 4)
	signal.Notify(passed, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(passed)
	if err := again.Start(); err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("a live fabric needs root, or user namespaces, which are not "+
			"allowed here (%w): %s, or allow them (sysctl user.max_user_namespaces, and on Ubuntu "+
			"kernel.apparmor_restrict_unprivileged_userns=0)", err, useSudo)}
	}
	go func() {
		for s := range passed {
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				_ = again.Process.Signal(s)
			}
		}
	}()
	err = again.Wait()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		code := ended.ExitCode()
		if code < 0 {
			return &exitError{exitVerdict, fmt.Errorf("the fabric's process: %w", err)}
		}
		os.Exit(code) // it has said why
	}
	return err
}
