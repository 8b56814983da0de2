package raster

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"
)

// drawn is what stands between an svg element of 40 by 20 units, at two pixels a unit.
func drawn(t *testing.T, content string) image.Image {
	t.Helper()
	svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20" font-size="10"><title>not drawn</title>` + content + `</svg>`)
	data, err := PNG(svg, 2)
	if err != nil {
		t.Fatalf("%s: %v", content, err)
	}
	if again, err := PNG(svg, 2); err != nil || !bytes.Equal(data, again) {
		t.Errorf("%s: other bytes the second time (%v)", content, err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", content, err)
	}
	if picture.Bounds() != image.Rect(0, 0, 80, 40) {
		t.Fatalf("%s: %v", content, picture.Bounds())
	}
	return picture
}

// ink is how much of the picture is not white, in pixels, and where it begins and ends.
func ink(picture image.Image) (amount float64, bounds image.Rectangle) {
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if g := color.GrayModel.Convert(picture.At(x, y)).(color.Gray); g.Y < 255 {
				amount += 1 - float64(g.Y)/255
				bounds = bounds.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return amount, bounds
}

const black = `fill="#000000"`

// TestShapes: what is drawn covers the pixels that it should, as counted by hand.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		content string
		amount  float64 // pixels
		bounds  image.Rectangle
	}{
		{``, 0, image.Rectangle{}},
		{`<rect ` + black + ` x="5" y="3" width="10" height="4"/>`, 20 * 8, image.Rect(10, 6, 30, 14)},
		{`<rect ` + black + ` width="100%" height="100%"/>`, 80 * 40, image.Rect(0, 0, 80, 40)},
		{`<g transform="translate(5 3)"><g transform="translate(1 -1)"><rect ` + black + ` x="0" y="0" width="1" height="1"/></g></g>`, 4, image.Rect(12, 4, 14, 6)},
		{`<path fill="none" stroke="#000000" d="M5 10H15"/>`, 20 * 2, image.Rect(10, 19, 30, 21)},
		{`<path fill="none" stroke="#000000" stroke-width="3" d="M5 10h-2M5 10h2 3"/>`, 14 * 6, image.Rect(6, 17, 20, 23)},
		{`<path fill="none" stroke="#000000" d="M5 5V10M10 10l0-4.5l0 0 0-.5"/>`, 2 * 10 * 2, image.Rect(9, 10, 21, 20)},
		{`<g stroke-width="4"><path fill="none" stroke="#000000" stroke-dasharray="3 2" d="M0 10H20"/></g>`, 4 * 6 * 8, image.Rect(0, 16, 36, 24)},
		{`<clipPath id="c"><rect x="2" y="2" width="5" height="5"/></clipPath><g transform="translate(1 0)"><g clip-path="url(#c)"><rect ` + black + ` x="0" y="0" width="40" height="20"/></g></g>`, 100, image.Rect(6, 4, 16, 14)},
		// A corner is round: a quarter of a disc of radius 4 in place of a square of 4 by 4.
		{`<path fill="none" stroke="#000000" stroke-width="4" d="M0 10H20V20"/>`, 40*8 + 8*20 - 4*4 + math.Pi*16/4, image.Rect(0, 16, 44, 40)},
		{`<circle ` + black + ` cx="20" cy="10" r="5"/>`, math.Pi * 100, image.Rect(30, 10, 50, 30)},
		{`<circle fill="none" stroke="#000000" stroke-width="2" cx="20" cy="10" r="5"/>`, math.Pi * (144 - 64), image.Rect(28, 8, 52, 32)},
	} {
		amount, bounds := ink(drawn(t, c.content))
		if math.Abs(amount-c.amount) > 0.01*c.amount || bounds != c.bounds {
			t.Errorf("%s: %.1f pixels in %v, want %.1f in %v", c.content, amount, bounds, c.amount, c.bounds)
		}
	}
	if got := drawn(t, `<rect fill="#c04d00" x="0" y="0" width="1" height="1"/>`).At(1, 1); got != (color.RGBA{0xc0, 0x4d, 0, 255}) {
		t.Errorf("colour %v", got)
	}
	// The clip ends with its group, and a box that is no shape of its own leaves nothing.
	if amount, _ := ink(drawn(t, `<clipPath id="c"><rect x="2" y="2" width="5" height="5"/></clipPath><g clip-path="url(#c)"></g><rect `+black+` x="20" y="0" width="1" height="1"/>`)); amount != 4 {
		t.Errorf("after the clip: %v pixels", amount)
	}
}

// TestLongLine: a line that is stroked piece by piece looks like the same line in one, its dashes too.
func TestLongLine(t *testing.T) {
	for _, dash := range []string{"", ` stroke-dasharray="3 2.1"`, ` stroke-dasharray="1.2 4"`} {
		var many strings.Builder
		const n = 5*piece + 1
		for range n {
			fmt.Fprintf(&many, "l%.10f 0", 40.0/n)
		}
		path := func(d string) image.Image {
			return drawn(t, `<path fill="none" stroke="#000000" stroke-width="6"`+dash+` d="M0 10`+d+`"/>`)
		}
		one, pieces := path("H40"), path(many.String())
		for x := range 80 {
			a, b := color.GrayModel.Convert(one.At(x, 20)).(color.Gray).Y, color.GrayModel.Convert(pieces.At(x, 20)).(color.Gray).Y
			// Where a dash ends a pixel may be covered in part, and the rasteriser's grid is a 64th of a pixel.
			if math.Abs(float64(a)-float64(b)) > 32 {
				t.Errorf("dashes%s, pixel %d: %d in one, %d in pieces", dash, x, a, b)
			}
		}
	}
}

