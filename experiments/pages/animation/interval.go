package animation

import (
	"fmt"
	"math"
	"strconv"

	"github.com/pausenet/pausenet/vtime"
)

// mostSamples limits the length of the default interval from the first PAUSE on, in sampling intervals.
const mostSamples = 1000

// chooseInterval sets the interval to draw.
func (s *scene) chooseInterval(from, to *vtime.Time) error {
	end := 0.0
	for _, r := range s.runs {
		end = max(end, r.end)
	}
	s.from, s.to = s.aroundPauses(end)
	if from != nil {
		s.from = float64(from.RoundNanoseconds())
		if to == nil && s.from >= s.to {
			s.to = end
		}
	}
	if to != nil {
		s.to = min(end, float64(to.RoundNanoseconds()))
		if from == nil && s.from >= s.to {
			s.from = 0
		}
	}
	if s.from >= end || s.from >= s.to {
		return fmt.Errorf("nothing lies between %v and %v: the run goes from 0 to %v", nanoseconds(s.from), nanoseconds(s.to),
			nanoseconds(end))
	}
	return nil
}

// aroundPauses returns the time from shortly before the first PAUSE to shortly after the last, of any run. Without
// PAUSE it returns the time in which flows are active.
func (s *scene) aroundPauses(end float64) (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for _, r := range s.runs {
		first, last := r.firstAndLast()
		from, to = min(from, first), max(to, last)
	}
	if math.IsInf(from, 1) {
		from, to = s.underWay(end)
	} else {
		to = min(to, from+mostSamples*s.runs[0].Interval)
	}
	aside := (to - from) / 10
	round := roundStep(to-from, 40)
	return max(0, math.Floor((from-aside)/round)*round), min(end, math.Ceil((to+aside)/round)*round)
}

// underWay returns the time from the first flow's start to the last one's end.
func (s *scene) underWay(end float64) (from, to float64) {
	from, to = end, 0
	for _, r := range s.runs {
		for i, start := range r.flowStart {
			from = min(from, float64(start))
			if r.fct[i] < 0 {
				return from, end
			}
			to = max(to, float64(start+r.fct[i]))
		}
	}
	if from >= to {
		return 0, end
	}
	return from, to
}

// around returns the interval of the plot around the moment of a still picture.
func (s *scene) around(at float64) (from, to float64) {
	if from, to := s.aroundPauses(s.runs[0].end); from <= at && at <= to {
		return from, to
	}
	return 0, s.runs[0].end
}

// busiest returns the first sample at which most ports of the first run are paused, or, if none ever is, their queues
// are longest.
func (s *scene) busiest() float64 {
	r := s.runs[0]
	best, at := -1.0, s.from
	for i := max(0, r.sample(s.from)); i < len(r.times) && float64(r.times[i]) <= s.to; i++ {
		t, score := float64(r.times[i]), 0.0
		for id := range r.ports {
			if r.paused(id, t, 0) {
				score++
			}
			if row := r.ports[id].row; row >= 0 { // less than a port that is paused
				score += float64(value(r.queue, row, i)) / 1e15
			}
		}
		if score > best {
			best, at = score, t
		}
	}
	return at
}

// poster returns the frame in which most ports are paused; if there are several, the last, whose charts show most.
func (s *scene) poster(frames int, at func(int) float64) (best int) {
	most := 0
	for i := range frames {
		paused := 0
		for _, r := range s.runs {
			for id := range r.ports {
				if r.paused(id, at(i), s.step) {
					paused++
				}
			}
		}
		if paused > 0 && paused >= most {
			best, most = i, paused
		}
	}
	return best
}

func panelColumn(i int, name string) string { return "panel." + strconv.Itoa(i) + "." + name }

func nanoseconds(ns float64) vtime.Time { return vtime.Time(math.Round(ns)) * vtime.Nanosecond }
