package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// inEditor returns an expression for something in an editor's shadow tree.
func inEditor(editor, selector string) string {
	return "document.querySelector('#" + editor + "').shadowRoot.querySelector('" + selector + "')"
}

// completes writes a text in an editor, asks for completion at its end and waits until the first that is offered begins
// with a word.
func (b *tab) completes(editor, text, want string) {
	b.Helper()
	b.Do(chromedp.KeyEvent(kb.Escape)) // what was offered before
	b.write(editor, text)
	b.Do(chromedp.KeyEvent(" ", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.Wait(inEditor(editor, ".cm-tooltip-autocomplete li") + "?.textContent.startsWith('" + want + "')")
}

// checkHelp checks that keys, values and a controller's attributes are completed and explained.
func checkHelp(t *testing.T, b *tab) {
	b.completes("scenario", "switch:\n  pfc:\n    xof", "xoff")
	b.Wait(inEditor("scenario", ".cm-completionInfo") + "?.textContent.startsWith('PAUSE is sent when')")
	// The editor takes no key for a choice in the first 75 ms.
	b.Do(chromedp.Sleep(200*time.Millisecond), chromedp.KeyEvent("\r"))
	b.Wait(inEditor("scenario", ".cm-content") + ".innerText.includes('xoff: ')")
	b.completes("scenario", "switch: {load_balancing: {mode: s", "spray")
	b.completes("scenario", "drain: ", "false")
	b.completes("controller", "def on_ack(flow, ack):\n    flow.rate = ack.acked", "acked_bytes")
	b.completes("controller", "def init(flow):\n    flow.rate = path.lin", "line_")
	b.completes("controller", "def on_ack(flow, ack):\n    for h in ack.hops:\n        flow.q = h.queue_g", "queue_gradient")
	b.completes("controller", "on_c", "on_cnm")
	// Under the pointer.
	b.write("scenario", "switch: {pfc: {xoff: 100KB}}\n")
	at := strings.Split(b.Value("(() => { const r = document.createRange(); const w = document.createTreeWalker("+
		inEditor("scenario", ".cm-line")+", NodeFilter.SHOW_TEXT); let n; while ((n = w.nextNode()) && !n.data.includes('xoff')); "+
		"r.selectNodeContents(n); const c = r.getBoundingClientRect(); return [c.x + c.width / 2, c.y + c.height / 2].join(); })()"), ",")
	x, y := number(t, at[0]), number(t, at[1])
	for _, at := range []float64{x, x + 1} {
		b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at, y))
	}
	b.Wait(inEditor("scenario", ".cm-explanation") + "?.textContent.startsWith('switch.pfc.xoff PAUSE is sent when')")
}

// TestWords checks that the completion of controllers knows each table of the page that describes them.
func TestWords(t *testing.T) {
	page, err := os.ReadFile("../../docs/controllers-from-files.md")
	if err != nil {
		t.Fatal(err)
	}
	all := words(string(page))
	for _, want := range []word{
		{Of: "", Name: "on_ack", Detail: "(flow, ack)", Info: "called on each acknowledgement"},
		{Of: "flow", Name: "timer", Info: "the time of the next call of on_timer; never, or None, for none"},
		{Of: "path", Name: "mtu", Info: "payload of a full packet, in bytes"},
		{Of: "cnm", Name: "now", Info: "when the frame arrived"},
		{Of: "cnp", Name: "receiving_rate", Info: "PCN: the rate at which they arrived"},
		{Of: "hop", Name: "rate", Info: "the port's line rate; 0 if it is not an Ethernet rate, in bps"},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%+v is missing among %+v", want, all)
		}
	}
}

