package search

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// traffic lists the keys of a scenario that its family does not keep: its traffic, and what describes that.
var traffic = []string{
	"flows", "workloads", "faults", "quick", "published", "report", "spans", "look_at",
	"description",
}

// mostFlows limits the flows of a family that a plain scenario stands for.
const mostFlows = 32

// HasSection reports whether a file has a section search.
func HasSection(data []byte) bool { return new(yamlspec.Report).Parse("", data).Has("search") }

// Around returns the file of the family that a plain scenario stands for: its fabric and settings, with other traffic.
// Flows may join any two hosts, are as many, as large and as late as its own at most, and a link between switches may
// fail. objective is the content of search.objective, by default under the controller; empty: the mean slowdown is at
// least twice its lower bound. The second result describes the family in words.
func Around(filename string, data []byte, controller, objective string) (family []byte, about string, err error) {
	s, err := scenario.Reading{Controllers: []string{controller}}.Parse(filename, data)
	if err != nil {
		return nil, "", err
	}
	controller = cmp.Or(controller, s.Controllers[0])
	count, least, most, latest := 0, int64(0), int64(0), vtime.Time(0)
	for i := range s.Flows {
		f := &s.Flows[i]
		if size := int64(f.Size); size > 0 {
			if count++; least == 0 || size < least {
				least = size
			}
			most = max(most, size)
		}
		if !f.Waits() {
			latest = max(latest, f.Start)
		}
	}
	if count == 0 {
		return nil, "", fmt.Errorf("%s has no flows with a size, so its traffic gives no bounds: write a section search "+
			"(docs/search.md)",
			filename)
	}
	least, most = max(min(least, most/10), 1), max(most, 1)
	if latest == 0 {
		latest = s.Duration / 10
	}
	count = min(max(count, 4), mostFlows)
	sizes := fmt.Sprintf("%v..%v log", units.Bytes(least), units.Bytes(most))
	starts := fmt.Sprintf("0us..%v", max(latest/vtime.Nanosecond*vtime.Nanosecond, vtime.Nanosecond))
	var b strings.Builder
	b.Write(explore.Blanked(data, new(yamlspec.Report).Parse(filename, data), traffic...))
	if !s.Drain {
		b.WriteString("\ndrain: true\n")
	}
	objective = cmp.Or(objective, "metric: over_bound, at_least: 2")
	if !strings.Contains(objective, "under:") {
		objective += ", under: " + controller
	}
	fmt.Fprintf(&b, "\nsearch:\n  objective: {%s}\n  vary: {seed: 1..5}\n", objective)
	fmt.Fprintf(&b, "  flows:\n    - {count: 2..%d, from: all, to: all, size: %s, start: %s}\n", count, sizes, starts)
	about = fmt.Sprintf("2 to %d flows between any hosts, sizes %s, starts %s", count, strings.TrimSuffix(sizes, " log"),
		starts)
	if betweenSwitches(s.Topology) {
		fmt.Fprintf(&b, "  faults:\n    - {count: 0..1, links: switches, at: %s, with: {down: true, reroute: 50us}}\n",
			starts)
		about += ", up to one failed link between switches"
	}
	return []byte(b.String()), about + ", seeds 1 to 5", nil
}

func betweenSwitches(plan *topologies.Plan) bool { return len(ends{word: "switches"}.links(plan)) > 0 }
