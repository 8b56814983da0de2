package animation

import (
	"image"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// Sizes in units. scene.scale holds the number of pixels per unit.
const (
	narrowColumn = 480.0 // width of a run beside another
	wideColumn   = 640.0 // width of a single run
	margin       = 14.0
	titleHigh    = 44.0
	captionHigh  = 26.0
	fabricHigh   = 236.0
	oneRow       = 24.0 // height of a chart's head with the legend beside the title
	twoRows      = 44.0 // the same with the legend below it
	chartHigh    = 104.0
	axisHigh     = 20.0
	legendHigh   = 30.0
	axisWide     = 54.0
)

// scene draws the frames of a picture.
type scene struct {
	title     string
	runs      []*run
	from, to  float64
	perSecond float64 // virtual time per second of the animation, in ns; 0 for a still picture
	column    float64 // width of a run
	scale     float64 // pixels per unit
	chartHead float64 // oneRow or twoRows
	step      float64 // virtual time between frames
	peak      int64   // longest queue
	fabrics   []*fabric
	charts    []*chart
	pen       *pen
	still     []uint8 // pixels that are equal in all frames
}

// quantities lists the quantities that a plot may show, best first.
var quantities = []scenario.Quantity{
	scenario.Throughput, scenario.SendingRate, scenario.QueueBytes,
	scenario.IngressBytes,
}

// choosePanel selects the most informative panel of the report for each run's chart: goodput, else a rate, else a
// queue, else any panel.
func (s *scene) choosePanel() {
	panels := s.runs[0].Panels
	best, rank := -1, math.MaxInt
	for i := range panels {
		if len(panels[i].Series) == 0 {
			continue
		}
		at := slices.Index(quantities, panels[i].Series[0].Quantity)
		if at < 0 {
			at = len(quantities)
		}
		if at < rank {
			best, rank = i, at
		}
	}
	if best < 0 {
		return
	}
	s.chartHead = oneRow
	for _, r := range s.runs {
		i := slices.IndexFunc(r.Panels, func(p scenario.PanelView) bool { return p.Title == panels[best].Title })
		if i < 0 {
			s.charts = nil // the runs are of scenarios that have nothing in common
			return
		}
		c := &chart{panel: &r.Panels[i], points: r.plots[i], spans: r.Spans}
		if s.charts = append(s.charts, c); !c.oneRowFits(&pen{scale: s.scale}, s.column) {
			s.chartHead = twoRows
		}
	}
}

// highlighted returns the tag of the flow whose path is marked: the first one of the chart.
func (s *scene) highlighted() string {
	if len(s.charts) == 0 {
		return ""
	}
	if first := s.charts[0].panel.Series[0]; first.Quantity == scenario.Throughput ||
		first.Quantity == scenario.SendingRate {
		return first.Subject
	}
	return ""
}

func (s *scene) width() float64 { return s.column * float64(len(s.runs)) }

func (s *scene) height() float64 {
	h := titleHigh + captionHigh + fabricHigh + legendHigh
	if len(s.charts) > 0 {
		h += s.chartHead + chartHigh + axisHigh
	}
	return h
}

// prepare draws the parts that are equal in all frames. step is the virtual time between frames.
func (s *scene) prepare(step float64) {
	s.step = step
	s.pen = newPen(s.size(), s.scale)
	for _, r := range s.runs {
		s.peak = max(s.peak, r.peak(s.from, s.to))
	}
	for i, r := range s.runs {
		left := float64(i) * s.column
		top := titleHigh + captionHigh
		s.fabrics = append(s.fabrics, newFabric(s, r, left+margin, top, left+s.column-margin, top+fabricHigh))
		if len(s.charts) > 0 {
			top += fabricHigh
			s.charts[i].place(s, left, top)
		}
	}
	p := s.pen
	right := s.width() - margin
	s.drawTitle(right)
	for i, r := range s.runs {
		left := float64(i) * s.column
		if i > 0 {
			p.line(rule, 1, nil, point{left, titleHigh}, point{left, s.height() - legendHigh})
		}
		p.text(p.fitting(r.Label, 15, true, s.column/2), point{left + margin, titleHigh + 16}, 15, true, ink, leftOf)
		if len(s.charts) > 0 {
			s.charts[i].drawStill(s)
		}
	}
	s.drawLegend(s.height() - legendHigh/2)
	s.still = slices.Clone(p.image.Pix)
}

// drawTitle draws the title and the runs' common settings, with room for the time at the right.
func (s *scene) drawTitle(right float64) {
	p := s.pen
	const clockWide = 130.0
	y := titleHigh/2 + 1
	pace := ""
	if s.perSecond > 0 {
		pace = "slowed " + factor(1e9/s.perSecond) + "×"
	}
	title := p.fitting(s.title, 19, true, right-margin-clockWide)
	p.text(title, point{margin, y}, 19, true, ink, leftOf)
	x := margin + p.width(title, 19, true) + 16
	room := right - clockWide - p.width(pace, 12.5, false) - 24 - x
	p.text(p.fitting(s.runs[0].Description, 12.5, false, room), point{x, y + 1}, 12.5, false, muted, leftOf)
	p.text(pace, point{right - clockWide, y + 1}, 12.5, false, muted, rightOf)
	p.line(rule, 1, nil, point{0, titleHigh}, point{s.width(), titleHigh})
}

// frame draws a moment. The picture is good until the next one is drawn.
func (s *scene) frame(t float64) *image.RGBA {
	p := s.pen
	copy(p.image.Pix, s.still)
	p.text(clock(t, s.step), point{s.width() - margin, titleHigh/2 + 1}, 19, true, ink, rightOf)
	for i, f := range s.fabrics {
		paused := f.draw(t, s.step)
		said, colour := "nothing is paused", muted
		if paused > 0 {
			said, colour = plural(paused, "port")+" paused", halted
		}
		p.text(said, point{float64(i+1)*s.column - margin, titleHigh + 16}, 13, paused > 0, colour, rightOf)
		if len(s.charts) > 0 {
			s.charts[i].draw(p, t, s.perSecond == 0)
		}
	}
	return p.image
}

// size returns how many pixels a frame has.
func (s *scene) size() image.Point {
	return image.Pt(int(math.Round(s.width()*s.scale)), int(math.Round(s.height()*s.scale)))
}
