package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// done describes a command that has ended.
type done struct {
	code            int
	out, complaints string
}

const (
	// endTimeout limits how long an interrupted command may take to write its results. It is a little more than the
	// command's own limit.
	endTimeout = 12 * time.Second
	// mostOutput limits what a command may print, in bytes.
	mostOutput = 16 << 20
)

// run runs a command of this program in a process of its own. The end of ctx interrupts it, as Ctrl-C does.
func run(ctx context.Context, folder string, words []string) (*done, error) {
	self, err := os.Executable()
	if err != nil {
		return &done{}, err
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe" // this program, even if its file has been replaced
	}
	c := exec.CommandContext(ctx, self, words...)
	c.Args[0] = "pausenet"
	c.Dir, c.WaitDelay = folder, endTimeout
	c.Env = append(os.Environ(), files.OnlyBelow+"="+folder) // its messages may quote files
	if runtime.GOOS != "windows" {                           // which has no such signal
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	}
	out, complaints := &bounded{}, &bounded{}
	c.Stdout, c.Stderr = out, complaints
	defer shutdown.Wait()() // the command ends itself
	// If the server is killed, the kernel ends the command when the thread that started it does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	endWithParent(c)
	err = c.Run()
	d := &done{c.ProcessState.ExitCode(), out.String(), complaints.String()}
	var exit *exec.ExitError
	switch {
	case out.dropped || complaints.dropped:
		return d, fmt.Errorf("the output is longer than %d MiB: ask for less", mostOutput>>20)
	case errors.As(err, &exit) && d.code < 0:
		return d, fmt.Errorf("the command's process was killed (%s)\n%s", exit.ProcessState, d.complaints)
	case errors.As(err, &exit):
		return d, nil
	}
	return d, err
}

// bounded keeps the first mostOutput bytes, and discards the rest.
type bounded struct {
	bytes.Buffer
	dropped bool
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := min(len(p), mostOutput-b.Len())
	b.dropped = b.dropped || kept < len(p)
	b.Buffer.Write(p[:kept])
	return len(p), nil
}
