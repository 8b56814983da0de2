package animation

import (
	"fmt"

	"github.com/pausenet/pausenet/units"
)

// drawLegend draws one line that explains the symbols.
func (s *scene) drawLegend(y float64) {
	p := s.pen
	const size = 12.0
	x := margin
	item := func(wide float64, said string, sample func(left float64)) {
		if x+wide+6+p.width(said, size, false) > s.width()-margin {
			return
		}
		sample(x)
		p.text(said, point{x + wide + 6, y}, size, false, muted, leftOf)
		x += wide + 6 + p.width(said, size, false) + 20
	}
	item(30, "paused", func(left float64) {
		p.line(halted, 2.4, []float64{5, 3.5}, point{left, y}, point{left + 30, y})
	})
	item(22, "queue, up to "+number(float64(s.peak), units.Sizes), func(left float64) {
		p.box(queued, left, y-3.5, left+22, y+3.5)
	})
	item(56, "link 0 to 100 % busy", func(left float64) {
		part := 56 / float64(len(busy))
		for i, c := range busy {
			half := 1 + 3*float64(i)/float64(len(busy))
			p.box(c, left+float64(i)*part, y-half, left+float64(i+1)*part, y+half)
		}
	})
	if tag := s.highlighted(); tag != "" && len(s.runs[0].path(tag)) > 0 {
		item(26, "path of "+tag, func(left float64) { p.box(way, left, y-5, left+26, y+5) })
	}
	if s.perSecond > 0 && s.slowEnough() {
		item(10, "PAUSE on its way", func(left float64) { p.disc(halted, point{left + 5, y}, 4) })
	}
	if !s.runs[0].Recorded {
		item(26, "not sampled", func(left float64) {
			p.line(hostEdge, 1, []float64{2, 3}, point{left, y}, point{left + 26, y})
		})
	}
	item(0, s.runs[0].Fabric, func(float64) {})
}

// slowEnough reports whether PFC frames are seen on their way.
func (s *scene) slowEnough() bool {
	for _, l := range s.runs[0].Links {
		if 2*s.step <= l.Delay {
			return true
		}
	}
	return false
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
