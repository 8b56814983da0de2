package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/topologies/spec"
)

func sweepFile(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "swept.yaml"), []byte(swept), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSweepFile(t *testing.T) {
	path := sweepFile(t, `
description: two sizes and three thresholds
sweep:
  scenario: swept.yaml
  parameters:
    flows.0.size: [60KB, 100KB]
    switch.pfc.xoff: 20KB..40KB:10KB
    host.data_priority: 3
    switch.pfc.priorities: ['[3]', '[3, 4]']
  controllers: [none]
  seeds: [1..2, 9]
  metrics: [fct_mean, drops]
`)
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	points, err := s.Points(1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "mine" || len(points) != 2*3*2*3 || len(s.Varying()) != 3 ||
		points[0].Folder != "size=60KB,xoff=20KB,priorities=_3_,seed=1" {
		t.Errorf("%+v: %d points, the first %+v", s, len(points), points[0])
	}
	if last := points[len(points)-1]; last.Seed != 9 || strings.Join(last.Values, " ") != "100KB 40KB [3, 4]" ||
		len(last.Hash) != 64 {
		t.Errorf("%+v", last)
	}
	hashes := map[string]bool{}
	for _, p := range points {
		hashes[p.Hash] = true
	}
	if len(hashes) != len(points) {
		t.Errorf("%d hashes of %d points", len(hashes), len(points))
	}
	// A flag takes precedence over the file.
	p, err := ParseSetting("flows.0.size=5KB")
	if err != nil {
		t.Fatal(err)
	}
	if s.Replace(p); len(s.Varying()) != 2 || len(s.Parameters) != 4 {
		t.Errorf("%+v", s.Parameters)
	}
	// A scenario's own file is a sweep of it.
	if s, err = Load(filepath.Join(filepath.Dir(path), "swept.yaml")); err != nil || s.Name != "swept" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSweepOfScenarios: several scenarios under variants of the sweep's own, in the order of the file.
func TestSweepOfScenarios(t *testing.T) {
	path := sweepFile(t, `
sweep:
  scenario: [swept.yaml, incast]
  parameters: {flows.0.size: [60KB, 100KB]}
  controllers:
    - none
    - {name: gentle, cc: dcqcn, set: {g: 1/16}, switch: {ecn: {kmin: 2KB}}}
`)
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	points, err := s.Points(2)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range points {
		names = append(names, strings.Join(points[i].Values, " ")+": "+points[i].Name())
	}
	const want = `swept 60KB: swept,size=60KB none
swept 60KB: swept,size=60KB gentle
swept 100KB: swept,size=100KB none
swept 100KB: swept,size=100KB gentle
incast 60KB: incast,size=60KB none
incast 60KB: incast,size=60KB gentle
incast 100KB: incast,size=100KB none
incast 100KB: incast,size=100KB gentle`
	if got := strings.Join(names, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	gentle, err := scenario.Load(points[5].Scenario, points[5].Sets)
	if err != nil {
		t.Fatal(err)
	}
	if v := gentle.Variants[len(gentle.Variants)-1]; v.Name != "gentle" || v.CC != "dcqcn" || v.Constants["g"] != "1/16" ||
		v.Switch.ECN.KMin != 2000 || v.Switch.PFC.XOFF != 100_000 {
		t.Errorf("gentle is %+v with %+v", v, v.Switch)
	}
	if s.Varying()[0].Path != "scenario" || len(s.Varying()) != 2 {
		t.Errorf("%+v", s.Varying())
	}
}

// TestQuickSweep checks that scenarios with a quick form use it, that others are unchanged, and that the results of the
// two forms are kept apart.
func TestQuickSweep(t *testing.T) {
	s := &Sweep{Scenarios: []string{"tcd-fattree", "incast"}, Controllers: []string{"dcqcn"}, Quick: true}
	quick, err := s.Points(2)
	if err != nil {
		t.Fatal(err)
	}
	s.Quick = false
	full, err := s.Points(2)
	if err != nil {
		t.Fatal(err)
	}
	if quick[0].Hash == full[0].Hash || quick[1].Hash != full[1].Hash {
		t.Errorf("quick %+v, full %+v", quick, full)
	}
}

// TestBuiltinSweeps checks that each built-in sweep resolves, under a name of its own.
func TestBuiltinSweeps(t *testing.T) {
	testenv.WholeScenario(t)
	for _, name := range scenario.BuiltinSweepNames() {
		if _, err := scenario.BuiltinSource(name); err == nil {
			t.Errorf("%s is a scenario too: commands could not tell which is meant", name)
		}
		if _, err := spec.BuiltinSource(name); err == nil {
			t.Errorf("%s is a topology too", name)
		}
		s, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Description == "" || s.Name != name {
			t.Errorf("%s calls itself %q, %q", name, s.Name, s.Description)
		}
		s.Quick = true
		points, err := s.Points(2)
		if err != nil || len(points) < 3 {
			t.Errorf("%s: %d points, %v", name, len(points), err)
		}
		if same := Duplicates(points); same != nil {
			t.Errorf("%s makes runs twice: %q", name, same)
		}
	}
	if _, err := scenario.Load("dcon-readings", nil); err == nil ||
		!strings.Contains(err.Error(), "run it with pausenet sweep dcon-readings") {
		t.Errorf("a sweep as a scenario: %v", err)
	}
	if _, err := Load("dcon-readngs"); err == nil || !strings.Contains(err.Error(), `did you mean "dcon-readings"?`) {
		t.Errorf("a slip: %v", err)
	}
}

// TestSweepsDocument: the table of docs/sweeps.md has each built-in sweep.
func TestSweepsDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/sweeps.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(document), "## Sweeps that come with the program")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, name := range scenario.BuiltinSweepNames() {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/sweeps.md does not say what %s goes over", name)
		}
	}
}

