package explore

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/why"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/topologies"
)

// Cause names what decided a run's result. Class has the kinds of nodes instead of their names, and no numbers, so
// equal mechanisms at different ports are one class. Sentence has the names.
type Cause struct {
	Class    string `json:"class"`
	Sentence string `json:"sentence"`
}

// shares, numbers and names match the parts of a sentence that class removes or replaces: percentages of tags, counts
// and times, and names of nodes.
var (
	shares  = regexp.MustCompile(` \([^)]* %\)`)
	numbers = regexp.MustCompile(`\b[0-9][0-9.]*[A-Za-z%]*`)
	names   = regexp.MustCompile(`[A-Za-z0-9_.-]+`)
)

// causeOf returns the cause of a run: what made it fail, or else the root cause of most of its flows' time, from the
// record in a folder. Without a folder ("") or a readable record, it returns the messages of the verdict.
func causeOf(s *scenario.Scenario, sum *measure.Summary, folder string) *Cause {
	if c := failure(s, sum); c != nil {
		return c
	}
	if folder != "" {
		if c := recorded(s, folder); c != nil {
			return c
		}
	}
	return &Cause{"verdict " + string(sum.Verdict.Status), strings.Join(sum.Verdict.Messages, "; ")}
}

// failure returns the cause of a FAIL: a deadlock, lossless drops, or the first message of the verdict. It returns nil
// for a run that did not fail.
func failure(s *scenario.Scenario, sum *measure.Summary) *Cause {
	if sum.Faults != nil && len(sum.Faults.Deadlocks) > 0 {
		cycle := sum.Faults.Deadlocks[0].Cycle
		at := lists.Map(cycle, func(q measure.CycleQueue) string { return q.Node + " to " + q.Peer })
		return &Cause{
			fmt.Sprintf("deadlock of %d queues", len(cycle)),
			"PAUSE closes a cycle of queues that wait for each other: " + strings.Join(at, ", "),
		}
	}
	for _, p := range sum.Drops.Positions {
		if p.Cause == measure.LosslessHeadroom || p.Cause == measure.LosslessBuffer {
			text := measure.DropTexts[p.Cause]
			return &Cause{
				"dropped " + text,
				fmt.Sprintf("%s dropped %s, most at the port of %s to %s",
					topologies.Plural(int(sum.Drops.Lossless), "frame"), text,
					p.Node, p.Peer),
			}
		}
	}
	if sum.Verdict.Status == measure.Fail {
		return &Cause{class(s.Topology, sum.Verdict.Messages[0]), sum.Verdict.Messages[0]}
	}
	return nil
}

// recorded returns the root cause from the record of a run.
func recorded(s *scenario.Scenario, folder string) *Cause {
	r, err := why.Read(folder)
	if err != nil {
		return nil
	}
	flows, err := r.Flows("")
	if err != nil || len(flows) == 0 {
		return nil
	}
	roots := r.Roots(flows)
	if len(roots.Parts) == 0 {
		return nil
	}
	main := roots.Parts[0]
	for _, p := range roots.Parts { // the largest part that is not unavoidable
		if !slices.Contains(why.Unavoidable, p.What) {
			main = p
			break
		}
	}
	return &Cause{class(s.Topology, main.What), fmt.Sprintf("the slowest is %s; of all flows' time, %.1f %% %s",
		r.Top(flows[0]), 100*float64(main.Picoseconds)/float64(roots.Picoseconds), main.What)}
}

// class replaces the names of nodes by their kinds, and leaves numbers and shares out.
func class(plan *topologies.Plan, text string) string {
	text = shares.ReplaceAllString(text, "")
	text = names.ReplaceAllStringFunc(text, func(word string) string {
		if n := plan.NodeByName(word); n != nil {
			return "a " + n.Kind.String()
		}
		return word
	})
	return strings.TrimSpace(numbers.ReplaceAllString(text, "N"))
}
