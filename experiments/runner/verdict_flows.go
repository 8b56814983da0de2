package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// judgeStopped reports flows that have stopped for good, or that a draining run did not finish.
func (r *runner) judgeStopped(v *measure.Verdict, sum *measure.Summary, deadlock bool) {
	s, open := r.Scenario, r.unexpected(sum)
	drained := s.Drain && open > 0
	cutOff, text := r.cutOff()
	switch {
	case drained && deadlock:
		v.Worsen(measure.Fail, "%s did not finish: they stopped for good (deadlock)", topologies.Plural(open, "flow"))
	case drained && r.engine.Now() >= s.Duration+s.DrainLimit:
		why := "increase drain_limit if they only need more time"
		if cutOff > 0 {
			why = text
		}
		if cutOff > 0 && cutOff < open {
			why += "; increase drain_limit if the others only need more time"
		}
		v.Worsen(measure.Fail, "%d of %s unfinished %v after the duration, when drain_limit ended the run%s: %s", open,
			topologies.Plural(sum.Flows.Count, "flow"), s.DrainLimit, r.lost(sum), why)
	case r.engine.ControlErrors() > 0 && (drained || len(r.stopped) > 0):
		v.Worsen(measure.Fail, "%s did not finish: the congestion control of %d of them returned an invalid rate or window",
			topologies.Plural(max(open, len(r.stopped)), "flow"), r.engine.ControlErrors())
	case len(r.stopped) > 0:
		first, flows := r.stopped[0], r.flows()
		f, arrived := s.Flow(first), units.Bytes(flows.delivered(first))
		size := scenario.Unbounded
		if f.Size > 0 {
			size = f.Size.String()
		}
		remedy := " (try host.retransmit_timeout)"
		switch {
		case cutOff > 0:
			remedy = ": " + text
		case sum.Drops.Lossless > 0:
			remedy = "" // nothing should have been lost
		}
		v.Worsen(measure.Fail, "%s stopped for good, with nothing in flight and no timer to retransmit%s; the first is "+
			"flow %d, %s to %s, with %v of %s delivered%s",
			topologies.Plural(len(r.stopped), "flow"), r.lost(sum), first, s.Topology.Nodes[f.Source].Name,
			s.Topology.Nodes[f.Destination].Name, arrived, size, remedy)
	case drained:
		why := "look for a host that sends PAUSE without end, or a link that stays down"
		if cutOff > 0 {
			why = text
		}
		v.Worsen(measure.Fail, "%s did not finish: they stopped for good%s: %s", topologies.Plural(open, "flow"),
			r.lost(sum), why)
	}
}

// cutOff counts the started flows that cannot continue because links are down, and returns where the first one is cut
// off.
func (r *runner) cutOff() (count int, text string) {
	if len(r.Scenario.Faults) == 0 {
		return 0, ""
	}
	plan := r.Scenario.Topology
	seen := map[int]bool{}
	for i, own := range r.engine.EachFlow() {
		of := r.Flow(own.Number)
		f := r.Scenario.Flow(of)
		if own.Sender == nil || own.Finished != vtime.Never || f.Size == 0 || f.ExpectUnfinished || seen[of] {
			continue
		}
		c, found := r.engine.CutOff(i)
		if !found {
			continue
		}
		if seen[of] = true; len(seen) > 1 {
			continue
		}
		where := "its packets go through " + scenario.PortLabel(plan, c.Port) + ", whose link is down"
		if c.NoRoute {
			where = fmt.Sprintf("there is no route from %s to %s", plan.Nodes[c.At].Name, scenario.PortLabel(plan, c.Port))
			if !r.engine.LinkUp(int(c.Port)) {
				where += ", whose link is down"
			}
		} else if c.Back {
			where = strings.Replace(where, "its packets go", "its ACKs go", 1)
		}
		text = fmt.Sprintf("flow %d (%s), %s to %s, is cut off: %s", of, f.Tag, plan.EndName(f.Source, f.Pair.From),
			plan.EndName(f.Destination, f.Pair.To), where)
	}
	if len(seen) > 1 {
		text = fmt.Sprintf("%d of them are cut off; the first is %s", len(seen), strings.Replace(text, ", is cut off", "", 1))
	}
	return len(seen), text
}

