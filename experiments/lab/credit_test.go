package lab

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestCredit checks that points rise linearly from zero to the bound, on either side.
func TestCredit(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		of      Check
		v, want float64
	}{
		{Check{Least: at(10), Zero: at(5)}, 10, 1},
		{Check{Least: at(10), Zero: at(5)}, 12, 1},
		{Check{Least: at(10), Zero: at(5)}, 7.5, 0.5},
		{Check{Least: at(10), Zero: at(5)}, 5, 0},
		{Check{Least: at(10), Zero: at(5)}, 1, 0},
		{Check{Most: at(10), Zero: at(20)}, 5, 1},
		{Check{Most: at(10), Zero: at(20)}, 12.5, 0.75},
		{Check{Most: at(10), Zero: at(20)}, 25, 0},
		{Check{Most: at(10)}, 10.1, 0},
		{Check{Least: at(1), Most: at(2)}, 1.5, 1},
		{Check{Least: at(1), Most: at(2)}, 2.5, 0},
	} {
		if _, got := c.of.judged(c.v); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g has credit %g, want %g", c.of, c.v, got, c.want)
		}
	}
}

// predicted returns an exercise with parameters, predictions and checks that multiply each other.
func predicted(t *testing.T, student string) *Exercise {
	t.Helper()
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	e, err := Read("sums", fstest.MapFS{
		ExerciseFile: text(`
title: Sums
goal: None
hand_in:
  answers: {fct: {question: FCT, kind: time, predict: true}, twice: {question: twice the FCT, kind: time}}
  scenarios: {pair.yaml: [switch.pfc.xoff]}
runs: {mine: {scenario: pair.yaml, cc: none}, alone: {scenario: alone.yaml, cc: none}}
checks:
  - {title: FCT, name: fct, points: 2, answer: fct, run: alone, metric: fct_max, tolerance: 1%, miss: 21%}
  - {title: Twice, points: 2, answer: twice, run: alone, metric: fct_max, times: 2, tolerance: 1%, with: fct}
  - {title: XOFF, points: 2, setting: switch.pfc.xoff, of: pair.yaml, most: "${size*2}B", zero: "${size*4}B"}
`),
		ParametersFile:         text("size: [100KB, 110KB, 120KB, 130KB, 140KB, 150KB, 160KB]\ndouble: 2 * size\n"),
		TextFile:               text("# ${size}, ${double/1000} KB\n"),
		"start/answers.yaml":   text("fct:\ntwice:\n"),
		"start/pair.yaml":      text(pairOf("h0..h1")),
		"scenarios/alone.yaml": text(pairOf("h0")),
	})
	if err == nil {
		e, err = e.For(student)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func pairOf(from string) string {
	return "topology: {delay: 1us, star: {hosts: 3}}\nswitch: {pfc: {xoff: 100KB}}\nflows:\n" +
		"  - {from: " + from + ", to: h2, size: \"${size}\"}\nduration: 1ms\ndrain: true\nexpect_unused: [pfc, controller]\n"
}

// TestParameters checks that students have parameters of their own, that formulas and texts follow them, and that
// names that differ in case and blanks only have the same.
func TestParameters(t *testing.T) {
	drawn := map[string]bool{}
	for _, name := range []string{"anna", "bert", "chen", "dora", "emil", "fred", "gina", "hugo"} {
		e := predicted(t, name)
		size := e.Parameters()["size"]
		drawn[size] = true
		again := predicted(t, " "+strings.ToUpper(name)+" ")
		text, err := e.Text()
		if err != nil || again.Parameters()["size"] != size || !strings.HasPrefix(text, "# "+size+", ") {
			t.Errorf("%s: %v %q %v", name, e.Parameters(), text, err)
		}
	}
	if len(drawn) < 4 {
		t.Errorf("eight students have %d sizes", len(drawn))
	}
	e := predicted(t, "")
	if text, err := e.Text(); text != "# 100KB, 200 KB\n" || err != nil || *e.Checks[2].Most != 200e3 {
		t.Errorf("%q, %v, %v", text, err, *e.Checks[2].Most)
	}
	for text, want := range map[string]string{
		"a: b":             "undefined: b",
		"a: [1, x]":        "expected a number, a time, a rate or a size",
		"a: 1\na: 2":       "a",
		"A: 1":             "name a parameter once, in lower case",
		"a: '[1] * 9'":     "expected a number",
		"a: \"1 + 'x'\"":   "unknown binary op",
		"a: []":            "at least one value",
		"ns: 3":            "name a parameter once",
		"a: 'range(9**9)'": "formula",
	} {
		_, err := readParameters("sums", "", fstest.MapFS{ParametersFile: &fstest.MapFile{Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestPredictions checks that predictions count only if they are locked, unchanged, by the student; that runs wait for
// them; and that closeness and other checks decide about points.
func TestPredictions(t *testing.T) {
	e := predicted(t, "anna")
	write := func(folder, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	truth, err := e.truth(t.Context(), Options{Results: t.TempDir(), Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "anna")
	if _, err := Start(t.Context(), e, "sums", folder, false); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(e, folder); err == nil || !strings.Contains(err.Error(), "has no fct: predict the FCT") {
		t.Error(err)
	}
	// 11 % off, between a tolerance of 1 and a miss of 21.
	off := number(math.Round(1.11*truth["fct"])) + "ns"
	write(folder, AnswersFile, "fct: "+off+"\ntwice: "+number(truth["twice"])+"ns\n")
	g := gradeWith(t, e, folder, Options{Locked: true})
	if g.Points != 2 || !strings.Contains(g.Checks[0].Measured, "no locked prediction") ||
		!strings.Contains(g.Checks[1].Measured, "it waits for your prediction of fct") {
		t.Errorf("%+v", g)
	}
	if _, err := Lock(e, folder); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(e, folder); err == nil || !strings.Contains(err.Error(), "the predictions are locked already") {
		t.Error(err)
	}
	g = gradeWith(t, e, folder, Options{Locked: true})
	if math.Abs(g.Checks[0].Credit-0.5) > 0.001 || g.Checks[0].Points != 1 || g.Checks[1].Credit != 1 ||
		g.Checks[1].Points != 1 || g.Checks[1].Passed || g.Points != 4 || g.Parameters["size"] == "" {
		t.Errorf("%+v", g)
	}
	// Another value in answers.yaml changes nothing, and an edited, copied or missing seal costs the points.
	write(folder, AnswersFile, "fct: 1ns\ntwice: "+number(truth["twice"])+"ns\n")
	if again := gradeWith(t, e, folder, Options{}); again.Points != 4 {
		t.Errorf("%+v", again)
	}
	if copied := gradeWith(t, predicted(t, "bert"), folder, Options{}); copied.Checks[0].Credit > 0 ||
		!strings.Contains(copied.Problems[LockedFile], "the seal does not fit") {
		t.Errorf("%+v", copied)
	}
	locked, err := os.ReadFile(filepath.Join(folder, LockedFile))
	if err != nil {
		t.Fatal(err)
	}
	write(folder, LockedFile, strings.Replace(string(locked), off, number(truth["fct"])+"ns", 1))
	if edited := gradeWith(t, e, folder, Options{}); edited.Checks[0].Credit > 0 ||
		!strings.Contains(edited.Problems[LockedFile], "the seal does not fit") {
		t.Errorf("%+v", edited)
	}
}
