//go:build linux

package command

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/testenv"
)

// These start pausenet, have it block, and send it a signal. They assert that it ends, not how fast; internal/shutdown
// has the other places where a process can be blocked.

// endless sets the time after which a process counts as one that does not end.
const endless = testenv.Hung

// blocked represents a pausenet process that waits for something and never gets it.
type blocked struct {
	*exec.Cmd
	stderr bytes.Buffer
}

// block starts pausenet with these standard files; nil: none.
func block(t *testing.T, path string, in, out *os.File, args ...string) *blocked {
	t.Helper()
	b := &blocked{Cmd: exec.Command(path, args...)}
	b.Dir = filepath.Dir(path)
	b.Stderr = &b.stderr
	if in != nil {
		b.Stdin = in
	}
	if out != nil {
		b.Stdout = out
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	return b
}

// ends fails the test unless the process ends, with this exit code and with this in its errors.
func (b *blocked) ends(t *testing.T, s syscall.Signal, code int, said string) {
	t.Helper()
	watchdog := time.AfterFunc(endless, func() { _ = b.Process.Kill() })
	if err := b.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	_ = b.Wait()
	if !watchdog.Stop() {
		t.Fatalf("%q had to be killed after %v", b.Args, endless)
	}
	if b.ProcessState.ExitCode() != code || !strings.Contains(b.stderr.String(), said) {
		t.Errorf("%q: %v: %s", b.Args, b.ProcessState, &b.stderr)
	}
}

// pipe returns a pipe. If full, nothing more can be written to it.
func pipe(t *testing.T, full bool) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	if full {
		size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	return r, w
}

// drained waits until all has been read that was written to a pipe.
func drained(t *testing.T, r *os.File) {
	t.Helper()
	for {
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// reaches waits for a file to have a text in it.
func reaches(t *testing.T, path, text string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), text) {
			return
		}
		if time.Since(begin) > endless {
			t.Fatalf("%s does not have %s: %v", path, text, err)
		}
	}
}

// TestInterruptedReading interrupts a command whose scenario never arrives through a pipe.
func TestInterruptedReading(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"validate", "show", "run", "sweep", "bound", "graph"} {
		t.Run(verb, func(t *testing.T) {
			_, pausenet := program(t)
			r, w := pipe(t, false)
			b := block(t, pausenet, r, nil, verb, "/dev/stdin")
			// It reads as soon as the pipe is empty again.
			if _, err := w.WriteString("topology: star\n"); err != nil {
				t.Fatal(err)
			}
			drained(t, r)
			b.ends(t, syscall.SIGINT, exitVerdict, "pausenet: interrupted\n")
		})
	}
}

// TestInterruptedPrinting interrupts a run whose output nobody reads. Its results are complete, and stay.
func TestInterruptedPrinting(t *testing.T) {
	t.Parallel()
	dir, pausenet := program(t)
	_, w := pipe(t, true)
	b := block(t, pausenet, nil, w, "run", "incast", "--plane", "wasm")
	folder := filepath.Join(dir, "results", "incast")
	reaches(t, filepath.Join(folder, "runs.json"), "dcqcn")
	b.ends(t, syscall.SIGTERM, exitVerdict, "pausenet: interrupted\n")
	reaches(t, filepath.Join(folder, "dcqcn", "manifest.json"), `"status": "complete"`)
	reaches(t, filepath.Join(folder, "dcqcn", "summary.json"), `"partial": false`)
}

// TestInterruptedWaiting interrupts a run that waits for a folder which another process has locked.
func TestInterruptedWaiting(t *testing.T) {
	t.Parallel()
	dir, pausenet := program(t)
	folder := filepath.Join(dir, "point")
	unlock, err := lockResultsFolder(t.Context(), dir, folder, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	job, err := json.Marshal(&sweep.Job{
		Common: sweep.Common{Plane: "wasm"}, Scenario: "incast", Controller: "none", Directory: folder,
	})
	if err != nil {
		t.Fatal(err)
	}
	r, w := pipe(t, false)
	b := block(t, pausenet, r, nil, "sweep-point")
	if _, err := w.Write(append(job, '\n')); err != nil {
		t.Fatal(err)
	}
	drained(t, r)
	b.ends(t, syscall.SIGTERM, exitVerdict, "pausenet: interrupted")
}

// TestInterruptedWatch checks that a watching command continues until a signal, and that its exit code names the
// signal, whether it runs at that moment or waits.
func TestInterruptedWatch(t *testing.T) {
	t.Parallel()
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		dir, pausenet := program(t)
		if err := os.WriteFile(filepath.Join(dir, "mine.star"), []byte("def init(flow):\n    flow.rate = path.line_rate\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		b := block(t, pausenet, nil, nil, "run", "incast", "--plane", "wasm", "--cc", "./mine.star", "--watch")
		reaches(t, filepath.Join(dir, "results", "incast", "runs.json"), "mine.star")
		b.ends(t, s, code, "pausenet: interrupted")
	}
}

// TestInterruptedSweep interrupts a sweep whose point has been stopped. The sweep ends the point and reports its
// results so far.
func TestInterruptedSweep(t *testing.T) {
	t.Parallel()
	dir, pausenet := program(t)
	b := block(t, pausenet, nil, nil, "sweep", "incast", "--set", "flows.0.size=2GB,3GB", "--set", "duration=10s", "--cc",
		"none", "--jobs", "1", "--plane", "wasm", "--out", "out")
	reaches(t, filepath.Join(dir, "out", "size=2GB", "none", "manifest.json"), `"status": "running"`)
	point := childOf(t, b.Process.Pid)
	if err := syscall.Kill(point, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.ends(t, syscall.SIGTERM, exitVerdict, "interrupted: finished points are kept")
	reaches(t, filepath.Join(dir, "out", "sweep.csv"), "interrupted")
}

// childOf returns the only child of a process.
func childOf(t *testing.T, parent int) int {
	t.Helper()
	found, err := childrenOf(parent)
	if err != nil || len(found) != 1 {
		t.Fatalf("the children of %d are %v, %v", parent, found, err)
	}
	return found[0]
}
