package rundir

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestReserved checks that no scenario and no controller may have the name of a file or folder beside their results.
func TestReserved(t *testing.T) {
	for _, name := range append(slices.Clone(Files), ManifestFile, ReportFile, PublishedFile, RunsFile, FiguresFolder) {
		if !scenario.Reserved(name) {
			t.Errorf("a scenario could be called %s, which is a file of results", name)
		}
	}
}
