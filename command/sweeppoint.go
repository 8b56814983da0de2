package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/vtime"
)

// A sweep runs each point in a process of its own: if one runs out of memory or is killed, the others continue. To
// start a process takes about 20 ms, as long as a run of a few milliseconds of virtual time. In exchange each point has
// its own heap and garbage collector; the processes share only the program's code. docs/measurements/sweeps.md has the
// measurements.
//
// The process reads its job as JSON from standard input, which then stays open. When it closes, the sweep has ended,
// and the process ends its run. It reports progress on standard output, one object per line.

// pointProgress represents a progress report.
type pointProgress struct {
	Now  vtime.Time `json:"now_ps"`
	Hops int64      `json:"hops"`
}

// newSweepPointCommand returns the internal command of a point's process.
func newSweepPointCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "sweep-point",
		Short:  "Run one point of a sweep (internal: sweep starts it, with the job as JSON)",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return makePoint(c.Context(), os.Stdin, c.OutOrStdout())
		},
	}
}

// lockTimeout limits how long a point waits for the process of a killed sweep to release the folder.
const lockTimeout = 10 * time.Second

func makePoint(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := shutdown.Context(ctx)
	defer stop()
	// A killed sweep closes both pipes at once. A report into the closed pipe must not end the process before it
	// marks its results as partial.
	signal.Ignore(syscall.SIGPIPE)
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return badInput(fmt.Errorf("read the job: %w", err))
	}
	var job sweep.Job
	if err := json.Unmarshal(text, &job); err != nil {
		return badInput(fmt.Errorf("read the job: %w", err))
	}
	go func() { // until the process ends
		_, _ = lines.ReadByte()
		shutdown.Begin()
	}()
	unlock, err := lockResultsFolder(ctx, cmp.Or(job.Within, job.Directory), job.Directory, lockTimeout)
	if err != nil {
		return err
	}
	defer unlock()
	reports := json.NewEncoder(out)
	err = job.Run(ctx, kernel.Opener(job.Plane), func(now vtime.Time, t *engine.Totals) {
		_ = reports.Encode(pointProgress{now, t.Hops}) // without a reader there is nobody to report an error to
	})
	if err != nil {
		return runError(err)
	}
	return nil
}

// endTimeout limits how long a point may take to write its results when it is ended. It is a little less than the
// sweep's own limit.
const endTimeout = 8 * time.Second

// startPoint runs a point in a process of its own, and waits for it.
func startPoint(ctx context.Context, job *sweep.Job, progress engine.Progress) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the point's process: %w", err)
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe" // this program, even if its file has been replaced
	}
	c := exec.CommandContext(ctx, self, "sweep-point")
	c.Args[0] = "pausenet"
	c.WaitDelay = endTimeout
	var complaints bytes.Buffer
	c.Stderr = &complaints
	in, err := c.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the point's process: %w", err)
	}
	c.Cancel = in.Close
	out, err := c.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the point's process: %w", err)
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start the point's process: %w", err)
	}
	defer shutdown.Wait()() // the point ends by itself; do not force the end of this process before that
	// If the process has ended before it read its job, Wait reports it.
	_ = json.NewEncoder(in).Encode(job)
	reports := json.NewDecoder(out)
	for {
		var p pointProgress
		if reports.Decode(&p) != nil {
			break
		}
		if progress != nil {
			progress(p.Now, &engine.Totals{Hops: p.Hops})
		}
	}
	_, _ = io.Copy(io.Discard, out) // so that its writes never block
	return pointError(c.Wait(), complaints.String())
}

// pointError describes how a point's process ended.
func pointError(err error, complaints string) error {
	if err == nil {
		return nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("the point's process: %w", err)
	}
	if exit.ExitCode() < 0 {
		return fmt.Errorf("the point's process was killed (%s)", exit.ProcessState)
	}
	text := strings.TrimPrefix(strings.TrimSpace(complaints), "pausenet: ")
	if i := strings.Index(text, "\n\n"); i >= 0 && strings.Contains(text, "goroutine ") {
		text = text[:i] // in a crash, only the message, not the stacks
	}
	text = cmp.Or(text, exit.String())
	return &exitError{exit.ExitCode(), errors.New(text)}
}
