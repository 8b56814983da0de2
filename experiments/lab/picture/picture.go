// Package picture compares pictures of plots with the data that they show, whatever program drew them.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"slices"
)

// Limits of a picture.
const (
	mostPixels = 4 << 20
	mostRuns   = 8   // average number of a curve's runs in a column
	fewColumns = 40  // a curve has more columns than these
	mostArea   = 0.7 // share of the picture; the background has more
)

// Likeness returns how closely a curve in a PNG picture follows values at equal intervals: the largest correlation,
// from -1 to 1, between the values and the heights of one colour's pixels. The curve has to have a colour of its own
// and to show all values from left to right. Axes, scales, letters and other curves make no difference.
func Likeness(data []byte, values []float64) (float64, error) {
	size, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return 0, fmt.Errorf("expected a PNG picture: %w", err)
	}
	if size.Width*size.Height > mostPixels {
		return 0, fmt.Errorf("%d x %d pixels exceed the limit of %d million", size.Width, size.Height, mostPixels>>20)
	}
	drawn, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return 0, fmt.Errorf("expected a PNG picture: %w", err)
	}
	best, found := -1.0, false
	var all [][]column
	var spans [][2]int // first and last columns of curves, as another curve may hide the ends of one
	for _, of := range colours(drawn) {
		for _, large := range []bool{false, true} {
			if c := columns(of.runs, large); len(c) > fewColumns {
				all = append(all, c)
				if large && !of.grey && c[len(c)-1].x-c[0].x > drawn.Bounds().Dx()/2 {
					spans = append(spans, [2]int{c[0].x, c[len(c)-1].x})
				}
			}
		}
	}
	for _, c := range all {
		found = true
		own := spans
		if c[len(c)-1].x-c[0].x > drawn.Bounds().Dx()/2 {
			own = append(slices.Clip(own), [2]int{c[0].x, c[len(c)-1].x})
		}
		for _, span := range own {
			first, last := span[0], span[1]
			if c[0].x >= first && c[len(c)-1].x <= last && 2*len(c) > last-first {
				best = max(best, correlation(c, first, last, values, false), correlation(c, first, last, values, true))
			}
		}
	}
	if !found {
		return 0, errors.New("no curve: draw it in a colour of its own")
	}
	return best, nil
}

// run holds pixels of one colour that lie one below the other.
type run struct {
	x, top, bottom int
	part           *part // the part that it belongs to
}

// part holds the extent of connected pixels of one colour.
type part struct {
	left, right, top, bottom int
	in                       *part // the part that it has been joined to; nil: none
}

// colour holds the runs of one colour from left to right.
type colour struct {
	runs []*run
	grey bool // of axes and letters, probably
}

