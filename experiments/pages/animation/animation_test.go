package animation

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/experiments/observe"
	"github.com/pausenet/pausenet/experiments/results/replay"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

const burst = `
description: "An incast, and what it does to a flow that has nothing to do with it"
topology:
  name: hall
  leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4}
flows:
  - {tag: long, from: h0, to: h7, size: unbounded}
  - {tag: incast, from: h1..h5, to: h6, size: 600KB, start: 100us}
duration: 1ms
sample: {interval: 10us, ports: ["leaf1:h6", "h1:leaf0"], flows: [long]}
report:
  - {title: Queue, series: [{label: to h6, queue: "leaf1:h6"}]}
  - {title: Goodput, series: [{label: long, goodput: long}, {label: incast, goodput: incast}]}
controllers: [dcqcn, dcon]
switch: {pfc: {xoff: 60KB, xon: 50KB}}
`

// replayOf runs a scenario, with a record or without, and returns its replay.
func replayOf(t *testing.T, text, controller string, record bool) []byte {
	t.Helper()
	s, err := scenario.Reading{}.Parse("burst.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), controller)
	o := runner.Options{Controller: controller, Seed: 1, Directory: folder}
	if record {
		o.Observers = []runner.NewObserver{observe.Record}
	}
	if _, err := runner.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	data, _, err := replay.Read(folder, controller)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// red counts the pixels of a box that have the colour of PAUSE.
func red(picture image.Image, box image.Rectangle) (n int) {
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			if color.RGBAModel.Convert(picture.At(x, y)) == halted {
				n++
			}
		}
	}
	return n
}

// frames returns the pictures that a GIF shows, one after the other.
func frames(t *testing.T, data []byte) (all []*image.RGBA, delay []int) {
	t.Helper()
	g, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	now := image.NewRGBA(image.Rect(0, 0, g.Config.Width, g.Config.Height))
	for _, part := range g.Image {
		draw.Draw(now, part.Rect, part, part.Rect.Min, draw.Over)
		all = append(all, &image.RGBA{Pix: slices.Clone(now.Pix), Stride: now.Stride, Rect: now.Rect})
	}
	return all, g.Delay
}