// checkVary checks that the slider changes a number, runs the scenario again, and compares what each value gave; and that
// a change by it can be undone.
func checkVary(t *testing.T, b *tab) {
	b.run()
	b.says("Checks ok")
	b.Wait("document.querySelectorAll('#vary-what option').length > 2")
	b.Value("(() => { const s = document.querySelector('#vary-what'); s.value = 'flows.0.size'; s.dispatchEvent(new Event('change')); })()")
	b.says("Move the slider to change flows.0.size")
	was := b.Value("document.querySelector('#vary-value').textContent")
	b.run()
	b.says("Checks ok")
	// By the keyboard: four steps double the number.
	b.Value("document.querySelector('#vary').focus()")
	b.Value("(() => { const v = document.querySelector('#vary'); v.value = 4; " +
		"for (const e of ['input', 'change']) v.dispatchEvent(new Event(e)); })()")
	b.Wait("document.querySelectorAll('#varied tbody tr').length === 2")
	if got := b.Text("#varied"); !strings.Contains(got, "By flows.0.size") || !strings.Contains(got, was) {
		t.Errorf("varied: %s", got)
	}
	fct := b.Value("[...document.querySelectorAll('#varied tbody tr')].map((r) => parseFloat(r.cells[2].textContent)).join()")
	small, large, _ := strings.Cut(fct, ",")
	if ratio := number(t, large) / number(t, small); ratio < 1.7 || ratio > 2.3 {
		t.Errorf("twice the size takes %.2f times as long (%s)", ratio, fct)
	}
	// Another number begins anew.
	b.Value("(() => { const s = document.querySelector('#vary-what'); s.value = ''; s.dispatchEvent(new Event('change')); })()")
	b.Wait("document.querySelectorAll('#varied tbody tr').length === 0 && document.querySelector('#vary').disabled")
}

// checkBest checks that the better controller of a row is marked, and none where they are equal.
func checkBest(t *testing.T, b *tab) {
	b.write("scenario", "topology: star\ncontrollers: [none, dcqcn]\n"+
		"flows: [{from: h0..h3, to: h4, size: 1MB}]\nduration: 5ms\ndrain: true\n")
	b.says("Ready to run scenario under none and dcqcn")
	b.run()
	b.says("Checks")
	const marks = "[...document.querySelectorAll('#summary tr')].find((r) => r.cells[0].textContent === '%s')" +
		".querySelectorAll('.best').length"
	if got := b.Value(strings.Replace(marks, "%s", "PAUSE frames", 1)); got != "1" {
		t.Errorf("%s best of PAUSE frames", got)
	}
	if got := b.Value(strings.Replace(marks, "%s", "drops", 1)); got != "0" {
		t.Errorf("%s best of drops, which are equal", got)
	}
	const pauses = "[...document.querySelectorAll('#summary tr')].find((r) => r.cells[0].textContent === 'PAUSE frames')"
	if got := b.Value(pauses + ".cells[2].className"); got != "best" {
		t.Errorf("dcqcn has class %q", got)
	}
}

// TestBringsBack checks that texts of one's own can be brought back after another was loaded.
func TestBringsBack(t *testing.T) {
	b := open(t, "#scenario=incast")
	b.says("Ready")
	b.Wait("document.querySelector('#restore').hidden")
	b.write("scenario", "name: mine\ntopology: star\nflows: [{from: h0, to: h1, size: 1KB}]\nduration: 1ms\n")
	b.says("Ready to run mine")
	b.choose("dcon-burst")
	b.says("Ready to run dcon-burst")
	b.Wait("!document.querySelector('#restore').hidden")
	b.Do(chromedp.Click(chromedp.ID("restore")))
	b.says("Ready to run mine")
	b.Wait("document.querySelector('#restore').hidden")
}

// TestMoment checks that a link to a moment of a recorded run shows it without the simulator, that the link can be
// copied from there, and that the scenario then runs as always.
func TestMoment(t *testing.T) {
	b := open(t, "#watch=dcon-burst&t=21300000")
	b.InFrame("document.querySelector('#scenario')?.textContent === 'dcon-burst' && " +
		"document.querySelectorAll('#fabrics figure').length === 2 && " +
		"document.querySelector('#moment').textContent.includes('paused')")
	b.InFrame("Number(document.querySelector('#scrub').value) === 21300000")
	b.says("Ready to run dcon-burst")
	b.Wait("document.querySelector('#tab-report').hidden && !document.querySelector('#tab-watch').hidden")
	b.Do(chromedp.Click(chromedp.ID("share")))
	b.Wait("location.hash.startsWith('#watch=dcon-burst&t=21300000')")
	b.run()
	b.says("Checks")
	b.Wait("!document.querySelector('#tab-report').hidden && document.querySelector('#panel-watch').hidden")
	b.Value("location.hash = '#watch=incast&t=1'")
	b.says("The link could not be read: there is no recording of incast.")
}

// mine returns a scenario of this name.
func mine(name string) string {
	return "name: " + name + "\ntopology: star\nflows: [{from: h0, to: h1, size: 1KB}]\nduration: 1ms\n"
}

