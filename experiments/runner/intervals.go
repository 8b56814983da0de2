package runner

import (
	"sort"

	"github.com/pausenet/pausenet/vtime"
)

// interval represents an interval of virtual time, from included, to excluded.
type interval struct{ from, to vtime.Time }

// intervals holds intervals of time in order. It joins intervals with less than a gap between them, so that the run's
// length limits their number.
type intervals []interval

// begin opens an interval, unless one is open.
func (s *intervals) begin(at, gap vtime.Time) {
	if n := len(*s); n > 0 && at-gap <= (*s)[n-1].to {
		(*s)[n-1].to = vtime.Never
		return
	}
	*s = append(*s, interval{at, vtime.Never})
}

// end closes the open interval.
func (s intervals) end(at vtime.Time) {
	if n := len(s); n > 0 && s[n-1].to == vtime.Never {
		s[n-1].to = at
	}
}

// add adds a closed interval.
func (s *intervals) add(from, to, gap vtime.Time) {
	s.begin(from, gap)
	s.end(to)
}

// meet reports whether an interval overlaps the time between two times.
func (s intervals) meet(from, to vtime.Time) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].to > from })
	return i < len(s) && s[i].from < to
}

// within returns the total length of the intervals up to now.
func (s intervals) within(now vtime.Time) vtime.Time {
	var sum vtime.Time
	for _, x := range s {
		sum += max(0, min(x.to, now)-x.from)
	}
	return sum
}
