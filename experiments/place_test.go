package experiments

import (
	"slices"
	"testing"
)

// TestReserved: no scenario and no controller has the name of what results have beside its folder.
func TestReserved(t *testing.T) {
	for _, name := range append(slices.Clone(resultFiles), manifestName, reportName, publishedName, runsName, figuresFolder) {
		if !Reserved(name) {
			t.Errorf("a scenario could be called %s, which is a file of results", name)
		}
	}
}
