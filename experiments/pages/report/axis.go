package report

import (
	"math"
	"strconv"
)

// axis maps values to SVG units along one direction.
type axis struct {
	lo, hi float64 // the values at its ends
	p0, p1 float64 // position of the ends in the drawing
	log    bool
	in     measure
	ticks  []tick
}

type tick struct {
	value float64
	label string
}

// at returns the position of v in the drawing. A value outside of the axis lies outside of the drawing, but a
// logarithmic axis shows zero at its low end.
func (a *axis) at(v float64) float64 {
	lo, hi := a.lo, a.hi
	if a.log {
		v, lo, hi = math.Log10(max(v, a.lo)), math.Log10(lo), math.Log10(hi)
	}
	// The conversion keeps the compiler from fusing multiply and add: it may on arm64, and a page would differ from one
	// machine to the next.
	return a.p0 + float64((v-lo)/(hi-lo)*(a.p1-a.p0))
}

// place sets the position of the axis in the drawing.
func (a axis) place(p0, p1 float64) axis {
	a.p0, a.p1 = p0, p1
	return a
}

// exactAxis runs from lo to hi, with round ticks in between: for time, where the run ends where it ends.
func exactAxis(lo, hi float64, u Unit, n int) axis {
	if hi <= lo {
		hi = lo + 1
	}
	a := axis{lo: lo, hi: hi, in: u.measure(hi)}
	a.ticks = linearTicks(lo, hi, niceStep((hi-lo)/a.in.div, n), a.in)
	return a
}

// roundAxis covers lo to hi and ends on ticks; it starts at zero unless there are negative values, since a cut axis
// exaggerates.
func roundAxis(lo, hi float64, u Unit, n int) axis {
	lo = min(lo, 0)
	if hi <= lo {
		hi = lo + 1
	}
	m := u.measure(max(hi, -lo))
	step := niceStep((hi-lo)/m.div, n)
	unit := step * m.div
	a := axis{lo: math.Floor(lo/unit) * unit, hi: math.Ceil(hi/unit-1e-9) * unit, in: m}
	a.ticks = linearTicks(a.lo, a.hi, step, m)
	return a
}

// logAxis covers lo to hi on a logarithmic scale, ending on decades, or on 1-2-5 steps if there are few decades.
func logAxis(lo, hi float64, u Unit) axis {
	if !(lo > 0) {
		lo = hi / 1000
	}
	if !(hi > 0) {
		lo, hi = 0.1, 1
	}
	m := u.measure(hi)
	a := axis{log: true, in: m}
	var rungs []float64
	first, last := int(math.Floor(math.Log10(lo/m.div)+1e-9)), int(math.Ceil(math.Log10(hi/m.div)-1e-9))
	last = max(last, first+1)
	fine := last-first <= 3
	for e := first; e <= last; e++ {
		for _, f := range []float64{1, 2, 5} {
			if f == 1 || fine && e < last {
				rungs = append(rungs, f*math.Pow10(e))
			}
		}
	}
	// Drop the rungs beyond the data: half an empty decade is half a plot.
	for len(rungs) > 2 && rungs[1]*m.div <= lo*(1+1e-9) {
		rungs = rungs[1:]
	}
	for len(rungs) > 2 && rungs[len(rungs)-2]*m.div >= hi*(1-1e-9) {
		rungs = rungs[:len(rungs)-1]
	}
	for _, r := range rungs {
		v := r * m.div
		own := m
		if m.suffix != "" {
			own = u.measure(v) // 1, 10, 100, 1k rather than 0.001k to 1k
		}
		a.ticks = append(a.ticks, tick{v, strconv.FormatFloat(v/own.div, 'f', -1, 64) + own.suffix})
	}
	a.lo, a.hi = rungs[0]*m.div, rungs[len(rungs)-1]*m.div
	return a
}

// mostTicks limits the ticks of an axis; a readable one has about ten.
const mostTicks = 100

// linearTicks returns the multiples of step from lo to hi, with labels in the unit of m.
func linearTicks(lo, hi, step float64, m measure) []tick {
	lo, hi = lo/m.div, hi/m.div
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []tick
	// Counting in whole steps adds no rounding errors up. Where the ends are too close for the numbers' precision i
	// does not grow: mostTicks ends that.
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi*(1+1e-9)+step*1e-9 && len(ticks) < mostTicks; i++ {
		v := i*step + 0 // the zero turns -0 into 0
		label := strconv.FormatFloat(v, 'f', decimals, 64)
		if v != 0 {
			label += m.suffix
		}
		ticks = append(ticks, tick{v * m.div, label})
	}
	return ticks
}

// niceStep returns the smallest of 1, 2, 5 times a power of ten that cuts span into at most n parts.
func niceStep(span float64, n int) float64 {
	e := math.Pow10(int(math.Floor(math.Log10(span / float64(n)))))
	for _, f := range []float64{1, 2, 5} {
		if span/(f*e) <= float64(n)*(1+1e-9) {
			return f * e
		}
	}
	return 10 * e
}
