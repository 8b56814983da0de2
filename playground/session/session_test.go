package session

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/results/replay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	scenarioText = "topology: {delay: 1us, star: {hosts: 3}}\nflows: [{from: h0..h1, to: h2, size: 100KB}]\nduration: 1ms\n" +
		"drain: true\ncontrollers: [none, dcqcn]\nexpect_unused: [pfc, controller]\n"
	long    = "topology: star\nflows: [{from: h0..h3, to: h4, size: 10GB}]\nduration: 3s\ncontrollers: [none]\n"
	control = "def init(flow):\n    flow.rate = path.line_rate\n"
)

// in runs the rest of a test in a folder of its own, as a session's is.
func in(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
}

// TestCheck checks the messages about a scenario before it runs, and the positions of its mistakes.
func TestCheck(t *testing.T) {
	in(t)
	c := Check(Request{Scenario: scenarioText, Controller: control})
	if c.Error != "" || c.Name != "scenario" || c.Flows != 2 || c.Duration != 1_000_000 || c.Seed != 1 || c.HasQuick ||
		strings.Join(c.Controllers, " ") != "none dcqcn controller.star" {
		t.Errorf("%+v", c)
	}
	for _, m := range []struct {
		request Request
		want    Mistake
	}{
		{
			Request{Scenario: scenarioText + "swich: {}\n"},
			Mistake{File: ScenarioFile, Line: 7, Column: 1, Width: 5, Message: `unknown key "swich": did you mean "switch"?`},
		},
		{Request{Scenario: scenarioText, Controller: "def init(flow)\n"}, Mistake{File: ControllerFile, Line: 1, Column: 15}},
		{Request{Scenario: "{{{"}, Mistake{File: ScenarioFile, Line: 1}},
		{Request{}, Mistake{File: ScenarioFile}},
	} {
		c := Check(m.request)
		if c.Error == "" || len(c.Mistakes) == 0 {
			t.Errorf("%+v: nothing is wrong", m.request)
			continue
		}
		got := c.Mistakes[0]
		if got.File != m.want.File || m.want.Line > 0 && got.Line != m.want.Line || m.want.Column > 0 &&
			got.Column != m.want.Column || !strings.HasPrefix(got.Message, m.want.Message) {
			t.Errorf("%+v, want %+v", got, m.want)
		}
	}
}

// TestRun checks that runs have results and a report, that progress reaches the end of each run, and that the command
// to repeat it is shown.
func TestRun(t *testing.T) {
	in(t)
	last := map[string]Progress{}
	r := Request{Scenario: scenarioText, Controller: control}
	o := r.Run(t.Context(), "v1", func(p Progress) {
		if p.Now < last[p.Run].Now || p.Duration != 1_000_000 {
			t.Errorf("%+v after %+v", p, last[p.Run])
		}
		last[p.Run] = p
	})
	if o.Error != "" || o.Failed != "" || o.Stopped || len(o.Runs) != 3 || len(last) != 3 {
		t.Fatalf("%+v, %v", o, last)
	}
	for run, p := range last {
		if !p.Ended {
			t.Errorf("%s has not ended", run)
		}
	}
	for _, file := range []string{o.Report, o.Runs[2].Folder + "/flows.csv", o.Runs[2].Folder + "/summary.json"} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if w := Watch(o.Runs[1].Folder); w.Error != "" {
		t.Error(w.Error)
	} else if data, err := os.ReadFile(w.File); err != nil {
		t.Error(err)
	} else if d, err := replay.Decode(data); err != nil || !d.Recorded || d.Label != "dcqcn" {
		t.Errorf("the replay is %+v: %v", d, err)
	}
	if w := Watch("results/none"); w.File != "" || !strings.Contains(w.Error, "results/none") {
		t.Errorf("of a folder that is not there: %+v", w)
	}
	if got := o.command(r); got != "pausenet run scenario.yaml --cc none,dcqcn,./controller.star" {
		t.Error(got)
	}
	// A mistake in a run ends that one, is told with its line, and leaves the others.
	r.Controller = "def init(flow):\n    flow.rate = path.line_rate\ndef on_ack(flow, ack):\n    flow.rate = -1\n"
	o = r.Run(t.Context(), "v1", func(Progress) {})
	if o.Failed == "" || len(o.Mistakes) != 1 || o.Mistakes[0].Line != 4 || len(o.Runs) < 2 {
		t.Errorf("%s, %+v, %d runs", o.Failed, o.Mistakes, len(o.Runs))
	}
	// What is wrong before is not run.
	if o = (Request{Scenario: "{{{"}).Run(t.Context(), "v1", func(Progress) { t.Error("it runs") }); o.Error == "" ||
		len(o.Runs) > 0 {
		t.Errorf("%+v", o)
	}
}

