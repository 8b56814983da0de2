package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// TestSweepTable: a line a point, none wider than the screen, not more than it is high.
func TestSweepTable(t *testing.T) {
	now := time.Unix(1000, 0)
	table := sweepTable{
		name: "mine", total: 20, done: 4, kept: 3, over: 8, failed: 1, elapsed: 10 * time.Second,
		running: []runningPoint{
			{name: "xoff=1KB dcqcn", duration: 40 * vtime.Millisecond, now: 10 * vtime.Millisecond, hops: 4e6, wall: 2 * time.Second, begun: now.Add(-2500 * time.Millisecond)},
			{name: "x dcon", duration: 40 * vtime.Millisecond, begun: now},
			{name: "y dcon", duration: vtime.Millisecond, now: 2 * vtime.Millisecond, hops: 1000, wall: time.Second, begun: now.Add(-time.Second)},
		},
	}
	want := `mine: 7 of 20 points (3 kept), 1 failed  10s, about 30s left
  xoff=1KB dcqcn   25 %  10.0 of 40ms  2000 khop/s  2s
  x dcon          building the fabric
  y dcon          100 %  2.0 of 1ms  1 khop/s  1s`
	if got := strings.Join(table.lines(now, 100, 10), "\n"); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	for _, l := range table.lines(now, 20, 2) {
		if len([]rune(l)) > 20 {
			t.Errorf("%q is too wide", l)
		}
	}
	if n := len(table.lines(now, 20, 2)); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// TestSweepDisplay: on a screen the table is taken off before a line that stays is written; elsewhere there are such lines
// alone.
func TestSweepDisplay(t *testing.T) {
	points := []sweep.Point{{Folder: "a=1", Controller: "dcqcn", Duration: vtime.Millisecond}, {Folder: "a=2", Controller: "dcqcn"}, {Folder: "a=3", Controller: "dcqcn"}}
	for _, terminal := range []bool{true, false} {
		var out bytes.Buffer
		d := &sweepDisplay{out: &out, points: points, widest: len("a=10 dcqcn"), table: sweepTable{name: "mine", total: 3}, stop: make(chan struct{})}
		if terminal {
			d.size = func() (int, int) { return 80, 24 }
		}
		d.begun(0)(500*vtime.Microsecond, &engine.Totals{Hops: 7})
		if terminal {
			d.draw(nil)
			if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "a=1 dcqcn") {
				t.Errorf("table %q", got)
			}
		}
		out.Reset()
		d.ended(1, &sweep.Outcome{State: sweep.Kept})
		d.ended(0, &sweep.Outcome{State: sweep.Done, Wall: 1500 * time.Millisecond, Verdict: measure.Verdict{Status: measure.Fail}})
		d.ended(2, &sweep.Outcome{State: sweep.Failed, Err: errors.New("no memory\ngoroutine 1")})
		d.close()
		ended, failed := "  FAIL  a=1 dcqcn      1.5s\n", "  failed  a=3 dcqcn: no memory\n"
		want := ended + failed
		if terminal {
			want = "\x1b[2A\x1b[J" + ended + "mine: 2 of 3 points (1 kept), 1 failed  0s, about 0s left\n" +
				"\x1b[1A\x1b[J" + failed + "mine: 2 of 3 points (1 kept), 2 failed  0s\n" + "\x1b[1A\x1b[J"
		}
		if got := out.String(); got != want {
			t.Errorf("terminal %t: %q\nwant %q", terminal, got, want)
		}
	}
}

