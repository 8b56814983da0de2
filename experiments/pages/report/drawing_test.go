package report

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pausenet/pausenet/internal/testenv"
)

// drawnAs returns a drawing in a format, and checks that the bytes are equal each time.
func drawnAs(t *testing.T, d *Drawing, format string) string {
	t.Helper()
	data, err := d.Picture(format)
	if err != nil {
		t.Fatalf("%s: %v", d.title, err)
	}
	if again, err := d.Picture(format); err != nil || !bytes.Equal(data, again) {
		t.Errorf("%s: other bytes of %s the second time (%v)", d.title, format, err)
	}
	save(t, figureName(d.title+" "+d.cells[0].caption, map[string]bool{})+"."+format, string(data))
	return string(data)
}

var viewBox = regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)

// picture returns a drawing as PNG: two pixels for each point of the SVG.
func picture(t *testing.T, name string, d *Drawing) image.Image {
	t.Helper()
	p, err := png.Decode(strings.NewReader(drawnAs(t, d, "png")))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	box := viewBox.FindStringSubmatch(drawnAs(t, d, "svg"))
	width, _ := strconv.ParseFloat(box[1], 64)
	height, _ := strconv.ParseFloat(box[2], 64)
	if size := p.Bounds().Size(); math.Abs(float64(size.X)-2*width) > 1 || math.Abs(float64(size.Y)-2*height) > 1 {
		t.Errorf("%s: %v pixels, the drawing has %g by %g points", name, size, width, height)
	}
	return p
}

// colours counts the picture's pixels by colour.
func colours(p image.Image) map[color.NRGBA]int {
	all := map[color.NRGBA]int{}
	for y := range p.Bounds().Dy() {
		for x := range p.Bounds().Dx() {
			all[color.NRGBAModel.Convert(p.At(x, y)).(color.NRGBA)]++
		}
	}
	return all
}

// plotOf returns the position of the only plot of a drawing in its picture, in pixels.
func plotOf(d *Drawing) (left, top, right, bottom float64) {
	l := d.lay()
	p, low := l.rows[0].plots[0], vg.Point{X: drawingMargin, Y: drawingMargin}
	data := p.data(l.inLine(draw.Canvas{Rectangle: vg.Rectangle{
		Min: low,
		Max: low.Add(vg.Point{X: l.column, Y: l.rows[0].chart}),
	}}, p))
	return pixels * float64(data.Min.X), pixels * float64(l.height-data.Max.Y), pixels * float64(data.Max.X),
		pixels * float64(l.height-data.Min.Y)
}

// TestTinyPNG checks the positions of the lines in the picture of the golden drawing, by their values.
func TestTinyPNG(t *testing.T) {
	d := tiny(t)
	p := picture(t, "tiny", d)
	left, top, right, bottom := plotOf(d)
	at := func(ms, kb float64) (x, y float64) { // the axes go to 40 ms and to 400 KB
		return left + (right-left)*ms/40, bottom - (bottom-top)*kb/400
	}
	near := func(colour string, ms, kb float64) bool {
		// A dash may be off, and a line's edge between two pixels: the colour is near.
		x, y := at(ms, kb)
		for dy := -2; dy <= 2; dy++ {
			for dx := -10; dx <= 10; dx++ {
				if color.NRGBAModel.Convert(p.At(int(x)+dx, int(y)+dy)) == rgb(colour) {
					return true
				}
			}
		}
		return false
	}
	for _, c := range []struct {
		what, colour string
		ms, kb       float64
	}{
		{"paper in the plot", light.paper, 5, 350},
		{"span", light.span, 15, 50},
		{"first line, high", light.series[0], 15, 320},
		{"first line, on the axis", light.series[0], 5, 0.5},
		{"first line, up to the gap", light.series[0], 29, 320},
		{"second line", light.series[1], 24, 160},
		{"reference", light.level, 35, 300},
		{"grid", light.grid, 5, 200},
	} {
		if !near(c.colour, c.ms, c.kb) {
			t.Errorf("%s: no %s near %g ms, %g KB", c.what, c.colour, c.ms, c.kb)
		}
	}
	for _, kb := range []float64{320, 64} {
		if near(light.series[0], 35, kb) {
			t.Errorf("something is drawn in the gap of the first line, at %g KB", kb)
		}
	}
	all := colours(p)
	if all[rgb(light.muted)] < 300 || all[rgb(light.ink)] < 200 {
		t.Errorf("%d pixels of muted and %d of other text", all[rgb(light.muted)], all[rgb(light.ink)])
	}
	if all[rgb(light.paper)] < p.Bounds().Dx()*p.Bounds().Dy()*3/4 {
		t.Error("the paper is not white")
	}
}

