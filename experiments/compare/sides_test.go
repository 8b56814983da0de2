package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
)

// buildVariable makes this test binary act as another build of the program.
const buildVariable = "TEST_OF_COMPARE"

func TestMain(m *testing.M) {
	if os.Getenv(buildVariable) != "" && len(os.Args) > 1 && os.Args[1] == "run" {
		build()
		return
	}
	os.Exit(m.Run())
}

// build prints the summary of a run, as pausenet run -o json does. Its FCT is the number of its arguments.
func build() {
	if slices.Contains(os.Args, "unknown") {
		fmt.Fprintln(os.Stderr, "pausenet: no such scenario\nmore")
		os.Exit(2)
	}
	s := measure.Summary{Fingerprint: strings.Join(os.Args[1:len(os.Args)-4], " ")}
	s.Flows.Completed, s.Flows.FCT.P99 = 1, float64(len(os.Args))
	_ = json.NewEncoder(os.Stdout).Encode([]measure.Summary{s})
}

// TestPrograms compares two builds: each is run with the options of both, and its failure names it.
func TestPrograms(t *testing.T) {
	t.Setenv(buildVariable, "1")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := Subject{A: own, B: own, Scenarios: []string{"incast"}, Seeds: seeds(3), Controller: "hpcc", Sets: []string{"a=1"}, Quick: true}
	compare := func() (*Result, error) {
		cases, seeds, err := s.Cases()
		if err != nil {
			t.Fatal(err)
		}
		c := Comparison{A: s.A, B: s.B, Cases: cases, Seeds: seeds, Jobs: 2, Metrics: measure.MetricsNamed([]string{"fct_p99"})}
		return c.Run(t.Context())
	}
	r, err := compare()
	if err != nil {
		t.Fatal(err)
	}
	if r.Identical != 3 || *r.Runs[0].A["fct_p99"] != 14 { // with --out FOLDER -o json
		t.Errorf("got %+v", r)
	}
	want := own + " run incast --seed 2 --cc hpcc --set a=1 --quick"
	commands, _, _ := r.Commands(&Extreme{Scenario: "incast", Seed: 2})
	if got := strings.Join(commands[0], " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.Scenarios = []string{"unknown"}
	var failed *ProgramError
	if _, err := compare(); !errors.As(err, &failed) || failed.Error() != own+": pausenet: no such scenario" {
		t.Errorf("got %v", err)
	}
}

// TestSides decides what a word means.
func TestSides(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "build")
	yaml := filepath.Join(dir, "mine.yaml")
	for _, path := range []string{script, yaml} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if program, err := parseSide(script); err != nil || program.kind != ofProgram && filepath.Separator == '/' {
		t.Errorf("%s: %v, %v", script, program, err)
	}
	for text, want := range map[string]kind{
		"dcqcn": ofController, "dcqcn+win": ofController, "./mine.star": ofController, "incast": ofScenario, yaml: ofScenario,
		"host.x=1": ofSetting, "flows.0={size: 1MB, from: h0}": ofSetting,
	} {
		if got, err := parseSide(text); err != nil || got.kind != want {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
}

// TestMistakes: each mistake is named with its place.
func TestMistakes(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		want string
		s    Subject
	}{
		{"./no.yaml: no such file", Subject{A: "dcqcn", B: "./no.yaml"}},
		{"an alternative is empty", Subject{A: "dcqcn", B: " "}},
		{"host.ack_every=1..3 has 3 values, but a side of a comparison has one (compare two of them: host.ack_every=1 " +
			"host.ack_every=2)", Subject{A: "host.ack_every=1..3", B: "dcqcn"}},
		{"incast is a scenario, but dcqcn is a congestion control: compare two of a kind", Subject{A: "dcqcn", B: "incast"}},
		{"all means ", Subject{A: "all", B: "dcqcn", Scenarios: []string{"incast"}}},
		{`scenario incast: unknown congestion controller "dcqc"`, Subject{A: "dcqc", B: "dcqcn", Scenarios: []string{"incast"}}},
		{`unknown key "x"`, Subject{A: "host.x=1", B: "dcqcn", Scenarios: []string{"incast"}}},
		{"incast and dcon-burst are scenarios: leave out the others", Subject{A: "incast", B: "dcon-burst", Scenarios: []string{"incast"}}},
		{"two scenarios are named incast", Subject{A: "dcqcn", B: "hpcc", Scenarios: []string{"incast", "incast"}}},
		{"- is a stream", Subject{A: "dcqcn", B: "hpcc", Scenarios: []string{"-"}}},
		{"the folder has no scenario's file", Subject{A: "dcqcn", B: "hpcc", Over: empty}},
		{"--over: no built-in sweep or scenario", Subject{A: "dcqcn", B: "hpcc", Over: "dcon-figur"}},
	} {
		if _, _, err := c.s.Cases(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestOver: scenarios come from a folder's files, or from a sweep's values, with its seeds.
func TestOver(t *testing.T) {
	dir := t.TempDir()
	source, err := scenario.BuiltinSource("incast")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.yaml", "a.yml", "readme.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	swept := filepath.Join(t.TempDir(), "sizes.yaml")
	if err := os.WriteFile(swept, []byte("sweep: {scenario: incast, parameters: {flows.0.size: [20KB, 40KB], duration: 5ms}, "+
		"controllers: [dcqcn, swift], seeds: 3..4}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		over, cases string
		seeds       []uint64
	}{
		{dir, "a b", seeds(40)},
		{swept, "size=20KB size=40KB", []uint64{3, 4}},
		{"incast", "incast", seeds(40)},
	} {
		s := Subject{A: "dcqcn", B: "host.ack_every=2", Over: c.over, Sets: []string{"host.ack_every=4"}, Jobs: 1}
		cases, own, err := s.Cases()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range cases {
			names = append(names, cases[i].Name)
		}
		if strings.Join(names, " ") != c.cases || !slices.Equal(own, c.seeds) {
			t.Errorf("%s: cases %q, seeds %v", c.over, names, own)
		}
		if got := strings.Join(cases[0].Runs[1].Command(7), " "); !strings.HasSuffix(got, " --set host.ack_every=4 --set host.ack_every=2") {
			t.Errorf("%s: %s", c.over, got)
		}
	}
}

// TestGenerated compares over a family, which has another scenario under each seed, and over those of bench cc.
func TestGenerated(t *testing.T) {
	s := Subject{A: "threshold", B: "ternary", Over: "../../examples/search/tcd.yaml", Jobs: 1}
	cases, _, err := s.Cases()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for seed := range uint64(5) {
		text, err := cases[0].Runs[0].Text(seed)
		if other, _ := cases[0].Runs[1].Text(seed); err != nil || text != other {
			t.Errorf("seed %d: the sides differ: %v", seed, err)
		}
		texts[text] = true
	}
	if len(cases) != 1 || len(texts) != 5 || !cases[0].Family {
		t.Errorf("%d cases, %d scenarios under five seeds", len(cases), len(texts))
	}
	sum, err := cases[0].Runs[1].Make(t.Context(), 3)
	if err != nil || sum.Controller != "ternary" || sum.Flows.Count < 2 {
		t.Errorf("got %+v, %v", sum, err)
	}
	if s.Over = Bench; testing.Short() {
		return
	}
	s.A, s.B = "dcqcn", "dcqcn"
	if cases, _, err = s.Cases(); err != nil || len(cases) < 50 {
		t.Errorf("%d cases, %v", len(cases), err)
	}
}

// TestRuns runs real scenarios: of two ack_every, and of a scenario with itself.
func TestRuns(t *testing.T) {
	testenv.WholeScenario(t)
	for _, c := range []struct {
		s      Subject
		answer Answer
	}{
		{Subject{A: "host.ack_every=1", B: "host.ack_every=16", Scenarios: []string{"incast"}, Controller: "swift"}, Better},
		{Subject{A: "incast", B: "incast", Seeds: seeds(2)}, Equal},
	} {
		cases, seeds, err := c.s.Cases()
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, &Comparison{
			A: c.s.A, B: c.s.B, Cases: cases, Seeds: seeds, Jobs: 2, Metrics: measure.MetricsNamed([]string{"fct_p99", "fct_mean"}),
		})
		if r.Measures[0].Answer != c.answer {
			t.Errorf("%s and %s: %+v", c.s.A, c.s.B, r)
		}
	}
}
