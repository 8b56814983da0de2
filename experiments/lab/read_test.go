package lab

import (
	"io/fs"
	"strings"
	"testing"
)

const good = `
title: Title
goal: Goal
hand_in:
  answers: {delay: {question: how long, kind: time}, n: {question: how many}}
  scenarios: {fabric.yaml: [switch.pfc]}
runs:
  mine: {scenario: fabric.yaml, cc: none}
  other: {scenario: other.yaml, cc: dcqcn, with: fabric.yaml}
seeds: {other.yaml: [1, 2]}
checks:
  - {title: A, points: 1, answer: delay, is: 5us}
  - {title: B, points: 1, run: mine, metric: fct_mean, tag: flow, relative_to: other, most: -5%}
  - {title: C, points: 0.5, setting: switch.pfc.xoff, of: fabric.yaml, most: 1MB}
  - {title: D, points: 1, run: mine, verdict: [PASS]}
`

// TestMistakes checks that each mistake is reported with its position and a remedy.
func TestMistakes(t *testing.T) {
	if _, err := Parse("x", "exercise.yaml", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, to, want string }{
		{"title: Title\n", "", `missing key "title"`},
		{"goal: Goal", "goals: Goal", `exercise.yaml:3:1: unknown key "goals": did you mean "goal"?`},
		{"kind: time", "kind: tine", `"tine"`},
		{
			"fabric.yaml: [switch.pfc]", "../fabric.yaml: [switch.pfc]",
			`"../fabric.yaml" is not a valid name: write one such as fabric.yaml`,
		},
		{"[switch.pfc]", "[topology]", `students must not change "topology", because values there may name files`},
		{"[switch.pfc]", "[cc]", "students must not change"},
		{"[switch.pfc]", "[controllers.0]", "students must not change"},
		{
			"scenario: other.yaml, cc: dcqcn", "scenario: /etc/passwd, cc: dcqcn",
			"a scenario must be a file of scenarios/ or of hand_in",
		},
		{"with: fabric.yaml", "with: other.yaml", "with must name a scenario of hand_in"},
		{"[1, 2]", "[1, 1]", "seed 1 is listed twice"},
		{"[1, 2]", "[]", "0 seeds: list 1 to 20"},
		{"other.yaml: [1", "others.yaml: [1", "no run uses others.yaml"},
		{"points: 0.5", "points: -1", "points -1 is outside 0..1000"},
		{"answer: delay", "answer: dealy", `hand_in has no answer "dealy": did you mean "delay"?`},
		{"is: 5us", "is: 5", "is not a time: write one like 12.5us"},
		{"is: 5us", "is: 5us, metric: fct_mean, run: mine", "an answer is compared with is or metric, not both: remove one"},
		{"is: 5us", "metric: pauses, run: mine", "metric pauses is a number, but answer delay is a time"},
		{"is: 5us", "tolerance: 5%", "an answer needs a value to compare with: a number (is) or a run's metric"},
		{"is: 5us", "is: 5us, tolerance: 5", "tolerance 5 is outside 0..1"},
		{"most: -5%", "most: 5us", "a change relative to another run is in percent: write a value such as -30%"},
		{"most: -5%", "least: .nan%", "a change relative to another run is in percent"},
		{", most: -5%", "", "a metric needs a bound: give least, most or both"},
		{"run: mine, metric", "run: min, metric", `no run "min": did you mean "mine"?`},
		{"run: mine, metric", "metric", `missing key "run"`},
		{"fct_mean", "fct_men", `no metric "fct_men": did you mean "fct_mean"?`},
		{"fct_mean", "pauses", "pauses describes the whole run"},
		{
			"setting: switch.pfc.xoff", "setting: switch.buffer",
			`students may not change "switch.buffer" in fabric.yaml`,
		},
		{"most: 1MB", "most: 1MB, least: 1us", "both bounds of the same kind"},
		{"[PASS]", "[OK]", `"OK"`},
		{"most: -5%", "most: -5%, zero: -9%", "zero must lie beyond the bound: below least, or above most"},
		{"most: -5%", "least: -9%, most: -5%, zero: 5%", "zero needs one bound, least or most, and this check has both"},
		{"is: 5us", "is: 5us, tolerance: 5%, miss: 4%", "miss must be above tolerance, which is 0.05"},
		{"[PASS]", "[PASS], with: [a]", `no check before this one has the name "a"`},
		{"relative_to: other", "relative_to: bound", "the bound has fct_mean, fct_p99, slowdown_mean, slowdown_p99, of all flows"},
		{"[PASS]", "[PASS], most: 3", "most has no effect on a check of a verdict"},
		{"verdict: [PASS]", "vardict: [PASS]", "a check needs one of answer, verdict, setting, steps, picture, like, output and metric"},
		{"verdict: [PASS]", "verdict: [PASS], answer: n", "a check has one of answer, verdict, setting and metric"},
		{"verdict: [PASS]", "verdict: ", "a check needs one of answer, verdict, setting, steps, picture, like, output and metric"},
		{"verdict: [PASS]", "verdict: []", "verdict needs the accepted verdicts"},
		{"is: 5us", "is: ", "an answer needs a value to compare with: a number (is) or a run's metric"},
		{
			"  scenarios:", "  controllers: [control.py]\n  scenarios:",
			"name a controller's file like control.star or control.wasm",
		},
		{"  scenarios:", "  controllers: [[a.star, a.wasm], a.wasm]\n  scenarios:", "a.wasm is listed twice"},
	} {
		text := strings.Replace(good, c.old, c.to, 1)
		if _, err := Parse("x", "exercise.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "exercise.yaml:") {
			t.Errorf("%s for %s: %v\nwant %s", c.to, c.old, err, c.want)
		}
	}
}

// FuzzParse checks that no text makes the reader of an exercise panic, and that no accepted exercise names a file
// elsewhere.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	for _, name := range course {
		data, err := fs.ReadFile(builtin, "exercises/"+name+"/"+ExerciseFile)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Parse("x", "exercise.yaml", data)
		if err != nil {
			return
		}
		names := e.Submitted()
		for i := range e.Runs {
			names = append(names, e.Runs[i].Scenario)
		}
		for _, name := range names {
			if strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
				t.Errorf("%q", name)
			}
		}
		for i := range e.Checks {
			_ = e.Checks[i].required(e)
		}
	})
}
