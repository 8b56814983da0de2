package results

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/pages/report"
)

// TestNamesOfMeasures: a report calls each measure as the terminal and sweeps do.
func TestNamesOfMeasures(t *testing.T) {
	var page bytes.Buffer
	run := report.Run{Controller: "dcqcn", Verdict: report.Verdict{Status: report.Pass}}
	if err := report.Write(&page, &report.Report{Scenario: "x", Runs: []report.Run{run}}); err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, m := range regexp.MustCompile(`<th scope="row">([^<]+)`).FindAllStringSubmatch(page.String(), -1) {
		labels = append(labels, m[1])
	}
	for _, name := range []string{
		"fct_mean", "fct_p50", "fct_p95", "fct_p99", "slowdown_mean", "slowdown_p50", "slowdown_p95", "slowdown_p99",
		"rtt_mean", "rtt_p99", "rtt_max", "pauses", "pauses_between_switches", "pause_rate", "paused", "pause_depth",
		"victims", "peak_ingress", "peak_egress", "ecn_marks", "cnps", "cnms", "drops",
	} {
		if want := measure.MetricByName(name).Label; !slices.ContainsFunc(labels, func(l string) bool {
			return l == want || l == want+" "
		}) {
			t.Errorf("no row %q in %q", want, labels)
		}
	}
}
