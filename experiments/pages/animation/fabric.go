package animation

import (
	"image/color"
	"math"
	"slices"
	"sort"

	"github.com/pausenet/pausenet/internal/lists"
)

// fabric draws a run's fabric within a box.
type fabric struct {
	*run
	scene *scene
	*layout
	scale, x, y float64 // conversion from the layout's units
	lines       []wire  // by port
	path        []int64 // the marked path
}

// wire represents the line of one direction of a link, from the port to its peer, beside the other direction's line.
type wire struct {
	point
	to     point
	ux, uy float64
	length float64
}

const largest = 1.7 // maximum scale of the layout

func newFabric(s *scene, r *run, left, top, right, bottom float64) *fabric {
	wide, high := right-left, bottom-top-16
	l := newLayout(r, max(0.7, min(2.6, wide/high)))
	f := &fabric{run: r, scene: s, layout: l, path: r.path(s.highlighted())}
	f.scale = min(wide/(l.right-l.left), high/(l.bottom-l.top), largest)
	f.x = left + (wide-(l.right-l.left)*f.scale)/2 - l.left*f.scale
	f.y = top + 8 + (high-(l.bottom-l.top)*f.scale)/2 - l.top*f.scale
	for id := range r.ports {
		f.lines = append(f.lines, f.wireOf(id))
	}
	return f
}

// placed returns a node's box in the picture.
func (f *fabric) placed(node int) box {
	n := f.at[node]
	return box{n.x*f.scale + f.x, n.y*f.scale + f.y, n.w * f.scale, n.h * f.scale}
}

func (f *fabric) wireOf(id int) wire {
	p := f.ports[id]
	a, b := f.placed(p.node), f.placed(p.peerNode)
	edge := func(n, to box) float64 {
		switch {
		case math.Abs(a.y-b.y) < 1:
			return n.y + n.h
		case to.y > n.y:
			return n.y + n.h
		}
		return n.y - n.h
	}
	from, to := point{a.x, edge(a, b)}, point{b.x, edge(b, a)}
	length := max(1, math.Hypot(to.x-from.x, to.y-from.y))
	ux, uy := (to.x-from.x)/length, (to.y-from.y)/length
	aside := max(0.9, min(3, 2.2*f.scale)) + f.parallel(id)*7
	return wire{from.plus(-uy*aside, ux*aside), to.plus(-uy*aside, ux*aside), ux, uy, length}
}

// parallel returns the position of a port's cable among those between the same two nodes, relative to their middle.
func (f *fabric) parallel(id int) float64 {
	p := f.ports[id]
	together := lists.Filter(f.nodePorts[p.node], func(other int) bool { return f.ports[other].peerNode == p.peerNode })
	return float64(slices.Index(together, id)) - float64(len(together)-1)/2
}

// along returns a point of a wire, at a distance from its port and aside of it.
func (w *wire) along(d, aside float64) point {
	return w.plus(w.ux*d-w.uy*aside, w.uy*d+w.ux*aside)
}

// draw draws the moment t, and returns how many ports are paused.
func (f *fabric) draw(t, step float64) (count int) {
	p := f.scene.pen
	for _, id := range f.path {
		p.line(way, max(7, 12*f.scale), nil, f.lines[id].point, f.lines[id].to)
	}
	var paused []int
	thick := max(0.6, min(1.6, f.scale*1.3))
	if len(f.Links) > 100 {
		thick *= 0.6
	}
	for id := range f.ports {
		if f.paused(id, t, step) {
			paused = append(paused, id)
			continue
		}
		if f.ports[id].row < 0 {
			p.line(rule, thick*0.7, []float64{2, 3}, f.lines[id].point, f.lines[id].to)
			continue
		}
		level := max(0, min(len(busy)-1, int(f.utilization(id, t, step)*float64(len(busy)))))
		p.line(busy[level], thick*(0.7+1.6*float64(level)/float64(len(busy))), nil, f.lines[id].point, f.lines[id].to)
	}
	f.drawPaused(paused, t)
	f.drawQueues(t)
	f.drawFrames(t, step)
	f.drawNodes()
	return len(paused)
}

