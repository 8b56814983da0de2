//go:build linux

package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/orchestrator/wallclock"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Verdict reports whether a live fabric's numbers can be trusted: its invariants, as in a run, and whether the
// machine kept up with the clock.
type Verdict struct {
	Status  measure.Status `json:"status"`
	Reasons []string       `json:"reasons"`
	Clock   Clock          `json:"clock"`
}

// verdict makes the final check, after the engine has ended.
func (f *Fabric) verdict() Verdict {
	s := f.live.Status()
	v := Verdict{Status: measure.Pass, Reasons: []string{}, Clock: clockOf(s)}
	worse := v.worse
	var panicked *engine.PanicError
	if errors.As(f.err, &panicked) {
		panicked.File = keepStack(panicked.Stack)
		worse(measure.Fail, "%v", panicked)
	}
	for _, broken := range f.live.Check() {
		worse(measure.Fail, "%v", broken)
	}
	if d := f.live.Engine().Deadlocked(); d != nil {
		worse(measure.Fail, "deadlock since %v: %s: flow control makes each wait for the next, forever", d.Since,
			f.live.Engine().DescribeCycle(d))
	}
	v.judgeInterfaces(f.Plan, f.plane.Disturbed())
	v.judgeClock(s, shortestRTT(f.Plan), wallclock.FittingSlowdown(f.Plan, f.PassCost))
	return v
}

// mostDisturbed limits the interfaces that a verdict names.
const mostDisturbed = 5

// judgeInterfaces adds warnings for interfaces that were set down or deleted: frames sent into one are lost, without
// breaking an invariant.
func (v *Verdict) judgeInterfaces(plan *topologies.Plan, all []kernel.Disturbance) {
	for _, d := range all[:min(len(all), mostDisturbed)] {
		port := &plan.Ports[d.Port]
		v.worse(measure.Warn,
			"the interface %s of %s %s: a person or a program on the node did that; frames sent through it meanwhile are lost",
			port.Name, plan.Nodes[port.Node].Name, d.What)
	}
	if more := len(all) - mostDisturbed; more > 0 {
		v.worse(measure.Warn, "and %d more interfaces", more)
	}
}

// keepStack writes the stack of a panic in a controller to a file, and returns its name.
func keepStack(stack []byte) (file string) {
	to, err := os.CreateTemp("", "pausenet-panic-*.txt") // mode 600
	if err != nil {
		return ""
	}
	if _, err := to.Write(stack); errors.Join(err, to.Close()) != nil {
		_ = os.Remove(to.Name())
		return ""
	}
	return to.Name()
}

// worse adds a reason, and sets the status unless it is already FAIL.
func (v *Verdict) worse(status measure.Status, format string, args ...any) {
	v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
	if v.Status != measure.Fail {
		v.Status = status
	}
}