// TestPointError: what a point's process said, with its exit code; of a crash the first of it; of a signal which.
func TestPointError(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	for _, c := range []struct {
		script, said string
		code         int
		want         string
	}{
		{"exit 0", "", 0, ""},
		{"exit 3", "pausenet: no space left on device: free some\n", 3, "no space left on device: free some"},
		{"exit 2", "panic: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n", 2, "panic: index out of range"},
		{"exit 5", "", 5, "exit status 5"},
		{"kill -9 $$", "", 0, "the point's process was ended (signal: killed)"},
	} {
		err := pointError(exec.Command("sh", "-c", c.script).Run(), c.said)
		var exit *exitError
		if got := fmt.Sprint(err); c.want != "" && got != c.want || c.want == "" && err != nil {
			t.Errorf("%s: %q, want %q", c.script, got, c.want)
		}
		if errors.As(err, &exit) && exit.code != c.code || (c.code != 0) != (exit != nil) {
			t.Errorf("%s: %+v", c.script, exit)
		}
	}
}

// TestSweepErrors: the exit code, and which points are at fault.
func TestSweepErrors(t *testing.T) {
	points := []sweep.Point{{Folder: "a", Controller: "x"}, {Folder: "b", Controller: "x"}, {Folder: "c", Controller: "x"}}
	fine := sweep.Outcome{State: sweep.Done, Verdict: measure.Verdict{Status: measure.Pass}}
	wrong := sweep.Outcome{State: sweep.Kept, Verdict: measure.Verdict{Status: measure.Fail, Messages: []string{"an invariant"}}}
	full := sweep.Outcome{State: sweep.Failed, Err: &exitError{exitEnvironment, errors.New("disk full")}}
	for _, c := range []struct {
		outcomes    []sweep.Outcome
		interrupted bool
		code        int
		want        string
	}{
		{[]sweep.Outcome{fine, fine, fine}, false, exitFine, ""},
		{[]sweep.Outcome{fine, wrong, fine}, false, exitVerdict, "1 of 3 points failed:\n  b x: FAIL: an invariant"},
		{[]sweep.Outcome{full, wrong, fine}, false, exitEnvironment, "2 of 3 points failed:\n  a x: disk full\n  b x: FAIL: an invariant"},
		{[]sweep.Outcome{fine, {State: sweep.Interrupted}, {State: sweep.Waiting}}, true, exitVerdict, "interrupted"},
	} {
		var b bytes.Buffer
		if got := exit(&b, sweepError(points, c.outcomes, c.interrupted)); got != c.code || !strings.Contains(b.String(), c.want) {
			t.Errorf("exit code %d: %s", got, b.String())
		}
	}
}

// TestColumns: words to the left, numbers to the right; what a narrow screen has no room for stands below, with the words
// again, and no line is wider than the screen unless a single number is.
func TestColumns(t *testing.T) {
	lines := [][]string{
		{"size", "cc", "verdict", "FCT, mean", "Goodput", "PAUSE"},
		{"20KB", "dcqcn", "PASS", "5.2 ± 0.1 ms", "40 Gbps", "7"},
	}
	wide := "" +
		"  size  cc     verdict     FCT, mean  Goodput  PAUSE\n" +
		"  20KB  dcqcn  PASS     5.2 ± 0.1 ms  40 Gbps      7\n"
	two := "" +
		"  size  cc     verdict     FCT, mean  Goodput\n" +
		"  20KB  dcqcn  PASS     5.2 ± 0.1 ms  40 Gbps\n" +
		"\n" +
		"  size  cc     verdict  PAUSE\n" +
		"  20KB  dcqcn  PASS         7\n"
	three := "" +
		"  size  cc     verdict     FCT, mean\n" +
		"  20KB  dcqcn  PASS     5.2 ± 0.1 ms\n" +
		"\n" +
		"  size  cc     verdict  Goodput\n" +
		"  20KB  dcqcn  PASS     40 Gbps\n" +
		"\n" +
		"  size  cc     verdict  PAUSE\n" +
		"  20KB  dcqcn  PASS         7\n"
	for width, want := range map[int]string{0: wide, 200: wide, 52: wide, 51: two, 45: two, 37: three, 10: three} {
		var b bytes.Buffer
		if writeColumnsWithin(&b, lines, width); b.String() != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, b.String(), want)
		}
	}
	var b bytes.Buffer
	if writeColumns(&b, lines); b.String() != wide {
		t.Errorf("not a terminal:\n%s", b.String())
	}
}