// TestNothingCoversData: titles, legends and labels are all outside the plot.
func TestNothingCoversData(t *testing.T) {
	d := tiny(t)
	c := d.cells[0].chart
	c.lines, c.events, c.eventRoom = nil, []Event{{Time: 15e6, Name: "link down"}}, true
	p := picture(t, "labels", d)
	left, top, right, bottom := plotOf(d)
	for y := int(top) + 2; y < int(bottom)-4; y++ {
		for x := int(left) + 2; x < int(right)-2; x++ {
			switch got := color.NRGBAModel.Convert(p.At(x, y)).(color.NRGBA); {
			case got == rgb(light.ink):
				t.Fatalf("text in the plot, at %d, %d", x, y)
			// the event's line is of that colour
			case got == rgb(light.muted) && math.Abs(float64(x)-(left+(right-left)*15/40)) > 3:
				t.Fatalf("text in the plot, at %d, %d", x, y)
			}
		}
	}
	for _, label := range []string{
		">X_off<", ">burst<", ">1 link down<", ">Queue &lt;0&gt;, KB<", ">time, ms<",
		">port 2<",
	} {
		if !strings.Contains(drawnAs(t, d, "svg"), label) {
			t.Errorf("no %s", label)
		}
	}
}

// TestPictures checks that every kind of drawing has every format, with all of its lines.
func TestPictures(t *testing.T) {
	testenv.WholeScenario(t)
	figures, err := Figures(synthetic())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		all := colours(picture(t, f.Name, f.Drawing))
		for _, item := range f.Drawing.legend {
			// A colour's lines and its samples in the legend are solid somewhere.
			colour, _ := styleAt(item.style)
			if n := all[rgb(light.series[colour])]; n < 10 {
				t.Errorf("%s: %d pixels of %s", f.Name, n, item.Label)
			}
		}
		if pdf := drawnAs(t, f.Drawing, "pdf"); !strings.HasPrefix(pdf, "%PDF") ||
			!strings.Contains(pdf, "/CreationDate (D:19700101") || !strings.Contains(pdf, "/FontFile2") {
			t.Errorf("%s: no PDF, with a date, or without its letters", f.Name)
		}
	}
	bars, err := Figures(repeated())
	if err != nil {
		t.Fatal(err)
	}
	picture(t, "bars", bars[len(bars)-1].Drawing)
	if _, err := figures[0].Drawing.Picture("gif"); err == nil || !strings.Contains(err.Error(), "svg, png, pdf") {
		t.Errorf("a format that there is not: %v", err)
	}
}

// TestBarsInPictures checks that a line's confidence intervals have the right length, and do not reach another line.
func TestBarsInPictures(t *testing.T) {
	d, err := (&Lines{Title: "bars", Charts: []LineChart{{
		Name: "one", XTitle: "x",
		Lines: []NumberLine{{Label: "a", X: []float64{0, 1, 2}, Y: []float64{0, 40, 100}}},
	}}}).Drawing()
	if err != nil {
		t.Fatal(err)
	}
	c := d.cells[0].chart
	c.lines[0].points, c.lines[0].halves = c.lines[0].points[1:2], []float64{20}
	p := picture(t, "intervals", d)
	left, top, right, bottom := plotOf(d)
	x := int(left + (right-left)/2)
	length := 0
	for y := int(top); y < int(bottom)-2; y++ {
		if got := color.NRGBAModel.Convert(p.At(x, y)).(color.NRGBA); int(got.B) > int(got.R)+40 {
			length++
		}
	}
	if want := 0.4 * (bottom - top); math.Abs(float64(length)-want) > 4 {
		t.Errorf("the interval is %d pixels long, want %.0f", length, want)
	}
}

// TestRunFigure checks the drawing with all panels of one run, on the run's own scales.
func TestRunFigure(t *testing.T) {
	r := synthetic()
	d, err := RunFigure(r, "dcon")
	if err != nil {
		t.Fatal(err)
	}
	figure := drawnAs(t, d, "svg")
	wellFormed(t, figure)
	lines := 0
	for i, p := range r.Panels {
		if !strings.Contains(figure, ">"+p.Title+"<") {
			t.Errorf("no panel %q", p.Title)
		}
		lines += len(d.cells[i].chart.lines)
	}
	if lines != 8 { // each of the run once, and none of the other's
		t.Errorf("%d lines, want 8", lines)
	}
	// Of the ingress of L2, dcon's peak is under 150 KB, dcqcn's over 320 KB: the reference counts, the other run does
	// not.
	if own, both := d.cells[2].chart, newPlots(r, 2, r.Runs[1:]).charts[0]; own.y.hi >= both.y.hi {
		t.Errorf("not the run's own scale: %g, %g", own.y.hi, both.y.hi)
	}
	if _, err := RunFigure(r, "nobody"); err == nil {
		t.Error("a run that is not there was drawn")
	}
	r.Panels = nil
	if _, err := RunFigure(r, "dcon"); err == nil {
		t.Error("nothing was drawn")
	}
}