// judgeClock judges whether the machine kept up with the clock. Lateness above base, the shortest round trip, distorts
// the round trips that programs measure. The suggested slow-down is at least fitting, which follows from the cost of a
// pass on this machine: the measured lateness suggests too little if the fabric had little to do.
func (v *Verdict) judgeClock(s wallclock.Status, base vtime.Time, fitting float64) {
	wall := func(d time.Duration) string { return vtime.WallText(d.Round(10 * time.Microsecond)) }
	virtual := func(d time.Duration) vtime.Time {
		return vtime.FromDuration(time.Duration(float64(d) / s.Slowdown))
	}
	fits := func(late vtime.Time) float64 {
		late = max(late, s.LatenessP99)
		return max(fitting, wallclock.RoundSlowdown(s.Slowdown*min(10, float64(late)/float64(base))))
	}
	if s.Stalled > 0 {
		v.worse(measure.Fail, "the machine could not keep up: virtual time stood still for %v (try --slowdown %g)",
			s.Stalled.Round(time.Millisecond),
			wallclock.RoundSlowdown(1.5*s.Slowdown*max(1, 1+s.Stalled.Seconds()/s.Wall.Seconds())))
	}
	switch {
	case s.FrameMax > wallclock.MostLate:
		v.worse(measure.Fail, "a frame that a program sent was processed %v late, and 1 %% of the %d frames "+
			"more than %v late: timers of programs can expire within that time (TCP's after %v)",
			wall(s.FrameMax), s.Frames, wall(s.FrameP99), wallclock.MostLate)
	case virtual(s.FrameP50) > base:
		v.worse(measure.Fail,
			"half of the %d frames that programs sent were processed more than %v late, %v of virtual time, "+
				"but a round trip between two hosts of a switch takes %v: programs measured this machine, not "+
				"the fabric (try --slowdown %g)", s.Frames, wall(s.FrameP50), virtual(s.FrameP50), base, fits(virtual(s.FrameP50)))
	case s.Frames > 0 && s.LatenessP50 > base && s.Stalled == 0:
		v.worse(measure.Fail, "half of the events were more than %v late, but a round trip between two hosts of a switch "+
			"takes %v: programs measured this machine, not the fabric (try --slowdown %g)", s.LatenessP50, base,
			fits(s.LatenessP50))
	case virtual(s.FrameP99) > base:
		v.worse(measure.Warn,
			"1 %% of the %d frames that programs sent were processed more than %v late, %v of virtual time, "+
				"and one by %v, but a round trip between two hosts of a switch takes %v: times that programs "+
				"measured are off by that (try --slowdown %g)", s.Frames,
			wall(s.FrameP99), virtual(s.FrameP99),
			wall(s.FrameMax), base, fits(virtual(s.FrameP99)))
	case s.LatenessP99 > base && s.Stalled == 0:
		v.worse(measure.Warn, "1 %% of the events were later than a round trip between two hosts of a switch (%v): "+
			"times that programs measured are off by that (try --slowdown %g)",
			base, fits(s.LatenessP99))
	}
	if s.Lost > 0 {
		v.worse(measure.Warn,
			"programs sent %d frames faster than the engine could process them; they were dropped before the NIC", s.Lost)
	}
}

// shortestRTT returns the shortest round trip of a small frame between two hosts of a switch whose links are equal.
func shortestRTT(plan *topologies.Plan) vtime.Time {
	least := vtime.Never
	for _, id := range plan.Interfaces {
		p := &plan.Ports[id]
		least = min(least, 4*(p.Delay+p.Rate.TimeFor(plan.Framing.LineBytes(60))))
	}
	return least
}

// Write prints the verdict.
func (v *Verdict) Write(w io.Writer) {
	c := &v.Clock
	fmt.Fprintf(w, "checks: %s\n", v.Status.Word())
	for _, r := range v.Reasons {
		fmt.Fprintf(w, "  %s\n", r)
	}
	if c.WallSeconds == 0 { // the engine did not stop, so there are no measurements
		return
	}
	fmt.Fprintf(w,
		"  %v of virtual time in %.1fs, slow-down %s; event latency %v (p50), %v (p99) of virtual time; engine busy %s\n",
		vtime.Time(c.VirtualNS)*vtime.Nanosecond, c.WallSeconds, c.slowdown(), vtime.Time(c.LatenessP50NS)*vtime.Nanosecond,
		vtime.Time(c.LatenessP99NS)*vtime.Nanosecond, percent(c.Busy))
	if c.Frames > 0 {
		fmt.Fprintf(w, "  %s\n", c.frames())
	}
}

// slowdown formats the slow-down.
func (c *Clock) slowdown() string {
	if c.FirstSlowdown > 0 && c.FirstSlowdown < c.Slowdown {
		return fmt.Sprintf("%g (%g at the start)", c.Slowdown, c.FirstSlowdown)
	}
	return fmt.Sprintf("%g", c.Slowdown)
}

// frames formats the latency of programs' frames.
func (c *Clock) frames() string {
	wall := func(ns int64) string { return vtime.WallText(time.Duration(ns).Round(time.Microsecond)) }
	return fmt.Sprintf("programs' frames: %d; latency %v (p50), %v (p99), %v (max) of wall-clock time", c.Frames,
		wall(c.FrameLatenessP50NS),
		wall(c.FrameLatenessP99NS), wall(c.FrameLatenessMaxNS))
}