// colours returns the runs of each colour that may be that of a curve: not the background, nor one in few columns.
func colours(drawn image.Image) (wide []colour) {
	all := map[uint32][]*run{}
	area := map[uint32]int{}
	b := drawn.Bounds()
	for x := b.Min.X; x < b.Max.X; x++ {
		for y := b.Min.Y; y < b.Max.Y; y++ {
			red, green, blue, _ := drawn.At(x, y).RGBA()
			key := red>>14<<4 | green>>14<<2 | blue>>14 // coarse, as edges of lines are blurred
			area[key]++
			if of := all[key]; len(of) > 0 && of[len(of)-1].x == x && of[len(of)-1].bottom == y-1 {
				of[len(of)-1].bottom = y
			} else {
				all[key] = append(of, &run{x: x, top: y, bottom: y})
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		of := all[key]
		if float64(area[key]) < mostArea*float64(b.Dx()*b.Dy()) && of[len(of)-1].x-of[0].x > fewColumns &&
			len(of) < mostRuns*(of[len(of)-1].x-of[0].x) {
			wide = append(wide, colour{of, key>>4 == key>>2&3 && key>>2&3 == key&3})
		}
	}
	return wide
}

// near limits the height of a gap between connected pixels.
const near = 3

// connect finds the connected parts of a colour. Runs at most the given columns apart are connected, such as a line's
// dashes.
func connect(all []*run, columns int) {
	from := 0
	for i, r := range all {
		for all[from].x < r.x-columns {
			from++
		}
		r.part = &part{left: r.x, right: r.x, top: r.top, bottom: r.bottom}
		for _, before := range all[from:i] {
			if before.x != r.x && before.top <= r.bottom+near && before.bottom >= r.top-near {
				before.part.join(r.part)
			}
		}
	}
}

// whole returns the part that a part has been joined to.
func (p *part) whole() *part {
	for p.in != nil {
		p = p.in
	}
	return p
}

func (p *part) join(with *part) {
	p, with = p.whole(), with.whole()
	if p == with {
		return
	}
	with.in = p
	p.left, p.right = min(p.left, with.left), max(p.right, with.right)
	p.top, p.bottom = min(p.top, with.top), max(p.bottom, with.bottom)
}

// column holds the pixels of one colour in a column of a picture, from the top.
type column struct{ x, top, bottom int }

// columns returns the columns of a colour. If large, it leaves out small parts, such as a legend's samples.
func columns(all []*run, large bool) (found []column) {
	width := all[len(all)-1].x - all[0].x
	if large {
		connect(all, width/40)
	}
	for _, r := range all {
		if large {
			if p := r.part.whole(); p.right-p.left < width/6 && p.bottom-p.top < width/20 {
				continue
			}
		}
		if n := len(found); n > 0 && found[n-1].x == r.x {
			found[n-1].bottom = r.bottom
		} else {
			found = append(found, column{r.x, r.top, r.bottom})
		}
	}
	return found
}

// correlation returns Pearson's correlation between the values, which spread over the columns first to last, and the
// tops of a curve's columns, or, if middle, their middles. A column shows several values: its top is the largest, its
// bottom the smallest.
func correlation(all []column, first, last int, values []float64, middle bool) float64 {
	var n, sx, sy, xx, yy, xy float64
	for _, c := range all {
		from := (c.x - first) * len(values) / (last - first + 1)
		to := max(from+1, (c.x-first+1)*len(values)/(last-first+1))
		least, most := slices.Min(values[from:to]), slices.Max(values[from:to])
		x, y := most, -float64(c.top)
		if middle {
			x, y = (least+most)/2, -float64(c.top+c.bottom)/2
		}
		n, sx, sy, xx, yy, xy = n+1, sx+x, sy+y, xx+x*x, yy+y*y, xy+x*y
	}
	spread := (n*xx - sx*sx) * (n*yy - sy*sy)
	if !(spread > 0) {
		return 0
	}
	return (n*xy - sx*sy) / math.Sqrt(spread)
}

// Draw returns a PNG picture of values at equal intervals: a curve and two axes.
func Draw(values []float64) []byte {
	const width, height, left, foot = 480, 240, 40, 220
	drawn := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{
		color.White, color.Black, color.RGBA{0xc0, 0x20, 0x20, 0xff},
	})
	for x := left; x < width-10; x++ {
		drawn.SetColorIndex(x, foot, 1)
	}
	for y := 10; y < foot; y++ {
		drawn.SetColorIndex(left, y, 1)
	}
	most, before := 0.0, foot-2
	for _, v := range values {
		most = max(most, v)
	}
	for x := left + 2; x < width-12 && most > 0; x++ {
		y := foot - 2 - int(values[(x-left-2)*len(values)/(width-left-14)]/most*(foot-20))
		for at := min(y, before); at <= max(y, before)+1; at++ {
			drawn.SetColorIndex(x, at, 2)
		}
		before = y
	}
	var b bytes.Buffer
	_ = png.Encode(&b, drawn) // into memory, and of a valid size
	return b.Bytes()
}
