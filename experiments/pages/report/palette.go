package report

import (
	"fmt"
	"strconv"
	"strings"
)

// theme holds the colours of a page or a drawing.
type theme struct {
	paper, ink, muted, grid, level, span string
	series                               [8]string
}

// The first series colours are those of Okabe and Ito, which stay apart for colour-blind readers, made darker or
// lighter until each has enough contrast on its paper. The later ones rely on their dash patterns as well.
var (
	light = theme{
		paper: "#ffffff", ink: "#1b1f24", muted: "#57606a", grid: "#e3e6ea", level: "#6e7781", span: "#eef1f5",
		series: [8]string{"#0068a8", "#c04d00", "#00785a", "#a03d78", "#856000", "#6a4fc3", "#687078", "#1b1f24"},
	}
	dark = theme{
		paper: "#12161c", ink: "#e8ebef", muted: "#a3acb8", grid: "#2a313b", level: "#98a2af", span: "#1d242d",
		series: [8]string{"#5cb6f2", "#f58a45", "#2fc79c", "#e58fc2", "#e3bd34", "#a99bff", "#9aa3ae", "#ffffff"},
	}
)

// dashes tell the series apart without colour. The first is solid; the lengths are in units of the drawing.
var dashes = [8][]float64{nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}, {14, 4}, {5, 2, 2, 2, 2, 2}, {1.2, 4}, {14, 3, 5, 3}}

// variables returns t as CSS custom properties.
func (t *theme) variables() string {
	var b strings.Builder
	fmt.Fprintf(&b, "--paper:%s;--ink:%s;--muted:%s;--grid:%s;--level:%s;--span:%s;", t.paper, t.ink, t.muted, t.grid,
		t.level, t.span)
	for i, c := range t.series {
		fmt.Fprintf(&b, "--s%d:%s;", i, c)
	}
	return b.String()
}

// pageColours returns the style sheet's colour part, for the page. Drawings in the page take their colours from it.
func pageColours() string {
	var b strings.Builder
	fmt.Fprintf(&b, ":root{color-scheme:light dark;%s}\n", light.variables())
	fmt.Fprintf(&b, "@media (prefers-color-scheme:dark){:root{%s}}\n", dark.variables())
	// Ink on dark paper would drown a printer.
	fmt.Fprintf(&b, "@media print{:root{color-scheme:light;%s}}\n", light.variables())
	// Before there is paper the script draws for it.
	fmt.Fprintf(&b, ":root.paper{color-scheme:light;%s}\n", light.variables())
	for i := range light.series {
		fmt.Fprintf(&b, ".s%d{stroke:var(--s%d)}", i, i)
	}
	return b.String()
}

// styleAt returns the colour, of a theme's series, and the dash pattern of the i-th line. Past the last colour the
// pattern shifts against the colours, so that 64 lines remain distinct.
func styleAt(i int) (colour int, dash []float64) {
	n := len(light.series)
	return i % n, dashes[(i+i/n)%n]
}

// styleOf returns the style of the i-th line as attributes.
func styleOf(i int) string {
	colour, dash := styleAt(i)
	s := fmt.Sprintf(`class="s%d" fill="none" stroke="%s"`, colour, light.series[colour])
	for k, length := range dash {
		lead := " "
		if k == 0 {
			lead = ` stroke-dasharray="`
		}
		s += lead + strconv.FormatFloat(length, 'f', -1, 64)
	}
	if dash != nil {
		s += `"`
	}
	return s
}
