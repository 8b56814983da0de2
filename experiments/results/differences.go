package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// mostDifferences limits the differences that are listed.
const mostDifferences = 12

// longestDifference limits the characters of a value that are shown.
const longestDifference = 60

// Differences returns lines on how a run's configuration differs from that of the run that would replace it.
func Differences(old, own *rundir.Manifest) (lines []string) {
	runs := []report.Run{
		{Settings: (&RunFolder{manifest: *old}).settings()},
		{Settings: (&RunFolder{manifest: *own}).settings()},
	}
	for _, d := range report.Differences(runs) {
		if d.Group == programAndMachine || d.Group == madeBy {
			continue
		}
		name := d.Name
		switch {
		case name == settingsName:
			continue // their values are listed
		case d.Group != thisRun:
			name = strings.ToLower(d.Group[:1]) + d.Group[1:] + ", " + name
		}
		lines = append(lines, fmt.Sprintf("%s: %s there, %s here", name, shown(d.Values[0]), shown(d.Values[1])))
	}
	lines = append(lines, differingParts(old, own)...)
	if len(lines) == 0 {
		lines = append(lines, "the paths of flows differ")
	}
	if more := len(lines) - mostDifferences; more > 0 {
		lines = append(lines[:mostDifferences], fmt.Sprintf("and %d more settings", more))
	}
	if old.Version != own.Version {
		lines = append(lines, fmt.Sprintf("pausenet %s made these results, and this is %s", shown(old.Version),
			shown(own.Version)))
	}
	return lines
}

// shown returns a value for a line.
func shown(value string) string {
	if value == "" {
		return "nothing"
	}
	if text := []rune(value); len(text) > longestDifference {
		return string(text[:longestDifference]) + "…"
	}
	return value
}

// inSettings lists the parts of a configuration that RunFolder.settings covers.
var inSettings = []string{
	"name", "topology", "switch", "host", "flows", "workloads", "duration_ns", "drain", "seed",
	"sample",
}

// differingParts returns lines for the other parts of the configuration that differ.
func differingParts(old, own *rundir.Manifest) (lines []string) {
	parts := func(m *rundir.Manifest) (parts map[string]json.RawMessage) {
		data, _ := json.Marshal(m.Decided().Configuration) // only texts and numbers, so it cannot fail
		_ = json.Unmarshal(data, &parts)
		return parts
	}
	there, here := parts(old), parts(own)
	keys := slices.AppendSeq(slices.Collect(maps.Keys(there)), maps.Keys(here))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if !slices.Contains(inSettings, key) && !bytes.Equal(there[key], here[key]) {
			lines = append(lines, fmt.Sprintf("%s: %s there, %s here", key, shown(string(there[key])), shown(string(here[key]))))
		}
	}
	return lines
}
