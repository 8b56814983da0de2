package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/testenv/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main{M: m}.Run()) }

// open opens a page in a browser, from a file, until its script has drawn the plots.
func open(t *testing.T, page string, width int) *browser.Tab {
	t.Helper()
	testenv.WholeScenario(t)
	browser.Need(t)
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t, "file://"+path, "", width, 900)
	b.Wait("document.readyState === 'complete' && document.documentElement.classList.contains('live')")
	if plots, drawn := b.Value("document.querySelectorAll('[data-chart]').length"), b.Value(
		"document.querySelectorAll('[data-chart] canvas').length"); plots == "0" || plots != drawn {
		t.Errorf("%s plots, %s of them drawn", plots, drawn)
	}
	return b
}

// shownValues returns the values that figures show at positions of the x axis: by figure, position and line. It moves
// only the first figure's cursor, because a group shares its cursor.
func shownValues(b *browser.Tab, figures []int, places []float64) [][][]float64 {
	b.Helper()
	where, err := json.Marshal([]any{figures, places})
	if err != nil {
		b.Fatal(err)
	}
	text := b.Value(fmt.Sprintf(`JSON.stringify((([figures, places]) => {
		const of = figures.map((i) => document.querySelector('[data-chart="' + i + '"]').closest("figure"));
		const reader = of[0].querySelector("input");
		return of.map((f) => places.map((x) => {
			reader.value = x;
			reader.dispatchEvent(new Event("input"));
			return [...f.querySelectorAll(".values em")].map((e) => (e.dataset.raw === "" ? null : Number(e.dataset.raw)));
		}));
	})(%s))`, where))
	var values [][][]*float64
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		b.Fatal(err)
	}
	all := make([][][]float64, len(values))
	for i := range values {
		for _, row := range values[i] {
			var out []float64
			for k, v := range row {
				switch {
				case v == nil:
					out = append(out, math.NaN())
				case k == 0 && *v != places[len(all[i])]:
					b.Fatalf("the cursor is at %v, not at %v", *v, places[len(all[i])])
				default:
					out = append(out, *v)
				}
			}
			all[i] = append(all[i], out[1:])
		}
	}
	return all
}

func about(got, want float64) bool {
	return math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= 1e-6*math.Abs(want)
}

