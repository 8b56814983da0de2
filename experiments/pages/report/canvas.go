//go:build !js

package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/pausenet/pausenet/internal/letters"
	"github.com/pausenet/pausenet/internal/lists"
)

// PictureFormats lists the formats of Drawing.Picture.
var PictureFormats = []string{"svg", "png", "pdf"}

// pixels sets the pixels of a PNG per point of its drawing: enough for print, and for high-resolution screens.
const pixels = 2

// mostPixels limits a picture's memory, at 4 bytes per pixel.
const mostPixels = 1 << 27

// Picture returns the drawing in one of PictureFormats. Equal drawings give equal bytes.
func (d *Drawing) Picture(format string) ([]byte, error) {
	l := d.lay()
	switch format {
	case "svg":
		return l.svg()
	case "png":
		return l.png()
	case "pdf":
		return l.pdf()
	}
	return nil, fmt.Errorf("draw as %q: %s is what there is", format, strings.Join(PictureFormats, ", "))
}

// written returns the output of a canvas.
func written(c io.WriterTo) ([]byte, error) {
	var b bytes.Buffer
	_, err := c.WriteTo(&b)
	return b.Bytes(), err
}

// spelled wraps a canvas and replaces characters in text.
type spelled struct {
	vg.CanvasSizer
	spell func(string) string
	face  func(font.Face) font.Face
}

// FillString writes text.
func (c *spelled) FillString(face font.Face, at vg.Point, s string) {
	c.CanvasSizer.FillString(c.face(face), at, c.spell(s))
}

// svg returns the drawing as SVG. Fonts are not embedded, which would add half a megabyte to each file: Arial and
// Helvetica have the widths of Liberation Sans.
func (l *laidOut) svg() ([]byte, error) {
	c := vgsvg.New(l.width, l.height)
	l.draw(draw.New(&spelled{c, xmlText, func(f font.Face) font.Face { return f }}))
	data, err := written(c)
	if err != nil {
		return nil, fmt.Errorf("draw as SVG: %w", err)
	}
	head := fmt.Sprintf("role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">%s</title><desc id=\"d\">%s</desc>\n",
		escape(l.title), escape(l.described()))
	data = bytes.Replace(data, []byte(">\n<g transform"), []byte("\n\t"+head+"<g transform"), 1)
	return bytes.ReplaceAll(data, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}

// described returns a description of the drawing for readers who cannot see it.
func (d *Drawing) described() string {
	return strings.Join(lists.Map(d.cells, func(e drawingCell) string { return e.chart.title + ": " + e.chart.desc }), " ")
}

// xmlText returns text without the characters that XML cannot have.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, s)
}

// png returns the drawing as a picture on white.
func (l *laidOut) png() ([]byte, error) {
	if !(float64(l.width*l.height)*pixels*pixels <= mostPixels) {
		return nil, fmt.Errorf("draw as PNG: %g by %g points are too large", l.width, l.height)
	}
	c := vgimg.NewWith(vgimg.UseWH(l.width, l.height), vgimg.UseDPI(72*pixels))
	l.draw(draw.New(&pieced{Canvas: c}))
	data, err := written(vgimg.PngCanvas{Canvas: c})
	if err != nil {
		return nil, fmt.Errorf("draw as PNG: %w", err)
	}
	return data, nil
}

// piece limits the parts of a line that are stroked at once. For each pixel, the rasteriser searches all of the
// stroke's parts in that row: a line that goes up and down a thousand times takes seconds in one piece.
const piece = 128

// pieced wraps a canvas and strokes long lines piece by piece.
type pieced struct {
	*vgimg.Canvas
	dashes []vg.Length
	offset vg.Length
}

// SetLineDash sets the dash pattern.
func (c *pieced) SetLineDash(dashes []vg.Length, offset vg.Length) {
	c.dashes, c.offset = dashes, offset
	c.Canvas.SetLineDash(dashes, offset)
}

// Stroke draws a path. Each piece continues for one point into the next, so that each corner is within a piece.
func (c *pieced) Stroke(p vg.Path) {
	for i := range p {
		if i > 0 && p[i].Type != vg.LineComp {
			c.Canvas.Stroke(p)
			return
		}
	}
	offset := c.offset
	for start := 0; start == 0 || start < len(p)-1; start += piece {
		part := p[start:min(start+piece+2, len(p))]
		again := make(vg.Path, len(part))
		copy(again, part)
		again[0].Type = vg.MoveComp
		c.Canvas.SetLineDash(c.dashes, offset)
		c.Canvas.Stroke(again)
		for i := 1; i < len(part) && i <= piece; i++ {
			offset += vg.Length(math.Hypot(float64(part[i].Pos.X-part[i-1].Pos.X), float64(part[i].Pos.Y-part[i-1].Pos.Y)))
		}
	}
	c.Canvas.SetLineDash(c.dashes, c.offset)
}

// undated makes PDF files without their creation time, and with sorted lists.
var undated = sync.OnceFunc(func() {
	fpdf.SetDefaultCreationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultModificationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultCatalogSort(true)
})

// pdf returns the drawing as a page of its size, with its letters built in.
func (l *laidOut) pdf() (data []byte, err error) {
	undated()
	// vgpdf converts letters in a temporary folder, and panics where it cannot.
	probe, err := os.MkdirTemp("", "pausenet-")
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		return nil, fmt.Errorf("draw as PDF: cannot create a temporary folder in $TMPDIR: %w", err)
	}
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("draw as PDF: %v", p)
		}
	}()
	c := vgpdf.New(l.width, l.height)
	// All letters are regular: vgpdf builds one face only into a file, and does not find a bold one again.
	l.draw(draw.New(&spelled{c, windows1252, letters.Regular}))
	if data, err = written(c); err != nil {
		return nil, fmt.Errorf("draw as PDF: %w", err)
	}
	return data, nil
}

// near replaces characters that the font of a PDF lacks.
var near = strings.NewReplacer("≤", "<=", "≥", ">=", "←", "<-", "→", "->", "−", "-", "Δ", "delta ", "\u202f", "\u00a0",
	"μ", "µ")

// windows1252 encodes text for vgpdf's fonts, one byte per character. Characters without a code become question marks.
func windows1252(s string) string {
	var b []byte
	for _, r := range near.Replace(s) {
		c, ok := charmap.Windows1252.EncodeRune(r)
		if !ok || r < ' ' {
			c = '?'
		}
		b = append(b, c)
	}
	return string(b)
}
