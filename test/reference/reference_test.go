// Package reference_test compares pausenet with public simulators and with closed forms, case by case of cases.yaml,
// and keeps the table of docs/validation.md.
package reference_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	yaml "github.com/goccy/go-yaml"

	_ "github.com/pausenet/pausenet/controllerfile/star"
	"github.com/pausenet/pausenet/experiments"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.CollectLess()
	m.Run()
}

// suite is the content of cases.yaml.
type suite struct {
	Tools  []tool     `yaml:"tools"`
	Causes []cause    `yaml:"causes"`
	Cases  []testCase `yaml:"cases"`
}

// tool is a source of reference values.
type tool struct {
	Name       string `yaml:"name"`
	About      string `yaml:"about"`
	Repository string `yaml:"repository"`
	Commit     string `yaml:"commit"`
}

// cause says why pausenet differs from a reference.
type cause struct {
	Name string `yaml:"name"`
	Text string `yaml:"text"`
}

// testCase is one workload that a tool and pausenet both have run.
type testCase struct {
	Name       string         `yaml:"name"`
	Title      string         `yaml:"title"`
	Tool       string         `yaml:"tool"`
	Run        map[string]any `yaml:"run"` // what rerun.py runs
	Flows      string         `yaml:"flows"`
	Scenario   string         `yaml:"scenario"`
	Controller string         `yaml:"controller"`
	Set        []string       `yaml:"set"`
	Seeds      uint64         `yaml:"seeds"`
	Delays     []string       `yaml:"delays"` // of a link, each with one of the seeds; empty: 1us
	Quick      bool           `yaml:"quick"`  // whether it runs without -update too
	Rows       []row          `yaml:"rows"`
}

// row is one metric of a case.
type row struct {
	Metric    string  `yaml:"metric"`
	Tolerance percent `yaml:"tolerance"`
	Cause     string  `yaml:"cause"` // keys of causes
}

// percent is a share, written as "5%".
type percent float64

// UnmarshalText reads a percentage.
func (p *percent) UnmarshalText(text []byte) error {
	n, found := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(n, 64)
	if err != nil || !found || v < 0 {
		return fmt.Errorf("%q is no percentage", text)
	}
	*p = percent(v)
	return nil
}

// output is one run of a tool, a line of outputs.
type output struct {
	Case          string             `json:"case"`
	Seed          uint64             `json:"seed"`
	Date          string             `json:"date"`
	Command       string             `json:"command"`
	FCT           []float64          `json:"fct_us"`
	Near          []float64          `json:"near_us"` // of flows within a rack, and of others, where a row is of these
	Far           []float64          `json:"far_us"`
	Retransmitted float64            `json:"retransmitted"`
	Marks         float64            `json:"marks"`
	Trims         float64            `json:"trims"`
	Drops         float64            `json:"drops"`
	Pauses        float64            `json:"pauses"`
	Values        map[string]float64 `json:"values"` // of closed forms: the metrics themselves
}

// metric is a quantity that both sides have.
type metric struct {
	unit   string
	theirs func(output) float64 // nil: outputs have its values
	ours   func(*experiments.Result) float64
	joined func(joined) float64 // instead of ours, if it needs the run's files
}

var metrics = map[string]metric{
	"mean FCT": {
		unit:   "us",
		theirs: func(o output) float64 { return mean(o.FCT) },
		ours:   func(r *experiments.Result) float64 { return r.Flows.FCT.Mean / 1e3 },
	},
	"max FCT": {
		unit:   "us",
		theirs: func(o output) float64 { return o.FCT[len(o.FCT)-1] },
		ours:   func(r *experiments.Result) float64 { return r.Flows.FCT.Max / 1e3 },
	},
	"mean FCT in the rack": {
		unit: "us", theirs: func(o output) float64 { return mean(o.Near) }, ours: meanOf("near"),
	},
	"mean FCT between racks": {
		unit: "us", theirs: func(o output) float64 { return mean(o.Far) }, ours: meanOf("far"),
	},
	"marks": {
		theirs: func(o output) float64 { return o.Marks },
		ours:   func(r *experiments.Result) float64 { return float64(r.ECNMarks) },
	},
	"trims": {
		theirs: func(o output) float64 { return o.Trims },
		ours:   func(r *experiments.Result) float64 { return float64(r.Recovery.Trimmed) },
	},
	"drops": {
		theirs: func(o output) float64 { return o.Drops },
		ours:   func(r *experiments.Result) float64 { return float64(r.Drops.Frames) },
	},
	"PAUSE frames": {
		theirs: func(o output) float64 { return o.Pauses },
		ours:   func(r *experiments.Result) float64 { return float64(r.PFC.Pauses) },
	},
	"completion": {unit: "us", ours: func(r *experiments.Result) float64 { return r.Collectives[0].Time.Max / 1e3 }},
	"median RTT": {unit: "us", ours: func(r *experiments.Result) float64 { return r.RTT.P50 / 1e3 }},
	"paused time": {
		unit: "us", ours: func(r *experiments.Result) float64 { return float64(r.PFC.PausedNS) / 1e3 },
	},
	"peak ingress": {
		unit: "KB", ours: func(r *experiments.Result) float64 { return float64(r.PeakIngress) / 1e3 },
	},
	"retransmissions": {ours: func(r *experiments.Result) float64 { return float64(r.Recovery.Retransmitted) / 1000 }},
	"fairness":        {ours: func(r *experiments.Result) float64 { return r.Fairness.ByTag["flows"].Mean }},

	"FCT of the joining flow": {unit: "us", ours: meanOf("joins")},
	"FCT of the others":       {unit: "us", ours: meanOf("stays")},
	"first share":             {joined: func(j joined) float64 { return j.first[2] / mean(j.first[:]) / 3 }},
	"goodput after the leave": {unit: "Gbps", joined: func(j joined) float64 { return j.after[0] + j.after[1] }},
}

