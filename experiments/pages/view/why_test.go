package view_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/pages/view"
	"github.com/pausenet/pausenet/experiments/results/why"
	"github.com/pausenet/pausenet/internal/testenv/browser"
)

// shownTree returns the nodes that package why has for a flow's tree, one per line: depth, picoseconds and words, of
// the larger ones or of all.
func shownTree(parts []*why.Node, all bool) (lines []string) {
	var sum int64
	for _, p := range parts {
		sum += p.Picoseconds
	}
	var write func(parts []*why.Node, depth int)
	write = func(parts []*why.Node, depth int) {
		for _, p := range parts {
			if all || float64(p.Picoseconds) >= 0.005*float64(sum) {
				lines = append(lines, fmt.Sprintf("%d %d %s", depth, p.Picoseconds, p.What))
				write(p.Parts, depth+1)
			}
		}
	}
	write(parts, 0)
	return lines
}

// trees holds an expression that returns the same for both trees of a page; its parameter is the number of the run.
const trees = `(() => {
	const shown = (ul, depth) => [...ul.children].filter((li) => li.dataset.ps).flatMap((li) =>
		[depth + " " + li.dataset.ps + " " + li.querySelector(".share").lastChild.textContent, ...[...li.querySelectorAll(":scope > ul")].flatMap((below) => shown(below, depth + 1))]);
	return [...document.querySelectorAll("#selected .why")[%d].querySelectorAll(":scope > ul")].map((ul) => shown(ul, 0).join("\n")).join("\n\n");
})()`

// TestWhy checks that the page divides a flow's time as pausenet why does, also as a file, and for two runs, and that a
// click on a cause shows its position in the drawing.
func TestWhy(t *testing.T) {
	browser.Need(t)
	s, text := []string{"dcqcn", "dcon"}, burst
	folder := runWith(t, text, recorded, s...)
	title, runs, _, err := view.Read([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "burst.html")
	if err := os.WriteFile(file, view.Export(title, runs), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{serve(t, title, runs...).URL(), "file://" + file} {
		b := browser.Open(t, address, "#t=200000&run=0&beside=1&flow=0", 1600, 900)
		b.Wait("document.readyState === 'complete' && !document.body.classList.contains('loading')")
		for flow := range 6 {
			b.Value(fmt.Sprintf("location.hash = '#t=%d&run=0&beside=1&flow=%d'", 200000+flow, flow))
			shows(b, fmt.Sprint(200000+flow))
			for run, name := range s {
				recorded, err := why.Read(filepath.Join(folder, name))
				if err != nil {
					t.Fatal(err)
				}
				flows, err := recorded.Flows(fmt.Sprint(flow))
				if err != nil {
					t.Fatal(err)
				}
				for _, all := range []bool{false, true} {
					if all {
						b.Value(fmt.Sprintf("document.querySelectorAll('#selected .why')[%d].querySelector('.all')?.click()", run))
					}
					want := strings.Join(shownTree(recorded.Roots(flows).Parts, all), "\n") + "\n\n" +
						strings.Join(shownTree(recorded.Tree(flows).Parts, all), "\n")
					if got := b.Value(fmt.Sprintf(trees, run)); got != want {
						t.Fatalf("flow %d under %s, all %v: the page has\n%s\nwant\n%s", flow, name, all, got, want)
					}
				}
				if got := b.Value(fmt.Sprintf("document.querySelectorAll('#selected .why')[%d].dataset.ps",
					run)); got != fmt.Sprint(flows[0].Picoseconds) {
					t.Errorf("flow %d under %s: %s ps, want %d", flow, name, got, flows[0].Picoseconds)
				}
			}
		}
		// The address has the place, and the plots have its queue.
		place := "document.querySelector('#selected .why [data-port][aria-pressed=true]')?.textContent"
		b.Value("[...document.querySelectorAll('#selected .why [data-port]')].find((e) => " +
			"e.textContent.startsWith('congestion at leaf1 to h6')).click()")
		b.Wait("location.hash.endsWith('&flow=5&at=leaf1-eth3')")
		b.Wait(place + ".startsWith('congestion at leaf1 to h6')")
		b.Wait("[...document.querySelectorAll('#plots figcaption')].some((e) => e.textContent.startsWith('leaf1:h6: bytes'))")
		press(b, "\x1b")
		b.Wait(place + " === undefined && document.querySelector('#selected h2').textContent.startsWith('Flow 5')")
		b.Value("location.hash = '#t=300000&run=0&beside=1&flow=1&at=leaf1-eth3'")
		shows(b, "300000")
		b.Wait("Boolean(" + place + ")")
	}
}

// TestWhyMissing checks that the page explains how to record the causes if a run has not.
func TestWhyMissing(t *testing.T) {
	b := open(t, "#flow=0", run(t, burst, true, "dcqcn"))
	if got := b.Text("#selected"); !strings.Contains(got,
		"Not recorded. Run with --why: pausenet run burst --why.") {
		t.Errorf("the page says %q", got)
	}
}
