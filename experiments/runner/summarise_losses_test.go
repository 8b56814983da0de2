package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// TestDropPositions checks that a verdict names the cause and position of dropped frames, and that its counts add up to
// the run's.
func TestDropPositions(t *testing.T) {
	const storm = `
topology: {delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2, rate: 10Gbps}}
switch: {pfc: {watchdog: {detect: 100us, restore: 10ms}}}
host: {retransmit_timeout: 1ms}
flows: [{tag: into, from: h0, to: h3, size: 1MB, expect_unfinished: true}, {tag: beside, from: h1, to: h2, size: 1MB}]
faults: [{name: storm, at: 0s, for: 4ms, host: h3, pause: [3], interval: 100us}]
duration: 5ms
`
	for _, c := range []struct {
		text, note, cause, at string
		sets                  []string
	}{
		{text: storm, note: "dropped by the PFC watchdog: ", cause: "watchdog", at: "leaf1 to h3"},
		{
			text: lossy, note: "dropped beyond switch.lossy_limit: ", cause: measure.LossyQueue, at: "s0 to h4",
			sets: []string{"duration=60us"},
		},
	} {
		sum := verdictOf(t, c.text, "none", c.sets...)
		if !slices.ContainsFunc(sum.Verdict.Notes, func(note string) bool {
			return strings.HasPrefix(note, c.note) && strings.HasSuffix(note, " frames at "+c.at)
		}) {
			t.Errorf("notes %q, want %q and %q", sum.Verdict.Notes, c.note, c.at)
		}
		frames := int64(0)
		for _, p := range sum.Drops.Positions {
			frames += p.Frames
			if p.Cause != c.cause || p.Node+" to "+p.Peer != c.at {
				t.Errorf("%d frames dropped %s at %s to %s, want %s at %s", p.Frames, p.Cause, p.Node, p.Peer, c.cause, c.at)
			}
		}
		if frames == 0 || frames != sum.Drops.Frames {
			t.Errorf("%d frames by place, and %d in all", frames, sum.Drops.Frames)
		}
	}
	for _, cause := range engine.LossNames {
		if measure.DropTexts[cause] == "" {
			t.Errorf("no text for drops by %s", cause)
		}
	}
}
