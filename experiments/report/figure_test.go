package report

import (
	"bytes"
	"io"
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
