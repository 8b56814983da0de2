package suite

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

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/internal/testenv"
)

const someTables = lab.Small + `
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

// TestCompare checks cells for readers, computed by hand from made-up figures.
func TestCompare(t *testing.T) {
	s := parse(t, someTables)
	dcqcn := &measure.Summary{Controller: "dcqcn", Figures: []measure.Figure{
		{Metric: "fct_mean", Value: 45_000},
		{Metric: "slowdown_max", FlowSet: measure.FlowSet{Over: 60_000}, Value: 2.5051},
		{Metric: "pauses", Value: 7},
		{Metric: "fct_mean", FlowSet: measure.FlowSet{Tag: "other"}, Value: 30_000},
	}}
	none := &measure.Summary{Controller: "none", Figures: []measure.Figure{
		{Metric: "fct_mean", Value: 4_000_000},
		{Metric: "fct_p99", FlowSet: measure.FlowSet{Tag: "incast"}, Value: 123_400},
		{Metric: "pauses", Value: 3},
		{Metric: "fct_mean", FlowSet: measure.FlowSet{Tag: "other"}, Value: 50_000},
	}}
	type cells = []measure.ComparisonCell
	want := func(relative measure.ComparisonCell, rows ...cells) []measure.Comparison {
		first := measure.Comparison{Title: "Table 1", Source: "section 2", Columns: []string{"dcqcn", "none"}}
		for i, label := range []string{"FCT mean", "FCT p99: incast", "slowdown max: over 60KB", "PAUSE frames"} {
			unit := "us"
			if i >= 2 {
				unit = ""
			}
			first.Rows = append(first.Rows, measure.ComparisonRow{Label: label, Unit: unit, Cells: rows[i]})
		}
		all := []measure.Comparison{first}
		if relative.Measured != "" {
			all = append(all, measure.Comparison{
				Title: "Table 2", Note: "with a note", Columns: []string{"dcqcn"},
				Rows: []measure.ComparisonRow{
					{Label: "FCT mean: other, against none", Unit: "%", Cells: cells{relative}},
				},
			})
		}
		return all
	}
	for name, c := range map[string]struct {
		runs []*measure.Summary
		want []measure.Comparison
	}{
		"both": {
			[]*measure.Summary{dcqcn, none},
			want(
				measure.ComparisonCell{Published: "-47", Measured: "-40", Difference: "+7.0 points"},
				cells{
					{Published: "50.0", Measured: "45.0", Difference: "-10.0 %"},
					{Published: "40", Measured: "4000", Difference: "+9900 %"},
				},
				cells{{}, {Published: "123.45", Measured: "123.40", Difference: "-0.0 %"}},
				cells{{Published: "2.50", Measured: "2.51", Difference: "+0.2 %"}, {}},
				cells{{Published: "0", Measured: "7", Difference: ""}, {Published: "10", Measured: "3", Difference: "-70.0 %"}},
			),
		},
		"one not made": {
			[]*measure.Summary{nil, none},
			want(
				measure.ComparisonCell{},
				cells{
					{Published: "50.0", Measured: "", Difference: ""},
					{Published: "40", Measured: "4000", Difference: "+9900 %"},
				},
				cells{{}, {Published: "123.45", Measured: "123.40", Difference: "-0.0 %"}},
				cells{{Published: "2.50", Measured: "", Difference: ""}, {}},
				cells{{Published: "0", Measured: "", Difference: ""}, {Published: "10", Measured: "3", Difference: "-70.0 %"}},
			),
		},
		"neither to be trusted": {
			[]*measure.Summary{
				{Controller: "dcqcn", Figures: dcqcn.Figures, Partial: true},
				{Controller: "none", Figures: none.Figures, Verdict: measure.Verdict{Status: measure.Fail}},
			}, nil,
		},
	} {
		if got := measure.Compare(s.Published, c.runs); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, c.want)
		}
	}
}

// TestFigures: figures of sets of flows, against flows.csv.
func TestFigures(t *testing.T) {
	s := parse(t, someTables)
	dir := t.TempDir()
	suite := &Suite{
		Options: runner.Options{Directory: dir}, Jobs: 2,
		Scenarios: []Scenario{{Scenario: s, Controllers: s.Controllers, Seed: 1}},
	}
	results, err := suite.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	mean := func(controller, tag string) float64 {
		sum, n := 0.0, 0.0
		for _, row := range testenv.ReadTable(t, filepath.Join(dir, "small", controller, "flows.csv")).Rows {
			if tag == "" || row["tag"] == tag {
				sum, n = sum+float64(testenv.Number(t, row, "fct_ns")), n+1
			}
		}
		return sum / n
	}
	worst := 0.0
	for _, row := range testenv.ReadTable(t, filepath.Join(dir, "small", "dcqcn", "flows.csv")).Rows {
		if v, err := strconv.ParseFloat(row["slowdown"], 64); err == nil && testenv.Number(t, row, "size_bytes") > 60_000 {
			worst = max(worst, v)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "small", "published.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file measure.Published
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
	alone := testenv.ReadJSON(t, filepath.Join(dir, "small", "dcqcn", "summary.json"))["published"].([]any)
	if len(alone) != 3 || len(results[0][0].Summary.Published) != 4 || len(results[0][1].Summary.Published) != 3 {
		t.Errorf("%d claims in dcqcn's summary.json, %d and %d in the summaries", len(alone),
			len(results[0][0].Summary.Published), len(results[0][1].Summary.Published))
	}
}

// TestPublishedSizeBins checks figures of a 5 % bin of a tag's flows, for each definition of slowdown, against a
// computation from flows.csv.
func TestPublishedSizeBins(t *testing.T) {
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
		rows[k] = fmt.Sprintf("{size_bin: %d, values: [1]}", k+1)
	}
	s := parse(t, strings.ReplaceAll(text, "ROWS", strings.Join(rows, ", ")))
	dir := filepath.Join(t.TempDir(), "run")
	r, err := runner.Run(context.Background(), s, runner.Options{Controller: "dcqcn", Seed: s.Seed, Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	type flow struct {
		size  float64
		slows [3]float64
	}
	var flows []flow
	for _, f := range testenv.ReadTable(t, filepath.Join(dir, "flows.csv")).Rows {
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
		// files have whole ns, and rounded slowdowns
		if c.SizeBin != k+1 || c.Measured == nil || math.Abs(*c.Measured/want-1) > 2e-3 {
			t.Errorf("%s, size_bin %d: measured %v, want %g", c.Title, c.SizeBin, *c.Measured, want)
		}
	}
}
