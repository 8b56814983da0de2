package command

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// TestSweepCount checks the line about the progress of a sweep.
func TestSweepCount(t *testing.T) {
	c := sweepCount{name: "mine", total: 20}
	if got := c.line(0); got != "mine: 0 of 20 points  0s" {
		t.Error(got)
	}
	for range 3 {
		c.add(&sweep.Outcome{State: sweep.Kept})
	}
	for range 4 {
		c.add(&sweep.Outcome{State: sweep.Done, Verdict: measure.Verdict{Status: measure.Pass}})
	}
	c.add(&sweep.Outcome{State: sweep.Failed, Err: errors.New("no memory")})
	if got := c.line(10 * time.Second); got != "mine: 7 of 20 points (3 kept), 1 failed  10s, about 30s left" {
		t.Error(got)
	}
}

// TestSweepDisplay checks that each finished point has a line, except for kept ones. On a screen, lines stand above the
// bars, which have disappeared at the end.
func TestSweepDisplay(t *testing.T) {
	points := []sweep.Point{
		{Folder: "a=1", Controller: "dcqcn", Duration: vtime.Millisecond},
		{Folder: "a=2", Controller: "dcqcn"},
		{Folder: "a=3", Controller: "dcqcn"},
		{Folder: "a=10", Controller: "dcqcn"},
	}
	const ended, failed = "  broken  a=1 dcqcn      1.5s\n", "  failed  a=3 dcqcn: no memory\n"
	for screenName, terminal := range map[string]bool{"terminal": true, "terminal, all over": true, "pipe": false} {
		interrupted := screenName == "terminal, all over"
		var out screen
		var shown *bars
		if terminal {
			shown = startBars(&out, time.Millisecond, func() (int, int) { return 200, 24 })
		}
		d := displaySweep(&out, shown, "mine", points)
		if progress := d.started(0); terminal {
			progress(500*vtime.Microsecond, &engine.Totals{Hops: 7})
		}
		d.started(3)
		if terminal {
			out.await(t, "a=1 dcqcn", "500 us of 1ms", "a=10 dcqcn", "building the fabric", "mine: 0 of 4 points")
		}
		d.ended(1, &sweep.Outcome{State: sweep.Kept})
		d.ended(0, &sweep.Outcome{
			State: sweep.Done, Wall: 1500 * time.Millisecond,
			Verdict: measure.Verdict{Status: measure.Fail},
		})
		d.ended(2, &sweep.Outcome{State: sweep.Failed, Err: errors.New("no memory\ngoroutine 1")})
		if terminal {
			out.await(t, ended, failed, "mine: 2 of 4 points (1 kept), 2 failed")
		}
		if interrupted {
			d.ended(3, &sweep.Outcome{State: sweep.Interrupted})
		}
		d.close()
		want := ended + failed
		if interrupted {
			want += "  interrupted  a=10 dcqcn\n"
		}
		if got := out.left(); got != want {
			t.Errorf("%s: what stays is %q", screenName, got)
		}
	}
}

// screen represents a terminal of many lines, and collects the output to it.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// hung limits how long a display may take to show an update. It shows it within milliseconds, or never.
const hung = testenv.Hung

