package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// sweepDisplay shows how far a sweep is: a line a point as it ends and, on a terminal, below these a table of the points
// that run, updated in place.
type sweepDisplay struct {
	out    io.Writer
	size   func() (width, height int) // of the terminal; nil: it is none
	points []sweep.Point
	widest int // of the points' names
	table  sweepTable
	stop   chan struct{}
	all    sync.WaitGroup

	mu    sync.Mutex
	drawn int // lines of the table on the screen
}

// sweepTable is the state that the table shows.
type sweepTable struct {
	name    string
	total   int
	done    int
	kept    int
	over    int // done, kept, failed or interrupted
	failed  int // not made, or their verdict is FAIL
	elapsed time.Duration
	running []runningPoint // in the order of their beginnings
}

type runningPoint struct {
	index    int
	name     string
	duration vtime.Time
	now      vtime.Time
	hops     int64
	wall     time.Duration
	begun    time.Time
}

// redraws is how often the table is drawn.
const redraws = 200 * time.Millisecond

func newSweepDisplay(f *os.File, name string, points []sweep.Point) *sweepDisplay {
	d := &sweepDisplay{out: f, points: points, table: sweepTable{name: name, total: len(points)}, stop: make(chan struct{})}
	for i := range points {
		d.widest = max(d.widest, utf8.RuneCountInString(points[i].Name()))
	}
	if !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" { // which knows no cursor
		return d
	}
	d.size = func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 80, 24
		}
		return width, height
	}
	start := time.Now()
	d.all.Go(func() {
		ticks := time.NewTicker(redraws)
		defer ticks.Stop()
		for {
			select {
			case <-d.stop:
				return
			case <-ticks.C:
				d.mu.Lock()
				d.table.elapsed = time.Since(start)
				d.draw(nil)
				d.mu.Unlock()
			}
		}
	})
	return d
}

// close takes the table off the screen.
func (d *sweepDisplay) close() {
	close(d.stop)
	d.all.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
}

func (d *sweepDisplay) begun(i int) engine.Progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.points[i]
	d.table.running = append(d.table.running, runningPoint{index: i, name: p.Name(), duration: p.Duration, begun: time.Now()})
	return func(now vtime.Time, t *engine.Totals) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for k := range d.table.running {
			if r := &d.table.running[k]; r.index == i {
				r.now, r.hops, r.wall = now, t.Hops, time.Since(r.begun)
			}
		}
	}
}

func (d *sweepDisplay) ended(i int, o *sweep.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &d.table
	for k := range t.running {
		if t.running[k].index == i {
			t.running = append(t.running[:k], t.running[k+1:]...)
			break
		}
	}
	t.over++
	if o.Err != nil || o.Complete() && o.Verdict.Status == measure.Fail {
		t.failed++
	}
	switch {
	case o.State == sweep.Kept:
		t.kept++
		return // said once, at the end: a sweep that goes on may keep thousands
	case o.State == sweep.Done:
		t.done++
	}
	d.draw(endedLines(d.points[i].Name(), d.widest, o))
}

// endedLines say what a point came to; names are as wide as the widest, so that times stand below each other.
func endedLines(name string, widest int, o *sweep.Outcome) []string {
	switch {
	case o.State == sweep.Interrupted:
		return []string{"  interrupted  " + name}
	case o.Err != nil:
		first, _, _ := strings.Cut(o.Err.Error(), "\n")
		return []string{fmt.Sprintf("  failed  %s: %s", name, first)}
	}
	return []string{fmt.Sprintf("  %s  %-*s  %6.1fs", o.Verdict.Status, widest, name, o.Wall.Seconds())}
}

// draw writes lines that stay, and on a terminal the table below them.
func (d *sweepDisplay) draw(lines []string) {
	d.erase()
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	if d.size != nil {
		width, height := d.size()
		table := d.table.lines(time.Now(), width, height-1)
		for _, l := range table {
			b.WriteString(l + "\n")
		}
		d.drawn = len(table)
	}
	_, _ = io.WriteString(d.out, b.String()) // a screen that is gone needs no table
}

// erase takes the table off the screen: up to its first line, and everything below cleared.
func (d *sweepDisplay) erase() {
	if d.drawn > 0 {
		fmt.Fprintf(d.out, "\x1b[%dA\x1b[J", d.drawn)
		d.drawn = 0
	}
}

// lines are the table's, cut to the width and height of the screen, so that none wraps and all can be taken off it.
func (t *sweepTable) lines(now time.Time, width, height int) []string {
	made := t.done + t.kept
	head := fmt.Sprintf("%s: %d of %d points", t.name, made, t.total)
	if t.kept > 0 {
		head += fmt.Sprintf(" (%d kept)", t.kept)
	}
	if t.failed > 0 {
		head += fmt.Sprintf(", %d failed", t.failed)
	}
	head += fmt.Sprintf("  %v", t.elapsed.Truncate(time.Second))
	if left := t.total - t.over; t.done > 0 && left > 0 {
		guess := time.Duration(float64(t.elapsed) / float64(t.done) * float64(left))
		head += fmt.Sprintf(", about %v left", guess.Truncate(time.Second))
	}
	all := []string{head}
	widest := 0
	for i := range t.running {
		widest = max(widest, utf8.RuneCountInString(t.running[i].name))
	}
	for i := range t.running {
		all = append(all, t.running[i].line(now, widest))
	}
	if len(all) > max(height, 1) {
		all = all[:max(height, 1)]
	}
	for i, l := range all {
		if r := []rune(l); len(r) > width {
			all[i] = string(r[:width])
		}
	}
	return all
}

func (r *runningPoint) line(now time.Time, width int) string {
	if r.now == 0 || r.wall == 0 {
		return fmt.Sprintf("  %-*s  building the fabric", width, r.name)
	}
	share := min(100, 100*float64(r.now)/float64(r.duration))
	return fmt.Sprintf("  %-*s  %3.0f %%  %.1f of %v  %.0f khop/s  %v", width, r.name, share,
		r.now.Seconds()*1e3, r.duration, float64(r.hops)/r.wall.Seconds()/1e3, now.Sub(r.begun).Truncate(time.Second))
}
