package experiments

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/orchestrator"
)

const someTables = small + `
controllers: [dcqcn, none]
published:
  - title: Table 1
    source: section 2
    columns: [dcqcn, none]
    unit: us
    rows:
      - {metric: fct_mean, values: [50.0, 40]}
      - {metric: fct_p99, tag: incast, values: [~, 123.45]}
      - {metric: slowdown_max, over: 60KB, values: [2.50, ~]}
      - {metric: pauses, values: [0, 10]}
  - title: Table 2
    note: with a note
    columns: [dcqcn]
    rows: [{metric: fct_mean, tag: other, relative_to: none, values: [-47%]}]
`

// TestCompare: cells as they are to be read, worked out by hand from figures made up.
func TestCompare(t *testing.T) {
	s := parse(t, someTables)
	dcqcn := &Summary{Controller: "dcqcn", Figures: []Figure{
		{Metric: "fct_mean", Value: 45_000},
		{Metric: "slowdown_max", Over: 60_000, Value: 2.5051},
		{Metric: "pauses", Value: 7},
		{Metric: "fct_mean", Tag: "other", Value: 30_000},
	}}
	none := &Summary{Controller: "none", Figures: []Figure{
		{Metric: "fct_mean", Value: 4_000_000},
		{Metric: "fct_p99", Tag: "incast", Value: 123_400},
		{Metric: "pauses", Value: 3},
		{Metric: "fct_mean", Tag: "other", Value: 50_000},
	}}
	type cells = []ComparisonCell
	want := func(relative ComparisonCell, rows ...cells) []Comparison {
		first := Comparison{Title: "Table 1", Source: "section 2", Columns: []string{"dcqcn", "none"}}
		for i, label := range []string{"FCT, mean", "FCT, 99 %: incast", "Slowdown, max: over 60KB", "PAUSE frames, all"} {
			unit := "us"
			if i >= 2 {
				unit = ""
			}
			first.Rows = append(first.Rows, ComparisonRow{label, unit, rows[i]})
		}
		all := []Comparison{first}
		if relative.Measured != "" {
			all = append(all, Comparison{Title: "Table 2", Note: "with a note", Columns: []string{"dcqcn"}, Rows: []ComparisonRow{
				{"FCT, mean: other, against none", "%", cells{relative}},
			}})
		}
		return all
	}
	for name, c := range map[string]struct {
		runs []*Summary
		want []Comparison
	}{
		"both": {
			[]*Summary{dcqcn, none},
			want(
				ComparisonCell{"-47", "-40", "+7.0 points"},
				cells{{"50.0", "45.0", "-10.0 %"}, {"40", "4000", "+9900 %"}},
				cells{{}, {"123.45", "123.40", "-0.0 %"}},
				cells{{"2.50", "2.51", "+0.2 %"}, {}},
				cells{{"0", "7", ""}, {"10", "3", "-70.0 %"}},
			),
		},
		"one not made": {
			[]*Summary{nil, none},
			want(
				ComparisonCell{},
				cells{{"50.0", "", ""}, {"40", "4000", "+9900 %"}},
				cells{{}, {"123.45", "123.40", "-0.0 %"}},
				cells{{"2.50", "", ""}, {}},
				cells{{"0", "", ""}, {"10", "3", "-70.0 %"}},
			),
		},
		"neither to be trusted": {
			[]*Summary{
				{Controller: "dcqcn", Figures: dcqcn.Figures, Partial: true},
				{Controller: "none", Figures: none.Figures, Verdict: Verdict{Status: Fail}},
			}, nil,
		},
	} {
		if got := Compare(s.Published, c.runs); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, c.want)
		}
	}
}

