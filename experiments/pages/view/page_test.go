package view_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pausenet/pausenet/experiments/observe"
	"github.com/pausenet/pausenet/experiments/pages/view"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main{M: m}.Run()) }

const burst = `
description: "An incast, and what it does to a flow that has nothing to do with it"
topology:
  name: hall
  leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4}
flows:
  - {tag: long, from: h0, to: h7, size: unbounded}
  - {tag: incast, from: h1..h5, to: h6, size: 600KB, start: 100us}
duration: 1ms
sample: {interval: 10us, ports: ["leaf1:h6", "h1:leaf0"], flows: [long]}
report:
  - {title: Queue, series: [{label: to h6, queue: "leaf1:h6"}]}
controllers: [dcqcn, dcon]
switch: {pfc: {xoff: 60KB, xon: 50KB}}
`

// run runs a scenario under congestion controls into subfolders of a folder, which it returns.
func run(t *testing.T, text string, record bool, controllers ...string) string {
	t.Helper()
	var o runner.Options
	if record {
		o.Observers = []runner.NewObserver{observe.Record}
	}
	return runWith(t, text, o, controllers...)
}

// recorded holds the options of a run that records everything that the page shows.
var recorded = runner.Options{Observers: []runner.NewObserver{observe.Record, observe.Why}}

