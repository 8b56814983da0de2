package report

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"
)

// TestFigure: all panels of one run in one drawing that can be shown by itself, on the run's own scales.
func TestFigure(t *testing.T) {
	r := synthetic()
	var b bytes.Buffer
	if err := WriteFigure(&b, r, "dcon"); err != nil {
		t.Fatal(err)
	}
	figure := b.String()
	save(t, "figure.svg", figure)
	wellFormed(t, figure)
	for _, p := range r.Panels {
		if !strings.Contains(figure, ">"+p.Title+"<") {
			t.Errorf("no panel %q", p.Title)
		}
	}
	// Each line of the run once, and none of the other's.
	if got := strings.Count(figure, "data-label="); got != 8 {
		t.Errorf("%d lines, want 8", got)
	}
	if !strings.Contains(figure, "prefers-color-scheme:dark") || strings.Contains(figure, "var(--") {
		t.Error("the drawing has not its own colours")
	}
	// Of the ingress of L2, dcon's peak is under 150 KB, dcqcn's over 320 KB: the reference counts, the other run does not.
	alone, both := *r, newPlots(r, 2, r.Runs[1:])
	alone.Runs = r.Runs[1:]
	if own := newPlots(&alone, 2, alone.Runs); own.charts[0].y.hi >= both.charts[0].y.hi {
		t.Fatalf("this run has no smaller scale: %g, %g", own.charts[0].y.hi, both.charts[0].y.hi)
	} else if tick := own.charts[0].y.ticks; !strings.Contains(figure, ">"+tick[len(tick)-1].label+"</text>") {
		t.Errorf("no tick %q: not the run's own scale", tick[len(tick)-1].label)
	}

	if WriteFigure(io.Discard, r, "nobody") == nil {
		t.Error("a run that is not there was drawn")
	}
	r.Panels = nil
	if WriteFigure(io.Discard, r, "dcon") == nil {
		t.Error("nothing was drawn")
	}
}

// TestLayLegend: items in rows no wider than the chart, eight short ones in a single row.
func TestLayLegend(t *testing.T) {
	items := func(n int, label string) []legendItem {
		var all []legendItem
		for i := range n {
			all = append(all, legendItem{label, i})
		}
		return all
	}
	for _, c := range []struct {
		items  []legendItem
		height float64
	}{
		{items(8, "f0"), legendHeight},
		{items(3, "a long name"), legendHeight},
		{items(5, "a rather long name of a line"), 3 * legendHeight},
		{items(2, strings.Repeat("a name that is too long for a row", 3)), 2 * legendHeight},
	} {
		at, height := layLegend(c.items, figureWidth)
		if height != c.height {
			t.Errorf("%d of %q: height %g, want %g", len(c.items), c.items[0].Label, height, c.height)
		}
		for i := range at {
			if i > 0 && at[i].y == at[i-1].y && at[i].x <= at[i-1].x || at[i].y >= height {
				t.Errorf("%q: %+v", c.items[0].Label, at)
			}
		}
	}
}

// TestNotes: a note stands beside its caption if it has room there, and else under it, broken between words, and no chart
// is where it stands.
func TestNotes(t *testing.T) {
	if got := wrap("P1 is what L2 holds from S1", 12*letter); strings.Join(got, "|") != "P1 is what|L2 holds|from S1" {
		t.Errorf("%q", got)
	}
	if got := wrap("Donaudampfschiff ahoi", 5*letter); len(got) != 2 {
		t.Errorf("%q", got)
	}
	height := func(note string) (drawing string, height float64) {
		r := synthetic()
		for i := range r.Panels {
			r.Panels[i].Note = ""
		}
		r.Panels[0].Note = note
		var b bytes.Buffer
		if err := WriteFigure(&b, r, "dcon"); err != nil {
			t.Fatal(err)
		}
		p := picture(t, "note", b.Bytes())
		return b.String(), float64(p.Bounds().Dy()) / 2
	}
	_, none := height("")
	if drawing, beside := height("short"); beside != none || !strings.Contains(drawing, `text-anchor="end" fill="#57606a">short<`) {
		t.Errorf("a short note makes the drawing %g high, without it is %g", beside, none)
	}
	long := strings.Repeat("a note of many words ", 6)
	drawing, under := height(long)
	if rows := math.Ceil(float64(len(synthetic().Panels)) / 2); math.Abs(under-none-2*noteHeight*rows) > 1 {
		t.Errorf("a note of two lines makes the drawing %g high, without it is %g", under, none)
	}
	if strings.Contains(drawing, strings.TrimSpace(long)) || strings.Count(drawing, `fill="#57606a">a note of many words`) != 1 {
		t.Error("the long note is not broken")
	}
}
