package report

import (
	"math"
	"strconv"
)

type point struct{ x, y float64 }

// pen writes SVG path data in hundredths of a unit. Moves between points are relative, since most are short; rounding
// happens before the differences are taken, so errors do not add up.
type pen struct {
	data []byte
	x, y int64
	flat int64 // a horizontal move not yet written: a queue that stands still is one move, not thousands
}

func hundredths(v float64) int64 { return int64(math.Round(v * 100)) }

func (p *pen) moveTo(x, y float64) {
	p.flush()
	p.x, p.y = hundredths(x), hundredths(y)
	p.data = append(p.data, 'M')
	p.number(p.x)
	p.number(p.y)
}

func (p *pen) lineTo(x, y float64) {
	nx, ny := hundredths(x), hundredths(y)
	dx, dy := nx-p.x, ny-p.y
	switch {
	case dx == 0 && dy == 0:
	case dy == 0 && p.flat >= 0 && dx > 0:
		p.flat += dx
	case dx == 0:
		p.flush()
		p.data = append(p.data, 'v')
		p.number(dy)
	default:
		p.flush()
		p.data = append(p.data, 'l')
		p.number(dx)
		p.number(dy)
	}
	p.x, p.y = nx, ny
}

func (p *pen) flush() {
	if p.flat != 0 {
		p.data = append(p.data, 'h')
		p.number(p.flat)
		p.flat = 0
	}
}

// number writes n hundredths as short as possible. A minus sign separates as well as a space does.
func (p *pen) number(n int64) {
	last := byte(' ')
	if len(p.data) > 0 {
		last = p.data[len(p.data)-1]
	}
	switch {
	case n < 0:
		p.data = append(p.data, '-')
		n = -n
	case last >= '0' && last <= '9':
		p.data = append(p.data, ' ')
	}
	whole, part := n/100, n%100
	if whole != 0 || part == 0 {
		p.data = strconv.AppendInt(p.data, whole, 10)
	}
	if part != 0 {
		p.data = append(p.data, '.', byte('0'+part/10))
		if part%10 != 0 {
			p.data = append(p.data, byte('0'+part%10))
		}
	}
}

// pathData draws the points. A NaN lifts the pen.
func pathData(points []point, x, y *axis, step bool) string {
	var p pen
	down := false
	for _, pt := range points {
		if math.IsNaN(pt.y) {
			// A gap ends a step where it begins, not at the last change before it.
			if down && step {
				p.lineTo(x.at(pt.x), float64(p.y)/100)
			}
			down = false
			continue
		}
		px, py := x.at(pt.x), y.at(pt.y)
		switch {
		case !down:
			p.moveTo(px, py)
			down = true
		case step:
			p.lineTo(px, float64(p.y)/100)
			p.lineTo(px, py)
		default:
			p.lineTo(px, py)
		}
	}
	p.flush()
	return string(p.data)
}