// await waits until texts have been written.
func (s *screen) await(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for start := time.Now(); ; {
			s.mu.Lock()
			there := strings.Contains(s.text.String(), text)
			s.mu.Unlock()
			if there {
				break
			}
			if time.Since(start) > hung {
				t.Fatalf("the screen never showed %q", text)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

var upAndErase = regexp.MustCompile(`\x1b\[(\d+)A\x1b\[J`)

// left returns the text on the screen at the end, without erased lines.
func (s *screen) left() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	for {
		m := upAndErase.FindStringSubmatchIndex(text)
		if m == nil {
			return text
		}
		up, _ := strconv.Atoi(text[m[2]:m[3]])
		before := strings.SplitAfter(text[:m[0]], "\n")
		text = strings.Join(before[:len(before)-1-up], "") + text[m[1]:]
	}
}

// TestPointError checks the error of a failed point: the output of its process with the exit code, the first lines of a
// crash, or the name of a signal.
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
		{"kill -9 $$", "", 0, "the point's process was killed (signal: killed)"},
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

// TestSweepErrors checks the exit code of a failed sweep, and the list of failed points.
func TestSweepErrors(t *testing.T) {
	points := []sweep.Point{{Folder: "a", Controller: "x"}, {Folder: "b", Controller: "x"}, {Folder: "c", Controller: "x"}}
	fine := sweep.Outcome{State: sweep.Done, Verdict: measure.Verdict{Status: measure.Pass}}
	wrong := sweep.Outcome{State: sweep.Kept, Verdict: measure.Verdict{
		Status:   measure.Fail,
		Messages: []string{"an invariant"},
	}}
	full := sweep.Outcome{State: sweep.Failed, Err: &exitError{exitEnvironment, errors.New("disk full")}}
	for _, c := range []struct {
		outcomes    []sweep.Outcome
		interrupted bool
		code        int
		want        string
	}{
		{[]sweep.Outcome{fine, fine, fine}, false, exitFine, ""},
		{[]sweep.Outcome{fine, wrong, fine}, false, exitVerdict, "1 of 3 points failed:\n  b x: broken: an invariant"},
		{
			[]sweep.Outcome{full, wrong, fine},
			false, exitEnvironment,
			"2 of 3 points failed:\n  a x: disk full\n  b x: broken: an invariant",
		},
		{[]sweep.Outcome{fine, {State: sweep.Interrupted}, {State: sweep.Waiting}}, true, exitVerdict, "interrupted"},
	} {
		var b bytes.Buffer
		if got := exit(&b, sweepError(points, c.outcomes, c.interrupted)); got != c.code ||
			!strings.Contains(b.String(), c.want) {
			t.Errorf("exit code %d: %s", got, b.String())
		}
	}
}

// TestColumns checks that words are aligned left and numbers right. On a narrow screen, columns without room follow
// below, with the words repeated. No line is wider than the screen unless a single number is.
func TestColumns(t *testing.T) {
	lines := [][]string{
		{"size", "cc", "checks", "FCT mean", "Goodput", "PAUSE"},
		{"20KB", "dcqcn", "ok", "5.2 ± 0.1 ms", "40 Gbps", "7"},
	}
	wide := "" +
		"  size  cc     checks      FCT mean  Goodput  PAUSE\n" +
		"  20KB  dcqcn  ok      5.2 ± 0.1 ms  40 Gbps      7\n"
	two := "" +
		"  size  cc     checks      FCT mean  Goodput\n" +
		"  20KB  dcqcn  ok      5.2 ± 0.1 ms  40 Gbps\n" +
		"\n" +
		"  size  cc     checks  PAUSE\n" +
		"  20KB  dcqcn  ok          7\n"
	three := "" +
		"  size  cc     checks      FCT mean\n" +
		"  20KB  dcqcn  ok      5.2 ± 0.1 ms\n" +
		"\n" +
		"  size  cc     checks  Goodput\n" +
		"  20KB  dcqcn  ok      40 Gbps\n" +
		"\n" +
		"  size  cc     checks  PAUSE\n" +
		"  20KB  dcqcn  ok          7\n"
	for width, want := range map[int]string{0: wide, 200: wide, 51: wide, 50: two, 44: two, 36: three, 10: three} {
		var b bytes.Buffer
		if writeColumnsWithin(&b, lines, 3, width); b.String() != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, b.String(), want)
		}
	}
}

// TestColumnsBreakHeads checks that a head that is wider than its numbers breaks into several lines before the table is
// divided.
func TestColumnsBreakHeads(t *testing.T) {
	lines := [][]string{
		{"size", "FCT", "PAUSE frames between switches"},
		{"20KB", "5.2 ms", "7"},
	}
	want := "" +
		"                   PAUSE\n" +
		"                  frames\n" +
		"                 between\n" +
		"  size     FCT  switches\n" +
		"  20KB  5.2 ms         7\n"
	var b bytes.Buffer
	if writeColumnsWithin(&b, lines, 1, 30); b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