// TestBug checks that a panic in a call, or in a run below it, becomes one sentence, and that the next call works.
func TestBug(t *testing.T) {
	in(t)
	r := Request{Scenario: scenarioText}
	bug := func(f func() any) (b Bug) {
		t.Helper()
		text := Answer(f)
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, f := range map[string]func() any{
		"a call":       func() any { panic("no sense") },
		"before a run": func() any { return r.Run(t.Context(), "v1", func(Progress) { panic("no sense") }) },
		"within a run": func() any {
			return Request{Scenario: long}.Run(t.Context(), "v1", func(p Progress) {
				if p.Now > 0 {
					panic("no sense")
				}
			})
		},
		"no answer": func() any { return func() {} },
	} {
		b := bug(f)
		const start = "this is a bug of pausenet, please report it with what is in the editors: panic: "
		if !strings.HasPrefix(b.Message, start) || strings.Contains(b.Message, "\n") || !strings.Contains(b.Stack, "goroutine") {
			t.Errorf("%s: %+v", name, b)
		}
		if name != "no answer" && (!strings.HasSuffix(b.Message, "panic: no sense") ||
			!strings.Contains(b.Stack, "TestBug")) {
			t.Errorf("%s: %+v", name, b)
		}
		if b := bug(func() any { return r.Run(t.Context(), "v1", func(Progress) {}) }); b.Message != "" {
			t.Errorf("after %s: %+v", name, b)
		}
	}
}

// TestStop checks that a stopped run keeps its results so far, and that a stopped submission has no grade.
func TestStop(t *testing.T) {
	in(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := Request{Scenario: long}.Run(ctx, "v1", func(p Progress) {
		if p.Now > 0 {
			cancel()
		}
	})
	if !o.Stopped || o.Failed != "" || len(o.Runs) != 1 || !o.Runs[0].Summary.Partial {
		t.Errorf("%+v", o)
	}
	if g := (Submission{Exercise: "pfc"}).Grade(ctx, "v1", func(Progress) {}); !g.Stopped || g.Grade != nil {
		t.Errorf("%+v", g)
	}
}

// TestSubmission checks that a submission's mistakes have positions, that earlier files are removed, and that it is
// graded by the files that exist.
func TestSubmission(t *testing.T) {
	in(t)
	e, err := exercises()
	if err != nil || len(e) != 13 || e[0].Name != "pfc" || len(e[0].Files) != 2 || len(e[0].Checks) == 0 ||
		!e[12].Files[1].Given {
		t.Fatalf("%+v, %v", e, err)
	}
	h := Submission{Exercise: "pfc", Files: map[string]string{
		"answers.yaml": "hops: three\n",
		"fabric.yaml":  e[0].Files[1].Text, "../away.yaml": "", "lab.yaml": "",
	}}
	c := h.Read()
	if len(c.Mistakes) != 1 || c.Mistakes[0].File != "answers.yaml" || c.Mistakes[0].Line != 1 ||
		c.Mistakes[0].Column != 7 {
		t.Errorf("%+v", c)
	}
	if entries, err := os.ReadDir(submissionFolder); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
	h.Files["answers.yaml"] = "hops: 3\n"
	if c := h.Read(); c.Error != "" || len(c.Mistakes) != 0 {
		t.Errorf("%+v", c)
	}
	runs := map[string]bool{}
	g := h.Grade(t.Context(), "v1", func(p Progress) { runs[p.Run] = p.Ended })
	if g.Grade == nil || g.Points != 0.5 || g.Of != 10 || len(runs) < 2 {
		t.Errorf("%+v, %v", g, runs)
	}
	delete(h.Files, "fabric.yaml")
	if g := h.Grade(t.Context(), "v1", func(Progress) {}); g.Grade == nil ||
		!strings.Contains(g.Problems["fabric.yaml"], "is missing") {
		t.Errorf("%+v", g)
	}
	for _, h := range []Submission{{}, {Exercise: "../pfc"}, {Exercise: "nothing"}} {
		if g := h.Grade(t.Context(), "v1", func(Progress) {}); g.Failed == "" || h.Read().Error == "" {
			t.Errorf("%s: %+v", h.Exercise, g)
		}
	}
}

// TestExamples checks that the page's examples can be run.
func TestExamples(t *testing.T) {
	all, err := FindExamples("../../examples/controllers")
	if err != nil {
		t.Fatal(err)
	}
	in(t)
	if len(all.Scenarios) < 10 || len(all.Controllers) < 5 {
		t.Errorf("%d scenarios, %d controllers", len(all.Scenarios), len(all.Controllers))
	}
	for _, c := range all.Controllers {
		if got := Check(Request{Scenario: scenarioText, Controller: c.Text}); got.Error != "" || c.Description == "" {
			t.Errorf("%s: %s", c.Name, got.Error)
		}
	}
}