// TestFigures: figures of sets of flows, against flows.csv.
func TestFigures(t *testing.T) {
	s := parse(t, someTables)
	dir := t.TempDir()
	suite := &Suite{Directory: dir, Jobs: 2, Plane: orchestrator.PlaneWasm, Scenarios: []SuiteScenario{{Scenario: s, Controllers: s.Controllers, Seed: 1}}}
	results, err := suite.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	mean := func(controller, tag string) float64 {
		o := &outcome{TB: t, dir: filepath.Join(dir, "small", controller)}
		sum, n := 0.0, 0.0
		for _, row := range o.table("flows.csv").rows {
			if tag == "" || row["tag"] == tag {
				sum, n = sum+float64(number(t, row, "fct_ns")), n+1
			}
		}
		return sum / n
	}
	worst := 0.0
	for _, row := range (&outcome{TB: t, dir: filepath.Join(dir, "small", "dcqcn")}).table("flows.csv").rows {
		if v, err := strconv.ParseFloat(row["slowdown"], 64); err == nil && number(t, row, "size_bytes") > 60_000 {
			worst = max(worst, v)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "small", "published.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file PublishedFile
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"dcqcn fct_mean  ":          mean("dcqcn", "") / 1e3,
		"none fct_mean  ":           mean("none", "") / 1e3,
		"dcqcn slowdown_max  ":      worst,
		"dcqcn pauses  ":            float64(results[0][0].Summary.PFC.Pauses),
		"dcqcn fct_mean other none": 100 * (mean("dcqcn", "other")/mean("none", "other") - 1),
	}
	seen := 0
	for _, c := range file.Claims {
		key := strings.Join([]string{c.Controller, c.Metric, c.Tag, c.RelativeTo}, " ")
		if w, ok := want[key]; ok {
			seen++
			if c.Measured == nil || math.Abs(*c.Measured-w) > 1e-3*math.Abs(w)+0.01 {
				t.Errorf("%s: %v, want %g", key, c.Measured, w)
			}
		}
	}
	if seen != len(want) || len(file.Claims) != 7 {
		t.Errorf("%d of %d claims in %s", seen, len(want), data)
	}
	// A run's own summary has its own claims, what the command prints also those that compare runs.
	alone := (&outcome{TB: t, dir: filepath.Join(dir, "small", "dcqcn")}).json("summary.json")["published"].([]any)
	if len(alone) != 3 || len(results[0][0].Summary.Published) != 4 || len(results[0][1].Summary.Published) != 3 {
		t.Errorf("%d claims in dcqcn's summary.json, %d and %d in the summaries", len(alone), len(results[0][0].Summary.Published), len(results[0][1].Summary.Published))
	}
}

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

// TestPublishedShares: figures of a twentieth of a tag's flows, and by each idea of a slowdown, worked out again from flows.csv.
func TestPublishedShares(t *testing.T) {
	text := `
topology: {name: s, rate: 40Gbps, delay: 1us, framing: ns3, star: {hosts: 6}}
controllers: [dcqcn]
workloads:
  - {tag: normal, poisson: {sizes: fbhadoop, load: 60%, of: hosts, flows: 210}}
  - {tag: other, poisson: {size: 700B, interval: 1us, flows: 50}}
duration: 1ms
drain: true
expect_unused: [pfc, ecn]
published:
  - {title: own, columns: [dcqcn], tag: normal, metric: slowdown_p95, rows: [ROWS]}
  - {title: hpcc, columns: [dcqcn], tag: normal, metric: slowdown_hpcc_p95, rows: [ROWS]}
  - {title: line, columns: [dcqcn], tag: normal, metric: slowdown_line_p95, rows: [ROWS]}
`
	rows := make([]string, 20)
	for k := range rows {
		rows[k] = fmt.Sprintf("{share: %d, values: [1]}", k+1)
	}
	r := run(t, parse(t, strings.ReplaceAll(text, "ROWS", strings.Join(rows, ", "))), "dcqcn", Options{Plane: orchestrator.PlaneWasm})
	type flow struct {
		size  float64
		slows [3]float64
	}
	var flows []flow
	for _, f := range r.table("flows.csv").rows {
		if f["tag"] != "normal" {
			continue
		}
		number := func(key string) float64 {
			v, err := strconv.ParseFloat(f[key], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		size, fct := number("size_bytes"), number("fct_ns")
		// Two links: 4 us there and back, twice 200 ns, and the bytes with 48 B a packet at 40 Gb/s.
		alone := 4400 + (size+math.Ceil(size/1000)*48)/5
		flows = append(flows, flow{size, [3]float64{number("slowdown"), max(1, fct/alone), fct / (size / 5)}})
	}
	slices.SortStableFunc(flows, func(a, b flow) int { return cmp.Compare(a.size, b.size) })
	claims := r.Summary.Published
	if len(flows) != 210 || len(claims) != 60 {
		t.Fatalf("%d flows, %d claims", len(flows), len(claims))
	}
	for i, c := range claims {
		k := i % 20
		part := flows[k*210/20 : (k+1)*210/20]
		values := make([]float64, len(part))
		for n := range part {
			values[n] = part[n].slows[i/20]
		}
		slices.Sort(values)
		want := values[int(math.Ceil(0.95*float64(len(values))))-1]
		if c.Share != k+1 || c.Measured == nil || math.Abs(*c.Measured/want-1) > 2e-3 { // files have whole ns, and rounded slowdowns
			t.Errorf("%s, share %d: measured %v, want %g", c.Title, c.Share, *c.Measured, want)
		}
	}
}

func TestNotMinusZero(t *testing.T) {
	for text, want := range map[string]string{"-0": "0", "+0.00": "0.00", "0": "0", "-0.01": "-0.01", "+10": "+10", "-42": "-42"} {
		if got := notMinusZero(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
