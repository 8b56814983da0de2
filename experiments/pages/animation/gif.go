package animation

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
)

// movie collects the frames of a GIF. Each holds the difference from the previous frame.
type movie struct {
	gif.GIF
	last *image.Paletted
}

// lastStays sets how long the last frame stays before the animation restarts, in hundredths of a second.
const lastStays = 150

// add appends a frame that stays for a number of hundredths of a second.
func (m *movie) add(frame *image.RGBA, delay int) {
	now := quantized(frame)
	box := now.Rect
	if m.last != nil {
		box = changed(m.last, now)
		if box.Empty() {
			m.Delay[len(m.Delay)-1] += delay
			return
		}
	}
	part := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			// The transparent colour repeats more often than what it leaves, which compresses better.
			if i := now.PixOffset(x, y); m.last == nil || now.Pix[i] != m.last.Pix[i] {
				part.Pix[part.PixOffset(x, y)] = now.Pix[i]
			}
		}
	}
	m.Image, m.Delay, m.Disposal = append(m.Image, part), append(m.Delay, delay), append(m.Disposal, gif.DisposalNone)
	m.last = now
}

// changed returns the smallest rectangle that contains all differences between two pictures.
func changed(a, b *image.Paletted) (box image.Rectangle) {
	for y := a.Rect.Min.Y; y < a.Rect.Max.Y; y++ {
		row := a.Pix[a.PixOffset(0, y):a.PixOffset(a.Rect.Max.X, y)]
		other := b.Pix[b.PixOffset(0, y):b.PixOffset(b.Rect.Max.X, y)]
		if bytes.Equal(row, other) {
			continue
		}
		first, last := 0, len(row)-1
		for row[first] == other[first] {
			first++
		}
		for row[last] == other[last] {
			last--
		}
		box = box.Union(image.Rect(first, y, last+1, y+1))
	}
	return box
}

func (m *movie) encode() ([]byte, error) {
	m.Config = image.Config{ColorModel: palette, Width: m.last.Rect.Dx(), Height: m.last.Rect.Dy()}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &m.GIF)
	return b.Bytes(), err
}

// quantized returns a picture in the colours of palette.
func quantized(full *image.RGBA) *image.Paletted {
	out := image.NewPaletted(full.Rect, palette)
	nearest := map[[4]uint8]uint8{}
	for i := range out.Pix {
		c := [4]uint8(full.Pix[4*i : 4*i+4])
		n, known := nearest[c]
		if !known {
			n = uint8(1 + palette[1:].Index(color.RGBA{c[0], c[1], c[2], c[3]})) // 0 is transparent
			nearest[c] = n
		}
		out.Pix[i] = n
	}
	return out
}