// TestGIF draws two runs twice: the bytes are equal, size and length are as the options say, and red appears when ports
// are paused.
func TestGIF(t *testing.T) {
	runs := [][]byte{replayOf(t, burst, "dcqcn", true), replayOf(t, burst, "dcon", true)}
	begin, end := 50*vtime.Microsecond, 400*vtime.Microsecond
	o := Options{From: &begin, To: &end, Length: 3 * time.Second, Width: 480, Rate: 7}
	r, err := GIF("burst", runs, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.From != begin || r.To != end || r.Frames != 21 {
		t.Errorf("it shows %v to %v in %d frames", r.From, r.To, r.Frames)
	}
	again, err := GIF("burst", runs, o)
	if err != nil || !bytes.Equal(r.Data, again.Data) {
		t.Errorf("a second GIF has other bytes: %v", err)
	}
	all, delay := frames(t, r.Data)
	sum := -lastStays
	for _, d := range delay {
		sum += d
	}
	if size := all[0].Rect.Size(); size.X != 480 || sum != 300 {
		t.Errorf("it is %v large and plays %d hundredths of a second", size, sum)
	}
	// Of the fabrics alone, without the legend: before the incast, and in it.
	fabrics := image.Rect(0, int(titleHigh/2), 480, int((titleHigh+captionHigh+fabricHigh)/2))
	if before, in := red(all[0], fabrics), red(all[len(all)-1], fabrics); before != 0 || in < 20 {
		t.Errorf("%d and %d red pixels, want none before the incast and some in it", before, in)
	}
	// Without a chosen time the first frame, which previews show, has PAUSE.
	whole, err := GIF("burst", runs, Options{Length: 3 * time.Second, Width: 480, Rate: 7})
	if err != nil {
		t.Fatal(err)
	}
	if all, _ = frames(t, whole.Data); red(all[0], fabrics) < 20 {
		t.Errorf("%d red pixels in the first frame", red(all[0], fabrics))
	}
}

// TestPNG draws one moment of a run: by default one in which ports are paused.
func TestPNG(t *testing.T) {
	for _, record := range []bool{true, false} {
		r, err := PNG("burst", [][]byte{replayOf(t, burst, "dcqcn", record)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(r.Data))
		if err != nil {
			t.Fatal(err)
		}
		fabric := image.Rect(0, int(titleHigh), int(wideColumn), int(titleHigh+captionHigh+fabricHigh))
		if n := red(picture, fabric); picture.Bounds().Dx() != int(wideColumn) || r.From < 100*vtime.Microsecond || n < 20 {
			t.Errorf("recorded %v: at %v, %v large, %d red pixels", record, r.From, picture.Bounds().Size(), n)
		}
	}
}

// TestStretch checks that by default the animation starts before the first PAUSE and ends after the last; without PAUSE
// it covers the flows.
func TestStretch(t *testing.T) {
	calm := strings.Replace(burst, "h1..h5", "h5", 1)
	for name, text := range map[string]string{"paused": burst, "calm": calm} {
		packed := replayOf(t, text, "dcqcn", true)
		s, err := newScene("", [][]byte{packed}, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		first, last := s.runs[0].firstAndLast()
		if name == "calm" {
			if !math.IsInf(first, 1) {
				t.Fatal("there is PAUSE")
			}
			first, last = 0, s.runs[0].end
		}
		if s.from > first || s.to < last || s.from < first-100_000 || s.to > s.runs[0].end {
			t.Errorf("%s: %g to %g, want about %g to %g", name, s.from, s.to, first, last)
		}
	}
}

// TestRefused checks that impossible options are refused with the possible ones.
func TestRefused(t *testing.T) {
	run := replayOf(t, burst, "dcqcn", false)
	at := func(t vtime.Time) *vtime.Time { return &t }
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Width: 100}, "width 100: use 320 to 1920"},
		{Options{Rate: 99}, "use 1 to 50"},
		{Options{Length: time.Hour}, "use at most 10m0s"},
		{Options{From: at(5 * vtime.Microsecond), To: at(vtime.Microsecond)}, "use an end after the begin"},
		{Options{From: at(vtime.Second)}, "the run goes from 0 to 1ms"},
		{Options{Length: 10 * time.Minute, Width: 1920}, "lower the width"},
	} {
		if _, err := GIF("", [][]byte{run}, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := GIF("", [][]byte{run, run, run}, Options{}); err == nil {
		t.Error("three runs are drawn")
	}
	if _, err := GIF("", [][]byte{[]byte("nothing")}, Options{}); err == nil {
		t.Error("what is no replay is drawn")
	}
}

// TestPauses checks that a port is paused from the arrival of a PAUSE until that of a RESUME or the expiry of the
// PAUSE, and is shown as paused for a while afterwards.
func TestPauses(t *testing.T) {
	r := &run{Decoded: &replay.Decoded{Header: replay.Header{
		Quanta: 65535, Ports: []string{"a-eth1", "b-eth1"}, Nodes: make([]replay.Node, 2),
		Links: []replay.Link{{A: 0, B: 1, Rate: 40e9, Delay: 5000}},
	}}}
	r.takePorts()
	r.pfc = [4][]int64{{10_000, 30_000, 1_000_000}, {1, 1, 1}, {3, 3, 3}, {1, 0, 1}}
	r.takePauses()
	for _, c := range []struct {
		t, step float64
		want    bool
	}{
		{14_999, 0, false},
		{15_000, 0, true},
		{34_999, 0, true},
		{35_000, 0, false},
		{40_000, 100_000, true},    // for a fifth of the time since the last frame
		{40_000, 1_000_000, false}, // for a fiftieth
		{1_005_000, 0, true},
		{1_843_000, 0, true},
		{1_844_000, 0, false}, // it expires 65535 quanta of 12.8 ns after it has arrived
	} {
		if got := r.paused(0, c.t, c.step); got != c.want {
			t.Errorf("at %g ns, %g after the last frame: paused %v", c.t, c.step, got)
		}
		if r.paused(1, c.t, c.step) {
			t.Errorf("at %g ns the sender of the PAUSE is paused", c.t)
		}
	}
}

// TestLayout checks that nodes do not overlap, in the fabrics of built-in scenarios.
func TestLayout(t *testing.T) {
	for _, topology := range []string{
		"star: {hosts: 9}", "leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 8}",
		"leafspine: {spines: 8, leaves: 10, hosts_per_leaf: 24}",
		"fattree: {k: 4}", "rail: {rails: 4, groups: 2, hosts_per_group: 4, spines: 4}",
		"planes: {planes: 2, leaves: 2, hosts_per_leaf: 4, spines: 2}",
	} {
		text := "topology: {" + topology + "}\nflows: [{tag: one, from: h0, to: h1, size: 1KB}]\nduration: 10us\n"
		s, err := newScene("", [][]byte{replayOf(t, text, "dcqcn", false)}, &Options{})
		if err != nil {
			t.Fatal(topology, err)
		}
		l := newLayout(s.runs[0], 2)
		for i, a := range l.at {
			for k, b := range l.at[:i] {
				if math.Abs(a.x-b.x) < a.w+b.w && math.Abs(a.y-b.y) < a.h+b.h {
					t.Errorf("%s: %s and %s stand on each other", topology, l.run.Nodes[i].Name, l.run.Nodes[k].Name)
				}
			}
			if a.x-a.w < l.left || a.x+a.w > l.right || a.y-a.h < l.top || a.y+a.h > l.bottom {
				t.Errorf("%s: %s is out of bounds", topology, l.run.Nodes[i].Name)
			}
		}
	}
}

// TestNumbers: numbers have three significant digits at most.
func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(0, units.Sizes), "0"},
		{number(5_453_000, units.Sizes), "5.45 MB"},
		{number(20e9, units.Rates), "20 Gbps"},
		{number(1234, unitsOf(scenario.PauseRate)), "1.23k/s"},
		{number(2, unitsOf(scenario.PortState)), "2"},
		{clock(20_130_300, 800), "20.1303 ms"},
		{clock(20_130_300, 60_000), "20.13 ms"},
		{clock(12e9, 2e8), "12.0 s"},
		{factor(1333), "1300"},
		{factor(0.0512), "0.051"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestDocumented checks that the README shows the animation written by `make pictures`, and that it is small enough.
func TestDocumented(t *testing.T) {
	info, err := os.Stat("../../../docs/figures/dcon-burst.gif")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil || info.Size() > 3_000_000 || !bytes.Contains(readme, []byte("docs/figures/dcon-burst.gif")) {
		t.Errorf("%v, %d bytes; the README must show it", err, info.Size())
	}
}
