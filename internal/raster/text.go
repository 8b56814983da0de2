package raster

import (
	"fmt"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// fonts are Liberation Sans, regular and bold. Its letters are as wide as Arial's, which the drawings ask for.
var fonts = sync.OnceValue(func() [2]*sfnt.Font {
	var all [2]*sfnt.Font
	for i, data := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF} {
		f, err := sfnt.Parse(data)
		if err != nil {
			panic(fmt.Sprintf("raster: the built-in font: %v", err)) // not without a broken build
		}
		all[i] = f
	}
	return all
})

// text draws a line of text as outlines, so that what is around it (a halo) is a stroke, as in SVG. A character that the
// font lacks is its empty box.
func (d *drawing) text(s string, at attributes, st *style) error {
	p, err := at.floats("x", "y")
	if err != nil {
		return err
	}
	f := fonts()[0]
	if st.bold {
		f = fonts()[1]
	}
	size := fixed.Int26_6(st.fontSize*d.scale*64 + 0.5)
	var buffer sfnt.Buffer
	glyphs := make([]glyph, 0, len(s))
	width := fixed.Int26_6(0)
	for _, r := range s {
		index, err := f.GlyphIndex(&buffer, r)
		if err != nil {
			return err
		}
		if n := len(glyphs); n > 0 {
			if kern, err := f.Kern(&buffer, glyphs[n-1].index, index, size, font.HintingNone); err == nil { // an error: there is none
				width += kern
			}
		}
		glyphs = append(glyphs, glyph{index, width})
		advance, err := f.GlyphAdvance(&buffer, index, size, font.HintingNone)
		if err != nil {
			return err
		}
		width += advance
	}
	x, y := (p[0]+st.x)*d.scale, (p[1]+st.y)*d.scale
	switch st.anchor {
	case "start":
	case "middle":
		x -= pixels(width) / 2
	case "end":
		x -= pixels(width)
	default:
		return fmt.Errorf("text-anchor %q", st.anchor)
	}
	d.clipTo(st.clip)
	for _, g := range glyphs {
		segments, err := f.LoadGlyph(&buffer, g.index, size, nil)
		if err != nil {
			return err
		}
		d.outline(segments, x+pixels(g.x), y)
	}
	d.paintText(st)
	return nil
}

// glyph is a letter, and where it begins in its line.
type glyph struct {
	index sfnt.GlyphIndex
	x     fixed.Int26_6
}

func pixels(v fixed.Int26_6) float64 { return float64(v) / 64 }

// outline adds a letter to the paper's shape.
func (d *drawing) outline(segments sfnt.Segments, x, y float64) {
	for _, s := range segments {
		var p [3][2]float64
		for i, arg := range s.Args {
			p[i] = [2]float64{x + pixels(arg.X), y + pixels(arg.Y)}
		}
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			d.paper.MoveTo(p[0][0], p[0][1])
		case sfnt.SegmentOpLineTo:
			d.paper.LineTo(p[0][0], p[0][1])
		case sfnt.SegmentOpQuadTo:
			d.paper.QuadraticTo(p[0][0], p[0][1], p[1][0], p[1][1])
		case sfnt.SegmentOpCubeTo:
			d.paper.CubicTo(p[0][0], p[0][1], p[1][0], p[1][1], p[2][0], p[2][1])
		}
	}
}
