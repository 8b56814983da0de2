package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
)

// TestNamesOfMeasures: the page calls each measure as the program does.
func TestNamesOfMeasures(t *testing.T) {
	script, err := os.ReadFile("page/results.js")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"checks", "flows completed", "virtual time", "wall-clock time", "fingerprint"}
	for i := range measure.Metrics {
		names = append(names, measure.Metrics[i].Label)
	}
	rows := regexp.MustCompile(`(?m)^\t\["([^"]+)", `).FindAllSubmatch(script, -1)
	if len(rows) < 10 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		if !slices.Contains(names, string(row[1])) {
			t.Errorf("%q is no measure's name", row[1])
		}
	}
}
