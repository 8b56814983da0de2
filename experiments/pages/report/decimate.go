package report

import "math"

const (
	// columns sets the number of columns into which a drawn series is divided. It exceeds the pixels of a plot, so that
	// zooming in shows more.
	columns = 1000
	// drawAll limits the length of series that are drawn with all points.
	drawAll = 2000
	// holdAll limits the points that Append keeps before it thins them.
	holdAll = 100_000
)

// Append adds a point to s. It limits the memory of a long run: beyond 100 000 points it thins the series, but keeps
// every spike.
func (s *Series) Append(x int64, y float64) {
	if len(s.X) >= holdAll {
		n := thin(s.X, s.Y, holdAll/8, func(to, from int) { s.X[to], s.Y[to] = s.X[from], s.Y[from] })
		s.X, s.Y = s.X[:n], s.Y[:n]
	}
	s.X, s.Y = append(s.X, x), append(s.Y, y)
}

// drawn returns only as many points of s as its picture needs. Its memory does not depend on the length of s.
func (s *Series) drawn() []point {
	points := make([]point, 0, min(len(s.X), 5*columns))
	if len(s.X) <= drawAll {
		for i := range s.X {
			points = append(points, point{float64(s.X[i]), s.Y[i]})
		}
		return points
	}
	thin(s.X, s.Y, columns, func(_, from int) { points = append(points, point{float64(s.X[from]), s.Y[from]}) })
	return points
}

// thin divides the points into n columns of equal width in x. Of each column it keeps the first, lowest, highest and
// last point, and a gap if there is one: a line through them colours the same pixels as a line through all of them. It
// calls keep with the new and the old index, new <= old, so that a caller may thin in place, and returns the number of
// points kept.
func thin(xs []int64, ys []float64, n int, keep func(to, from int)) int {
	kept := 0
	width := (xs[len(xs)-1]-xs[0])/int64(n) + 1
	origin := xs[0]
	for start := 0; start < len(xs); {
		column := (xs[start] - origin) / width
		lo, hi, gap := start, start, -1
		end := start
		for ; end < len(xs) && (xs[end]-origin)/width == column; end++ {
			switch {
			case math.IsNaN(ys[end]):
				gap = end
			case ys[end] < ys[lo] || math.IsNaN(ys[lo]):
				lo = end
			}
			if ys[end] > ys[hi] || math.IsNaN(ys[hi]) {
				hi = end
			}
		}
		pick := [5]int{start, lo, hi, gap, end - 1}
		sortSmall(&pick)
		last := -1
		for _, i := range pick {
			if i > last {
				keep(kept, i)
				kept++
				last = i
			}
		}
		start = end
	}
	return kept
}

// sortSmall sorts five numbers without the cost of a general sort in thin's loop.
func sortSmall(a *[5]int) {
	for i := 1; i < len(a); i++ {
		for j := i; j > 0 && a[j] < a[j-1]; j-- {
			a[j], a[j-1] = a[j-1], a[j]
		}
	}
}
