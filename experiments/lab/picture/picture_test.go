package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"slices"
	"testing"
)

// values returns a function's values at 0, 2, ..., 998.
func values(f func(x float64) float64) (all []float64) {
	for x := 0.0; x < 1000; x += 2 {
		all = append(all, f(x))
	}
	return all
}

func peak(x, at, width float64) float64 { return math.Exp(-math.Pow((x-at)/width, 2)) }

// two is the first curve of testdata/matplotlib.png, tent the second.
func two(x float64) float64  { return 100*peak(x, 300, 80) + 30*peak(x, 600, 40) }
func tent(x float64) float64 { return max(0, 80-math.Abs(x-500)/4) }

// TestMatplotlib checks a picture that matplotlib 3.6.3 drew, of two curves with grid, legend and letters: both are found
// in it, and others are not.
func TestMatplotlib(t *testing.T) {
	data, err := os.ReadFile("testdata/matplotlib.png")
	if err != nil {
		t.Fatal(err)
	}
	backwards := values(two)
	slices.Reverse(backwards)
	for what, c := range map[string]struct {
		values      []float64
		least, most float64
	}{
		"first":     {values(two), 0.98, 1},
		"second":    {values(tent), 0.98, 1},
		"backwards": {backwards, -1, 0.85},
		"later":     {values(func(x float64) float64 { return two(x - 150) }), -1, 0.85},
		"one peak":  {values(func(x float64) float64 { return peak(x, 700, 80) }), -1, 0.85},
		"a ramp":    {values(func(x float64) float64 { return x }), -1, 0.85},
		"constant":  {values(func(float64) float64 { return 7 }), -1, 0.85},
	} {
		if got, err := Likeness(data, c.values); err != nil || got < c.least || got > c.most {
			t.Errorf("%s: likeness %g, want %g to %g (%v)", what, got, c.least, c.most, err)
		}
	}
}

// TestDraw checks that a drawn picture is like its values, and unlike others.
func TestDraw(t *testing.T) {
	drawn := Draw(values(two))
	if got, err := Likeness(drawn, values(two)); err != nil || got < 0.98 {
		t.Errorf("likeness %g, %v", got, err)
	}
	if got, err := Likeness(drawn, values(tent)); err != nil || got > 0.85 {
		t.Errorf("likeness to another curve %g, %v", got, err)
	}
}

// TestRefused checks pictures without a curve, and files that are none.
func TestRefused(t *testing.T) {
	encoded := func(drawn image.Image) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, drawn); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	huge := image.NewPaletted(image.Rect(0, 0, 1<<12, 1<<11), color.Palette{color.White})
	for what, data := range map[string][]byte{
		"no picture": []byte("queue"),
		"nothing":    nil,
		"blank":      encoded(image.NewGray(image.Rect(0, 0, 300, 200))),
		"tiny":       encoded(image.NewGray(image.Rect(0, 0, 1, 1))),
		"huge":       encoded(huge),
	} {
		if got, err := Likeness(data, values(two)); err == nil {
			t.Errorf("%s: likeness %g, want an error", what, got)
		}
	}
	if got, err := Likeness(encoded(noise()), values(two)); err == nil && got > 0.85 {
		t.Errorf("noise: likeness %g", got)
	}
}

// noise returns a picture of many colours without a curve.
func noise() image.Image {
	drawn := image.NewRGBA(image.Rect(0, 0, 300, 200))
	state := uint32(1)
	for i := range drawn.Pix {
		state = state*1664525 + 1013904223
		drawn.Pix[i] = byte(state >> 24)
	}
	return drawn
}

// FuzzLikeness checks that no file makes it panic.
func FuzzLikeness(f *testing.F) {
	data, err := os.ReadFile("testdata/matplotlib.png")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(Draw(values(tent)))
	curve := values(two)
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := Likeness(data, curve); err == nil && !(got >= -1 && got <= 1.0000001) {
			t.Errorf("likeness %g", got)
		}
	})
}
