package animation

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/pausenet/pausenet/internal/letters"
)

// pen draws on a picture. Coordinates are in units, from the picture's upper left corner.
type pen struct {
	canvas *vgimg.Canvas
	draw   draw.Canvas
	image  *image.RGBA
	scale  float64 // pixels per unit
	height float64 // in pixels
}

// point holds a position.
type point struct{ x, y float64 }

func (p point) plus(dx, dy float64) point { return point{p.x + dx, p.y + dy} }

func newPen(size image.Point, scale float64) *pen {
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(size.X), vg.Length(size.Y)), vgimg.UseDPI(72)) // a pixel is a point
	return &pen{c, draw.New(c), c.Image().(*image.RGBA), scale, float64(size.Y)}
}

// at returns a point on the canvas, whose y axis points up.
func (p *pen) at(a point) vg.Point {
	return vg.Point{X: vg.Length(a.x * p.scale), Y: vg.Length(p.height - a.y*p.scale)}
}

func (p *pen) path(points []point, closed bool) (path vg.Path) {
	for i, a := range points {
		if i == 0 {
			path.Move(p.at(a))
		} else {
			path.Line(p.at(a))
		}
	}
	if closed {
		path.Close()
	}
	return path
}

// line strokes a line through points; dashes are lengths of strokes and gaps.
func (p *pen) line(c color.Color, width float64, dashes []float64, points ...point) {
	p.stroke(c, width, dashes, p.path(points, false))
}

func (p *pen) stroke(c color.Color, width float64, dashes []float64, path vg.Path) {
	p.canvas.SetColor(c)
	p.canvas.SetLineWidth(vg.Length(width * p.scale))
	lengths := make([]vg.Length, len(dashes))
	for i, d := range dashes {
		lengths[i] = vg.Length(d * p.scale)
	}
	p.canvas.SetLineDash(lengths, 0)
	p.canvas.Stroke(path)
}

// fill fills a polygon.
func (p *pen) fill(c color.Color, points ...point) {
	p.canvas.SetColor(c)
	p.canvas.Fill(p.path(points, true))
}

// box fills a rectangle.
func (p *pen) box(c color.Color, left, top, right, bottom float64) {
	p.fill(c, point{left, top}, point{right, top}, point{right, bottom}, point{left, bottom})
}

// disc fills a disc.
func (p *pen) disc(c color.Color, a point, radius float64) {
	p.canvas.SetColor(c)
	p.canvas.Fill(p.ring(a, radius))
}

func (p *pen) ring(a point, radius float64) (path vg.Path) {
	middle := p.at(a)
	path.Move(vg.Point{X: middle.X + vg.Length(radius*p.scale), Y: middle.Y})
	path.Arc(middle, vg.Length(radius*p.scale), 0, 2*math.Pi)
	path.Close()
	return path
}

// rounded returns the outline of a box around a, with round corners.
func (p *pen) rounded(a point, halfWidth, halfHeight, radius float64) (path vg.Path) {
	r := vg.Length(radius * p.scale)
	// counterclockwise on the canvas, from the lower right in the picture
	for i, corner := range []point{{1, 1}, {-1, 1}, {-1, -1}, {1, -1}} {
		middle := p.at(a.plus(corner.x*(halfWidth-radius), -corner.y*(halfHeight-radius)))
		begin := float64(i) * math.Pi / 2
		from := vg.Point{X: middle.X + r*vg.Length(math.Cos(begin)), Y: middle.Y + r*vg.Length(math.Sin(begin))}
		if i == 0 {
			path.Move(from)
		} else {
			path.Line(from)
		}
		path.Arc(middle, r, begin, math.Pi/2)
	}
	path.Close()
	return path
}

// Sides that text is aligned to.
const (
	leftOf  = text.XLeft
	middle  = text.XCenter
	rightOf = text.XRight
)

func (p *pen) style(size float64, bold bool, c color.Color, side text.XAlignment) text.Style {
	style := letters.Style(vg.Length(size*p.scale), bold, c)
	style.XAlign, style.YAlign = side, text.YCenter
	return style
}

// text writes a line that is vertically centred at a.
func (p *pen) text(s string, a point, size float64, bold bool, c color.Color, side text.XAlignment) {
	p.draw.FillText(p.style(size, bold, c, side), p.at(a), s)
}

// width returns how many units a text takes.
func (p *pen) width(s string, size float64, bold bool) float64 {
	return float64(p.style(size, bold, ink, leftOf).Width(s)) / p.scale
}

// fitting returns a text, cut to the given width.
func (p *pen) fitting(s string, size float64, bold bool, room float64) string {
	if p.width(s, size, bold) <= room {
		return s
	}
	letters := []rune(s)
	for n := len(letters) - 1; n > 0; n-- {
		if short := string(letters[:n]) + "…"; p.width(short, size, bold) <= room {
			return short
		}
	}
	return ""
}