func runWith(t *testing.T, text string, o runner.Options, controllers ...string) string {
	t.Helper()
	s, err := scenario.Reading{}.Parse("burst.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "burst")
	list, err := json.Marshal(rundir.Runs{Scenario: "burst", Runs: controllers})
	if err == nil {
		err = errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, rundir.RunsFile), list, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range controllers {
		o.Controller, o.Seed, o.Directory = c, 1, filepath.Join(folder, c)
		if _, err := runner.Run(t.Context(), s, o); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// table returns the rows of a CSV file, without its header.
func table(t *testing.T, path ...string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatal(path, err)
	}
	return rows[1:]
}

// open opens the page of folders in a tab, with something behind its address.
func open(t *testing.T, behind string, folders ...string) *browser.Tab {
	t.Helper()
	browser.Need(t)
	title, runs, _, err := view.Read(folders)
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, serve(t, title, runs...).URL(), behind, 1600, 900)
	b.Wait("document.readyState === 'complete' && !document.body.classList.contains('loading')")
	return b
}

// shows waits until the page shows a moment, in ns.
func shows(b *browser.Tab, t string) {
	b.Helper()
	b.Wait(fmt.Sprintf("document.querySelector('#scrub').value === %q", t))
}

// raw waits until an unformatted value of the selection has the wanted value.
func raw(b *browser.Tab, key, want string) {
	b.Helper()
	b.Wait(fmt.Sprintf("document.querySelector('#selected [data-value=%s]')?.dataset.raw === %q", key, want))
}

// press presses a key.
func press(b *browser.Tab, key string) {
	b.Helper()
	b.Do(chromedp.KeyEvent(key))
}

// TestPlays checks that two runs side by side can play, stop, step and scrub, and that the page shows the values of the
// CSV files for each moment.
func TestPlays(t *testing.T) {
	folder := run(t, burst, true, "dcqcn", "dcon")
	b := open(t, "", folder)
	if got := b.Text("#scenario") + " " + b.Value("[...document.querySelectorAll('#fabrics figcaption b')].map((e) => "+
		"e.textContent)"); got != "burst dcqcn,dcon" {
		t.Errorf("shown are %q", got)
	}
	pauses := [2][][]string{table(t, folder, "dcqcn", "pfc.csv"), table(t, folder, "dcon", "pfc.csv")}
	var times []int
	for _, rows := range pauses {
		for _, row := range rows {
			if at, err := strconv.Atoi(row[0]); err == nil && row[5] == "pause" {
				times = append(times, at)
			}
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	shows(b, strconv.Itoa(times[0])) // where it opens
	press(b, "n")
	shows(b, strconv.Itoa(times[1]))
	press(b, "p")
	shows(b, strconv.Itoa(times[0]))
	b.Value("location.hash = '#t=0&run=0'")
	shows(b, "0")
	if got := b.Value("document.querySelectorAll('#fabrics figure').length"); got != "1" {
		t.Errorf("%s runs are shown of a link to one", got)
	}
	// A link that names none keeps both.
	b.Value("location.hash = '#t=1000&flow=0'")
	shows(b, "1000")
	if got := b.Value("document.querySelectorAll('#fabrics figure').length"); got != "2" {
		t.Errorf("%s runs are shown of a link to a flow of both", got)
	}
	b.Value("location.hash = '#t=0&run=0'")
	shows(b, "0")
	press(b, "\x1b") // nothing is selected
	press(b, " ")
	b.Wait("Number(document.querySelector('#scrub').value) > 0")
	press(b, " ")
	b.Wait("!document.querySelector('#play').classList.contains('on')")
	b.Wait("location.hash.startsWith('#t=' + Math.round(document.querySelector('#scrub').value))")
	scrub := func(t string) {
		b.Value(fmt.Sprintf("(() => { const s = document.querySelector('#scrub'); s.value = %s; s.dispatchEvent(new Event('input')); })()", t))
		shows(b, t)
	}
	scrub("300000")
	b.Wait("document.querySelector('#clock').textContent === '0.300000 ms'")
	// A port, at some of its samples, and a flow likewise.
	samples := 0
	for i, row := range table(t, folder, "dcqcn", "ports.csv") {
		if i%37 != 0 {
			continue
		}
		samples++
		b.Value(fmt.Sprintf("location.hash = '#t=%s&port=%s'", row[0], row[2]))
		shows(b, row[0])
		for column, key := range map[int]string{5: "queue", 6: "ingress", 7: "paused", 8: "sent"} {
			raw(b, key, row[column])
		}
	}
	for i, row := range table(t, folder, "dcqcn", "rates.csv") {
		if i%40 != 5 {
			continue
		}
		samples++
		b.Value(fmt.Sprintf("location.hash = '#t=%s&flow=%s'", row[0], row[1]))
		shows(b, row[0])
		for column, key := range map[int]string{2: "rate", 3: "goodput", 4: "rtt"} {
			raw(b, key, row[column])
		}
	}
	if samples < 6 {
		t.Errorf("%d samples", samples)
	}
	// From sample to sample.
	scrub("195000")
	for _, step := range [][2]string{
		{kb.ArrowRight, "200000"},
		{kb.ArrowRight, "210000"},
		{kb.ArrowLeft, "200000"},
		{kb.ArrowLeft, "190000"},
	} {
		press(b, step[0])
		shows(b, step[1])
	}
	// The value of a plot at a moment: of each run the last that the plot has by then.
	var shown [2]string
	for i, name := range []string{"dcqcn", "dcon"} {
		for _, row := range table(t, folder, name, "panels.csv") {
			if at, err := strconv.Atoi(row[2]); err == nil && row[0] == "0" && row[1] == "0" && at <= 205000 {
				shown[i] = row[3]
			}
		}
	}
	b.Value("(() => { const s = document.querySelector('#run-b'); s.value = 1; s.dispatchEvent(new Event('change')); })()")
	scrub("205000")
	b.Wait("document.querySelectorAll('#fabrics figure').length === 2")
	figure := "[...document.querySelectorAll('#plots figure')].find((f) => f.querySelector('figcaption span').textContent === 'Queue')"
	b.Wait(fmt.Sprintf("[...%s.querySelectorAll('em')].map((e) => e.dataset.raw).join() === %q", figure,
		shown[0]+","+shown[1]))
	press(b, "?")
	b.Wait("document.querySelector('#keys').open")
	press(b, "\x1b")
	b.Wait("!document.querySelector('#keys').open")
}

// TestTable: flows are found and sorted; a deep link selects one.
func TestTable(t *testing.T) {
	folder := run(t, burst, true, "dcqcn")
	flows := table(t, folder, "dcqcn", "flows.csv")
	slices.SortStableFunc(flows, func(a, b []string) int {
		fct := func(row []string) int {
			if v, err := strconv.Atoi(row[6]); err == nil {
				return v
			}
			return 1 << 60 // it has not ended
		}
		return fct(a) - fct(b)
	})
	var up []string
	for _, row := range flows {
		up = append(up, row[0])
	}
	b := open(t, "#t=200000&flow=2", folder)
	shows(b, "200000")
	if got := b.Text("#selected h2"); got != "Flow 2, incast: h2 to h6" {
		t.Errorf("the link selects %q", got)
	}
	order := func(want ...string) {
		b.Helper()
		b.Wait(fmt.Sprintf("[...document.querySelectorAll('tr[data-flow]')].map((r) => r.dataset.flow).join() === %q",
			strings.Join(want, ",")))
	}
	order("0", "1", "2", "3", "4", "5")
	fct := "[...document.querySelectorAll('th button')].find((e) => e.textContent === 'FCT').click()"
	b.Value(fct) // the largest first
	b.Value(fct)
	order(up...)
	b.Do(chromedp.SendKeys(chromedp.ID("search"), "long"))
	order("0")
	b.Value("document.querySelector('tr[data-flow]').click()")
	b.Wait("document.querySelector('#selected h2').textContent.startsWith('Flow 0, long')")
	b.Wait("location.hash.includes('flow=0')")
	// Its way, as the engine has it in the manifest, by nodes.
	b.Wait("document.querySelectorAll('#selected .path button').length === 4")
}

// TestFits checks that nothing is cut off at the right edge at the widths of a laptop and a phone: no plot, no column
// of the table. The page mentions the parts of plots that a window does not show.
func TestFits(t *testing.T) {
	panels := ""
	for i := range 4 { // with the one of ports that are paused five
		panels += fmt.Sprintf("  - {title: Queue %d, series: [{label: a rather long label, queue: \"leaf1:h6\"}]}\n", i)
	}
	text := strings.Replace(burst, "  - {title: Queue, series: [{label: to h6, queue: \"leaf1:h6\"}]}\n", panels, 1)
	b := open(t, "#t=200000", run(t, text, true, "dcqcn", "dcon"))
	const cut = `[...document.querySelectorAll('body *')].filter((e) => {
		const r = e.getBoundingClientRect();
		return r.width > 0 && r.right > innerWidth + 0.5 && !e.closest('.sr');
	}).map((e) => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40)).slice(0, 5).join('; ')`
	for _, size := range [][2]int64{{1920, 1080}, {1440, 900}, {1366, 768}, {390, 844}} {
		b.Do(chromedp.EmulateViewport(size[0], size[1]))
		b.Wait(fmt.Sprintf("innerWidth === %d", size[0]))
		b.Wait("[...document.querySelectorAll('#plots figure')].every((f) => f.querySelector('.uplot').offsetWidth === " +
			"f.querySelector('.plot').clientWidth)")
		if got := b.Value(cut); got != "" {
			t.Errorf("at a width of %d pixels these are cut: %s", size[0], got)
		}
		if got := b.Value("document.querySelector('#more').hidden || " +
			"getComputedStyle(document.querySelector('#more')).display"); size[0] > 390 && got != "true" {
			t.Errorf("at a width of %d pixels there are more plots", size[0])
		}
	}
	// A flow's plots come first, and a button leads to those that have no room.
	b.Do(chromedp.EmulateViewport(1440, 900))
	b.Value("location.hash = '#t=200000&flow=0'")
	b.Wait("document.querySelector('#more').textContent.startsWith('2 more plots')")
	b.Value("document.querySelector('#more').click()")
	b.Wait("document.querySelector('#more').hidden")
}

// TestMoment checks that during play the texts about the moment follow it, and that those for screen readers change
// less often.
func TestMoment(t *testing.T) {
	b := open(t, "#t=0", run(t, burst, true, "dcqcn"))
	b.Wait("document.querySelector('#moment').textContent.startsWith('1 flow active')")
	// The test says when a frame is drawn: two long after all others, which end the run, then 16 that are 300 ms apart.
	b.Value("window.requestAnimationFrame = (frame) => { window.frame = frame; return 1; }")
	press(b, " ")
	b.Wait("typeof window.frame === 'function'")
	b.Value("(() => { window.begin = performance.now() + 1e6; window.frame(window.begin - 1e5); window.frame(window.begin); })()")
	b.Wait("!document.querySelector('#play').classList.contains('on')")
	press(b, " ")
	b.Value("(() => { for (let i = 1; i <= 16; i++) window.frame(window.begin + 300 * i); })()")
	if got, spoken := b.Text("#moment"), b.Text("#spoken"); !strings.HasPrefix(got, "6 flows active") ||
		!strings.HasPrefix(spoken, "1 flow active") {
		t.Errorf("at %s the page says %q, to screen readers %q", b.Text("#clock"), got, spoken)
	}
}

// TestExport checks that the page in one file needs no server and loads nothing.
func TestExport(t *testing.T) {
	browser.Need(t)
	title, runs, _, err := view.Read([]string{run(t, burst, false, "dcqcn")})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "burst.html")
	if err := os.WriteFile(file, view.Export(title, runs), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, "file://"+file, "#t=150000&port=leaf1-eth3", 390, 844)
	b.Wait("!document.body.classList.contains('loading')")
	shows(b, "150000")
	if got := b.Value("document.title") + ": " + b.Text("#notice"); !strings.HasPrefix(got,
		"burst · pausenet: Queues and link loads are recorded at the ports that the scenario samples only (leaf") {
		t.Errorf("the page says %q", got)
	}
}

// TestHostile checks that names remain text: a folder may come from anybody.
func TestHostile(t *testing.T) {
	const tag = `</script><img src=x onerror=document.title='hostile'>"'&amp;`
	folder := run(t, strings.ReplaceAll(burst, "tag: long", fmt.Sprintf("tag: %q", "long")), false, "dcqcn")
	for _, name := range []string{"manifest.json", "flows.csv", "pfc.csv", "ports.csv"} {
		path := filepath.Join(folder, "dcqcn", name)
		text, hostile := string(read(t, path)), tag
		if name == "manifest.json" {
			hostile = strings.ReplaceAll(tag, `"`, `\"`)
			text = strings.ReplaceAll(text, `"scenario": "burst"`, `"scenario": "`+hostile+`"`)
			text = strings.ReplaceAll(text, "An incast", hostile)
			text = strings.ReplaceAll(text, `"Queue"`, `"`+hostile+`"`)
			text = strings.ReplaceAll(text, `"h6`, `"`+hostile)
		}
		text = strings.ReplaceAll(strings.ReplaceAll(text, ",long,", ","+hostile+","), ",h6", ","+hostile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, runs, _, err := view.Read([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "hostile.html")
	if err := os.WriteFile(file, view.Export(tag, runs), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, "file://"+file, "#flow=1", 1024, 768)
	b.Wait("!document.body.classList.contains('loading')")
	for _, selector := range []string{
		"#scenario", "#description", "tr[data-flow='0']", "tr[data-flow='1']",
		"#selected h2", "#plots figcaption", "#bookmarks",
	} {
		if got := b.Text(selector); !strings.Contains(got, tag) {
			t.Errorf("%s is %q", selector, got)
		}
	}
	if got := b.Value("document.title + document.querySelectorAll('img').length"); got != tag+" · pausenet0" {
		t.Errorf("title and images: %s", got)
	}
}
