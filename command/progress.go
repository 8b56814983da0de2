package command

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// progress shows one bar per run on a terminal: virtual time, speed, time left. It prints nothing into a pipe.
type progress struct {
	bars *bars // nil if the output is not a terminal
}

func newProgress(f *os.File) *progress { return &progress{bars: newBars(f)} }

func (p *progress) wait() {
	if p.bars != nil {
		p.bars.close()
	}
}

// start returns a function that reports a suite's runs.
func (p *progress) start(
	suite *suite.Suite,
) func(scenario, controller string) (engine.Progress, func(*runner.Result, error)) {
	durations := map[string]vtime.Time{}
	for i := range suite.Scenarios {
		durations[suite.Scenarios[i].Scenario.Name] = suite.Scenarios[i].Scenario.Duration
	}
	return func(scenario, controller string) (engine.Progress, func(*runner.Result, error)) {
		if p.bars == nil {
			return nil, func(*runner.Result, error) {}
		}
		b := addBar(p.bars, fmt.Sprintf("%s %s", scenario, controller), durations[scenario])
		ended := func(r *runner.Result, err error) {
			if err == nil && r != nil {
				b.end(vtime.Time(r.Summary.VirtualNS) * vtime.Nanosecond)
			}
		}
		return b.progress, ended
	}
}

// bar shows one run.
type bar struct {
	name     string
	started  time.Time
	duration vtime.Time

	mu   sync.Mutex
	now  vtime.Time
	hops int64
	wall time.Duration
	done bool
}

func addBar(to *bars, name string, duration vtime.Time) *bar {
	b := &bar{name: name, started: time.Now(), duration: duration}
	to.add(b)
	return b
}

func (b *bar) progress(now vtime.Time, t *engine.Totals) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now, b.hops, b.wall = now, t.Hops, time.Since(b.started)
}

// end fills the bar of a run that has ended, at its last virtual time: a run that drains may end before its
// duration, or after.
func (b *bar) end(at vtime.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now, b.wall, b.done = at, time.Since(b.started), true
}

func (b *bar) title() string { return b.name }

func (b *bar) part() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return 1
	}
	return float64(b.now) / float64(max(b.duration, 1))
}

func (b *bar) describe() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return fmt.Sprintf(" ended at %s, in %v", measure.KindTime.Text(b.now.Seconds()*1e9),
			b.wall.Round(100*time.Millisecond))
	}
	if b.now == 0 || b.wall == 0 {
		return " building the fabric"
	}
	s := fmt.Sprintf(" %s of %v  %.0f khop/s", measure.KindTime.Text(b.now.Seconds()*1e9), b.duration,
		float64(b.hops)/b.wall.Seconds()/1e3)
	if left := b.duration - b.now; left > 0 {
		wall := time.Duration(float64(left) / float64(b.now) * float64(b.wall))
		s += fmt.Sprintf("  %v left", wall.Round(time.Second))
	}
	return s
}
