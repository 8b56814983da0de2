package view_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/testenv/browser"
)

// mostPicture is how many bytes a picture of the documents may have.
const mostPicture = 150_000

// pictures are those that documents have of the page: of which runs, at which address. A flow's and a place's are numbers and names of the scenario's.
var pictures = []struct {
	file, scenario string
	controllers    []string
	address        string
	height         int64
}{
	{"view-dcon-burst.png", "dcon-burst", []string{"dcqcn", "dcon"}, "#t=20200000&run=0&beside=1&flow=0", 800},
	{"view-why.png", "dcon-burst", []string{"dcqcn"}, "#t=20200000&flow=0&at=S1-eth3", 1040},
	{"view-pfc-storm.png", "pfc-storm", []string{"none", "watchdog"}, "#t=900000&run=0&beside=1&flow=1", 800},
}

// TestPictures: the pictures are small, and a document shows each. With -update they are made.
func TestPictures(t *testing.T) {
	if *testenv.Update {
		browser.Need(t)
	}
	documents := ""
	for _, name := range []string{"../../README.md", "../../docs/view.md", "../../docs/why.md", "../../docs/faults.md"} {
		documents += string(read(t, name))
	}
	for _, p := range pictures {
		path := filepath.Join("..", "..", "docs", "figures", p.file)
		if *testenv.Update {
			text, err := scenario.BuiltinSource(p.scenario)
			if err != nil {
				t.Fatal(err)
			}
			b := open(t, p.address, runWith(t, string(text), runner.Options{Record: true, Why: true}, p.controllers...))
			b.Do(chromedp.EmulateViewport(1280, p.height))
			b.Wait("innerWidth === 1280")
			picture, before := b.Picture(), []byte(nil)
			for !bytes.Equal(picture, before) { // until the page has come to rest
				picture, before = b.Picture(), picture
			}
			if err := os.WriteFile(path, few(t, picture), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(read(t, path)); n > mostPicture {
			t.Errorf("%s is %d bytes", p.file, n)
		}
		if !strings.Contains(documents, "figures/"+p.file) {
			t.Errorf("no document shows %s", p.file)
		}
	}
}

// few is a picture of the 256 colours that it has most of: a page's others are of the edges of its letters.
func few(t *testing.T, data []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	box := full.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	var palette color.Palette
	for _, c := range most[:min(len(most), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	out := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := at(x, y)
			n, known := nearest[c]
			if !known {
				n = uint8(palette.Index(c))
				nearest[c] = n
			}
			out.SetColorIndex(x, y, n)
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
