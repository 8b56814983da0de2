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

// A sweep makes each point in a process of its own: one that runs out of memory, or is killed, takes no other with it.
// That costs some 20 ms a point, as much as a run of a few milliseconds takes, and no memory is shared but the
// program's own; in exchange each has a heap, and so a garbage collector, to itself. docs/measurements/sweeps.md has
// the measurements.
//
// The point's process is told its job on its standard input, as JSON, which then stays open: its end means that the
// sweep has ended, in whatever way, and ends the run. On its standard output it reports progress, an object a line.

// pointProgress is a report of progress.
type pointProgress struct {
	Now  vtime.Time `json:"now_ps"`
	Hops int64      `json:"hops"`
}

// newSweepPointCommand is the command of a point's process. No user needs to know it.
func newSweepPointCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "sweep-point",
		Short:  "Make a point of a sweep (what sweep starts; the job comes as JSON)",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return makePoint(c.Context(), os.Stdin, c.OutOrStdout())
		},
	}
}

// lockTimeout is how long a point waits for the process of a sweep that was killed to let go of its folder.
const lockTimeout = 10 * time.Second

func makePoint(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := shutdown.Context(ctx)
	defer stop()
	// A sweep that is killed closes both pipes at once. A report that meets the closed one first must not end the process,
	// which has its results to write and to mark.
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
	go func() { // to the end of the process
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
		_ = reports.Encode(pointProgress{now, t.Hops}) // nobody there to hear it: then there is none to tell either
	})
	if err != nil {
		return runError(err)
	}
	return nil
}

// endTimeout is how long a point may take to write what it has when it is ended: a little less than the sweep itself
// has.
const endTimeout = 8 * time.Second

// startPoint makes a point in a process of its own, and waits for it.
func startPoint(ctx context.Context, job *sweep.Job, progress engine.Progress) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the point's process: %w", err)
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe" // this program, also if its file has been replaced since
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
	defer shutdown.Wait()() // the point sees to its own end
	// A process that is gone before it has read its job says so as it is waited for.
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
	_, _ = io.Copy(io.Discard, out) // so that what it writes never blocks it
	return pointError(c.Wait(), complaints.String())
}

// pointError says how a point's process ended.
func pointError(err error, complaints string) error {
	if err == nil {
		return nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("the point's process: %w", err)
	}
	if exit.ExitCode() < 0 {
		return fmt.Errorf("the point's process was ended (%s)", exit.ProcessState)
	}
	text := strings.TrimPrefix(strings.TrimSpace(complaints), "pausenet: ")
	if i := strings.Index(text, "\n\n"); i >= 0 && strings.Contains(text, "goroutine ") {
		text = text[:i] // a crash: what it was, not where everything stood
	}
	if text == "" {
		text = exit.String()
	}
	return &exitError{exit.ExitCode(), errors.New(text)}
}
