package report

import (
	"bytes"
	"compress/zlib"
	"image/color"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// TestLongLine checks that a line stroked piece by piece looks like the same line in one piece, including its dashes.
func TestLongLine(t *testing.T) {
	for _, dashes := range [][]vg.Length{nil, {3, 2.1}, {1.2, 4}} {
		stroked := func(points int) *vgimg.Canvas {
			c := vgimg.NewWith(vgimg.UseWH(40, 20), vgimg.UseDPI(144))
			on := &pieced{Canvas: c}
			on.SetLineWidth(6)
			on.SetLineDash(dashes, 0)
			on.SetColor(color.Black)
			var p vg.Path
			p.Move(vg.Point{X: 0, Y: 10})
			for i := 1; i <= points; i++ {
				p.Line(vg.Point{X: 40 * vg.Length(i) / vg.Length(points), Y: 10})
			}
			on.Stroke(p)
			return c
		}
		one, pieces := stroked(1).Image(), stroked(5*piece+1).Image()
		inked := false
		for x := range 80 {
			a, b := color.GrayModel.Convert(one.At(x, 20)).(color.Gray).Y, color.GrayModel.Convert(pieces.At(x,
				20)).(color.Gray).Y
			inked = inked || a < 32
			// Where a dash ends a pixel may be covered in part, and the rasteriser's grid is a 64th of a pixel.
			if math.Abs(float64(a)-float64(b)) > 32 {
				t.Errorf("dashes %v, pixel %d: %d in one, %d in pieces", dashes, x, a, b)
			}
		}
		if !inked {
			t.Errorf("dashes %v: nothing is drawn", dashes)
		}
	}
}

// TestLetters checks that the font has all characters beyond ASCII that drawings use.
func TestLetters(t *testing.T) {
	for _, bold := range []bool{false, true} {
		style := lettering(11, bold, light.ink)
		face := style.Handler.Cache().Lookup(style.Font, 11)
		var b sfnt.Buffer
		for _, r := range "µ≤±–—→←·×äΔ%\u00a0" {
			if i, err := face.Face.GlyphIndex(&b, r); err != nil || i == 0 {
				t.Errorf("bold %v: the font lacks %q (%v)", bold, r, err)
			}
		}
	}
}

var streams = regexp.MustCompile(`(?s)/Length (\d+)>>\nstream\n(.*?)\nendstream`)

// TestPDFText checks that characters of a PDF's font are written in its encoding, and that others are replaced.
func TestPDFText(t *testing.T) {
	d := &Drawing{title: "5 µs ≤ x → y ± 中", across: 1, cells: tiny(t).cells}
	var text strings.Builder
	for _, m := range streams.FindAllStringSubmatch(drawnAs(t, d, "pdf"), -1) {
		if r, err := zlib.NewReader(strings.NewReader(m[2])); err == nil {
			var page bytes.Buffer
			if _, err := io.Copy(&page, r); err == nil {
				text.Write(page.Bytes())
			}
		}
	}
	if want := "5 \xb5s <= x -> y \xb1 ?"; !strings.Contains(text.String(), want) {
		t.Errorf("no %q", want)
	}
}

// TestSVGText checks that characters that XML forbids do not make a drawing unreadable, and that its font has
// fallbacks.
func TestSVGText(t *testing.T) {
	d := &Drawing{title: "a\x01<b>\ufffe", across: 1, cells: tiny(t).cells}
	svg := drawnAs(t, d, "svg")
	wellFormed(t, svg)
	for _, want := range []string{
		"a\ufffd&lt;b&gt;", "'Liberation Sans',Arial,Helvetica,sans-serif",
		`<desc id="d">Queue &lt;0&gt; — a&amp;b: Line chart`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing has no %s", want)
		}
	}
	if strings.Contains(svg, "font-family:Liberation Sans;") {
		t.Error("letters without others to fall back on")
	}
}
