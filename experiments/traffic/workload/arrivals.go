package workload

import (
	"iter"
	"math"

	"github.com/pausenet/pausenet/vtime"
)

// Flow represents a flow that a workload starts, between hosts by their numbers.
type Flow struct {
	Start    vtime.Time
	Size     int64 // payload bytes, at least 1
	From, To int
}

// Clock determines the times of a workload's events.
type Clock struct {
	Start vtime.Time // no event before it
	Until vtime.Time // no event at or after it; vtime.Never for no end
	Count int        // maximum number of events; 0: no limit. Until or Count must be set.
	// Every holds the time between two events in picoseconds. If Random, it is the mean of a Poisson process. Otherwise
	// the first event is at Start, and one follows every Every.
	Every  float64
	Random bool
}

// events returns the times, numbered from 0.
func (c *Clock) events(s Stream) iter.Seq2[uint64, vtime.Time] {
	return func(yield func(uint64, vtime.Time) bool) {
		at := c.Start
		for i := uint64(0); c.Count == 0 || i < uint64(c.Count); i++ {
			switch {
			case c.Random:
				at += vtime.Time(math.Round(float64(c.Every * s.Exponential(i))))
			case i > 0:
				at = c.Start + vtime.Time(math.Round(float64(float64(i)*c.Every)))
			}
			if at >= c.Until || at < c.Start || !yield(i, at) {
				return
			}
		}
	}
}

// Events counts the events of the clock with a stream.
func (c *Clock) Events(s Stream) int {
	n := 0
	for range c.events(s.Sub(purposeTimes)) {
		n++
	}
	return n
}

// Expected returns the expected number of events: the mean, up to Count, if the clock is random.
func (c *Clock) Expected() float64 {
	n := math.Inf(1)
	if c.Until < vtime.Never {
		n = float64(c.Until-c.Start) / c.Every
		if !c.Random {
			n = math.Ceil(n)
		}
	}
	if c.Count > 0 {
		n = min(n, float64(c.Count))
	}
	return max(n, 0)
}

// Purposes of a workload's streams.
const (
	purposeTimes uint64 = iota
	purposeSizes
	purposeFirst
	purposeSecond
)

// Poisson starts flows between random pairs of hosts, independent of each other. It has four streams of its own: with
// another load, the same flows start at other times, and with other sizes, the same pairs start at the same times.
type Poisson struct {
	Clock
	Sizes *Sizes
	Pairs *Pairs // senders first
}

// Flows returns the workload's flows, by start.
func (p *Poisson) Flows(s Stream) iter.Seq[Flow] {
	times, sizes, senders, receivers := s.Sub(purposeTimes), s.Sub(purposeSizes), s.Sub(purposeFirst), s.Sub(purposeSecond)
	return func(yield func(Flow) bool) {
		for i, at := range p.events(times) {
			from := p.Pairs.First(senders.Below(i, p.Pairs.Len()))
			to := p.Pairs.Second(from, receivers.Below(i, p.Pairs.Choices(from)))
			if !yield(Flow{Start: at, Size: p.Sizes.Quantile(sizes.Uniform(i)), From: from, To: to}) {
				return
			}
		}
	}
}

// PerEvent counts the flows that start at once.
func (p *Poisson) PerEvent() int { return 1 }

// Incast makes several senders start a flow to one receiver at once, repeatedly.
type Incast struct {
	Clock
	Sizes  *Sizes
	Pairs  *Pairs // receivers first; each has at least Degree senders
	Degree int
}

// Flows returns the workload's flows, by start; those of one event by sender.
func (w *Incast) Flows(s Stream) iter.Seq[Flow] {
	times, sizes, receivers, senders := s.Sub(purposeTimes), s.Sub(purposeSizes), s.Sub(purposeFirst), s.Sub(purposeSecond)
	return func(yield func(Flow) bool) {
		var some []int
		for i, at := range w.events(times) {
			to := w.Pairs.First(receivers.Below(i, w.Pairs.Len()))
			some = choose(some[:0], w.Pairs.Choices(to), w.Degree, senders.Sub(i))
			for k, choice := range some {
				size := w.Sizes.Quantile(sizes.Uniform(i*uint64(w.Degree) + uint64(k)))
				if !yield(Flow{Start: at, Size: size, From: w.Pairs.Second(to, choice), To: to}) {
					return
				}
			}
		}
	}
}

// PerEvent counts the flows that start at once.
func (w *Incast) PerEvent() int { return w.Degree }

// choose appends k of 0 to n-1, each subset equally likely, in ascending order (Knuth, The Art of Computer Programming,
// volume 2, section 3.4.2, algorithm S).
func choose(some []int, n, k int, s Stream) []int {
	for i := 0; i < n && k > 0; i++ {
		if s.Below(uint64(i), n-i) < k {
			some = append(some, i)
			k--
		}
	}
	return some
}

// AllToAll makes every host send to every other allowed host, all at once, repeatedly.
type AllToAll struct {
	Clock
	Sizes *Sizes
	Pairs *Pairs // senders first
}

// Flows returns the workload's flows, by start, then by sender and receiver.
func (w *AllToAll) Flows(s Stream) iter.Seq[Flow] {
	sizes := s.Sub(purposeSizes)
	return func(yield func(Flow) bool) {
		n := uint64(0)
		for _, at := range w.events(s.Sub(purposeTimes)) {
			for i := range w.Pairs.Len() {
				from := w.Pairs.First(i)
				for k := range w.Pairs.Choices(from) {
					if !yield(Flow{Start: at, Size: w.Sizes.Quantile(sizes.Uniform(n)), From: from, To: w.Pairs.Second(from, k)}) {
						return
					}
					n++
				}
			}
		}
	}
}

// PerEvent counts the flows that start at once.
func (w *AllToAll) PerEvent() int {
	n := 0
	for i := range w.Pairs.Len() {
		n += w.Pairs.Choices(w.Pairs.First(i))
	}
	return n
}

// Permutation makes every host send to one other and receive from one other, all at once, repeatedly with other
// partners.
type Permutation struct {
	Clock
	Sizes *Sizes
	Hosts []int // at least two, each once
}

// Flows returns the workload's flows, by start, then by sender.
func (w *Permutation) Flows(s Stream) iter.Seq[Flow] {
	sizes, partners := s.Sub(purposeSizes), s.Sub(purposeSecond)
	return func(yield func(Flow) bool) {
		n := uint64(len(w.Hosts))
		for i, at := range w.events(s.Sub(purposeTimes)) {
			for k, to := range derangement(len(w.Hosts), partners.Sub(i)) {
				size := w.Sizes.Quantile(sizes.Uniform(i*n + uint64(k)))
				if !yield(Flow{Start: at, Size: size, From: w.Hosts[k], To: w.Hosts[to]}) {
					return
				}
			}
		}
	}
}

// PerEvent counts the flows that start at once.
func (w *Permutation) PerEvent() int { return len(w.Hosts) }

// derangement returns a permutation of 0 to n-1, n at least 2, that moves every number. All are equally likely: it
// shuffles until one is found, which takes e = 2.7 tries on average.
func derangement(n int, s Stream) []int {
	p := make([]int, n)
	for try := uint64(0); ; try++ {
		draws := s.Sub(try)
		for i := range p {
			p[i] = i
		}
		fixed := false
		// Fisher and Yates from the end: what has been swapped into place i stays there.
		for i := n - 1; i >= 0 && !fixed; i-- {
			k := draws.Below(uint64(i), i+1)
			p[i], p[k] = p[k], p[i]
			fixed = p[i] == i
		}
		if !fixed {
			return p
		}
	}
}
