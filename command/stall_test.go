//go:build linux

package command

import (
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
)

// TestStall stops a fabric's process for a moment while a program pings. The verdict then warns that the fabric's
// numbers cannot be trusted, and by how much the program's frames were late.
func TestStall(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	_, pausenet := program(t)
	const name = "test-stall"
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(pausenet, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	up := exec.Command(pausenet, "up", "--name", name, "--slowdown", "200")
	lines, err := up.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := &seenOnce{mark: "slow-down 200", seen: make(chan struct{})}
	up.Stdout, up.Stderr = said, said
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	defer up.Process.Kill() //nolint:errcheck // it has ended but where the test has failed
	<-said.seen
	var fabric live.Description
	if err := json.Unmarshal([]byte(run("inspect", name, "-o", "json")), &fabric); err != nil {
		t.Fatal(err)
	}
	ping := exec.Command(pausenet, "exec", "--fabric", name, "h1", "--", "ping", "-i", "0.1", "h5")
	first := &seenOnce{mark: "bytes from", seen: make(chan struct{})}
	ping.Stdout = first
	if err := ping.Start(); err != nil {
		t.Fatal(err)
	}
	<-first.seen
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(fabric.PID, s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGSTOP {
			time.Sleep(2 * time.Second) // the stall itself
		}
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) { // ping's first frame after the stall
		if err := json.Unmarshal([]byte(run("inspect", name, "-o", "json")), &fabric); err != nil {
			t.Fatal(err)
		}
		if c := fabric.Clock; c.FrameLatenessMaxNS >= 1e9 && c.StalledSeconds >= 1 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%+v", c)
		}
	}
	down := exec.Command(pausenet, "down", name)
	ended, _ := down.CombinedOutput()
	_ = lines.Close()
	_ = up.Wait()
	_ = ping.Wait() // the fabric's end ends it
	if out := string(ended); !strings.Contains(out, "checks: "+measure.Fail.Word()) ||
		!strings.Contains(out, "a frame that a program sent was processed") {
		t.Errorf("after a stall of 2s:\n%s", out)
	}
	for _, c := range []*exec.Cmd{down, up} {
		if code := c.ProcessState.ExitCode(); code != exitVerdict {
			t.Errorf("%v: exit code %d for a verdict of FAIL", c.Args, code)
		}
	}
}

// seenOnce closes seen as the mark is written.
type seenOnce struct {
	mark string
	text []byte
	done bool
	seen chan struct{}
}

func (s *seenOnce) Write(p []byte) (int, error) {
	if s.text = append(s.text, p...); !s.done && strings.Contains(string(s.text), s.mark) {
		s.done = true
		close(s.seen)
	}
	return len(p), nil
}
