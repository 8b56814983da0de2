package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// sweepDisplay shows a sweep's progress: a line per finished point and, on a terminal, a bar per running point and
// one for all points.
type sweepDisplay struct {
	out    io.Writer // receives the lines
	bars   *bars     // nil if the output is not a terminal
	points []sweep.Point
	widest int // of the points' names
	begin  time.Time

	mu      sync.Mutex
	count   sweepCount
	running map[int]*bar // by index of the point
}

// sweepCount counts points by state.
type sweepCount struct {
	name   string
	total  int
	done   int
	kept   int
	over   int // done, kept, failed or interrupted
	failed int // not run, or with the verdict FAIL
}

func newSweepDisplay(f *os.File, name string, points []sweep.Point) *sweepDisplay {
	return displaySweep(f, newBars(f), name, points)
}

// displaySweep returns a display of lines, and of bars unless they are nil.
func displaySweep(out io.Writer, bars *bars, name string, points []sweep.Point) *sweepDisplay {
	d := &sweepDisplay{
		out: out, bars: bars, points: points, begin: time.Now(),
		count: sweepCount{name: name, total: len(points)}, running: map[int]*bar{},
	}
	for i := range points {
		d.widest = max(d.widest, utf8.RuneCountInString(points[i].Name()))
	}
	if bars == nil {
		return d
	}
	d.out = bars // bars prints lines above the bars
	bars.pin(d)
	return d
}

// title, part and describe implement barLine: the last bar counts the points.
func (d *sweepDisplay) title() string { return "" }

func (d *sweepDisplay) part() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return float64(d.count.over) / float64(max(1, len(d.points)))
}

func (d *sweepDisplay) describe() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return " " + d.count.line(time.Since(d.begin))
}

// close removes the bars from the screen.
func (d *sweepDisplay) close() {
	if d.bars == nil {
		return
	}
	d.bars.clear()
	d.bars.close()
}

func (d *sweepDisplay) started(i int) engine.Progress {
	if d.bars == nil {
		return nil
	}
	b := addBar(d.bars, d.points[i].Name(), d.points[i].Duration)
	d.mu.Lock()
	d.running[i] = b
	d.mu.Unlock()
	return b.progress
}

func (d *sweepDisplay) ended(i int, o *sweep.Outcome) {
	d.mu.Lock()
	b := d.running[i]
	delete(d.running, i)
	d.count.add(o)
	d.mu.Unlock()
	if b != nil {
		d.bars.remove(b)
	}
	if o.State != sweep.Kept { // kept points are counted at the end, since a resumed sweep may keep thousands
		_, _ = io.WriteString(d.out, endedLine(d.points[i].Name(), d.widest, o)+"\n") // errors of the screen do not matter
	}
}

// endedLine returns a line with a point's result. Names are padded to widest.
func endedLine(name string, widest int, o *sweep.Outcome) string {
	switch {
	case o.State == sweep.Interrupted:
		return "  interrupted  " + name
	case o.Err != nil:
		first, _, _ := strings.Cut(o.Err.Error(), "\n")
		return fmt.Sprintf("  failed  %s: %s", name, first)
	}
	return fmt.Sprintf("  %s  %-*s  %6.1fs", o.Verdict.Status.Word(), widest, name, o.Wall.Seconds())
}

// add counts a finished point.
func (c *sweepCount) add(o *sweep.Outcome) {
	c.over++
	if o.Err != nil || o.Complete() && o.Verdict.Status == measure.Fail {
		c.failed++
	}
	switch o.State {
	case sweep.Kept:
		c.kept++
	case sweep.Done:
		c.done++
	}
}

// line returns the progress after elapsed, and an estimate of the time left.
func (c *sweepCount) line(elapsed time.Duration) string {
	text := fmt.Sprintf("%s: %d of %d points", c.name, c.done+c.kept, c.total)
	if c.kept > 0 {
		text += fmt.Sprintf(" (%d kept)", c.kept)
	}
	if c.failed > 0 {
		text += fmt.Sprintf(", %d failed", c.failed)
	}
	text += fmt.Sprintf("  %v", elapsed.Truncate(time.Second))
	if left := c.total - c.over; c.done > 0 && left > 0 {
		guess := time.Duration(float64(elapsed) / float64(c.done) * float64(left))
		text += fmt.Sprintf(", about %v left", guess.Truncate(time.Second))
	}
	return text
}