// TestLegendRows: items in rows no wider than the chart, eight short ones in a single row.
func TestLegendRows(t *testing.T) {
	items := func(n int, label string) []legendItem {
		var all []legendItem
		for i := range n {
			all = append(all, legendItem{label, i})
		}
		return all
	}
	for _, c := range []struct {
		items []legendItem
		rows  int
	}{
		{items(8, "f0"), 1},
		{items(4, "a long name"), 1},
		{items(5, "a rather long name of a line"), 3},
		{items(2, strings.Repeat("a name that is too long for a row", 3)), 2},
		{nil, 0},
	} {
		rows := legendRows(c.items, figureWidth)
		if len(rows) != c.rows {
			t.Errorf("%d items: %d rows, want %d", len(c.items), len(rows), c.rows)
		}
		n := 0
		for _, row := range rows {
			width := -vg.Length(drawingGap)
			for _, item := range row {
				width += item.width() + drawingGap
			}
			if n += len(row); width > figureWidth && len(row) > 1 {
				t.Errorf("a row of %d items is %g wide", len(row), width)
			}
		}
		if n != len(c.items) {
			t.Errorf("%d of %d items", n, len(c.items))
		}
	}
}

// TestNotes checks that a note appears below its caption, broken between words, and increases the height of the
// drawing.
func TestNotes(t *testing.T) {
	fits := func(letters int) func(string) bool { return func(s string) bool { return len(s) <= letters } }
	if got := wrap("P1 is what L2 holds from S1", fits(12)); strings.Join(got, "|") != "P1 is what|L2 holds|from S1" {
		t.Errorf("%q", got)
	}
	if got := wrap("Donaudampfschiff ahoi", fits(5)); len(got) != 2 {
		t.Errorf("%q", got)
	}
	drawn := func(note string) (drawing string, height float64) {
		r := synthetic()
		r.Panels = r.Panels[:2]
		r.Panels[0].Note, r.Panels[1].Note = note, ""
		d, err := RunFigure(r, "dcon")
		if err != nil {
			t.Fatal(err)
		}
		return drawnAs(t, d, "svg"), float64(d.lay().height)
	}
	_, none := drawn("")
	if drawing, one := drawn("short"); one-none != noteRow || !strings.Contains(drawing, ">short<") {
		t.Errorf("a short note makes the drawing %g higher", one-none)
	}
	long := strings.TrimSpace(strings.Repeat("a note of many words ", 6))
	if drawing, two := drawn(long); two-none != 2*noteRow || strings.Contains(drawing, long) ||
		strings.Count(drawing, ">a note of many words") != 1 {
		t.Errorf("a note of two lines makes the drawing %g higher", two-none)
	}
}

// TestManyControllers checks that a row has four charts, with aligned plots.
func TestManyControllers(t *testing.T) {
	testenv.WholeScenario(t)
	figures, err := Figures(synthetic("a", "b", "c", "d", "e", "f"))
	if err != nil {
		t.Fatal(err)
	}
	l := figures[3].Drawing.lay()
	if len(l.rows) != 2 || len(l.rows[0].plots) != 4 || len(l.rows[1].plots) != 2 {
		t.Errorf("%d rows", len(l.rows))
	}
	if want := vg.Length(2*drawingMargin + 4*480 + 3*drawingGap); l.width != want {
		t.Errorf("%g wide, want %g", l.width, want)
	}
	picture(t, "six", figures[3].Drawing)
}

// TestParts checks that a line ends at a gap, that a step ends where the gap starts, and that points between equal ones
// are left out.
func TestParts(t *testing.T) {
	points := []point{{0, 1}, {1, 1}, {2, 1}, {3, 5}, {4, math.NaN()}, {5, 2}, {6, 3}, {7, math.NaN()}, {8, 9}}
	for step, want := range map[bool]string{
		false: "[[{0 1} {2 1} {3 5}] [{5 2} {6 3}]]",
		true:  "[[{0 1} {2 1} {3 5} {4 5}] [{5 2} {6 3} {7 3}]]",
	} {
		if got := fmt.Sprint((&line{points: points, step: step}).parts()); got != want {
			t.Errorf("step %v: %s, want %s", step, got, want)
		}
	}
}