// TestText: built-in letters, where the anchor puts them; heavier if bold; with a halo behind and not before them.
func TestText(t *testing.T) {
	text := func(attributes, s string) (float64, image.Rectangle) {
		return ink(drawn(t, `<text y="12" `+black+` `+attributes+`>`+s+`</text>`))
	}
	startInk, start := text(`x="20"`, "HIH")
	_, middle := text(`x="20" text-anchor="middle"`, "HIH")
	_, end := text(`x="20" text-anchor="end"`, "HIH")
	// An H of Liberation Sans is 1409 high and 1479 wide, an I 569, of 2048 to the em of 20 pixels: 13.8 and 34.4 in all.
	if h := start.Dy(); h < 13 || h > 15 || start.Max.Y != 24 {
		t.Errorf("height %d, base line %d", h, start.Max.Y)
	}
	if start.Min.X < 40 || start.Max.X > 75 || start.Dx() < 30 || start.Dx() > 35 {
		t.Errorf("from 20 units: %v", start)
	}
	if shift := start.Min.X - middle.Min.X; shift < 16 || shift > 18 {
		t.Errorf("the middle is %d pixels to the left of the start", shift)
	}
	if shift := start.Min.X - end.Min.X; shift < 33 || shift > 36 {
		t.Errorf("the end is %d pixels to the left of the start", shift)
	}
	if bold, _ := text(`x="20" font-weight="600"`, "HIH"); bold < startInk*1.2 {
		t.Errorf("bold has %.1f pixels of ink, regular %.1f", bold, startInk)
	}
	if large, _ := text(`x="0" font-size="14"`, "HIH"); large < startInk*1.5 {
		t.Errorf("at 14 units %.1f pixels of ink, at 10 %.1f", large, startInk)
	}
	// What drawings write beyond ASCII is in the font: none of it is the empty box.
	_, box := text(`x="2"`, "\U0001F600")
	if box.Empty() {
		t.Fatal("a character that the font lacks leaves no trace")
	}
	missing := drawn(t, `<text x="2" y="12" `+black+`>`+"\U0001F600"+`</text>`)
	for _, s := range "µ≤±–—→·×äΔ%" {
		if same(missing, drawn(t, `<text x="2" y="12" `+black+`>`+string(s)+`</text>`)) {
			t.Errorf("the font lacks %q", s)
		}
	}
	// A halo over a grey paper: white beside the letters, which are as black as without.
	grey := `<rect fill="#808080" width="100%" height="100%"/>`
	halo := drawn(t, grey+`<text x="10" y="15" font-size="16" `+black+` stroke="#ffffff" stroke-width="3" stroke-linejoin="round" paint-order="stroke">I</text>`)
	plain := drawn(t, grey+`<text x="10" y="15" font-size="16" `+black+`>I</text>`)
	whites, blacks := 0, 0
	for y := range 40 {
		for x := range 80 {
			if halo.At(x, y) == (color.RGBA{255, 255, 255, 255}) {
				whites++
			}
			if plain.At(x, y) == (color.RGBA{0, 0, 0, 255}) {
				if blacks++; halo.At(x, y) != plain.At(x, y) {
					t.Fatalf("the halo is over the letter at %d, %d", x, y)
				}
			}
		}
	}
	if whites < 50 || blacks < 20 {
		t.Errorf("%d white and %d black pixels", whites, blacks)
	}
}

func same(a, b image.Image) bool {
	return bytes.Equal(a.(*image.RGBA).Pix, b.(*image.RGBA).Pix)
}

// TestUnknown: nothing of a drawing is left out in silence.
func TestUnknown(t *testing.T) {
	wrap := func(s string) string { return `<svg viewBox="0 0 4 4">` + s + `</svg>` }
	for _, c := range []struct{ svg, want string }{
		{"", "no drawing"},
		{"<g/>", "comes before svg"},
		{"<svg", "syntax error"},
		{`<svg/>`, `viewBox ""`},
		{`<svg viewBox="0 0 1e6 1e6"/>`, "pixels"},
		{`<svg viewBox="0 0 NaN 1"/>`, "pixels"},
		{wrap(`<ellipse/>`), "ellipse: is unknown"},
		{wrap(`<rect x="0" y="0" width="1" height="1" rx="3"/>`), "attribute rx is unknown"},
		{wrap(`<rect x="0" y="0" width="1"/>`), `height "" is no number`},
		{wrap(`<rect fill="red" x="0" y="0" width="1" height="1"/>`), `colour "red"`},
		{wrap(`<path fill="none" stroke="#000000" d="M0 0C1 1 2 2 3 3"/>`), "is no number"},
		{wrap(`<path fill="none" d="M0 0Z"/>`), "is no number"},
		{wrap(`<path fill="none" d="M0 0L1"/>`), "path command"},
		{wrap(`<path fill="none" d="H1"/>`), "path command"},
		{wrap(`<path d="M0 0H1"/>`), "a filled path"},
		{wrap(`<g transform="rotate(3)"/>`), "transform"},
		{wrap(`<g clip-path="url(#c)"/>`), "clip-path"},
		{wrap(`<text x="0" y="0" text-anchor="left">a</text>`), "text-anchor"},
	} {
		if _, err := PNG([]byte(c.svg), 2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.svg, err, c.want)
		}
	}
}
