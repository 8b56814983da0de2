package report

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

var viewBox = regexp.MustCompile(`^<svg [^>]*viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)

// picture is a drawing as PNG: two pixels a unit, something on it, and the same bytes each time.
func picture(t *testing.T, name string, drawing []byte) image.Image {
	t.Helper()
	data, err := PNG(drawing)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if again, err := PNG(drawing); err != nil || !bytes.Equal(data, again) {
		t.Errorf("%s: other bytes the second time (%v)", name, err)
	}
	save(t, name+".png", string(data))
	p, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	box := viewBox.FindSubmatch(drawing)
	width, _ := strconv.ParseFloat(string(box[1]), 64)
	height, _ := strconv.ParseFloat(string(box[2]), 64)
	if size := p.Bounds().Size(); size.X != int(2*width+0.99) || size.Y != int(2*height+0.99) {
		t.Errorf("%s: %v pixels, the drawing has %g by %g units", name, size, width, height)
	}
	return p
}

// colours counts the picture's pixels by colour.
func colours(p image.Image) map[color.Color]int {
	all := map[color.Color]int{}
	for y := range p.Bounds().Dy() {
		for x := range p.Bounds().Dx() {
			all[p.At(x, y)]++
		}
	}
	return all
}

func rgb(hex string) color.Color {
	v, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		panic(err)
	}
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// TestTinyPNG: what lies where in the picture of the golden drawing, as its SVG says.
func TestTinyPNG(t *testing.T) {
	drawing, err := os.ReadFile(filepath.Join("testdata", "tiny.svg"))
	if err != nil {
		t.Fatal(err)
	}
	p := picture(t, "tiny", drawing)
	const down = 64 // where the chart begins
	for _, c := range []struct {
		what, colour string
		x, y         float64 // in units
	}{
		{"paper", light.paper, 5, 100},
		{"paper in the plot", light.paper, 100, down + 150},
		{"span", light.span, 230, down + 210},
		{"first line, high", light.series[0], 300, down + 227 - 158.4},
		{"first line, low", light.series[0], 100, down + 227 - 0.4}, // on the axis
		{"the gap", light.paper, 480, down + 227 - 158.4},
		{"second line", light.series[1], 48 + 2*498.0/4 + 2, down + 177.5 - 2*49.5/4},
		{"grid", light.grid, 100, down + 128},
		{"legend", light.series[0], 60, 36},
	} {
		// A dash may be off, and a line's edge between two pixels: the colour is near.
		found := false
		for dy := -2; dy <= 2; dy++ {
			for dx := -10; dx <= 10; dx++ {
				found = found || p.At(int(2*c.x)+dx, int(2*c.y)+dy) == rgb(c.colour)
			}
		}
		if !found {
			t.Errorf("%s: no %s near %g, %g", c.what, c.colour, c.x, c.y)
		}
	}
	if p.At(960, 2*(down+68)) != rgb(light.paper) {
		t.Error("something is drawn in the gap of the first line")
	}
	all := colours(p)
	if all[rgb(light.muted)] < 300 || all[rgb(light.ink)] < 200 {
		t.Errorf("%d pixels of muted and %d of other text", all[rgb(light.muted)], all[rgb(light.ink)])
	}
	if all[rgb(light.paper)] < p.Bounds().Dx()*p.Bounds().Dy()*3/4 {
		t.Error("the paper is not white")
	}
}

// TestPNGs: every kind of drawing can be a picture, with all of its lines.
func TestPNGs(t *testing.T) {
	r := synthetic()
	figures, err := Figures(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		all := colours(picture(t, f.Name, f.SVG))
		for i, c := range light.series {
			// A colour's lines and its samples in the legend are solid somewhere.
			if bytes.Contains(f.SVG, []byte(`<path class="s`+strconv.Itoa(i)+`"`)) && all[rgb(c)] < 10 {
				t.Errorf("%s: %d pixels of line %d", f.Name, all[rgb(c)], i)
			}
		}
	}
	bars, err := Figures(repeated())
	if err != nil {
		t.Fatal(err)
	}
	picture(t, "bars", bars[len(bars)-1].SVG)
	var b bytes.Buffer
	if err := WriteFigure(&b, r, "dcon"); err != nil {
		t.Fatal(err)
	}
	picture(t, "figure", b.Bytes())
	b.Reset()
	if err := WriteLines(&b, &Lines{Title: "MAPE <a>", Charts: []LineChart{{
		Name: "per round", XTitle: "round", Unit: Percent, Levels: []Level{{20, "limit"}},
		Lines: []NumberLine{{Label: "measured", X: []float64{1, 2, 3}, Y: []float64{12, 8, 3}, Dots: true}},
	}}}); err != nil {
		t.Fatal(err)
	}
	if all := colours(picture(t, "lines", b.Bytes())); all[rgb(light.series[0])] < 100 {
		t.Error("no line")
	}
}
