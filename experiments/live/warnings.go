//go:build linux

package live

import (
	"fmt"
	"time"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/wallclock"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Warnings returns likely mistakes in the fabric's settings, and in a slow-down that the user chose.
func (f *Fabric) Warnings() []string {
	texts := f.Made.Warnings()
	for _, n := range f.nodes.Notes() {
		texts = append(texts, fmt.Sprintf("%s: %s", lists.Few(n.Nodes), n.Text))
	}
	if f.Chosen || f.lockstep != nil {
		return texts
	}
	if text := slowdownWarning(f.Plan, f.PassCost, f.Slowdown()); text != "" {
		texts = append(texts, text)
	}
	return texts
}

// firstTimeout sets the time after which TCP retransmits an unanswered first segment (RFC 6298, section 2.1), in
// wall-clock time like all times of programs on nodes.
const firstTimeout = time.Second

// slowdownWarning returns why a slow-down does not suit a fabric on a machine with the given pass cost; empty if it
// does.
func slowdownWarning(plan *topologies.Plan, pass time.Duration, slowdown float64) string {
	fits := wallclock.FittingSlowdown(plan, pass)
	passes := wallclock.HostLoad(plan) / slowdown
	if processors := passes * pass.Seconds(); processors > 1 { // the engine is one goroutine
		return fmt.Sprintf("--slowdown %g is too low for this machine: one host at line rate makes %.3g pipeline passes a "+
			"second of %v each, which needs %.3g processors, but the fabric has one (try --slowdown %g, "+
			"enough for a quarter of the hosts)",
			slowdown, passes, pass, processors, fits)
	}
	rtt, a, b := longestRTT(plan)
	if wall := time.Duration(float64(rtt.Nanoseconds()) * slowdown); wall > firstTimeout {
		return fmt.Sprintf("--slowdown %g is too high for TCP: a round trip between %s and %s, %v, takes %v of wall-clock "+
			"time, but TCP retransmits after %v (RFC 6298) (try --slowdown %g, enough for this machine)",
			slowdown, a, b, rtt, wall.Round(time.Millisecond), firstTimeout, fits)
	}
	return ""
}

// longestRTT returns the longest round trip of a small message between two distant hosts, estimated by their
// numbers, and the hosts.
func longestRTT(plan *topologies.Plan) (longest vtime.Time, from, to string) {
	for i, a := range plan.Hosts {
		b := plan.Hosts[(i+len(plan.Hosts)/2)%len(plan.Hosts)]
		if a == b {
			continue
		}
		rtt := idealFCT(plan, a, b, 1, paths.Ports{Pair: plan.PairOf(a, b, 0), Source: wire.MinEntropyPort})
		if rtt > longest {
			longest, from, to = rtt, plan.Nodes[a].Name, plan.Nodes[b].Name
		}
	}
	return longest, from, to
}
