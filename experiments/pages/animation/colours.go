package animation

import (
	"fmt"
	"image/color"
)

// Colours of the page of pausenet view in its light theme (experiments/pages/view/page/view.css).
var (
	paper      = rgb(0xffffff)
	ink        = rgb(0x1b1f24)
	muted      = rgb(0x57606a)
	rule       = rgb(0xd5dae0)
	card       = rgb(0xeef1f5)
	switchFill = rgb(0xe4ebf3)
	switchEdge = rgb(0x5b7794)
	hostFill   = rgb(0xf4f6f8)
	hostEdge   = rgb(0x8492a0)
	queued     = rgb(0xd97706)
	halted     = rgb(0xc81e1e)
	way        = rgb(0xffe08a)
	// busy lists the colours of links, by utilisation.
	busy = []color.RGBA{
		rgb(0xcfd8e1), rgb(0xb3cde3), rgb(0x8fbcdf), rgb(0x66a7d8), rgb(0x3d8fcb), rgb(0x1c76b9), rgb(0x0a5c9c),
		rgb(0x06406f),
	}
	series = []color.RGBA{rgb(0x0068a8), rgb(0xc04d00), rgb(0x00785a), rgb(0xa03d78), rgb(0x856000), rgb(0x6a4fc3)}
)

// palette lists all colours of pictures: transparent first, then those above, and as many mixtures as edges need.
var palette = mixtures()

func mixtures() color.Palette {
	all := color.Palette{color.RGBA{}}
	seen := map[color.RGBA]bool{}
	add := func(c color.RGBA) {
		if !seen[c] {
			seen[c] = true
			all = append(all, c)
		}
	}
	mix := func(a, b color.RGBA, steps int) {
		for i := range steps + 1 {
			part := func(x, y uint8) uint8 { return uint8((int(x)*(steps-i) + int(y)*i) / steps) }
			add(color.RGBA{part(a.R, b.R), part(a.G, b.G), part(a.B, b.B), 255})
		}
	}
	mix(paper, ink, 12)
	mix(paper, muted, 8)
	mix(paper, halted, 8)
	for _, c := range append([]color.RGBA{rule, card, hostEdge, queued, way}, series...) {
		mix(paper, c, 5)
	}
	for _, c := range busy {
		mix(paper, c, 4)
		mix(way, c, 3)
	}
	mix(switchFill, ink, 6)
	mix(hostFill, ink, 6)
	mix(switchFill, switchEdge, 4)
	mix(paper, switchEdge, 4)
	mix(hostFill, hostEdge, 4)
	mix(card, ink, 4)
	mix(card, muted, 4)
	for _, c := range []color.RGBA{halted, queued, hostEdge} {
		mix(way, c, 3)
	}
	for _, c := range series {
		mix(card, c, 3)
	}
	if len(all) > 256 {
		panic(fmt.Sprintf("animation: %d colours", len(all)))
	}
	return all
}

func rgb(v uint32) color.RGBA { return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255} }