// joined holds the goodputs of three flows in Gbps: in ten samples of 10 us after flow 2 starts and after it ends.
type joined struct{ first, after [3]float64 }

// readJoined reads them from a run's directory.
func readJoined(t *testing.T, directory string) (j joined) {
	t.Helper()
	var start, end int64
	err := rundir.Read(directory, rundir.Flows, func(row *rundir.FlowRow) error {
		start, end = row.Start, row.Start+row.FCT
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	add := func(to *[3]float64, row *rundir.RateRow, after int64) {
		const sample = 10_000
		if k := row.Time/sample - after/sample; k > 1 && k <= 11 {
			to[row.Flow] += float64(row.Goodput) / 1e10
		}
	}
	err = rundir.Read(directory, rundir.Rates, func(row *rundir.RateRow) error {
		add(&j.first, row, start)
		add(&j.after, row, end)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// meanOf is the mean completion time of flows with a tag, in us.
func meanOf(tag string) func(*experiments.Result) float64 {
	return func(r *experiments.Result) float64 { return r.ByTag[tag].FCT.Mean / 1e3 }
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// load reads cases.yaml, and the tools' outputs by case.
func load(t *testing.T) (s suite, outputs map[string][]output) {
	t.Helper()
	text, err := os.ReadFile("cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalWithOptions(text, &s, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	outputs = map[string][]output{}
	for _, tool := range s.Tools {
		f, err := os.Open(filepath.Join("outputs", tool.Name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var o output
			if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
				t.Fatalf("%s: %v", f.Name(), err)
			}
			outputs[o.Case] = append(outputs[o.Case], o)
		}
	}
	return s, outputs
}

// reference returns the mean of a metric over a tool's runs.
func reference(runs []output, name string) float64 {
	sum := 0.0
	for _, o := range runs {
		if v, found := o.Values[name]; found {
			sum += v
			continue
		}
		sum += metrics[name].theirs(o)
	}
	return sum / float64(len(runs))
}

// measure runs a case in pausenet over its seeds and returns the mean of each row's metric.
func measure(t *testing.T, c testCase) []float64 {
	t.Helper()
	values := make([]float64, len(c.Rows))
	directory := ""
	if slices.ContainsFunc(c.Rows, func(r row) bool { return metrics[r.Metric].joined != nil }) {
		directory = t.TempDir()
	}
	for seed := uint64(1); seed <= c.Seeds; seed++ {
		set := c.Set
		if c.Flows != "" {
			set = append(set[:len(set):len(set)], "workloads.flows.csv="+
				strings.ReplaceAll(c.Flows, "{seed}", strconv.FormatUint(seed, 10)))
		}
		if len(c.Delays) > 0 {
			set = append(set[:len(set):len(set)], "topology.delay="+c.Delays[seed-1])
		}
		r, err := experiments.Run(t.Context(), filepath.Join("scenarios", c.Scenario), experiments.Options{
			Controller: c.Controller, Set: set, Seed: seed, Processors: 1, Directory: directory,
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if r.Flows.Completed != r.Flows.Count || r.Verdict.Status == "FAIL" {
			t.Errorf("seed %d: %d of %d flows ended, verdict %+v", seed, r.Flows.Completed, r.Flows.Count, r.Verdict)
		}
		var j joined
		if directory != "" {
			j = readJoined(t, directory)
		}
		for i, row := range c.Rows {
			v := 0.0
			if m := metrics[row.Metric]; m.joined != nil {
				v = m.joined(j)
			} else {
				v = m.ours(r)
			}
			values[i] += v / float64(c.Seeds)
		}
	}
	return values
}

// page is the document with the table, between these two lines.
const (
	page  = "../../docs/validation.md"
	begin = "<!-- reference -->\n"
	end   = "<!-- end -->\n"
)

// TestReference runs all cases. Each value is within its tolerance of the reference, and the page has it.
func TestReference(t *testing.T) {
	testenv.WholeScenario(t)
	s, outputs := load(t)
	measured := make([][]float64, len(s.Cases))
	t.Run("cases", func(t *testing.T) {
		for i, c := range s.Cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				measured[i] = measure(t, c)
				for k, row := range c.Rows {
					check(t, row, measured[i][k], reference(outputs[c.Name], row.Metric))
				}
			})
		}
	})
	if t.Failed() || slices.ContainsFunc(measured, func(m []float64) bool { return m == nil }) {
		return // some failed, or did not run
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no block %s", page, begin)
	}
	renewed := before + begin + table(s, outputs, measured) + end + after
	switch {
	case renewed == string(text):
	case *testenv.Update:
		if err := os.WriteFile(page, []byte(renewed), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s does not have these results: run make reference, and read the difference", page)
	}
}

// check compares a row's values.
func check(t *testing.T, row row, ours, theirs float64) {
	t.Helper()
	difference := differenceOf(ours, theirs)
	if math.Abs(difference) > float64(row.Tolerance) {
		t.Errorf("%s: got %s, reference %s: %+.1f %%, tolerance %g %%", row.Metric, number(ours), number(theirs), difference,
			row.Tolerance)
	}
	if math.Abs(difference) > 5 && row.Cause == "" {
		t.Errorf("%s: differs by %+.1f %% without a cause", row.Metric, difference)
	}
}

// TestCases: cases.yaml is complete, and each of its cases has a run of the reference for every seed.
func TestCases(t *testing.T) {
	s, outputs := load(t)
	rows := 0
	used := map[string]bool{}
	for _, c := range s.Cases {
		rows += len(c.Rows)
		runs := outputs[c.Name]
		if len(runs) == 0 || c.Run != nil && uint64(len(runs)) != c.Seeds {
			t.Errorf("%s: outputs has %d runs for %d seeds", c.Name, len(runs), c.Seeds)
		}
		for _, o := range runs {
			if c.Run != nil && (o.Command == "" || o.Date == "" || len(o.FCT) == 0) {
				t.Errorf("%s, seed %d: no command, date or completion times", c.Name, o.Seed)
			}
		}
		if c.Title == "" || len(c.Rows) == 0 || c.Seeds == 0 {
			t.Errorf("%s: a case needs a title, rows and seeds", c.Name)
		}
		for _, row := range c.Rows {
			if _, found := metrics[row.Metric]; !found {
				t.Errorf("%s: no metric %q", c.Name, row.Metric)
			}
			for _, name := range strings.Fields(row.Cause) {
				used[name] = true
			}
		}
	}
	for _, cause := range s.Causes {
		if !used[cause.Name] {
			t.Errorf("no row has the cause %s", cause.Name)
		}
		delete(used, cause.Name)
	}
	for name := range used {
		t.Errorf("causes has no %s", name)
	}
	if rows < 60 {
		t.Errorf("%d rows, want at least 60", rows)
	}
}

// table renders the results of all tools.
func table(s suite, outputs map[string][]output, measured [][]float64) string {
	var b strings.Builder
	for _, tool := range s.Tools {
		fmt.Fprintf(&b, "\n### %s\n\n%s", tool.Name, tool.About)
		if tool.Repository != "" {
			fmt.Fprintf(&b, " Source: [%s](%s), commit `%.12s`", strings.TrimPrefix(tool.Repository, "https://"),
				tool.Repository, tool.Commit)
			fmt.Fprintf(&b, "; runs: [%s.jsonl](../test/reference/outputs/%[1]s.jsonl).", tool.Name)
		}
		b.WriteString("\n\n| case | metric | reference | pausenet | difference | tolerance | cause |\n|---|---|---|---|---|---|---|\n")
		for i, c := range s.Cases {
			if c.Tool != tool.Name {
				continue
			}
			title := fmt.Sprintf("%s (`%s`)", c.Title, c.Name)
			for k, row := range c.Rows {
				theirs, ours := reference(outputs[c.Name], row.Metric), measured[i][k]
				unit := metrics[row.Metric].unit
				if unit != "" {
					unit = " " + unit
				}
				var causes []string
				for _, name := range strings.Fields(row.Cause) {
					causes = append(causes, fmt.Sprintf("[%s](#causes)", name))
				}
				fmt.Fprintf(&b, "| %s | %s | %s%s | %s%s | %+.1f %% | %g %% | %s |\n", title, row.Metric, number(theirs), unit,
					number(ours), unit,
					differenceOf(ours, theirs), row.Tolerance, strings.Join(causes, ", "))
				title = ""
			}
		}
	}
	b.WriteString("\n### Causes\n\n| cause | |\n|---|---|\n")
	for _, cause := range s.Causes {
		fmt.Fprintf(&b, "| %s | %s |\n", cause.Name, strings.Join(strings.Fields(cause.Text), " "))
	}
	return b.String()
}

// number returns a value with four digits, as the page shows it.
func number(v float64) string {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		panic(err)
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// differenceOf returns by how many percent of the reference pausenet's value is above it.
func differenceOf(ours, theirs float64) float64 {
	if math.Abs(ours-theirs) <= theirs/2000 {
		return 0 // and not -0.0 %
	}
	return (ours - theirs) / theirs * 100
}
