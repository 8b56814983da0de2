package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	_ "github.com/pausenet/pausenet/controllerfile/star"
	_ "github.com/pausenet/pausenet/controllerfile/wasm"
)

// pair returns an exercise with a controller of the student's, in either language.
func pair(t *testing.T) *Exercise {
	t.Helper()
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	e, err := Read("pair", fstest.MapFS{
		ExerciseFile: text(`
title: Pair
goal: None
hand_in: {controllers: [[control.star, control.wasm]]}
runs: {mine: {scenario: pair.yaml, cc: control.star}, other: {scenario: pair.yaml, cc: none}}
checks:
  - {title: Trusted, points: 1, run: mine, verdict: [PASS, WARN]}
  - {title: Quick, points: 1, run: mine, metric: slowdown_max, most: 5}
  - {title: Short, points: 1, run: mine, steps: 30}
`),
		TextFile:             text("# Pair\n"),
		"start/control.star": text("def init(flow):\n    flow.rate = path.line_rate\n"),
		"scenarios/pair.yaml": text("topology: {delay: 1us, star: {hosts: 3}}\n" +
			"flows: [{from: h0..h1, to: h2, size: 100KB}]\nduration: 1ms\ndrain: true\nexpect_unused: [pfc, controller]\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestOwnClock checks that the times that a student's controller sees, and its timers, begin at the flow's own start.
func TestOwnClock(t *testing.T) {
	const source = `
def init(flow):
    flow.rate = path.line_rate
    flow.timer = 5 * us
    flow.timed = 0

def on_timer(flow, now):
    flow.timed = now

def on_ack(flow, ack):
    if ack.now > 500 * us:
        fail("the run's clock", ack.now)
    if ack.now > 10 * us and flow.timed != 5 * us:
        fail("no timer", flow.timed)

def on_sent(flow, now, payload):
    if now > 500 * us:
        fail("the run's clock", now)
`
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "control.star"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	e := pair(t)
	e.Files = overlay{fstest.MapFS{"scenarios/pair.yaml": &fstest.MapFile{Data: []byte(
		"topology: {delay: 1us, star: {hosts: 3}}\nflows: [{from: h0..h1, to: h2, size: 100KB, start: 3ms}]\n" +
			"duration: 4ms\ndrain: true\nexpect_unused: [pfc, controller]\n",
	)}}, e.Files}
	if g := grade(t, e, folder); !g.Checks[1].Passed {
		t.Errorf("%s", g.Checks[1].Measured)
	}
}

// module returns a controller compiled to WebAssembly.
func module(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../examples/controllers/timely.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestControllers checks that a controller may be submitted in either language, within the same limits. One that is
// missing, damaged or present twice costs the points of its runs.
func TestControllers(t *testing.T) {
	const plain = "def init(flow):\n    flow.rate = path.line_rate\ndef on_ack(flow, ack):\n    flow.rate = path.line_rate\n"
	for name, c := range map[string]struct {
		files   map[string]string
		options Options
		points  Points
		want    string
	}{
		"Starlark":    {map[string]string{"control.star": plain}, Options{}, 3, ""},
		"WebAssembly": {map[string]string{"control.wasm": module(t)}, Options{}, 3, ""},
		"none":        {nil, Options{}, 0, "control.star or control.wasm is missing: pausenet lab start pair FOLDER writes it"},
		"both": {
			map[string]string{"control.star": plain, "control.wasm": module(t)},
			Options{},
			0,
			"control.star and control.wasm exist, but only one can be submitted",
		},
		"half a module": {
			map[string]string{"control.wasm": module(t)[:900]},
			Options{},
			0,
			"control.wasm: not a WebAssembly module, or damaged",
		},
		"a long module": {
			map[string]string{"control.wasm": module(t) + strings.Repeat("\x00", 1<<18)},
			Options{},
			0,
			fmt.Sprintf("control.wasm: has %d bytes", len(module(t))+(1<<18)),
		},
		"a module's steps": {
			map[string]string{"control.wasm": module(t)},
			Options{mostSteps: 50},
			0,
			"control.wasm: the calls of a flow have taken more than 50 steps in all",
		},
		"a program's steps": {
			map[string]string{"control.star": plain},
			Options{mostSteps: 100},
			0,
			"control.star: the calls of a flow have taken more than 100 steps in all",
		},
		"events": {
			map[string]string{"control.wasm": module(t)},
			Options{mostEvents: 1000},
			0,
			"the run exceeds 1000 events",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, content := range c.files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			g := gradeWith(t, pair(t), folder, c.options)
			text := g.problemText() + "\n" + g.Checks[0].Measured
			if g.Points != c.points || !strings.Contains(text, c.want) || c.points == g.Of && len(g.Problems) > 0 {
				t.Errorf("%v points: %s\nwant %v: %s", g.Points, text, c.points, c.want)
			}
		})
	}
}