// TestSweepFileMistakes checks that each mistake is reported with its position, also those that need the scenario.
func TestSweepFileMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"sweep: {scenario: nothing}":                                        `:1:19: no built-in scenario "nothing"`,
		"sweep: {scenario: not.yaml}":                                       ":1:19: scenario: stat ",
		"sweep: {parameters: {x: 1}}":                                       `missing key "scenario"`,
		"sweep: {scenario: swept.yaml, parametres: {}}":                     `:1:31: unknown key "parametres": did you mean "parameters"?`,
		"sweep: {scenario: swept.yaml, parameters: {duration: 1ms..2ms}}":   ":1:54: range \"1ms..2ms\" needs a step",
		"sweep: {scenario: swept.yaml, parameters: {duration: []}}":         ":1:44: parameter duration has no values",
		"sweep: {scenario: swept.yaml, parameters: {duration: '1ms,2ms'}}":  "write several values as a list: [1ms,2ms]",
		"sweep: {scenario: swept.yaml, parameters: {duration: [1ms, 1ms]}}": "value 1ms is listed twice",
		"sweep: {scenario: swept.yaml, parameters: {duration: [[1ms]]}}":    "quote a value",
		"sweep: {scenario: swept.yaml, seeds: x}":                           `seed "x" must be a whole number`,
		"sweep: {scenario: swept.yaml, metrics: [fct_men]}":                 `did you mean "fct_mean"?`,
		"sweep: {scenario: swept.yaml, metrics: ['pauses:flow']}": `unknown metric "pauses:flow": ` +
			`pauses describes the whole run`,
		"sweep: {scenario: swept.yaml, metrics: ['fct_mean:vic']}":  `no flow has the tag "vic" (the tags are `,
		"sweep: {scenario: swept.yaml, parameters: {seed: [1, 2]}}": "seed cannot be a parameter",
		"sweep: {scenario: swept.yaml, controllers: [dcqc]}":        `unknown congestion controller "dcqc"`,
		"sweep: {scenario: [swept.yaml, ./swept.yaml]}": "two scenarios of the sweep have the name swept: " +
			"rename one of the files",
		"sweep: {scenario: swept.yaml, controllers: [{name: a, cc: dcqc, set: {}}]}":       `:1:45: unknown congestion controller "dcqc"`,
		"sweep: {scenario: swept.yaml, controllers: [{cc: dcqcn, set: {g: 1}}]}":           `:1:45: missing key "name"`,
		"sweep: {scenario: swept.yaml, controllers: [{name: a, cc: dcqcn, set: {gg: 1}}]}": `:1:45: dcqcn.gg = "1": no such parameter`,
		"sweep: {scenario: swept.yaml, parameters: {duration: [1ms, 2parsec]}}":            `:1:60: "2parsec" is not`,
		"sweep:\n  scenario: swept.yaml\n  parameters:\n    switch.pfc.xof: [1KB, 2KB]\n":  `:4:5: unknown key "xof": did you mean "xoff"?`,
	} {
		s, err := Load(sweepFile(t, text+"\n"))
		if err == nil {
			_, err = s.Points(1)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestSweepSetting(t *testing.T) {
	for text, want := range map[string]string{
		"x":          "--set: a parameter must be path=values",
		"=1":         "--set: a parameter must be path=values",
		"a.b=1,,2":   "--set: a value is missing: separate values by single commas\n    | a.b=1,,2\n    | ^^^^^^^^",
		"a.b=1..2ns": "--set: range \"1..2ns\" needs a step",
	} {
		if _, err := ParseSetting(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