// TestWorks checks that texts are saved under names, opened, renamed and deleted, and that none is lost without a
// question.
func TestWorks(t *testing.T) {
	b := open(t, "#scenario=incast")
	b.says("Ready")
	save := func(name string) {
		t.Helper()
		b.Value(fmt.Sprintf("(() => { document.querySelector('#works-name').value = %q; "+
			"document.querySelector('#works-form button').click(); })()", name))
	}
	list := func(want ...string) {
		t.Helper()
		b.Wait(fmt.Sprintf("[...document.querySelectorAll('#works-list li > :first-child')].map((e) => e.textContent).sort().join() === %q",
			strings.Join(want, ",")))
	}
	note := func(prefix string) {
		t.Helper()
		b.Wait(fmt.Sprintf("document.querySelector('#works-note').textContent.startsWith(%q)", prefix))
	}
	press := func(label string) {
		t.Helper()
		b.Do(chromedp.Click("[aria-label='" + label + "']"))
	}
	b.write("scenario", mine("one"))
	b.says("Ready to run one")
	b.Do(chromedp.Click(chromedp.ID("works-button")))
	save("first <b>")
	list("first <b>")
	b.write("scenario", mine("two"))
	b.says("Ready to run two")
	save("first <b>")
	note("There is another work first <b>.")
	save("second")
	list("first <b>", "second")
	// Rename, to a name that is taken and to one that is free.
	rename := func(from, to string) {
		t.Helper()
		press("Rename " + from)
		b.Value(fmt.Sprintf("(() => { const f = document.querySelector('#works-list input'); f.value = %q; "+
			"f.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' })); })()", to))
	}
	rename("second", "first <b>")
	note("There is a work first <b> already.")
	list("first <b>", "second")
	rename("second", "__proto__")
	list("__proto__", "first <b>")
	press("Delete __proto__")
	list("first <b>")
	b.Do(chromedp.Click("#works-note .link"))
	list("__proto__", "first <b>")
	// They stay, and are opened; what was in the editors can be brought back.
	b.Reload()
	b.says("Ready to run two")
	b.Do(chromedp.Click(chromedp.ID("works-button")))
	list("__proto__", "first <b>")
	b.Value("[...document.querySelectorAll('#works-list .link')].find((e) => e.textContent === 'first <b>').click()")
	b.says("Ready to run one")
	b.Wait("document.querySelector('#works').hidden && !document.querySelector('#restore').hidden")
	// An exercise is saved with its files.
	b.Value("location.hash = '#exercise=aimd'")
	b.says("Ready to check aimd")
	b.write("file-control-star", "def init(flow):\n    flow.rate = 1 * Gbps\n")
	save("my aimd")
	b.Value("location.hash = '#scenario=incast'")
	b.says("Ready to run incast")
	b.Value("[...document.querySelectorAll('#works-list .link')].find((e) => e.textContent === 'my aimd').click()")
	b.says("Ready to check aimd")
	b.Wait(strings.ReplaceAll("[...document.querySelectorAll('#panel-file-control-star div')].find((e) => e.shadowRoot)"+
		".shadowRoot.querySelector('.cm-content').innerText.includes('1 * Gbps')", "\n", ""))
}

// TestTabs checks that of two tabs of a browser none replaces the other's text, that the second says so, and that its
// text survives a reload and can be saved.
func TestTabs(t *testing.T) {
	b := open(t, "#scenario=incast")
	b.says("Ready")
	b.write("scenario", mine("one"))
	b.says("Ready to run one")
	server, err := served()
	if err != nil {
		t.Fatal(err)
	}
	other := &tab{b.Another(server.URL+"/", "")}
	other.says("Ready to run one")
	other.Wait("document.querySelector('#apart').hidden") // it has written nothing
	other.write("scenario", mine("two"))
	other.says("Ready to run two")
	other.Wait("!document.querySelector('#apart').hidden")
	other.Reload()
	other.says("Ready to run two")
	other.Wait("!document.querySelector('#apart').hidden")
	b.Reload()
	b.says("Ready to run one")
	b.Wait("document.querySelector('#apart').hidden")
	other.Do(chromedp.Click(chromedp.ID("apart-save")))
	other.Value("(() => { document.querySelector('#works-name').value = 'copy'; document.querySelector('#works-form button').click(); })()")
	b.Wait("document.querySelector('#works-list').textContent.startsWith('copy')")
}
