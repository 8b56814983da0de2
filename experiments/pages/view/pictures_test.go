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

	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/testenv/browser"
)

// mostPicture limits the bytes of a picture in the documents.
const mostPicture = 150_000

// pictures lists the documents' pictures of the page, with their runs and addresses. An address names flows and ports
// as the scenario does.
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

// experiment names the document whose first scenario's report is shown in experiment-report.png.
const experiment = "../../../docs/experiment.md"

// TestPictures checks that the pictures are small, and that a document shows each. With -update it takes them.
func TestPictures(t *testing.T) {
	if *testenv.Update {
		browser.Need(t)
	}
	documents := ""
	for _, name := range []string{
		"../../../README.md", "../../../docs/view.md", "../../../docs/why.md", "../../../docs/faults.md",
		experiment,
	} {
		documents += string(read(t, name))
	}
	for _, p := range pictures {
		path := filepath.Join("..", "..", "..", "docs", "figures", p.file)
		if *testenv.Update {
			text, err := scenario.BuiltinSource(p.scenario)
			if err != nil {
				t.Fatal(err)
			}
			b := open(t, p.address, runWith(t, string(text), recorded, p.controllers...))
			b.Do(chromedp.EmulateViewport(1280, p.height))
			b.Wait("innerWidth === 1280")
			take(b, path)
		}
		checkPicture(t, path, documents)
	}
	path := filepath.Join("..", "..", "..", "docs", "figures", "experiment-report.png")
	if *testenv.Update {
		_, text, _ := strings.Cut(string(read(t, experiment)), "```yaml\n")
		text, _, _ = strings.Cut(text, "```")
		written, err := results.Read(runWith(t, "name: victim\n"+text, runner.Options{}, "none", "dcqcn"))
		if err != nil {
			t.Fatal(err)
		}
		page, err := written[0].Write("", nil)
		if err != nil {
			t.Fatal(err)
		}
		b := browser.Open(t, "file://"+page, "", 1280, 900)
		b.Do(chromedp.EmulateViewport(1280, 1140))
		b.Wait("document.documentElement.classList.contains('live') && innerWidth === 1280")
		take(b, path)
	}
	checkPicture(t, path, documents)
}

// take writes a picture of the window into a file, once the page has stopped changing.
func take(b *browser.Tab, path string) {
	b.Helper()
	picture, before := b.Picture(), []byte(nil)
	for !bytes.Equal(picture, before) {
		picture, before = b.Picture(), picture
	}
	if err := os.WriteFile(path, few(b.T, picture), 0o600); err != nil {
		b.Fatal(err)
	}
}

// checkPicture fails the test if a picture is large, or if no document shows it.
func checkPicture(t *testing.T, path, documents string) {
	t.Helper()
	if n := len(read(t, path)); n > mostPicture {
		t.Errorf("%s is %d bytes, want at most %d", path, n, mostPicture)
	}
	if !strings.Contains(documents, "figures/"+filepath.Base(path)) {
		t.Errorf("no document shows %s", path)
	}
}

// few reduces a picture to its 256 most frequent colours. A page's other colours are those of letters' edges.
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
