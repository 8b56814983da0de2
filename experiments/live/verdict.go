//go:build linux

package live

import (
	"fmt"
	"io"
	"time"

	"github.com/pausenet/pausenet/experiments"
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Verdict says whether a live fabric's numbers can be trusted: its conservation laws, as of any run, and whether the machine
// followed the clock.
type Verdict struct {
	Status  experiments.Status `json:"status"`
	Reasons []string           `json:"reasons"`
	Clock   Clock              `json:"clock"`
}

// Clock is how the machine followed.
type Clock struct {
	Slowdown      float64 `json:"slowdown"`
	VirtualNS     int64   `json:"virtual_ns"`
	WallSeconds   float64 `json:"wall_seconds"`
	LatenessP50NS int64   `json:"lateness_p50_ns"` // of events, in virtual time
	LatenessP99NS int64   `json:"lateness_p99_ns"`
	Busy          float64 `json:"busy"` // 0 to 1: of one processor, in all
	HeldSeconds   float64 `json:"held_seconds"`
}

func clockOf(s orchestrator.LiveStatus) Clock {
	return Clock{
		Slowdown: s.Slowdown, VirtualNS: s.Virtual.Nanoseconds(), WallSeconds: s.Wall.Seconds(),
		LatenessP50NS: s.LatenessP50.Nanoseconds(), LatenessP99NS: s.LatenessP99.Nanoseconds(), Busy: s.Busy, HeldSeconds: s.Held.Seconds(),
	}
}

// verdict closes the books. The engine has ended.
func (f *Fabric) verdict() Verdict {
	v := Verdict{Status: experiments.Pass, Clock: clockOf(f.live.Status())}
	worse := func(status experiments.Status, format string, args ...any) {
		v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
		if v.Status != experiments.Fail {
			v.Status = status
		}
	}
	for _, broken := range f.live.Check() {
		worse(experiments.Fail, "%v", broken)
	}
	if d := f.live.Engine().Deadlocked(); d != nil {
		worse(experiments.Fail, "deadlock since %v: %s: flow control holds each until the next has sent, for ever", d.Since, f.live.Engine().Circle(d))
	}
	s := f.live.Status()
	switch base := shortestRTT(f.Plan); {
	case s.Held > 0:
		worse(experiments.Fail, "the machine could not follow: virtual time stood still for %v; --slowdown %g would fit",
			s.Held.Round(time.Millisecond), orchestrator.RoundSlowdown(1.5*s.Slowdown*max(1, 1+s.Held.Seconds()/s.Wall.Seconds())))
	case s.LatenessP99 > base:
		worse(experiments.Warn, "1 %% of the events came later than a round trip between two hosts of a switch (%v): times that programs measured are off by that; --slowdown %g would fit",
			base, orchestrator.RoundSlowdown(s.Slowdown*min(10, float64(s.LatenessP99)/float64(base))))
	}
	if s.Lost > 0 {
		worse(experiments.Warn, "programs sent %d frames faster than the engine could take them; they were dropped before they reached their NIC", s.Lost)
	}
	return v
}

// shortestRTT is the least round trip of a small frame between a host and its switch's other end, twice.
func shortestRTT(plan *topologies.Plan) vtime.Time {
	least := vtime.Never
	for _, h := range plan.Hosts {
		p := &plan.Ports[plan.Nodes[h].Ports[0]]
		least = min(least, 4*(p.Delay+p.Rate.TimeFor(plan.Framing.LineBytes(60))))
	}
	return least
}

// Write prints the verdict.
func (v *Verdict) Write(w io.Writer) {
	c := &v.Clock
	fmt.Fprintf(w, "verdict: %s\n", v.Status)
	for _, r := range v.Reasons {
		fmt.Fprintf(w, "  %s\n", r)
	}
	if c.WallSeconds == 0 { // nobody could look
		return
	}
	fmt.Fprintf(w, "  %v of virtual time in %.1fs, slow-down %g; events late by %v (p50), %v (p99) of virtual time; engine busy %s\n",
		vtime.Time(c.VirtualNS)*vtime.Nanosecond, c.WallSeconds, c.Slowdown, vtime.Time(c.LatenessP50NS)*vtime.Nanosecond,
		vtime.Time(c.LatenessP99NS)*vtime.Nanosecond, percent(c.Busy))
}
