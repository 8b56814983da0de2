package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/playground/session"
)

// graded returns the grade of a submission in this process.
func graded(t *testing.T, h session.Submission) *session.Graded {
	t.Helper()
	t.Chdir(t.TempDir())
	g := h.Grade(t.Context(), "test", func(session.Progress) {})
	if g.Grade == nil {
		t.Fatal(g.Failed)
	}
	return g
}

// submission returns a trial of the teacher's material: the reference solution, or the first of the honest ones before
// it that has some points.
func submission(t *testing.T, exercise string, right bool) session.Submission {
	t.Helper()
	e, err := lab.Builtin(exercise)
	if err != nil {
		t.Fatal(err)
	}
	material, err := lab.OpenTeacher(filepath.Join("..", "..", "experiments/lab/teacher"))
	if err != nil {
		t.Fatal(err)
	}
	trials, err := e.Trials(material)
	if err != nil {
		t.Fatal(err)
	}
	trial := &trials[4]
	if right {
		trial = lab.Reference(trials)
	}
	folder := filepath.Join(t.TempDir(), exercise)
	if err := trial.Write(t.Context(), e, material, folder, lab.Options{Results: t.TempDir(), Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	h := session.Submission{Exercise: exercise, Files: map[string]string{}, Uploads: map[string][]byte{}}
	for _, file := range slices.Concat(e.Pictures, e.Outputs) {
		data, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		h.Uploads[file] = data
	}
	for _, file := range e.Started() {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		h.Files[file] = string(text)
	}
	return h
}

// checks returns the checks that the page shows, one per line.
func (b *tab) checks() (all []string) {
	b.Helper()
	text := b.Value(`JSON.stringify([...document.querySelectorAll("#panel-grade .checks li")].map((e) =>
		[e.querySelector(".sign").textContent, e.querySelector(".title .soft").textContent, e.querySelector(".title b").textContent,
			...[...e.querySelectorAll("dd")].slice(0, 3).map((d) => d.textContent)].join("|")))`)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.Fatal(err)
	}
	return all
}

// compare compares the checks that the page shows with those of a grade.
func (b *tab) compare(g *session.Graded) {
	b.Helper()
	lines := b.checks()
	if len(lines) != len(g.Checks) {
		b.Fatalf("%d checks, want %d", len(lines), len(g.Checks))
	}
	for i, c := range g.Checks {
		sign := "✗"
		if c.Passed {
			sign = "✓"
		}
		want := fmt.Sprintf("%s|%v/%v|%s|%s|%s", sign, c.Points, c.Of, c.Title, c.Required, c.Measured)
		if c.Hint != "" {
			want += "|" + c.Hint
		}
		if !strings.HasPrefix(lines[i], want) {
			b.Errorf("the page says %q\nwant %q", lines[i], want)
		}
	}
}

// TestExercise checks that an exercise's text is shown, that its files are checked during typing and as a whole, and
// that the grade equals that outside of the browser.
func TestExercise(t *testing.T) {
	wrong, right := submission(t, "pfc", false), submission(t, "pfc", true)
	b := open(t, "#exercise=pfc")
	wantWrong, wantRight := graded(t, wrong), graded(t, right)
	if wantRight.Points != wantRight.Of || wantWrong.Points == wantWrong.Of {
		t.Fatalf("%v and %v of %v points", wantRight.Points, wantWrong.Points, wantRight.Of)
	}
	b.says("Ready to check pfc")
	if got := b.Text("#panel-task"); !strings.Contains(got, "PFC and head-of-line blocking") ||
		!strings.Contains(got, "How far PAUSE spreads") {
		t.Errorf("the task: %s", got)
	}
	for file, text := range wrong.Files {
		b.write("file-"+strings.ReplaceAll(file, ".", "-"), text)
	}
	b.says("Ready to check pfc")
	b.run()
	b.says(fmt.Sprintf("%v of 10 points. What is missing has a hint.", wantWrong.Points))
	b.compare(wantWrong)
	b.Do(chromedp.Click("#panel-grade .checks .link"))
	b.InFrame("document.documentElement.classList.contains('live')")
	// What is written stays, in this browser, until it is put back.
	b.Do(chromedp.Reload())
	b.says("Ready to check pfc")
	b.run()
	b.compare(wantWrong)
	for file, text := range right.Files {
		b.write("file-"+strings.ReplaceAll(file, ".", "-"), text)
	}
	b.run()
	b.says("10 of 10 points.")
	b.compare(wantRight)
	// A mistake has its place, and costs the checks that need the file.
	b.write("file-fabric-yaml", strings.Replace(right.Files["fabric.yaml"], "delay: 1us", "delay: 2us", 1))
	b.Wait("document.querySelector('#problems').textContent.includes('topology.delay must not change')")
	b.run()
	b.Wait("document.querySelector('#panel-grade .problem')?.textContent.includes('topology.delay must not change')")
	// Without an exercise the page is as it was.
	b.Value("(() => { const s = document.querySelector('#exercises'); s.value = ''; s.dispatchEvent(new Event('change')); })()")
	b.says("Ready to run incast")
	b.run()
	b.says("Checks ok")
}

// TestExerciseController checks that a student's controller is checked as outside of the browser, and that a mistake in
// it has its line.
func TestExerciseController(t *testing.T) {
	h := submission(t, "aimd", false)
	b := open(t, "#scenario=incast")
	want := graded(t, h)
	b.says("Ready")
	b.Value("(() => { const s = document.querySelector('#exercises'); s.value = 'aimd'; s.dispatchEvent(new Event('change')); })()")
	b.says("Ready to check aimd")
	b.write("file-control-star", "def init(flow)\n")
	b.Wait("document.querySelector('#problems').textContent.includes('1:15')")
	b.write("file-control-star", h.Files["control.star"])
	b.says("Ready to check aimd")
	b.run()
	b.says(fmt.Sprintf("%v of 10 points.", want.Points))
	b.compare(want)
	if got := b.Value("document.querySelectorAll('#reports option').length"); got != "2" {
		t.Errorf("%s reports, want 2: one of each scenario", got)
	}
}

// TestUploads checks that the page shows the texts of exercises; that pictures and locked predictions are submitted,
// survive a reload, and are graded as outside of the browser.
func TestUploads(t *testing.T) {
	h := submission(t, "figure", true)
	b := open(t, "#exercise=figure")
	b.says("Ready to check figure")
	b.texts()
	b.Do(chromedp.Click(chromedp.ID("lock")))
	b.says("Nothing was locked: submission/answers.yaml has no peak")
	for file, text := range h.Files {
		b.write("file-"+strings.ReplaceAll(file, ".", "-"), text)
	}
	b.says("Ready to check figure")
	b.Do(chromedp.Click(chromedp.ID("lock")))
	b.says("Your predictions are locked")
	b.Wait("document.querySelector('#lock').disabled")
	// What is predicted afterwards does not count.
	t.Chdir(t.TempDir()) // the submission is in a folder here
	locked := h.Lock()
	h.Files["answers.yaml"] = strings.Replace(h.Files["answers.yaml"], "peak:", "peak: 1KB # was", 1)
	h.Uploads[lab.LockedFile] = []byte(locked.File)
	b.write("file-answers-yaml", h.Files["answers.yaml"])
	picture := filepath.Join(t.TempDir(), "any.png")
	if err := os.WriteFile(picture, h.Uploads["queue.png"], 0o600); err != nil {
		t.Fatal(err)
	}
	want := graded(t, h)
	b.Do(chromedp.Click(chromedp.ID("tab-uploads")), chromedp.SetUploadFiles(chromedp.ID("upload-queue-png"), []string{picture}))
	b.Wait("document.querySelector('#panel-uploads img')?.naturalWidth > 0")
	b.Reload()
	b.says("Ready to check figure")
	b.Wait("document.querySelector('#panel-uploads img')?.naturalWidth > 0 && document.querySelector('#lock').disabled")
	b.run()
	b.says(fmt.Sprintf("%v of 10 points.", want.Points))
	b.compare(want)
	if want.Points < 9 {
		t.Errorf("%v points", want.Points)
	}
	if got := b.Text("#panel-files"); !strings.Contains(got, "submission/queue.png") || !strings.Contains(got, "submission/predictions.yaml") {
		t.Errorf("files: %s", got)
	}
}

// texts checks that the texts of all exercises are shown without signs of Markdown.
func (b *tab) texts() {
	b.Helper()
	b.Value(`(async () => {
		const [{ markdown }, all] = [await import("./markdown.js"), await (await fetch("examples.json")).json()];
		const left = all.exercises.flatMap((e) => markdown(e.text).filter((p) => p.tagName !== "PRE" &&
			/` + "```" + `|\*\*|^- |^\||^#|^\d+\. /m.test(p.textContent)).map((p) => e.name + ": " + p.textContent));
		window.texts = left.join("\n");
	})()`)
	b.Wait("typeof window.texts === 'string'")
	if left := b.Value("window.texts"); left != "" {
		b.Error(left)
	}
	if got := b.Text("#panel-task pre"); !strings.HasPrefix(got, "h0  ---- long, from 0 on, without end ----\\\nh1") {
		b.Errorf("the drawing: %s", got)
	}
}