// judgeFlows reports workloads without flows, and flows for which the run was too short.
func (r *runner) judgeFlows(v *measure.Verdict, sum *measure.Summary) {
	s := r.Scenario
	var empty []string
	for i := range s.Workloads {
		if w := &s.Workloads[i]; w.View.Flows == 0 && !slices.Contains(empty, w.Tag) {
			empty = append(empty, w.Tag)
		}
	}
	if len(empty) > 0 {
		v.Worsen(measure.Warn, "workload %s has no flows: with seed %d none starts before its end (try a longer duration, "+
			"or more flows)", strings.Join(empty, " and "), r.Seed)
	}
	open := r.unexpected(sum)
	if open == 0 || s.Drain {
		return
	}
	of := ""
	if done := sum.Flows.Completed; done > 0 {
		of = fmt.Sprintf(", so FCTs cover only the other %d", done)
	}
	late := ""
	if n := sum.Flows.Unfinished.NotStarted; n > 0 {
		late = fmt.Sprintf(" (%d not started)", n)
	}
	remedy := "try a longer duration, or drain: true (or expect_unfinished: true for flows that may outlast the run)"
	if cutOff, text := r.cutOff(); cutOff >= open {
		v.Worsen(measure.Warn, "%d of %s unfinished at %v%s%s: %s", open, topologies.Plural(sum.Flows.Count, "flow"),
			r.engine.Now(), r.lost(sum), of, text)
		return
	} else if cutOff > 0 {
		remedy = text + "; for the others, " + remedy
	}
	v.Worsen(measure.Warn, "duration too short: %d of %s unfinished at %v%s%s%s: %s", open,
		topologies.Plural(sum.Flows.Count, "flow"), r.engine.Now(), late, r.lost(sum), of, remedy)
}

// judgeUndelivered reports started flows without any delivered byte, whatever the scenario expects of them.
func (r *runner) judgeUndelivered(v *measure.Verdict) {
	flows, plan := r.flows(), r.Scenario.Topology
	var names []string
	for i := range flows.n {
		f := &r.Scenario.Flows[r.Scenario.Entry(i)]
		// The first packet of a flow that has just started may still be waiting in a queue.
		if age := r.engine.Now() - f.Start; flows.started(i) && flows.delivered(i) == 0 && age > 10*r.Of(i).Env.BaseRTT &&
			age > r.engine.Now()/10 {
			names = append(names, fmt.Sprintf("flow %d (%s), %s to %s", i, f.Tag, plan.EndName(f.Source, f.Pair.From),
				plan.EndName(f.Destination, f.Pair.To)))
		}
	}
	if len(names) > 0 {
		v.Worsen(measure.Warn, "%s delivered nothing: %s", topologies.Plural(len(names), "flow"), lists.Few(names))
	}
}

// unexpected returns the number of flows with a size that have not ended, without those that may outlast the run.
func (r *runner) unexpected(sum *measure.Summary) int {
	u := sum.Flows.Unfinished
	if u == nil {
		return 0
	}
	open := u.Flows - u.Expected
	if r.mayBeUnused(scenario.UnusedFlows) {
		open -= r.unstarted()
	}
	return max(open, 0)
}

// unstarted returns the number of flows that should have ended but never started.
func (r *runner) unstarted() int {
	n := 0
	flows := r.flows()
	for i := range flows.n {
		spec := &r.Scenario.Flows[r.Scenario.Entry(i)]
		if !flows.started(i) && spec.Size > 0 && !spec.ExpectUnfinished {
			n++
		}
	}
	return n
}

// lost returns the number of dropped frames in words, if there are any, because drops often keep flows from ending.
func (r *runner) lost(sum *measure.Summary) string {
	if sum.Drops.Frames == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d frames dropped)", sum.Drops.Frames)
}