// drawPaused draws ports that may not send: a dashed line, a pause sign at the port, and arrows that run from the port
// that sent the PAUSE.
func (f *fabric) drawPaused(ports []int, t float64) {
	p := f.scene.pen
	size := max(2.8, min(8, 6*f.scale))
	for _, id := range ports {
		p.line(halted, max(1.6, 2.6*min(1.4, f.scale)), []float64{5, 3.5}, f.lines[id].point, f.lines[id].to)
	}
	apart := max(26, size*6)
	run := 0.4
	if f.scene.perSecond > 0 {
		run = math.Mod((t-f.scene.from)/f.scene.perSecond/0.9, 1)
	}
	for _, id := range ports {
		w := &f.lines[id]
		for d := w.length - 6 - run*apart; d > 16; d -= apart {
			p.fill(halted, w.along(d-size, 0), w.along(d+size*0.5, size*0.8), w.along(d+size*0.5, -size*0.8))
		}
	}
	for _, id := range ports {
		a := f.lines[id].along(size*1.6, 0)
		p.disc(halted, a, size*1.15)
		for _, x := range []float64{-0.5, 0.16} {
			p.box(paper, a.x+x*size, a.y-size*0.55, a.x+(x+0.34)*size, a.y+size*0.55)
		}
	}
}

// Sizes of the bar for the longest queue.
const (
	barLength = 46.0
	barWidth  = 7.0
)

func (f *fabric) drawQueues(t float64) {
	sample := f.sample(t)
	longest, wide := barLength*max(0.45, min(1.5, f.scale)), barWidth*max(0.5, min(1.4, f.scale))
	for id := range f.ports {
		v := value(f.queue, f.ports[id].row, sample)
		if v <= 0 || f.scene.peak == 0 {
			continue
		}
		w := &f.lines[id]
		long := min(w.length*0.7, longest*float64(v)/float64(f.scene.peak))
		if long >= 0.5 {
			f.scene.pen.fill(queued, w.along(0, wide*0.3), w.along(0, wide*1.3), w.along(long, wide*1.3),
				w.along(long, wide*0.3))
		}
	}
}

// drawFrames draws the PFC frames that are on a wire at t, if more than one picture shows each: a PAUSE full, a RESUME
// empty.
func (f *fabric) drawFrames(t, step float64) {
	times := f.pfc[pfcTime]
	size := max(2.6, min(6, 5*f.scale))
	for i := sort.Search(len(times), func(i int) bool { return float64(times[i]) > t }) - 1; i >= 0; i-- {
		ago, id := t-float64(times[i]), f.pfc[pfcPort][i]
		delay := f.ports[id].delay
		if ago > 1e6 {
			return
		}
		if ago > delay || 2*step > delay {
			continue
		}
		inside := color.RGBA(paper)
		if f.pfc[pfcPause][i] == 1 {
			inside = halted
		}
		a := f.lines[id].along(f.lines[id].length*ago/delay, 0)
		f.scene.pen.disc(halted, a, size+0.8)
		f.scene.pen.disc(inside, a, size-0.8)
	}
}

func (f *fabric) drawNodes() {
	p := f.scene.pen
	for i, n := range f.Nodes {
		b := f.placed(i)
		middleOf := point{b.x, b.y}
		fill, edge := switchFill, switchEdge
		if n.Host {
			fill, edge = hostFill, hostEdge
		}
		if n.Host && f.dots {
			p.disc(edge, middleOf, max(1.8, b.w))
			p.disc(fill, middleOf, max(1.8, b.w)-0.9)
			continue
		}
		outline := p.rounded(middleOf, b.w, b.h, min(6, b.h*0.4))
		p.canvas.SetColor(fill)
		p.canvas.Fill(outline)
		p.stroke(edge, 1.1, nil, outline)
		size := min(b.h*0.95, b.w*1.9*1.7/float64(len(n.Name)), 22)
		if size*f.scene.scale >= 6 {
			p.text(n.Name, middleOf, size, !n.Host, ink, middle)
		}
	}
}
