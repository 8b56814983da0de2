package experiments

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestMetrics: every metric has a figure of a run, is what its name says where the summary has it, and is in the documents.
func TestMetrics(t *testing.T) {
	sum := Summary{VirtualNS: 2e6, Overshoot: 11, Switches: []SwitchPeak{{QueuePeak: 12}, {QueuePeak: 14}, {QueuePeak: 13}}}
	sum.PFC = PFCSummary{Pauses: 1, SwitchPauses: 2, Rate: 3, PausedNS: 4}
	sum.PFC.Spread.Depth, sum.Victims.Count = 15, 16
	sum.Fairness.ByTag = map[string]Fairness{"a": {1, 0.75, 0.25}, "b": {1, 0.5, 0.125}, "c": {1, 1, 1}}
	sum.Links.BetweenSwitches = Quantiles{Mean: 17, Max: 18}
	sum.ECNMarks, sum.CNPs, sum.CNMs, sum.Drops.Frames = 5, 6, 7, 8
	sum.RTT = RTTSummary{1, 21, 22, 23, 24, 25}
	sum.RTTSampled = RTTSummary{1, 31, 32, 33, 34, 35}
	flows := FlowStatistics{
		Completed: 1, FCT: Quantiles{41, 42, 43, 44, 45}, Slowdown: Quantiles{51, 52, 53, 54, 55},
		SlowdownHPCC: Quantiles{71, 72, 73, 74, 75}, SlowdownLine: Quantiles{81, 82, 83, 84, 85},
		Goodput: 61, MeanRate: 62, Finish: 63, CE: 64, UE: 65,
	}
	want := map[string]float64{
		"pauses": 1, "pauses_between_switches": 2, "pause_rate": 3, "pause_rate_between_switches": 1000, "paused": 4,
		"pause_depth": 15, "victims": 16, "fairness": 0.5, "utilisation_mean": 17, "utilisation_max": 18,
		"ecn_marks": 5, "cnps": 6, "cnms": 7, "drops": 8, "peak_ingress": 11, "peak_egress": 14,
		"rtt_mean": 21, "rtt_p50": 22, "rtt_p95": 23, "rtt_p99": 24, "rtt_max": 25,
		"rtt_sampled_mean": 31, "rtt_sampled_p50": 32, "rtt_sampled_p95": 33, "rtt_sampled_p99": 34, "rtt_sampled_max": 35,
		"fct_mean": 41, "fct_p50": 42, "fct_p95": 43, "fct_p99": 44, "fct_max": 45,
		"slowdown_mean": 51, "slowdown_p50": 52, "slowdown_p95": 53, "slowdown_p99": 54, "slowdown_max": 55,
		"slowdown_hpcc_mean": 71, "slowdown_hpcc_p50": 72, "slowdown_hpcc_p95": 73, "slowdown_hpcc_p99": 74, "slowdown_hpcc_max": 75,
		"slowdown_line_mean": 81, "slowdown_line_p50": 82, "slowdown_line_p95": 83, "slowdown_line_p99": 84, "slowdown_line_max": 85,
		"goodput": 61, "mean_rate": 62, "finish": 63, "ce_packets": 64, "ue_packets": 65,
	}
	got := map[string]float64{}
	for _, m := range metrics {
		got[m.name] = m.of(&sum, &flows)
		if m.ofRun != (m.of(&sum, &FlowStatistics{}) == got[m.name]) {
			t.Errorf("%s: of the run %t", m.name, m.ofRun)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	documents, err := os.ReadFile("../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metrics {
		name, quantile := m.name, false
		for _, q := range []string{"_mean", "_p50", "_p95", "_p99", "_max"} {
			if prefix, ok := strings.CutSuffix(name, q); ok && name != "mean_rate" {
				name, quantile = prefix+"_", true
			}
		}
		if !strings.Contains(string(documents), "`"+name+"`") && !(quantile && strings.Contains(string(documents), "`"+name+"mean`")) {
			t.Errorf("docs/scenarios.md does not have %s", m.name)
		}
	}
}
