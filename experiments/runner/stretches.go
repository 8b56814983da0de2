package runner

import (
	"sort"

	"github.com/pausenet/pausenet/vtime"
)

// stretch is a stretch of virtual time, from included, to not.
type stretch struct{ from, to vtime.Time }

// stretches are stretches of time in order. Those that lie closer than a gap count as one, so their number is bounded
// by the run's length however often something goes on and off.
type stretches []stretch

// begin opens a stretch that has no end yet, unless one is open.
func (s *stretches) begin(at, gap vtime.Time) {
	if n := len(*s); n > 0 && at-gap <= (*s)[n-1].to {
		(*s)[n-1].to = vtime.Never
		return
	}
	*s = append(*s, stretch{at, vtime.Never})
}

// end closes the open stretch.
func (s stretches) end(at vtime.Time) {
	if n := len(s); n > 0 && s[n-1].to == vtime.Never {
		s[n-1].to = at
	}
}

// add is a stretch that begins and ends.
func (s *stretches) add(from, to, gap vtime.Time) {
	s.begin(from, gap)
	s.end(to)
}

// meet says whether any of it lies between two times.
func (s stretches) meet(from, to vtime.Time) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].to > from })
	return i < len(s) && s[i].from < to
}

// within is the time of it up to now.
func (s stretches) within(now vtime.Time) vtime.Time {
	var sum vtime.Time
	for _, x := range s {
		sum += max(0, min(x.to, now)-x.from)
	}
	return sum
}