// TestValues checks that the values shown in a plot are those of its CSV file, in all plots of a group.
func TestValues(t *testing.T) {
	r := synthetic()
	b := open(t, render(t, r), 1400)
	figures, err := Figures(r)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, panel := range []int{3, 4} { // of which no sample is left out of the picture
		rows, err := csv.NewReader(strings.NewReader(string(figures[panel].CSV))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want, places := map[string]float64{}, []float64{}
		for i, row := range rows[1:] {
			at, _ := strconv.ParseFloat(row[2], 64)
			want[row[0]+row[1]+row[2]], _ = strconv.ParseFloat(row[3], 64)
			if row[0] == "dcqcn" && row[1] == r.Panels[panel].Series["dcqcn"][0].Label && i%7 == 0 {
				places = append(places, at)
			}
		}
		got := shownValues(b, []int{2 * panel, 2*panel + 1}, places)
		for k, cc := range []string{"dcqcn", "dcon"} {
			for i, at := range places {
				for n, s := range r.Panels[panel].Series[cc] {
					compared++
					if w := want[cc+s.Label+strconv.FormatFloat(at, 'f', 0, 64)]; !about(got[k][i][n], w) {
						t.Errorf("%s, %s at %g: %g, the file has %g", cc, s.Label, at, got[k][i][n], w)
					}
				}
			}
		}
	}
	if compared < 500 {
		t.Errorf("%d values compared", compared)
	}
	// A step holds its value, a line goes on to the next point, and neither is anything in a gap or beyond its end.
	r = &Report{
		Scenario: "s", Runs: []Run{{Controller: "a", Verdict: Verdict{Status: Pass}}},
		Panels: []Panel{{Title: "p", Unit: Bytes, Series: map[string][]Series{"a": {
			{Label: "step", Step: true, X: []int64{0, 10, 20, 30}, Y: []float64{1, 5, math.NaN(), 7}},
			{Label: "line", X: []int64{0, 10, 20, 25}, Y: []float64{1, 5, math.NaN(), 7}},
		}}}},
	}
	nan := math.NaN()
	shown := shownValues(open(t, render(t, r), 500), []int{0}, []float64{5, 15, 22, 30})[0]
	for i, want := range [][]float64{{1, 3}, {5, nan}, {nan, nan}, {7, nan}} {
		if !about(shown[i][0], want[0]) || !about(shown[i][1], want[1]) {
			t.Errorf("%d: %v, want %v", i, shown[i], want)
		}
	}
}

// TestSweepValues does the same for a sweep's charts, whose positions are the values that were run.
func TestSweepValues(t *testing.T) {
	s := syntheticSweep()
	got := shownValues(open(t, renderSweep(t, s), 1000), []int{0}, s.X.Values)[0]
	for n := range s.X.Values {
		for k := range s.Lines {
			want := math.NaN()
			if e := s.Metrics[0].Lines[k][n]; e.N > 0 {
				want = e.Mean
			}
			if !about(got[n][k], want) {
				t.Errorf("%s at %s: %g, want %g", s.Lines[k], s.X.Names[n], got[n][k], want)
			}
		}
	}
	s.X.Values = nil // words, side by side
	b := open(t, renderSweep(t, s), 1000)
	if got := shownValues(b, []int{0}, []float64{1})[0][0]; got[0] != 3e6 || b.Text(".values em") != "15\u00a0us" {
		t.Errorf("%v at %s", got, b.Text(".values em"))
	}
}

// TestZoom: by dragging and by keys, in all plots over time.
func TestZoom(t *testing.T) {
	b := open(t, render(t, synthetic()), 800)
	shown := func(want string) {
		b.Helper()
		b.Wait("document.querySelector('#reset').hidden === " + strconv.FormatBool(want == "0 40000000"))
		for _, plot := range []string{"0", "7"} {
			if got := b.Value(fmt.Sprintf("(({min, max}) => [min, max].map(Number).map(Math.round).join(' '))"+
				"(document.querySelector('[data-chart=\"%s\"] input'))", plot)); got != want {
				t.Errorf("plot %s shows %s, want %s", plot, got, want)
			}
		}
	}
	shown("0 40000000")
	b.Value(`(() => {
		const reader = document.querySelector('[data-chart="0"] input');
		reader.focus();
		reader.value = 20000000;
		for (const key of ["+", "+"]) reader.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
	})()`)
	shown("15000000 25000000")
	got := b.Value(`document.querySelector('[data-chart="0"] input').getAttribute("aria-valuetext")`)
	if !strings.HasPrefix(got, "at 20.00") || !strings.Contains(got, "L2 → R1") {
		t.Errorf("what is read aloud: %q", got)
	}
	b.Value("document.querySelector('#reset').click()")
	shown("0 40000000")
	drag := func(from, to float64) {
		b.Helper()
		b.Value(fmt.Sprintf(`(() => {
			const over = document.querySelector('[data-chart="0"] .u-over'), box = over.getBoundingClientRect();
			const at = (type, part, on) => on.dispatchEvent(new MouseEvent(type, { bubbles: true, button: 0, clientX: box.left + part * box.width, clientY: box.top + 20, movementX: 9 }));
			at("mousemove", %[1]g, over);
			at("mousedown", %[1]g, over);
			at("mousemove", (%[1]g + %[2]g) / 2, document);
			at("mousemove", %[2]g, over);
			at("mouseup", %[2]g, document);
		})()`, from, to))
	}
	drag(0.25, 0.75)
	b.Wait("!document.querySelector('#reset').hidden")
	if got, _ := strconv.ParseFloat(b.Value(`document.querySelector('[data-chart="7"] input').min`),
		64); math.Abs(got-10e6) > 0.2e6 {
		t.Errorf("a drag from a quarter on shows from %g ns", got)
	}
	b.Value(`document.querySelector('[data-chart="3"] .u-over').dispatchEvent(new MouseEvent("dblclick", { bubbles: true }))`)
	shown("0 40000000")
}

// TestPaper checks that printed plots have more points, on white, with all folded parts, and that the page is unchanged
// afterwards.
func TestPaper(t *testing.T) {
	b := open(t, render(t, synthetic()), 1200)
	look := `[document.querySelector("canvas").width, getComputedStyle(document.documentElement).getPropertyValue("--paper"), document.querySelectorAll("details:not([open])").length > 0].join()`
	before := b.Value(look)
	b.Value(`dispatchEvent(new Event("beforeprint"))`)
	if got := b.Value(look); got != "875,#ffffff,false" {
		t.Errorf("on paper: %s", got)
	}
	b.Value(`dispatchEvent(new Event("afterprint"))`)
	if got := b.Value(look); got != before {
		t.Errorf("%s, before %s", got, before)
	}
}

// TestHostileInBrowser checks that names remain text, also in the script's data.
func TestHostileInBrowser(t *testing.T) {
	const evil = `"></script><img src=x onerror=document.title='hostile'><script>document.title='hostile'</script>'&amp;`
	b := open(t, render(t, spoilt(evil)), 390)
	shownValues(b, []int{0}, []float64{20e6})
	if got := b.Value("document.title + document.querySelectorAll('img').length"); got != evil+" · pausenet0" {
		t.Errorf("title and images: %s", got)
	}
	if got := b.Text(".values span:last-child"); !strings.HasPrefix(got, evil) {
		t.Errorf("shown is %s", got)
	}
}

// TestPhone checks that on a phone no page is wider than the screen, and that links in the contents lead to each part,
// below the bar.
func TestPhone(t *testing.T) {
	for name, page := range map[string]string{
		"two": render(t, synthetic()), "many": render(t, synthetic("a", "b", "c", "d", "e", "f", "g", "h", "i")),
		"sweep": renderSweep(t, syntheticSweep()),
	} {
		b := open(t, page, 600)
		b.Do(chromedp.EmulateViewport(390, 844))
		b.Wait("innerWidth === 390 && document.querySelector('.uplot').offsetWidth < 390")
		if got := b.Value("document.documentElement.scrollWidth"); got != "390" {
			t.Errorf("%s: the page is %s wide", name, got)
		}
		b.Value(`(() => { location.hash = "#numbers"; document.getElementById("numbers").scrollIntoView(); })()`)
		if got := b.Value(`(() => {
			const bar = document.querySelector("nav"), heading = document.getElementById("numbers");
			return !bar || heading.getBoundingClientRect().top >= bar.getBoundingClientRect().bottom;
		})()`); got != "true" {
			t.Errorf("%s: the bar covers a heading", name)
		}
	}
}
