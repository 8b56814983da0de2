package runner

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
)

// TestMetrics checks that every metric has a value in a run, equals the field of the summary that it names, and is
// documented.
func TestMetrics(t *testing.T) {
	sum := measure.Summary{
		VirtualNS: 2e6, PeakIngress: 11,
		Switches: []measure.SwitchPeak{{QueuePeak: 12}, {QueuePeak: 14}, {QueuePeak: 13}},
	}
	sum.PFC = measure.PFCSummary{Pauses: 1, SwitchPauses: 2, Rate: 3, PausedNS: 4}
	sum.PFC.Spread.Depth, sum.Victims.Count = 15, 16
	sum.Fairness.ByTag = map[string]measure.Fairness{
		"a": {Windows: 1, Mean: 0.75, Least: 0.25},
		"b": {Windows: 1, Mean: 0.5, Least: 0.125}, "c": {Windows: 1, Mean: 1, Least: 1},
	}
	sum.Links.BetweenSwitches = measure.Quantiles{Mean: 17, Max: 18}
	sum.Imbalance = []measure.TierImbalance{
		{Tier: 1, MaxOverMean: 1.5, Jain: 0.625},
		{Tier: 2, MaxOverMean: 1.75, Jain: 0.875},
	}
	sum.ECNMarks, sum.CNPs, sum.CNMs, sum.Drops.Frames = 5, 6, 7, 8
	sum.Recovery = &measure.RecoverySummary{
		Timeouts: 101, Spurious: 102, Duplicates: 103, Reordered: 104, Extent: 105,
		Trimmed: 106,
	}
	sum.Grants = &measure.GrantSummary{Given: 64, Sent: 16}
	sum.RTT = measure.RTTSummary{Samples: 1, Mean: 21, P50: 22, P95: 23, P99: 24, Max: 25}
	sum.RTTSampled = measure.RTTSummary{Samples: 1, Mean: 31, P50: 32, P95: 33, P99: 34, Max: 35}
	sum.Jobs = []measure.JobSummary{{JCT: 91, ExposedShare: 0.5}, {JCT: 92, ExposedShare: 0.25}}
	sum.Collectives = []measure.CollectiveSummary{
		{Completed: 1, Time: measure.Quantiles{Mean: 10, Max: 10}, Algorithmic: 4, Bus: 8},
		{Completed: 3, Time: measure.Quantiles{Mean: 2, Max: 3}, Algorithmic: 8, Bus: 4},
		{Completed: 9, Time: measure.Quantiles{Mean: 1, Max: 12}}, // barriers
	}
	flows := measure.FlowStatistics{
		Completed: 1, FCT: measure.Quantiles{Mean: 41, P50: 42, P95: 43, P99: 44, Max: 45},
		Slowdown:     measure.Quantiles{Mean: 51, P50: 52, P95: 53, P99: 54, Max: 55},
		SlowdownHPCC: measure.Quantiles{Mean: 71, P50: 72, P95: 73, P99: 74, Max: 75},
		SlowdownLine: measure.Quantiles{Mean: 81, P50: 82, P95: 83, P99: 84, Max: 85},
		Goodput:      61, MeanRate: 62, Finish: 63, CE: 64, UE: 65,
	}
	want := map[string]float64{
		"pauses": 1, "pauses_between_switches": 2, "pause_rate": 3, "pause_rate_between_switches": 1000, "paused": 4,
		"pause_depth": 15, "victims": 16, "fairness": 0.5, "utilisation_mean": 17, "utilisation_max": 18,
		"imbalance": 1.75, "imbalance_jain": 0.625,
		"ecn_marks": 5, "cnps": 6, "cnms": 7, "drops": 8, "peak_ingress": 11, "peak_egress": 14,
		"timeouts": 101, "spurious_retransmissions": 102, "duplicates": 103, "reordered": 104, "reordering_extent": 105,
		"trimmed": 106, "grant_utilisation": 0.25,
		"jct": 92, "exposed_share": 0.5, "collective_mean": 4, "collective_max": 12, "algbw": 7, "busbw": 5,
		"rtt_mean": 21, "rtt_p50": 22, "rtt_p95": 23, "rtt_p99": 24, "rtt_max": 25,
		"rtt_sampled_mean": 31, "rtt_sampled_p50": 32, "rtt_sampled_p95": 33, "rtt_sampled_p99": 34, "rtt_sampled_max": 35,
		"fct_mean": 41, "fct_p50": 42, "fct_p95": 43, "fct_p99": 44, "fct_max": 45,
		"slowdown_mean": 51, "slowdown_p50": 52, "slowdown_p95": 53, "slowdown_p99": 54, "slowdown_max": 55,
		"slowdown_hpcc_mean": 71, "slowdown_hpcc_p50": 72, "slowdown_hpcc_p95": 73, "slowdown_hpcc_p99": 74,
		"slowdown_hpcc_max":  75,
		"slowdown_line_mean": 81, "slowdown_line_p50": 82, "slowdown_line_p95": 83, "slowdown_line_p99": 84,
		"slowdown_line_max": 85,
		"goodput":           61, "mean_rate": 62, "finish": 63, "ce_packets": 64, "ue_packets": 65,
	}
	got := map[string]float64{}
	for _, m := range measure.Metrics {
		got[m.Name] = m.Of(&sum, &flows)
		if m.OfRun != (m.Of(&sum, &measure.FlowStatistics{}) == got[m.Name]) {
			t.Errorf("%s: of the run %t", m.Name, m.OfRun)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	documents, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range measure.Metrics {
		name, quantile := m.Name, false
		for _, q := range []string{"_mean", "_p50", "_p95", "_p99", "_max"} {
			if prefix, ok := strings.CutSuffix(name, q); ok && name != "mean_rate" {
				name, quantile = prefix+"_", true
			}
		}
		if !strings.Contains(string(documents), "`"+name+"`") &&
			!(quantile && strings.Contains(string(documents), "`"+name+"mean`")) {
			t.Errorf("docs/scenarios.md does not have %s", m.Name)
		}
	}
}
