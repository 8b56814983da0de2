package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv/browser"
	"github.com/pausenet/pausenet/playground/session"
)

// native returns the outcome of a request in this process.
func native(t *testing.T, r session.Request) *session.Outcome {
	t.Helper()
	t.Chdir(t.TempDir())
	o := r.Run(t.Context(), "test", func(session.Progress) {})
	if o.Error != "" || o.Failed != "" {
		t.Fatal(o.Error, o.Failed)
	}
	return o
}

// fingerprints returns the fingerprints that the page shows.
func (b *tab) fingerprints() []string {
	b.Helper()
	var all []string
	text := b.Value("JSON.stringify([...document.querySelectorAll('#summary code')].map((e) => e.textContent))")
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.Fatal(err)
	}
	return all
}

func example(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run runs the texts in the editors, by the keyboard, and waits for the end.
func (b *tab) run() {
	b.Helper()
	b.Do(chromedp.KeyEvent("\r", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.Wait("!document.querySelector('#stop').hidden || document.querySelector('#state').className === 'bad' || " +
		"!document.querySelector('#result-tabs').hidden")
	b.Wait("document.querySelector('#stop').hidden")
}

// choose loads an example by its name.
func (b *tab) choose(name string) {
	b.Helper()
	b.Value("(() => { const s = document.querySelector('#examples'); s.value = '" + name +
		"'; s.dispatchEvent(new Event('change')); })()")
}

// TestOnePage makes checks one after the other in one page: to load the simulator costs more than each of them. Each
// writes the texts that it needs.
func TestOnePage(t *testing.T) {
	b := open(t, "#scenario=incast")
	b.says("Ready")
	for _, c := range []struct {
		name  string
		check func(*testing.T, *tab)
	}{
		{"bug", checkBug},
		{"vary", checkVary},
		{"best", checkBest},
		{"wraps", checkWraps},
		{"hostile", checkHostile},
		{"mistakes", checkMistakes},
		{"help", checkHelp},
		{"runs", checkRuns},
		{"dies", checkDies},
	} {
		if !t.Run(c.name, func(t *testing.T) {
			b.T = t
			c.check(t, b)
		}) {
			return // the page is in no known state
		}
	}
}

// checkRuns checks that a built-in scenario, with the user's own controller beside it, has the same results as outside
// of the browser. The report is shown and its script runs; the flows are those of flows.csv.
func checkRuns(t *testing.T, b *tab) {
	controller := example(t, "examples/controllers/aimd.star")
	scenario := example(t, "experiments/scenario/builtin/incast.yaml")
	want := native(t, session.Request{Scenario: scenario, Controller: controller})
	b.choose("incast")
	b.write("controller", controller)
	b.says("Ready to run incast under dcqcn and controller.star")
	b.run()
	b.says("Checks ok")
	var prints []string
	for _, r := range want.Runs {
		prints = append(prints, r.Summary.Fingerprint)
	}
	if got := b.fingerprints(); len(got) != 2 || !slices.Equal(got, prints) {
		t.Errorf("fingerprints %q, want %q", got, prints)
	}
	if got := b.Value("document.querySelectorAll('#panel-flows tbody tr').length"); got != "8" {
		t.Errorf("%s rows of flows, want 4 of each run", got)
	}
	if got := b.Text("#panel-files"); !strings.Contains(got, "incast/controller.star/summary.json") {
		t.Errorf("files: %s", got)
	}
	b.Do(chromedp.Click(chromedp.ID("tab-report")))
	b.InFrame("document.querySelector('h1')?.textContent === 'incast' && document.documentElement.classList.contains('live')")
}

// checkMistakes checks that mistakes are reported during typing, and marked at their position.
func checkMistakes(t *testing.T, b *tab) {
	b.write("scenario", "topology: star\nhostz: 4\nflows: [{from: h0, to: h1, size: 1KB}]\nduration: 1ms\n")
	b.Wait("document.querySelectorAll('#problems .error').length === 1")
	if got := b.Text("#problems .error"); !strings.Contains(got, "2:1") ||
		!strings.Contains(got, `unknown key "hostz": did you mean "host"?`) {
		t.Errorf("problems: %s", got)
	}
	marked := func(editor, want string) {
		t.Helper()
		b.Wait(fmt.Sprintf("[...document.querySelector(%q).shadowRoot.querySelectorAll('.cm-lintRange-error')].map((e) => "+
			"e.textContent).join() === %q", editor, want))
	}
	marked("#scenario", "hostz")
	b.run()
	b.says("Nothing ran")
	b.write("scenario", example(t, "experiments/scenario/builtin/incast.yaml"))
	b.Wait("document.querySelector('#problems').hidden")
	// A controller's mistakes: before it runs, and in a run.
	b.write("controller", "def init(flow):\n    flow.rate = path.line_rate\n\ndef on_ack(flow, ack):\n    flow.rate = ackk.now\n")
	b.Wait("document.querySelector('#problems').textContent.includes('5:')")
	marked("#controller", "a")
	b.write("controller", "def init(flow):\n    flow.rate = path.line_rate\n\ndef on_ack(flow, ack):\n    flow.rate -= 2 * path.line_rate\n")
	b.Wait("document.querySelector('#problems').hidden")
	b.run()
	b.says("The run failed: ")
	if got := b.Text("#state"); !strings.Contains(got, "controller.star:5") || !strings.Contains(got, "must be above 0") {
		t.Errorf("the page says %q", got)
	}
	b.Wait("document.querySelector('#problems').textContent.includes('5:')")
	if got := b.fingerprints(); len(got) == 0 || got[0] == "" {
		t.Error("the scenario's own controller has no result")
	}
}

// long describes a scenario that takes minutes.
const long = "topology: star\nflows: [{from: h0..h3, to: h4, size: 10GB}]\nduration: 3s\ncontrollers: [none]\n"

// TestStop checks that a stopped run shows its results so far, and that another can start.
func TestStop(t *testing.T) {
	b := open(t, "#scenario=incast")
	b.says("Ready")
	b.write("scenario", long)
	b.says("Ready to run scenario")
	b.Do(chromedp.Click(chromedp.ID("run")))
	b.Wait("document.querySelector('#progress progress')?.value > 0")
	b.Do(chromedp.Click(chromedp.ID("stop")))
	b.says("Stopped.")
	b.Wait("document.querySelector('#stop').hidden")
	if got := b.Text("#summary"); !strings.Contains(got, "partial") {
		t.Errorf("the summary: %s", got)
	}
	b.write("scenario", example(t, "experiments/scenario/builtin/incast.yaml"))
	b.says("Ready to run incast")
	b.run()
	b.says("Checks ok")
	// A run that hears nothing is ended with its worker, and another can begin.
	b.write("scenario", long)
	b.says("Ready to run scenario")
	b.Value("Worker.prototype.postMessage = ((post) => function (m) { if (m.call !== 'stop') post.call(this, m); })" +
		"(Worker.prototype.postMessage)")
	b.Do(chromedp.Click(chromedp.ID("run")))
	b.Wait("document.querySelector('#progress progress')?.value > 0")
	b.Do(chromedp.Click(chromedp.ID("stop")), chromedp.Click(chromedp.ID("stop")))
	b.says("Stopped; the run")
	b.Wait("!document.querySelector('#run').disabled")
	b.write("scenario", example(t, "experiments/scenario/builtin/incast.yaml"))
	b.run()
	b.says("Checks ok")
}

// checkBug checks that a call that panics is reported as a bug, and that the same program answers the next call.
func checkBug(t *testing.T, b *tab) {
	b.Value(`(async () => {
		const { Simulator } = await import("./simulator.js");
		const s = new Simulator((words) => { window.died = words; });
		await s.start();
		const failed = (name, values) => s.call(name, values).then(() => "no error", (error) => error.message);
		const all = [];
		for (const name of ["check", "run"]) all.push(await failed(name, { scenario: 5 }));
		for (const name of ["readSubmission", "grade"]) all.push(await failed(name, { exercise: 5 }));
		const checked = await s.call("check", { scenario: "topology: star\nflows: [{from: h0, to: h1, size: 1KB}]\nduration: 1ms\n", controller: "", quick: false });
		window.bugs = [...all, "then " + checked.name + checked.error, window.died ?? "alive"].join("\n");
	})()`)
	b.Wait("typeof window.bugs === 'string'")
	lines := strings.Split(b.Value("window.bugs"), "\n")
	for _, line := range lines[:4] {
		if !strings.HasPrefix(line, "this is a bug of pausenet, please report it with what is in the editors: panic: json: "+
			"cannot unmarshal number into ") {
			t.Error(line)
		}
	}
	if got := lines[4:]; !slices.Equal(got, []string{"then scenario", "alive"}) {
		t.Errorf("%q", got)
	}
}

// checkHostile checks that names and messages of any link remain text, and that a text that unpacks to more than a
// megabyte is refused.
func checkHostile(t *testing.T, b *tab) {
	const tag = `<img src=x onerror=document.title='hostile'>`
	b.write("scenario", fmt.Sprintf("name: %q\ndescription: %q\ntopology: star\n%q: 1\n"+
		"flows: [{tag: %[1]q, from: h0, to: h1, size: 1KB}]\nduration: 1ms\n", tag, tag, tag))
	b.Wait("document.querySelector('#problems').textContent.includes('onerror')")
	b.write("scenario", fmt.Sprintf("description: %q\ntopology: star\nflows: [{from: h0, to: h1, size: 1KB}]\n"+
		"duration: 1ms\n", tag+"</script><script>parent.document.title='hostile'</script>"))
	b.says("Ready to run scenario")
	b.run()
	b.says("Checks")
	b.Do(chromedp.Click(chromedp.ID("tab-report")))
	b.InFrame("document.querySelector('.lead')?.textContent.includes('onerror')")
	if got := b.Value("document.title + document.querySelectorAll('main img').length"); got != "pausenet playground0" {
		t.Errorf("title and images: %s", got)
	}
	// A link with the same, and one that is a bomb.
	b.Value(`(async () => (await import("./link.js")).encode({ scenario: "x".repeat(2 << 20) }).then((l) => { window.bomb = l; }))()`)
	b.Wait("typeof window.bomb === 'string'")
	b.Value("location.hash = '#lab=rubbish'")
	b.says("The link could not be read: the link is damaged.")
	b.Value("location.hash = window.bomb")
	b.says("The link could not be read: the link has more than a megabyte.")
}

// TestLinks checks that a link restores the texts of the editors.
func TestLinks(t *testing.T) {
	b := open(t, "#scenario=incast")
	b.says("Ready to run incast")
	const text = "# one's own: ü\ntopology: star\nflows: [{from: h0, to: h1, size: 1KB}]\nduration: 1ms\n"
	b.write("scenario", text)
	b.says("Ready to run scenario")
	b.Do(chromedp.Click(chromedp.ID("share")))
	b.Wait("location.hash.startsWith('#lab=')")
	behind := b.Value("location.hash")
	again := open(t, behind)
	again.says("Ready to run scenario")
	got := again.Value("document.querySelector('#scenario').shadowRoot.querySelector('.cm-content').innerText")
	if !strings.HasPrefix(got, "# one's own: ü\n") {
		t.Errorf("the editor has %q", got)
	}
}

// TestGallery checks that first-time visitors see an animated picture and a card for each built-in and each exercise,
// and that a card runs its scenario and plays the run in the fabric.
func TestGallery(t *testing.T) {
	b := open(t, "")
	b.Wait("!document.querySelector('#home').hidden && getComputedStyle(document.querySelector('main')).display === 'none'")
	b.Wait("document.querySelector('.hero img').naturalWidth === 960")
	if got := b.Value("document.querySelector('.hero img').getAttribute('src')"); got != "dcon-burst.gif" {
		t.Errorf("the picture is %s", got)
	}
	want := len(scenario.BuiltinNames())
	if got := b.Value("document.querySelectorAll('#cards li').length"); got != strconv.Itoa(want) {
		t.Errorf("%s cards of %d scenarios", got, want)
	}
	b.Wait("document.querySelectorAll('#exercise-cards li').length === 13")
	b.Wait("[...document.querySelectorAll('#cards img')].slice(0, 4).every((i) => i.naturalWidth > 0)")
	b.Value("document.querySelector(\"[aria-label='Run incast here']\").click()")
	b.Wait("document.querySelector('#home').hidden && location.hash === '#scenario=incast'")
	b.says("Checks ok")
	b.Wait("document.querySelector('#tab-watch').getAttribute('aria-selected') === 'true'")
	b.InFrame("document.querySelector('#scenario')?.textContent === 'incast' && document.querySelectorAll('#fabrics figure').length === 1")
	// it plays, or has played
	b.InFrame("document.querySelector('#play')?.classList.contains('on') || Number(document.querySelector('#scrub')?.value) > 0")
	if got := b.fingerprints(); len(got) != 1 {
		t.Errorf("%d fingerprints", len(got))
	}
	b.Value("history.back()")
	b.Wait("!document.querySelector('#home').hidden")
}

// TestReload checks that texts survive a reload, also if the address names a built-in.
func TestReload(t *testing.T) {
	b := open(t, "#scenario=incast")
	b.says("Ready to run incast")
	b.write("scenario", "name: mine\ntopology: star\nflows: [{from: h0, to: h1, size: 1KB}]\nduration: 1ms\n")
	b.says("Ready to run mine")
	b.Reload()
	b.says("Ready to run mine")
	if got := b.Value("location.hash + document.querySelector('#home').hidden"); got != "true" {
		t.Errorf("address and gallery: %s", got)
	}
}

// checkDies checks that the page reports a program that ended in one sentence, and starts another.
func checkDies(t *testing.T, b *tab) {
	b.Value(`Worker.prototype.postMessage = ((post) => function (m) {
		if (m.call !== "check") return post.call(this, m);
		Worker.prototype.postMessage = post;
		this.onmessage({ data: { died: "some output\npanic: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\tmain.go:12" } });
	})(Worker.prototype.postMessage)`)
	b.run()
	b.says("The simulator crashed")
	want := "The simulator crashed: this is a bug of pausenet, please report it with what is in the editors: panic: " +
		"index out of range. Restarting it."
	if got := b.Text("#state"); got != want {
		t.Errorf("the page says %q", got)
	}
	b.Wait("!document.querySelector('#run').disabled")
	b.run()
	b.says("Checks ok")
}

// TestOffline: a page that was visited once works without a network: it opens, runs and plays the run.
func TestOffline(t *testing.T) {
	browser.Need(t)
	if _, err := served(); err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(folder))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // the browser's own cache does not help
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	b := &tab{browser.Open(t, server.URL+"/", "#scenario=incast", 1440, 900)}
	b.says("Ready to run incast")
	b.Wait("navigator.serviceWorker.controller !== null")
	server.Close()
	b.Reload()
	b.says("Ready to run incast")
	b.run()
	b.says("Checks ok")
	b.Do(chromedp.Click(chromedp.ID("tab-watch")))
	b.InFrame("document.querySelector('#scenario')?.textContent === 'incast' && document.querySelectorAll('#fabrics figure').length === 1")
	b.Do(chromedp.Click(chromedp.ID("tab-report")))
	b.InFrame("document.querySelector('h1')?.textContent === 'incast' && document.documentElement.classList.contains('live')")
	b.InFrame("(document.querySelector('a[href=\"#plots\"]').click(), document.querySelector('#plots').matches(':target'))")
}

// checkWraps checks that long lines wrap.
func checkWraps(_ *testing.T, b *tab) {
	b.choose("dcon-burst")
	b.says("Ready to run dcon-burst")
	b.Wait("(() => { const s = document.querySelector('#scenario').shadowRoot.querySelector('.cm-scroller'); " +
		"return s.clientWidth > 0 && s.scrollWidth === s.clientWidth; })()")
}

// TestBundle checks that the editor's bundle is built from the sources beside it.
func TestBundle(t *testing.T) {
	var all []byte
	for _, name := range []string{"editor.js", "package-lock.json", "package.json", "schema.js"} {
		all = append(all, example(t, "playground/editor/"+name)...)
	}
	bundle := example(t, "playground/site/page/editor.js")
	if want := fmt.Sprintf("of %x */", sha256.Sum256(all)); !bytes.Contains([]byte(bundle[:300]), []byte(want)) {
		t.Errorf("page/editor.js is not made of playground/editor: make playground-editor")
	}
}
