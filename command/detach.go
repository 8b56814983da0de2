//go:build linux

package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// upLine reports that the fabric is up. The background process writes it.
const upLine = "pausenet-is-up"

// detach starts this command again in the background and waits until its fabric is up.
func detach(out io.Writer, name string) error {
	path, err := os.Executable()
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	cmd := exec.Command(path, os.Args[1:]...)
	cmd.Env = append(os.Environ(), detachedVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	if err := cmd.Start(); err != nil {
		return &exitError{exitEnvironment, err}
	}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		if lines.Text() == upLine {
			fmt.Fprintf(out, `%[1]s is up, process %[2]d
open a shell:   pausenet shell %[1]s
run a program:  pausenet exec --fabric %[1]s NODE COMMAND
look at it:     pausenet top --fabric %[1]s (or events, or capture NODE)
end it:         pausenet down %[1]s
`, name, cmd.Process.Pid)
			return cmd.Process.Release()
		}
		fmt.Fprintln(out, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		code := cmd.ProcessState.ExitCode()
		if code <= 0 {
			code = exitEnvironment
		}
		return &exitError{code, fmt.Errorf("cannot bring up the fabric: %w", err)}
	}
	return &exitError{exitEnvironment, fmt.Errorf("cannot bring up the fabric")}
}

// detached reports to the foreground process that the fabric is up, and releases its terminal. From then on,
// standard error goes to a file, for the Go runtime's output in a crash.
func detached(log string) {
	fmt.Println(upLine)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	errs, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		errs = null
	} else {
		defer errs.Close()
	}
	for fd, file := range []*os.File{null, null, errs} {
		_ = syscall.Dup3(int(file.Fd()), fd, 0)
	}
}
